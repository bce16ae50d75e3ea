"""A full dataset of a few thousand made-up documents, written in any format, for context."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

WORDS = [
    a + b for a in ("ba", "ko", "ri", "mu", "se", "ta", "lo", "ne") for b in ("dar", "lin", "mos", "pek", "tur", "vey")
]


def sentence(rng: random.Random, length: int = 24) -> str:
    return " ".join(f"{rng.choice(WORDS)}{rng.choice(WORDS)}" for _ in range(length))


def big_set(
    folder: Path, *, documents: int = 3000, queries: int = 120, seed: int = 1, extra: Sequence[dict[str, Any]] = ()
) -> Path:
    """A BEIR-like folder: two positives a query (grades 2 and 1), two documents judged 0, languages by turns."""
    rng = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    rows = [{"_id": f"d{i}", "title": f"T{i}" if i % 3 else "", "text": sentence(rng)} for i in range(documents)]
    asked, judged = [], []
    for q in range(queries):
        words = rows[q]["text"].split()
        language = ("en", "de", "fr")[q % 3 if q < queries // 2 else 0]
        asked.append({"_id": f"q{q}", "text": " ".join(words[3:12]), "language": language, "turn": q})
        judged += [(f"q{q}", f"d{q}", 2), (f"q{q}", f"d{q + queries}", 1)]
        judged += [(f"q{q}", f"d{q + 2 * queries}", 0), (f"q{q}", f"d{q + 3 * queries}", 0)]
    rows += list(extra)
    write_lines(folder / "corpus.jsonl", rows)
    write_lines(folder / "queries.jsonl", asked)
    lines = ["query-id\tcorpus-id\tscore", *(f"{q}\t{d}\t{g}" for q, d, g in judged)]
    (folder / "qrels.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def write_lines(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

"""Row 1: from the command to the first score, and the cost of starting at all."""

from __future__ import annotations

import json
from pathlib import Path

from cases import bm25
from harness.case import Case, Contestant
from harness.inputs import kept

STEELYARD = ("python", "-m", "steelyard")
MTEB = """
import json, sys, warnings
warnings.simplefilter("ignore")
import mteb
from steelyard.compat.mteb import as_mteb_task
from steelyard.datasets import load_any
task = as_mteb_task(load_any(sys.argv[1]))
model = mteb.get_model("mteb/baseline-bm25s")
mteb.evaluate(model, [task], cache=None, show_progress_bar=False, co2_tracker=False)
print(json.dumps({"checks": {}}))
"""


def make() -> Path:
    """Return a task folder of 2,000 documents and 100 queries, which is written once."""
    return kept("start-2000x100", _write)


def _write(folder: Path) -> None:
    texts, asked, rows, _ = bm25.make(2000, 100, "en")
    for name, some in (("corpus", texts), ("queries", asked)):
        lines = [json.dumps({"_id": f"{name[0]}{n}", "text": text}) for n, text in enumerate(some)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    judged = [f"q{query}\tc{row}\t1" for query, row in enumerate(rows.tolist())]
    lines = ["query-id\tcorpus-id\tscore", *judged]
    (folder / "qrels.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


BARE = Contestant("python -c pass", ("python", "-c", "pass"))
CASES = [
    Case(
        1,
        "start-help",
        "steelyard --help against a bare interpreter",
        (Contestant("steelyard", (*STEELYARD, "--help")), BARE),
        rounds=15,
        by="cpu",
        target=1 / 3,
        reason="The peer is an interpreter that does nothing: a limit, not a competitor.",
    ),
    Case(
        1,
        "start-list-groups",
        "steelyard list groups against a bare interpreter",
        (Contestant("steelyard", (*STEELYARD, "list", "groups")), BARE),
        rounds=15,
        by="cpu",
        target=1 / 8,
        reason="The peer is an interpreter that does nothing: a limit, not a competitor.",
    ),
    Case(
        1,
        "start-first-score",
        "From the command to the first score: BM25 on 2,000 documents and 100 queries from a folder",
        (
            Contestant("steelyard", (*STEELYARD, "run", "bm25", "-t", "INPUT", "--quiet")),
            Contestant("mteb", ("python", "-c", MTEB, "INPUT"), "mteb"),
        ),
        rounds=3,
    ),
]

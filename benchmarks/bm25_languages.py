"""How often the languages of texts are told, and told right: by the pages of tasks, and by BM25's choice of analysers.

    python benchmarks/bm25_languages.py [FOLDER]

Of the built-in names of things (NanoCLDR) every id ends in the language. FOLDER holds tasks whose names say the
languages of queries and documents: tatoeba_deu2eng, xquad_ar2en, xquad_th.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from steelyard import load_task
from steelyard.reports.pages.tongues import read
from steelyard.text.detect import UNDECIDED, detect
from steelyard.text.languages import canonical
from steelyard.text.policy import choose
from steelyard.types import Task, TaskInfo

SHARED = Path(__file__).parents[2] / "shared"
NAMES = ("names-to-english", "names-across-scripts", "names-in-all-languages")
FOLDERS = (
    *("tatoeba_cmn2eng", "tatoeba_deu2eng", "tatoeba_hin2eng", "tatoeba_jpn2eng", "xquad_zh2en", "xquad_ar2en"),
    *("xquad_en", "xquad_zh", "xquad_ar", "xquad_th", "jsquad_ja", "cmrc2018_zh"),
)


def languages_of(ids: Sequence[str]) -> list[str]:
    """What the ids of NanoCLDR say: `territory-FR.de` is a German name."""
    return [canonical(name.rpartition(".")[2]) for name in ids]


def line(name: str, side: str, true: Sequence[str], by_pages: Sequence[str], by_bm25: Sequence[str]) -> str:
    def shares(found: Sequence[str]) -> str:
        told = [(a, b) for a, b in zip(true, found, strict=True) if b != UNDECIDED]
        right = sum(a == b for a, b in told)
        return f"{len(told) / len(true):.3f} | {right / len(told) if told else float('nan'):.4f}"

    return f"| {name} | {side} | {len(true):,} | {shares(by_pages)} | {shares(by_bm25)} |"


def show(name: str, task: Task, queries: Sequence[str], documents: Sequence[str]) -> None:
    reading = read(task)
    declared = tuple(canonical(code) for code in task.info.languages)
    among = declared if len(declared) > 1 else ()  # one alone would be right by itself
    for side, true, pages, texts in (
        ("queries", queries, reading.query_languages, task.queries.texts),
        ("documents", documents, reading.document_languages, task.corpus.texts),
    ):
        print(line(name, side, true, pages, detect(texts, among)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=SHARED / "data")
    arguments = parser.parse_args()
    print("| texts | side | count | told on pages | right of these | told by BM25 | right of these |")
    print(f"|{'---|' * 7}")
    for name in NAMES:
        task = load_task(f"NanoCLDR/{name}")
        show(f"NanoCLDR/{name}", task, languages_of(task.queries.ids), languages_of(task.corpus.ids))
    chosen = []
    for name in FOLDERS if arguments.folder.is_dir() else ():
        task = load_task(str(arguments.folder / name))
        asked, _, sought = name.rpartition("_")[2].partition("2")
        query, document = canonical(asked), canonical(sought or asked)
        policy = choose(task.corpus.texts, TaskInfo(task.info.name))
        chosen.append(f"{name}: {' '.join(policy.languages)}")
        show(name, task, [query] * len(task.queries), [document] * len(task.corpus))
    print(f"\nread in, where no language is declared: {'; '.join(chosen)}")


if __name__ == "__main__":
    main()

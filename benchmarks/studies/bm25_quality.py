"""nDCG@10 of BM25's forms, parameters and analysers on real tasks: what the defaults were chosen by.

    python benchmarks/studies/bm25_quality.py [FOLDER] [--queries 1000] [--reference FILE] [--only-reference | --code]

FOLDER holds a folder for each task: corpus.jsonl, queries.jsonl, qrels.tsv, task.json. The reference is a file of
figures and CPU seconds of HAKARI-Bench's BM25 on the first 200 queries. Ours are those of reading, indexing and
searching, medians of several turns in one process after one that warms up. Where bm25s is installed, HAKARI-Bench's way
is timed in the same turns, so that one ratio is of this machine and moment: the preset's tokens, indexed and searched
by bm25s, for languages that the preset cuts with the very packages that HAKARI-Bench uses. `--code` shows, on the
built-in functions of the standard library, what each step of reading code adds.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard import load_task
from steelyard.retrievers.bm25.forms import FORMS
from steelyard.retrievers.bm25.retriever import Bm25, from_spec
from steelyard.spec import parse
from steelyard.text.analysis.analyser import split_identifier, stem
from steelyard.text.analysis.language_policy import KINDS
from steelyard.text.function_words import FUNCTION_WORDS
from steelyard.text.tokenizer.segment import HakariTokenizer
from steelyard.text.tokenizer.spans import Grams, find_tokens
from steelyard.text.tokenizer.tokens import Tokens
from steelyard.types import Corpus, Queries, TaskInfo

TASKS = {
    "xquad_en": "en", "cranfield_en": "en", "vaswani_en": "en", "xquad_ar": "ar", "xquad_th": "th", "xquad_zh": "zh",
    "cmrc2018_zh": "zh", "cmdd_medical_zh": "zh", "jsquad_ja": "ja", "xquad_pool6": "multilingual",
}  # fmt: skip
SHARED = Path(__file__).parents[3] / "shared"
REPEATS = 7
SAME_PACKAGES = ("ar", "ja", "th")
GRID = [(k1, b) for k1 in (0.6, 0.9, 1.2, 1.5, 2.0) for b in (0.4, 0.6, 0.75, 0.9)]


@dataclass
class Data:
    corpus: Corpus
    queries: Queries
    relevant: list[set[str]]
    info: TaskInfo

    def ndcg(self, model: Bm25) -> tuple[float, float]:
        """nDCG@10 with binary relevance, and CPU seconds of indexing and searching (top 500)."""
        start = time.process_time()
        rows = model.index(self.corpus, self.info).search(self.queries, 500).rows[:, :10]
        seconds = time.process_time() - start
        discounts = 1 / np.log2(np.arange(10) + 2)
        values = []
        for line, wanted in zip(rows, self.relevant, strict=True):
            gains = np.array([row >= 0 and self.corpus.ids[row] in wanted for row in line], dtype=np.float64)
            values.append((gains * discounts[: len(gains)]).sum() / discounts[: len(wanted)].sum())
        return float(np.mean(values)), seconds


def read(folder: Path, language: str, limit: int) -> Data:
    def lines(name: str) -> list[dict[str, str]]:
        return [json.loads(line) for line in (folder / name).read_text("utf-8").strip().split("\n")]

    documents = [document for document in lines("corpus.jsonl") if document["text"].strip()]
    relevant: dict[str, set[str]] = {}
    for line in (folder / "qrels.tsv").read_text("utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        if int(grade) > 0:
            relevant.setdefault(query, set()).add(document)
    queries = [query for query in lines("queries.jsonl") if query["_id"] in relevant][:limit]
    texts = ["\n\n".join(filter(None, (document.get("title"), document["text"]))) for document in documents]
    return Data(
        Corpus.of([document["_id"] for document in documents], texts),
        Queries(tuple(query["_id"] for query in queries), tuple(query["text"] for query in queries)),
        [relevant[query["_id"]] for query in queries],
        TaskInfo(f"data/{folder.name}", language=language),
    )


def table(title: str, tasks: dict[str, Data], models: dict[str, Bm25]) -> None:
    print(f"\n## {title}\n\n| | {' | '.join(tasks)} | mean |\n|---|{'---|' * (len(tasks) + 1)}")
    for name, model in models.items():
        values = [data.ndcg(model)[0] for data in tasks.values()]
        shown = " | ".join(f"{value:.4f}" for value in values)
        print(f"| {name} | {shown} | {np.mean(values):.4f} |", flush=True)


def against_reference(folder: Path, reference: dict[str, dict[str, float]]) -> None:
    print("\n## HAKARI-Bench's BM25, first 200 queries: nDCG@10 and CPU seconds\n")
    print("| task | theirs | ours | preset | their s | theirs restated, now | our s | ratio | now |")
    print(f"|{'---|' * 9}")
    preset, sums = from_spec(parse("bm25?preset=hakari")), np.zeros(6)
    for task, figures in reference.items():
        data = read(folder / task, TASKS[task], 200)
        same, _ = data.ndcg(preset)
        turns = [(data.ndcg(Bm25()), restated(data, TASKS[task])) for _ in range(REPEATS + 1)][1:]
        ours = turns[0][0][0]
        seconds, theirs = (statistics.median(turn) for turn in zip(*((a[1], b) for a, b in turns), strict=True))
        line = np.array([figures["ndcg_at_10"], ours, same, figures["cpu_seconds"], theirs, seconds])
        sums += line
        print(row(task, line), flush=True)
    print(row("mean", sums / len(reference)))
    print("(theirs restated: Arabic, Japanese and Thai only)")


def row(name: str, line: np.ndarray) -> str:
    shown = " | ".join("" if np.isnan(value) else f"{value:.4f}" for value in line)
    ratios = " | ".join("" if np.isnan(ratio) else f"{ratio:.0f}x" for ratio in line[3:5] / line[5])
    return f"| {name} | {shown} | {ratios} |"


def restated(data: Data, language: str) -> float:
    """CPU seconds of the preset's tokens, indexed and searched by bm25s; NaN where that is not what theirs are."""
    if language not in SAME_PACKAGES or importlib.util.find_spec("bm25s") is None:
        return float("nan")
    import bm25s

    start, tokenizer = time.process_time(), HakariTokenizer(language)
    texts, asked = data.corpus.texts, data.queries.texts
    retriever = bm25s.BM25(method="robertson", k1=1.5, b=0.75, backend="numpy")
    retriever.index(tokenizer.tokens(texts).lists(len(texts)), show_progress=False)
    retriever.retrieve(tokenizer.tokens(asked).lists(len(asked)), k=min(500, len(texts)), show_progress=False)
    return time.process_time() - start


@dataclass(frozen=True)
class Names:
    """Identifiers of code, read with some of the steps that the default has."""

    parts: bool
    whole: bool
    stemmed: bool = False
    stop_words: bool = False
    stems = False

    def words(self, texts: Sequence[str]) -> None:
        return None

    query_words = words

    def tokens(self, texts: Sequence[str], *, query: bool = False) -> Tokens:
        tokens = Tokens.of_spans(find_tokens(texts, Grams(), fold_case=False, underscore=True))
        split = [split_identifier(name) for name in tokens.distinct]
        tokens = tokens.expand([self.kept(names) for names in split])
        if query and self.stop_words:
            tokens = tokens.without(FUNCTION_WORDS["en"])
        return tokens.map(stem("english", tokens.distinct)) if self.stemmed else tokens

    def kept(self, names: list[str]) -> list[str]:
        """Of the parts of an identifier, and the whole behind them where there are several."""
        parts, whole = (names[:-1], names[-1:]) if len(names) > 1 else (names, names)
        return names if self.parts and self.whole else parts if self.parts else whole

    def query_tokens(self, texts: Sequence[str]) -> Tokens:
        return self.tokens(texts, query=True)


STEPS = {
    "whole identifiers": Names(parts=False, whole=True),
    "parts": Names(parts=True, whole=False),
    "parts and whole": Names(parts=True, whole=True),
    "with stems": Names(parts=True, whole=True, stemmed=True),
    "without function words in queries": Names(parts=True, whole=True, stemmed=True, stop_words=True),
}


def code() -> None:
    """What each step of reading code adds."""
    task = load_task("NanoStdlib/docstring-to-code-full")
    relevant = [{task.corpus.ids[row] for row in task.qrels.rows_of(query)} for query in range(len(task.queries))]
    data = Data(task.corpus, task.queries, relevant, task.info)
    print(f"{task.info.name}: {len(task.corpus):,} functions, {len(task.queries):,} queries, nDCG@10")
    for name, names in STEPS.items():
        KINDS[name] = lambda language, names=names: names  # type: ignore[misc]
        print(f"  {name:34s} {data.ndcg(Bm25(analyser=name))[0]:.4f}", flush=True)
    print(f"  {'default':34s} {data.ndcg(Bm25())[0]:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=SHARED / "data")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--reference", type=Path, default=SHARED / "parity" / "hakari" / "bm25.json")
    parser.add_argument("--only-reference", action="store_true", help="no tables of forms and parameters")
    parser.add_argument("--code", action="store_true", help="the steps of reading code instead")
    arguments = parser.parse_args()
    if arguments.code:
        code()
        return
    if not arguments.folder.is_dir():
        print(f"not run: {arguments.folder} is not there; give a folder of tasks")
        return
    if arguments.reference.is_file():
        against_reference(arguments.folder, json.loads(arguments.reference.read_text())["tasks"])
    if arguments.only_reference:
        return
    tasks = {task: read(arguments.folder / task, code, arguments.queries) for task, code in TASKS.items()}
    kinds = {kind: from_spec(parse(f"bm25?analyser={kind}")) for kind in ("default", "segment", "hakari")}
    table("Analysers (lucene, 1.2, 0.75)", tasks, kinds)
    table("Forms (1.2, 0.75)", tasks, {name: Bm25(form=name, delta=form.delta) for name, form in FORMS.items()})
    table("k1, b (lucene)", tasks, {f"{k1}, {b}": Bm25(k1=k1, b=b) for k1, b in GRID})


if __name__ == "__main__":
    main()

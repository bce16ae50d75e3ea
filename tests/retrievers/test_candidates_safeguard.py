"""Rerankers over hybrid lists, with and without the safeguard: two figures from one scoring of the pairs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from build_parts import big_set

from steelyard.build.candidates.adding import build_candidates
from steelyard.build.candidates.lists import HYBRIDS, CandidatePlan
from steelyard.build.sample.recipe import Recipe
from steelyard.build.sample.sampler import sample_set
from steelyard.cli import main
from steelyard.datasets import load_task
from steelyard.datasets.formats.sidecar import candidates_path
from steelyard.engine import evaluate
from steelyard.engine.limit import limited
from steelyard.metrics import score
from steelyard.metrics.scoring import leave_out
from steelyard.retrievers import load_retriever
from steelyard.retrievers.candidates import drop_last, run_of, safeguarded
from steelyard.types import Guarded, Ragged, Task
from steelyard.types.protocols import Unjudged

RERANKER = """
CALLS = []

def fit(query, texts):
    CALLS.extend((query, text) for text in texts)
    return [len(set(query) & set(text)) / (1 + len(text) % 97) for text in texts]
"""
WITH = "candidates:reranking_hybrid > rerank:oddly:fit"
WITHOUT = "candidates:reranking_hybrid?safeguards=drop > rerank:oddly:fit"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of which every other query has only a positive that no list finds."""
    base = tmp_path_factory.mktemp("set")
    full = big_set(base / "source", documents=1500)
    lines = (full / "qrels.tsv").read_text().splitlines()
    kept = [line for line in lines if not (line.endswith("\t2") and int(line.split("\t")[0][1:]) % 2)]
    (full / "qrels.tsv").write_text("\n".join(kept) + "\n")
    made = sample_set(str(full), base / "NanoMine", Recipe(queries=20, documents=500)).folder
    build_candidates(str(made), CandidatePlan(("bm25", "bm25?k1=0.4&b=0.1"), depth=30, hybrids=HYBRIDS))
    return made


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[str, str]]:
    (tmp_path / "oddly.py").write_text(RERANKER)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "oddly", raising=False)
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    import oddly  # type: ignore[import-not-found]

    counted: list[tuple[str, str]] = oddly.CALLS
    return counted


def test_lists_shorter_than_100_keep_on_record_where_they_end_in_a_safeguard(folder: Path) -> None:
    task = load_task(str(folder))
    lists = task.candidates["reranking_hybrid"]
    assert isinstance(lists, Guarded) and 0 < len(lists.guarded) < len(task.queries)
    assert lists.counts.max() <= 61, "the rank alone would tell nothing"
    for query in range(len(task.queries)):
        relevant = task.qrels.rows_of(query)[task.qrels.grades_of(query) > 0]
        found = np.isin(lists.rows_of(query), relevant)
        assert (query in lists.guarded) == (found.any() and not found[:-1].any())
    assert not len(safeguarded(task.candidates["bm25"]))


def test_a_record_that_does_not_fit_the_lists_is_not_believed(folder: Path, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    path = candidates_path(copy, "source")
    facts = json.loads(path.read_text())
    query, document = next(iter(facts["reranking_hybrid"]["safeguards"].items()))
    other = next(id_ for id_ in load_task(str(copy)).corpus.ids if id_ != document)
    facts["reranking_hybrid"]["safeguards"][query] = other
    path.write_text(json.dumps(facts))
    lists = load_task(str(copy)).candidates
    assert not isinstance(lists["reranking_hybrid"], Guarded) and isinstance(lists["hybrid"], Guarded)


def test_a_sample_of_the_queries_keeps_its_safeguards(folder: Path) -> None:
    whole = load_task(str(folder))
    part = limited(whole, 9, seed=3)
    both = (whole, part)
    ids = [{task.queries.ids[q] for q in safeguarded(task.candidates["hybrid"])} for task in both]
    assert ids[1] == ids[0] & set(part.queries.ids) and ids[1]


def reference(task: Task, name: str) -> float:
    """The figure as HAKARI-Bench has it: the safeguard's id deleted from the finished ranking."""
    lists = task.candidates["reranking_hybrid"]
    ranked = load_retriever(name).combine(Unjudged.of(task), [run_of(lists)], 1000).run  # type: ignore[attr-defined]
    gone = np.full(len(lists), -1, dtype=np.int32)
    for query in safeguarded(lists):
        gone[query] = lists.rows_of(query)[-1]
    return score(leave_out(ranked, gone), task.qrels, ("ndcg_at_10",)).means["ndcg_at_10"]


def test_both_figures_come_from_one_scoring(folder: Path, calls: list[tuple[str, str]]) -> None:
    task = load_task(str(folder))
    with_, without = evaluate("rerank:oddly:fit", task, candidates="reranking_hybrid")
    assert (with_.model, without.model) == (WITH, WITHOUT)
    assert len(calls) == len(set(calls)) == len(task.candidates["reranking_hybrid"].rows), "no pair was scored twice"
    assert without.notes["rerank"]["pairs_scored"] == 0
    count = len(safeguarded(task.candidates["reranking_hybrid"]))
    assert with_.notes[with_.model.split(" > ")[0]]["candidates"]["safeguards"] == count
    told = without.notes[without.model.split(" > ")[0]]["candidates"]
    assert told["safeguards_left_out"] == count and told["longest"] <= 60
    assert with_.score > without.score == pytest.approx(reference(task, WITH), abs=1e-12)
    assert with_.metrics["recall_at_100"] > without.metrics["recall_at_100"]
    stages = [result.notes["stages"][-1]["recall_ceiling"] for result in (with_, without)]
    assert stages[0] > stages[1] == without.metrics["recall_at_100"]


def test_published_lists_tell_by_rank_101() -> None:
    lists = Ragged(np.array([0, 101, 201]), np.arange(201, dtype=np.int32))
    plain = drop_last(lists, safeguarded(lists))
    assert plain.counts.tolist() == [100, 100] and 100 not in plain.rows


@pytest.mark.parametrize(
    ("candidates", "models"),
    [
        ("bm25", 1),
        ("hybrid", 2),
        ("reranking_hybrid?safeguards=drop", 1),
        ("reranking_hybrid?depth=20", 1),
    ],
)
def test_when_there_are_two_rows(folder: Path, calls: list[tuple[str, str]], candidates: str, models: int) -> None:
    assert len(evaluate("rerank:oddly:fit", str(folder), candidates=candidates)) == models


def test_the_command_line_shows_both(
    folder: Path, calls: list[tuple[str, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "results"
    command = ["run", "rerank:oddly:fit", "--candidates", "reranking_hybrid", "-t", str(folder), "-o", str(out)]
    assert main(command) == 0
    seen = capsys.readouterr()
    header = seen.out.splitlines()[0].split()
    assert header[-2:] == ["reranking_hybrid", "reranking_hybrid?safeguards=drop"], "both without the part they share"
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "safeguards=drop" in page
    assert main([*command, "--json", "-q"]) == 0
    results = json.loads(capsys.readouterr().out)
    assert len(results) == 2 and len(calls) == len(set(calls))

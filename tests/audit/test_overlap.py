"""Evaluation sets by themselves and against each other."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from audit_parts import label_task, made_texts

from steelyard.audit import overlap
from steelyard.audit.between import between
from steelyard.audit.within import within
from steelyard.types import Task, TaskInfo
from steelyard.types.samples import PairTask

TEXTS = made_texts(np.random.default_rng(8), 12)


def counts(task: Task | PairTask) -> dict[str, int]:
    return {finding.kind: finding.count for finding in within(task).overlaps}


def test_each_kind_of_fault_is_found_once() -> None:
    near = TEXTS[0].replace(TEXTS[0].split()[30], "edited")
    corpus = {"d1": TEXTS[0], "d2": near, "d3": TEXTS[2], "d4": TEXTS[2].upper(), "d5": "who wrote it", "d6": TEXTS[3]}
    queries = {"q1": "who did it", "q2": "Who did it?", "q3": "who wrote it", "q4": TEXTS[3].title()}
    qrels = {"q1": ["d1"], "q2": ["d3", "d4"], "q3": ["d1", "d2"], "q4": ["d6"]}
    assert counts(Task.of("X/faults", corpus, queries, qrels)) == {
        "duplicate_queries": 1,
        "queries_in_corpus": 2,
        "positives_equal_to_query": 1,
        "duplicate_documents": 1,
        "false_negatives": 1,
    }


def test_an_unjudged_copy_of_a_positive_is_a_false_negative() -> None:
    task = Task.of("X/copy", {"d1": TEXTS[0], "d2": TEXTS[0] + "!"}, {"q": "a query"}, {"q": ["d1"]})
    (example,) = within(task)["false_negatives"].examples
    assert example == {"query": "q", "positive": "d1", "document": "d2", "jaccard": "1.000"}


def test_documents_without_words_are_not_copies() -> None:
    task = Task.of("X/empty", {"d1": "...", "d2": "?!", "d3": ""}, {"q": "a query"}, {"q": ["d1"]})
    assert set(counts(task).values()) == {0}


def test_pairs_and_labels() -> None:
    info = TaskInfo("X/pairs", type="sts")
    task = PairTask(info, ("a b", "c d", "C, D"), ("a  b", "e f", "e f!"), np.array([1.0, 2.0, 3.0]))
    assert counts(task) == {"pairs_of_equal_texts": 1, "duplicate_pairs": 1}
    labels = {finding.kind: finding.count for finding in within(label_task(["one text", "x y", "X y", "z"])).overlaps}
    assert labels == {"duplicate_texts": 1, "contradictory_labels": 2, "texts_in_training_split": 1}


def retrieval(name: str, documents: list[str], queries: list[str]) -> Task:
    corpus = {f"d{row}": text for row, text in enumerate(documents)}
    asked = {f"q{row}": text for row, text in enumerate(queries)}
    return Task.of(name, corpus, asked, {query: ["d0"] for query in asked})


def test_the_matrix_shows_shared_queries_and_corpora() -> None:
    questions = made_texts(np.random.default_rng(9), 10, length=12)
    first = retrieval("A/one", TEXTS[:8], questions[:5])
    same = retrieval("B/same", [text.replace(text.split()[30], "edited") for text in TEXTS[:8]], questions[:5])
    corpus_only = retrieval("C/corpus", TEXTS[4:], questions[5:])
    other = retrieval("D/other", made_texts(np.random.default_rng(99), 8), ["an unrelated question about something"])
    result = between([first, same, corpus_only, other])
    kinds = {(pair["first"], pair["second"]): pair["kinds"] for pair in result.overlaps()}
    assert kinds == {
        ("A/one", "B/same"): ["duplicate tasks", "shared corpora"],
        ("A/one", "C/corpus"): ["shared corpora"],
        ("B/same", "C/corpus"): ["shared corpora"],
    }
    assert result.exact["documents"][0, 2] == pytest.approx(0.5)
    assert result.near["documents"][0, 1] == pytest.approx(1.0)
    assert result.exact["documents"][0, 1] < 1.0
    assert np.diag(result.near["queries"]) == pytest.approx(np.ones(4))


def test_overlap_writes_its_file(tmp_path: Path) -> None:
    task = retrieval("A/one", TEXTS[:3], ["a query of five words"])
    again = replace(task, info=replace(task.info, name="B/one"))
    result = overlap([task, again], output=tmp_path)
    stored = json.loads((tmp_path / "overlap.json").read_text(encoding="utf-8"))
    assert stored == json.loads(json.dumps(result.to_dict()))
    assert stored["between"]["overlaps"][0]["kinds"] == ["duplicate tasks", "shared corpora"]
    page = (tmp_path / "overlap.html").read_text(encoding="utf-8")
    assert page.count("100.0%") == 4  # two matrices, both directions
    assert overlap(task).between is None

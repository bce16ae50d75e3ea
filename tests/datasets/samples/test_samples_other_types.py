"""Translations, texts with several labels, summaries and changed instructions from local files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import mteb_parts
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from steelyard import evaluate
from steelyard.cli import main
from steelyard.datasets import load_any
from steelyard.errors import DataError
from steelyard.types import Task
from steelyard.types.samples import AnyTask, LabelTask, PairTask, SummaryTask
from steelyard.types.task_info import MTEB_TYPES


def write(path: Path, columns: Mapping[str, Sequence[Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.table({name: pa.array(list(values)) for name, values in columns.items()}), path)
    else:
        rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def lists(cells: Sequence[Sequence[Any]]) -> list[list[Any]]:
    return [list(cell) for cell in cells]


def stored(folder: Path, suffix: str) -> dict[str, tuple[str, AnyTask]]:
    """References to files, and the tasks that they must give."""
    bitext, several, summaries = mteb_parts.bitext(), mteb_parts.multilabel(), mteb_parts.summaries()
    write(folder / f"bitext/test.{suffix}", {"sentence1": bitext.first, "sentence2": bitext.second})
    write(folder / f"labels/train.{suffix}", {"text": several.train_texts, "label": lists(several.train_labels)})  # type: ignore[arg-type]
    write(folder / f"labels/test.{suffix}", {"text": several.texts, "label": lists(several.labels)})  # type: ignore[arg-type]
    columns = {"human_summaries": lists(summaries.human), "machine_summaries": lists(summaries.machine)}
    write(folder / f"summaries.{suffix}", {**columns, "relevance": lists(summaries.gold)})
    drawn = f"samples_per_label={several.samples_per_label}&experiments={several.experiments}"
    return {
        "bitext_mining": (f"bitext_mining:{folder}/bitext", bitext),
        "multilabel_classification": (f"multilabel_classification:{folder}/labels?{drawn}", several),
        "summarization": (f"summarization:{folder}/summaries.{suffix}", summaries),
    }


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_files_have_the_content_of_the_task(tmp_path: Path, suffix: str) -> None:
    for kind, (reference, expected) in stored(tmp_path, suffix).items():
        task = load_any(reference)
        assert task.info.type == kind
        assert type(task) is type(expected) and task.content_hash == expected.content_hash


def test_a_file_of_summaries_is_recognised_by_its_columns(tmp_path: Path) -> None:
    reference, expected = stored(tmp_path, "jsonl")["summarization"]
    task = load_any(reference.partition(":")[2])
    assert isinstance(task, SummaryTask) and task.content_hash == expected.content_hash


def test_the_command_line_evaluates_every_type(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    references = [reference for reference, _ in stored(tmp_path, "jsonl").values()]
    assert main(["run", "dense", "-t", *references, "--json", "--no-report", "-o", str(tmp_path / "out")]) == 0
    results = json.loads(capsys.readouterr().out)
    assert {result["steelyard"]["main_metric"] for result in results} == {"f1", "accuracy", "cosine_spearman"}
    for reference in references:
        assert main(["show", reference, "--json"]) == 0
    assert "content_hash" in capsys.readouterr().out


def test_changed_instructions_from_a_folder(tmp_path: Path) -> None:
    task = mteb_parts.instructed()
    ids = task.corpus.ids
    write(tmp_path / "corpus.jsonl", {"_id": ids, "title": task.corpus.titles or (), "text": task.corpus.bodies})
    write(tmp_path / "queries.jsonl", {"_id": task.queries.ids, "text": task.queries.texts})
    judged = [
        (query, ids[row], int(grade))
        for number, query in enumerate(task.queries.ids)
        for row, grade in zip(task.qrels.rows_of(number), task.qrels.grades_of(number), strict=True)
        if row >= 0
    ]
    query, document, grade = zip(*judged, strict=True)
    write(tmp_path / "qrels.jsonl", {"query-id": query, "corpus-id": document, "score": grade})
    for name, rows in task.candidates.items():
        named = [(q, [ids[row] for row in rows.rows_of(n)]) for n, q in enumerate(task.queries.ids)]
        some = [(q, documents) for q, documents in named if documents]
        write(tmp_path / f"{name}.jsonl", {"query-id": [q for q, _ in some], "corpus-ids": [d for _, d in some]})
    read = load_any(f"instruction_reranking:{tmp_path}")
    assert isinstance(read, Task)
    assert read.candidates["qrel_diff"].rows.tolist() == task.candidates["qrel_diff"].rows.tolist()
    (here,), (there,) = (evaluate(mteb_parts.lookup(), one) for one in (read, task))
    assert here.main_metric == "p-MRR" and here.score == there.score
    assert set(here.mteb) == set(there.mteb) and set(here.mteb["og"]) == set(there.mteb["changed"])


@pytest.mark.parametrize(
    ("kind", "columns"),
    [
        ("summarization", {"human": [["a"]], "machine": [["b", "c"]], "score": [[1.0]]}),
        ("summarization", {"human": [[]], "machine": [["b", "c"]], "score": [[1.0, 2.0]]}),
        ("bitext_mining", {"sentence1": ["a"], "other": ["b"]}),
        ("multilabel_classification", {"text": ["a", "b"], "label": [["x"], ["y"]]}),
    ],
)
def test_data_that_is_not_complete(tmp_path: Path, kind: str, columns: Mapping[str, Sequence[Any]]) -> None:
    path = write(tmp_path / "test.jsonl", columns)
    with pytest.raises(DataError) as error:
        load_any(f"{kind}:{path}")
    assert "test.jsonl" in str(error.value)


def test_every_type_of_mteb_has_a_task_here() -> None:
    types = {task.info.type for task in mteb_parts.all_types()}
    assert types == set(MTEB_TYPES)


def test_limits_keep_texts_with_their_summaries_and_labels() -> None:
    from steelyard.engine.limit import limited, sample

    summaries, several = limited(mteb_parts.summaries(), 5, 0), limited(mteb_parts.multilabel(), 9, 0)
    assert isinstance(summaries, SummaryTask) and isinstance(several, LabelTask)
    assert len(summaries.gold) == len(summaries.human) == 5 and len(several.labels) == 9
    pairs = limited(mteb_parts.bitext(), 20, 0)
    assert isinstance(pairs, PairTask) and np.array_equal(pairs.gold, np.ones(20))
    rows = sample(len(mteb_parts.bitext()), 20, 0)
    assert pairs.first == tuple(mteb_parts.bitext().first[row] for row in rows)
    assert pairs.second == tuple(mteb_parts.bitext().second[row] for row in rows)
    whole = mteb_parts.summaries()
    rows = sample(len(whole), 5, 0)
    assert [*summaries.human] == [whole.human[row] for row in rows] and [*summaries.machine] == [
        whole.machine[row] for row in rows
    ]
    labelled = mteb_parts.multilabel()
    known = dict(zip(labelled.texts, labelled.labels, strict=True))
    assert all(known[text] == label for text, label in zip(several.texts, several.labels, strict=True))
    assert list(sample(9, 4, 1)) == sorted(set(sample(9, 4, 1))) and set(sample(9, 4, 1)) < set(sample(9, 5, 1))

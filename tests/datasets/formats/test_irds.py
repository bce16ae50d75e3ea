"""Other packages and our sets: ids of `ir_datasets` are read by its own code, ours by `datasets.load_dataset`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_parts import small_task

from steelyard.cli import main
from steelyard.datasets import load_task
from steelyard.datasets.formats.nano.write import write_nano_set
from steelyard.datasets.problems import DataWarning
from steelyard.errors import UnknownName, UsageError
from steelyard.types import Corpus, Qrels, Queries, Ragged, Task, TaskInfo

DOCUMENTS = {"d1": "The Nile flows north.", "d2": "The Rhine is a river", "d3": "عدد السكان"}


@pytest.fixture(scope="module")
def ir_datasets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The package, with three ids of our own in its registry."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the packages that it imports
        patch.setenv("IR_DATASETS_HOME", str(tmp_path_factory.mktemp("home")))
        import ir_datasets as package

        folder = tmp_path_factory.mktemp("files")
        (folder / "docs.tsv").write_text("".join(f"{id_}\t{text}\n" for id_, text in DOCUMENTS.items()), "utf-8")
        (folder / "queries.tsv").write_text("q1\twhich river flows north\nq2\tpopulation\n", "utf-8")
        (folder / "qrels").write_text("q1 0 d1 2\nq1 0 d2 0\nq2 0 d3 1\nq2 0 gone 1\n", "utf-8")
        docs, asked = str(folder / "docs.tsv"), str(folder / "queries.tsv")
        made = package.create_dataset
        whole = made(docs_tsv=docs, queries_tsv=asked, qrels_trec=str(folder / "qrels"))
        package.registry.register("steelyard-rivers/test", whole)
        package.registry.register("steelyard-rivers", made(docs_tsv=docs))
        (folder / "twice.tsv").write_text("d1\tone\nd1\tother\n", "utf-8")
        bad = made(docs_tsv=str(folder / "twice.tsv"), queries_tsv=asked, qrels_trec=str(folder / "qrels"))
        package.registry.register("steelyard-rivers/twice", bad)
        yield package


@pytest.mark.parametrize("prefix", ["ir_datasets:", "irds:"])
def test_an_id_of_ir_datasets_is_a_task(ir_datasets: Any, prefix: str) -> None:
    with pytest.warns(DataWarning, match="gone"):
        task = load_task(f"{prefix}steelyard-rivers/test")
    assert dict(zip(task.corpus.ids, task.corpus.texts, strict=True)) == DOCUMENTS
    assert task.queries.texts == ("which river flows north", "population")
    assert task.qrels.positives.tolist() == [1, 2], "one of them is not in the corpus"
    row = task.corpus.row_of["d1"]
    assert task.qrels.grades_of(0)[task.qrels.rows_of(0).tolist().index(row)] == 2
    assert task.name == "steelyard-rivers/test" and ir_datasets.__version__ in task.info.source


def test_an_id_is_weighed_as_typed(ir_datasets: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "bm25", "-t", "ir_datasets:steelyard-rivers/test", "-o", str(tmp_path), "--no-report"]) == 0
    assert "steelyard-rivers/test" in capsys.readouterr().out


def test_what_is_wrong_with_an_id_is_said(ir_datasets: Any) -> None:
    with pytest.raises(UnknownName, match="steelyard-rivers/test"):
        load_task("ir_datasets:steelyard-rivers/tset")
    with pytest.raises(UsageError, match="ir_datasets"):
        load_task("ir_datasets:steelyard-rivers")
    with pytest.warns(DataWarning, match="'d1'"), pytest.warns(DataWarning, match="3 of 4"):
        load_task("ir_datasets:steelyard-rivers/twice")


def test_a_set_that_we_write_is_read_by_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the packages that it imports
        import datasets as library
    corpus = Corpus.of(["a", "b", "c"], ["first", "", "ثالث\n第三"], titles=["One", "", "Three"])
    queries = Queries(("1", "2"), ("which?", "两个"))
    lists = {"bm25": Ragged(_whole([0, 2, 3]), _whole([2, 0, 1], "int32"))}
    rivers = Task(
        TaskInfo("Ours/rivers", "en"), corpus, queries, Qrels.of([0, 1, 1], [0, 1, 2], [1, 3, 1], queries=2), lists
    )
    folder = write_nano_set(tmp_path / "Ours", [rivers, small_task("Ours/geography")], title="Ours", licence="mit")

    def read(config: str, split: str) -> list[dict[str, Any]]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return list(library.load_dataset(str(folder), config, split=split, cache_dir=str(tmp_path / "cache")))

    assert sorted(library.get_dataset_config_names(str(folder))) == ["bm25", "corpus", "qrels", "queries"]
    assert {row["_id"]: (row["title"], row["text"]) for row in read("corpus", "rivers")} == {
        id_: (title, body) for id_, title, body in zip(corpus.ids, corpus.titles or (), corpus.bodies, strict=True)
    }
    assert [(row["_id"], row["text"]) for row in read("queries", "rivers")] == [("1", "which?"), ("2", "两个")]
    found = {(row["query-id"], row["corpus-id"]): row["score"] for row in read("qrels", "rivers")}
    assert found == {("1", corpus.ids[0]): 1, ("2", corpus.ids[1]): 3, ("2", corpus.ids[2]): 1}
    assert read("bm25", "rivers")[0] == {"query-id": "1", "corpus-ids": [corpus.ids[2], corpus.ids[0]]}
    other = small_task("Ours/geography")
    assert {row["_id"] for row in read("corpus", "geography")} == set(other.corpus.ids)


def _whole(values: list[int], kind: str = "int64") -> Any:
    import numpy as np

    return np.array(values, dtype=kind)

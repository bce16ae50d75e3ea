"""Tasks of Python objects: tables of libraries, dictionaries, rows; the same task whatever holds the data."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import steelyard
from steelyard import load_task
from steelyard.errors import DataError, UsageError

COLUMNS = {
    "question": ["how long?", "how high?", "how long?"],
    "context": ["the Nile is long", "the Alps are high", "the Rhine"],
}
ROWS = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]
OBJECTS = {
    "pandas": pd.DataFrame(COLUMNS),
    "polars": pl.DataFrame(COLUMNS),
    "arrow": pa.table(COLUMNS),
    "columns": COLUMNS,
    "rows": ROWS,
    "pairs": [tuple(row.values()) for row in ROWS],
    "splits": {"train": pd.DataFrame({"question": ["x"], "context": ["y"]}), "test": pd.DataFrame(COLUMNS)},
}


@pytest.mark.parametrize("kind", OBJECTS)
def test_objects_are_tasks(kind):
    task = load_task(OBJECTS[kind], name="Mine/faq")
    assert (task.name, len(task.queries), len(task.corpus), task.qrels.positives.tolist()) == ("Mine/faq", 2, 3, [2, 1])
    assert task.content_hash == load_task(COLUMNS).content_hash
    results = steelyard.evaluate("bm25", OBJECTS[kind])
    assert [result.facts.data_hash for result in results] == [task.content_hash]


def test_a_dataset_object():
    datasets = pytest.importorskip("datasets")
    data = datasets.Dataset.from_dict(COLUMNS).select([2, 0])  # rows of a selection, not those of its table
    assert set(load_task(data).corpus.texts) == {"the Nile is long", "the Rhine"}


@pytest.mark.parametrize(
    "documents",
    [
        {"a": "river", "b": {"title": "Rye", "text": "bread"}},
        pd.DataFrame({"_id": ["a", "b"], "title": ["", "Rye"], "text": ["river", "bread"]}),
    ],
)
@pytest.mark.parametrize(
    "judged", [{"q": {"a": 1}}, {"q": ["a"]}, {"q": {"a"}}, pd.DataFrame({"query-id": ["q"], "corpus-id": ["a"]})]
)
def test_tables_of_a_task(documents, judged):
    task = load_task({"corpus": documents, "queries": {"q": "water"}, "qrels": judged})
    assert (task.corpus.texts, task.qrels.rows.tolist()) == (("Rye bread", "river"), [1])


def test_questions_that_name_their_document():
    documents, asked = (
        pd.DataFrame({"key": ["a", "b"], "words": ["river", "bread"]}),
        pl.DataFrame({"question": ["?"], "doc_id": ["b"]}),
    )
    named = {"corpus": {"id": "key", "text": "words"}}
    one = load_task({"documents": documents, "questions": asked}, columns=named)
    assert (one.corpus.ids, one.qrels.rows.tolist()) == (("b", "a"), [0])
    assert load_task((documents, asked), columns=named).content_hash == one.content_hash
    with pytest.raises(UsageError) as raised:
        load_task((documents, asked), columns={"id": "key"})
    assert raised.value.option == "columns"


def test_several_tables_are_several_tasks():
    results = steelyard.evaluate("bm25", [OBJECTS["pandas"], OBJECTS["polars"]])
    assert list(results.tasks) == ["local/data", "local/data2"]


def test_columns_of_a_table():
    frame = pd.DataFrame({"q": ["a?", "b?"], "p": ["A", "B"]})
    with pytest.raises(DataError) as raised:
        load_task(frame)
    assert raised.value.field == "columns"
    assert load_task(frame, columns={"question": "q", "context": "p"}).queries.texts == ("a?", "b?")


@pytest.mark.parametrize("wrong", [7, [1, 2], [{"question": "a"}, "b"], {"question": 3, "context": 4}])
def test_other_objects_are_refused(wrong):
    with pytest.raises((UsageError, DataError)):
        load_task(wrong)
    with pytest.raises((UsageError, DataError)):
        steelyard.evaluate("bm25", wrong)

"""The tables of a cut, ready to be written."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from steelyard.build.sample.recipe import Recipe, draw
from steelyard.build.sample.scan import Document
from steelyard.build.sample.selection import Selection
from steelyard.build.source.source import Source

TEXT = pa.string()


def tables_of(selection: Selection, source: Source, recipe: Recipe) -> dict[str, Any]:
    """Corpus, queries and judgements, by the name of their folder."""
    rows = list(selection.judgements)
    return {
        "corpus": _corpus(list(selection.basket.documents.values()), recipe),
        "queries": _queries(source.queries.take(pa.array(rows, pa.int64())), recipe),
        "qrels": _qrels(selection, source.queries["_id"].to_pylist(), recipe),
    }


def _corpus(documents: list[Document], recipe: Recipe) -> Any:
    """The documents in an order that says nothing, neither of relevance nor of the source."""
    order = draw(recipe.seed, "stored order", (document.id for document in documents))
    stored = [document for _, document in sorted(zip(order, documents, strict=True), key=lambda pair: pair[0])]
    columns = {"_id": [d.id for d in stored], "text": [d.merged if recipe.merge_titles else d.body for d in stored]}
    if not recipe.merge_titles and any(document.title for document in stored):
        columns["title"] = [document.title for document in stored]
    return pa.table({name: pa.array(values, TEXT) for name, values in columns.items()})


def _queries(queries: Any, recipe: Recipe) -> Any:
    """The queries with all columns that the source has; ids and texts as plain text."""
    ids, texts = queries["_id"].to_pylist(), queries["text"].to_pylist()
    for name, values in (("_id", ids), ("text", [text.strip() for text in texts] if recipe.exact else texts)):
        queries = queries.set_column(queries.column_names.index(name), name, pa.array(values, TEXT))
    return queries


def _qrels(selection: Selection, query_ids: list[str], recipe: Recipe) -> Any:
    """The judgements, those of each query by document id."""
    documents = selection.basket.documents
    judged = [
        (query_ids[row], documents[place].id, 1 if recipe.binary else grade)
        for row, grades in selection.judgements.items()
        for place, grade in sorted(grades.items(), key=lambda pair: documents[pair[0]].id)
        if grade > 0 or recipe.zero_grades
    ]
    return pa.table(
        {
            "query-id": pa.array([query for query, _, _ in judged], TEXT),
            "corpus-id": pa.array([document for _, document, _ in judged], TEXT),
            "score": pa.array([grade for _, _, grade in judged], pa.int32()),
        }
    )

"""Scores of single queries in a warehouse, as results that are compared and explored like those of a folder."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.results import Result, Results
from steelyard.results.keys import result_key
from steelyard.results.query_scores import QueryScores
from steelyard.results.result_parts import TaskFacts
from steelyard.warehouse.readers.rows import FIRST_POSITIVE
from steelyard.warehouse.tables import variant_name

if TYPE_CHECKING:
    from steelyard.web.board import Board
    from steelyard.web.published import Library

QUERIES = """
    SELECT b.model, b.experiment, b.task, b.score, b."limit", t.main_score AS main, t.type,
           coalesce(b.data, b.dataset_revision) AS data, q.metric, q.query_set, q.numbers
    FROM mart_benchmark b JOIN tasks t USING (task)
         JOIN mart_queries q ON q.task = b.task AND q.score_id = b.query_score
    WHERE b.benchmark = ? AND b.score IS NOT NULL AND NOT b.other_data
      AND list_contains(?, b.task) AND list_contains(?, b.model)
    ORDER BY b.model, b.experiment, b.task
"""
IDS = "SELECT query_set, ids FROM mart_query_ids WHERE list_contains(?, query_set)"


def query_results(library: Library, board: Board, models: Collection[int], tasks: Collection[int]) -> Results:
    """Return the results of models on tasks, by positions in the board, that have scores of queries.

    Scores on other data are left out. Models have the names of the board, so that variants are distinct.
    """
    chosen = {board.models[place].name for place in models}
    origins = {name for place in models for name in (board.models[place].variant_of, board.models[place].name) if name}
    names = [board.tasks[place].name for place in tasks]
    columns = library.columns(QUERIES, [board.name, names, sorted(origins)])
    numbers = columns.pop("numbers")
    sets = library.columns(IDS, [sorted(set(columns["query_set"].to_pylist()))])
    ids = dict(zip(sets["query_set"].to_pylist(), map(tuple, sets["ids"].to_pylist()), strict=True))
    values, ends = numbers.values.to_numpy(zero_copy_only=False), numbers.offsets.to_numpy()
    rows_of: dict[tuple[str, str], list[dict[str, Any]]] = {}
    plain = {name: column.to_pylist() for name, column in columns.items()}
    for place, row in enumerate(dict(zip(plain, one, strict=True)) for one in zip(*plain.values(), strict=True)):
        name = variant_name(row)
        if name in chosen:
            row |= {"ids": ids[row["query_set"]], "numbers": values[ends[place] : ends[place + 1]]}
            rows_of.setdefault((name, row["task"]), []).append(row)
    return Results(_result(model, task, rows) for (model, task), rows in rows_of.items())


def _result(model: str, task: str, rows: list[dict[str, Any]]) -> Result:
    first = rows[0]
    columns = {row["metric"]: row["numbers"] for row in rows if row["query_set"] == first["query_set"]}
    ranks = columns.pop(FIRST_POSITIVE, None)
    scores = QueryScores(first["ids"], None if ranks is None else ranks.astype(np.int32), columns)
    facts = TaskFacts(type=first["type"], queries=len(first["ids"]), data_hash=first["data"], limit=first["limit"])
    means = {name: float(np.mean(values)) for name, values in columns.items()} | {first["main"]: first["score"]}
    return Result(
        task,
        model,
        {},
        result_key({}, task, facts),
        main_metric=first["main"],
        metrics=means,
        facts=facts,
        queries=scores,
    )

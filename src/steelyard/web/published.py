"""The boards of a warehouse: published results, one's own that were imported, and their scores of single queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from steelyard.errors import DataError, UnknownName
from steelyard.results import Result, Results
from steelyard.results.keys import result_key
from steelyard.results.query_scores import QueryScores
from steelyard.results.result_parts import TaskFacts
from steelyard.warehouse.readers.rows import FIRST_POSITIVE
from steelyard.warehouse.tables import variant_name
from steelyard.web.board import (
    LIMITED,
    OTHER_DATA,
    OTHER_REVISION,
    PARTIAL,
    TRAINED,
    UNRECORDED,
    Board,
    BoardModel,
    BoardTask,
    Cell,
)

CELLS = f"""
    SELECT r.model || CASE WHEN r.experiment = '' THEN '' ELSE ' (' || r.experiment || ')' END AS name,
           r.model, r.task, r.score, r.low, r.high, r.usual_data, r.query_score IS NOT NULL AS queries,
           {PARTIAL} * (r.n_values < coalesce(r.n_expected, 0))::INTEGER
           + {LIMITED} * (r."limit" IS NOT NULL)::INTEGER
           + {OTHER_REVISION} * coalesce(r.other_revision, false)::INTEGER
           + {OTHER_DATA} * r.other_data::INTEGER
           + {UNRECORDED} * (r.data IS NULL)::INTEGER
           + {TRAINED} * coalesce(list_contains(m.training_datasets, r.task), false)::INTEGER AS flags,
           CASE WHEN r.other_data THEN r.data END AS data
    FROM mart_benchmark r LEFT JOIN mart_models m ON m.model = r.model
    WHERE r.benchmark = ? AND r.score IS NOT NULL
    ORDER BY r.experiment, r.model, r.task
"""
"""The scores of a benchmark with their flags."""
CARD = """
    revision, family, n_parameters, embed_dim, max_tokens, license, open_weights, release_date, url, own,
    CASE WHEN own THEN json_extract_string(extra, '$.variant_of') END AS variant_of
"""
"""The fields of a model that its row on a board has."""
TESTED = "SELECT task FROM benchmarks WHERE benchmark = ? AND NOT restricted"
CELL_METRICS = """
    SELECT m.model, m.experiment, m.task, {metrics}
    FROM mart_benchmark b JOIN mart_metrics m USING (model, revision, experiment, task)
    JOIN benchmarks d ON d.benchmark = b.benchmark AND d.task = b.task
    WHERE b.benchmark = ? AND NOT d.restricted
"""
"""Metrics of the scores of a benchmark; where it counts only some subsets of a task, they are not known."""
QUERY_SCORES = """
    SELECT b.model, b.experiment, b.task, b.score, b."limit", t.main_score AS main, t.type,
           coalesce(b.data, b.dataset_revision) AS data, q.metric, q.query_set, q.numbers
    FROM mart_benchmark b JOIN tasks t USING (task)
         JOIN mart_queries q ON q.task = b.task AND q.score_id = b.query_score
    WHERE b.benchmark = ? AND b.score IS NOT NULL AND NOT b.other_data
      AND list_contains(?, b.task) AND b.model = q.model AND q.model IN ({models})
    ORDER BY b.model, b.experiment, b.task
"""
"""The scores of single queries of models on tasks of a benchmark. A list of models (not an array) skips row groups."""
QUERY_IDS = "SELECT query_set, ids FROM mart_query_ids WHERE list_contains(?, query_set)"


class Library:
    """The boards of a warehouse, loaded when they are asked for."""

    def __init__(self, warehouse: str | Path) -> None:
        from steelyard.warehouse import connect
        from steelyard.warehouse.manifest import WarehouseFolder
        from steelyard.warehouse.marts import MARTS_VERSION

        self.path = Path(warehouse)
        self._connection = connect(warehouse)
        self._query_ids: dict[str, tuple[str, ...]] = {}
        if WarehouseFolder(warehouse).manifest().marts != MARTS_VERSION:
            roots = " ".join(row["root"] for row in self.rows("SELECT DISTINCT root FROM files ORDER BY root LIMIT 3"))
            raise DataError(
                "the warehouse must have the marts of this version of Steelyard, it has those of an earlier one",
                path=self.path,
                hint=f"steelyard results import {roots} --warehouse {self.path}",
            )

    def rows(self, sql: str, parameters: list[Any] | None = None) -> list[dict[str, Any]]:
        """Return the rows of a query."""
        with self._connection.cursor() as cursor:
            rows: list[dict[str, Any]] = cursor.sql(sql, params=parameters or None).to_arrow_table().to_pylist()
        return rows

    def columns(self, sql: str, parameters: list[Any]) -> dict[str, Any]:
        """Return the columns of a query by name, as arrays of Arrow."""
        with self._connection.cursor() as cursor:
            table = cursor.sql(sql, params=parameters).to_arrow_table().combine_chunks()
        return {name: _one_chunk(table.column(name)) for name in table.column_names}

    def query_ids(self, sets: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return the ids of the queries of tasks, by their number in the warehouse; they are read once."""
        if missing := sorted(set(sets) - self._query_ids.keys()):
            columns = self.columns(QUERY_IDS, [missing])
            ids = map(tuple, columns["ids"].to_pylist())
            self._query_ids |= zip(columns["query_set"].to_pylist(), ids, strict=True)
        return self._query_ids

    def benchmarks(self) -> list[dict[str, Any]]:
        """Return name, title and numbers of tasks and models of every benchmark that has scores, largest first."""
        return self.rows(
            """
            SELECT b.benchmark AS name, any_value(b.title) AS title, count(DISTINCT b.task)::INTEGER AS tasks,
                   count(DISTINCT m.model)::INTEGER AS models
            FROM benchmarks b JOIN mart_benchmark m USING (benchmark, task)
            GROUP BY b.benchmark ORDER BY models DESC, name
            """
        )

    def board(self, name: str) -> Board:
        """Return the board of a benchmark: every model with at least one score on it, experiments as its variants."""
        facts = self.rows(
            "SELECT DISTINCT b.title, t.task, t.type, t.category, t.main_score, t.languages "
            "FROM benchmarks b JOIN tasks t USING (task) WHERE b.benchmark = ? ORDER BY t.type, t.task",
            [name],
        )
        if not facts:
            known = [row["name"] for row in self.benchmarks()]
            raise UnknownName("benchmark", name, known, hint="steelyard results query 'FROM benchmarks'")
        tasks = {row["task"]: position for position, row in enumerate(facts)}
        values_of = {column: array.to_pylist() for column, array in self.columns(CELLS, [name]).items()}
        usual = dict(zip(values_of["task"], values_of["usual_data"], strict=True))
        names = list(dict.fromkeys(values_of["name"]))
        queries = Counter(name for name, stored in zip(values_of["name"], values_of["queries"], strict=True) if stored)
        origins = dict(zip(values_of["name"], values_of["model"], strict=True))
        cards = self._cards(sorted(set(origins.values())), CARD)
        models = {model: position for position, model in enumerate(names)}
        columns = (values_of[column] for column in ("score", "low", "high", "flags", "data"))
        places = map(models.__getitem__, values_of["name"]), map(tasks.__getitem__, values_of["task"])
        cells = list(map(Cell, *places, *columns))
        return Board(
            name,
            facts[0]["title"],
            [_task(row, usual.get(row["task"])) for row in facts],
            [_model(name, cards[origins[name]], queries[name]) for name in names],
            cells,
            stored=self._stored_metrics(name),
            queries=bool(queries),
        )

    def _stored_metrics(self, name: str) -> list[str]:
        """Return the metrics that some cell of a benchmark has."""
        from steelyard.warehouse.marts import METRICS

        counts = self.rows(
            f"SELECT {', '.join(f'count({m}) AS {m}' for m in METRICS)} FROM mart_metrics WHERE task IN ({TESTED})",
            [name],
        )[0]
        return [metric for metric in METRICS if counts[metric]]

    def metrics(self, board: Board) -> dict[str, list[float | None]]:
        """Return the stored metrics of a board, in the order of its cells."""
        if not board.stored:
            return {}
        metrics = ", ".join(f"round(m.{metric}, 5) AS {metric}" for metric in board.stored)
        columns = self.columns(CELL_METRICS.format(metrics=metrics), [board.name])
        names = map(variant_name, columns.pop("model").to_pylist(), columns.pop("experiment").to_pylist())
        row_of = {cell: row for row, cell in enumerate(zip(names, columns.pop("task").to_pylist(), strict=True))}
        rows = [row_of.get((board.models[cell.model].name, board.tasks[cell.task].name)) for cell in board.cells]
        values_of = {metric: columns[metric].to_pylist() for metric in board.stored}
        return {metric: [None if row is None else some[row] for row in rows] for metric, some in values_of.items()}

    def _cards(self, names: Sequence[str], columns: str) -> dict[str, dict[str, Any]]:
        """Return columns of the cards of models, by name."""
        rows = self.rows(f"SELECT model, {columns} FROM mart_models WHERE model IN (SELECT unnest(?))", [list(names)])
        return {row["model"]: row for row in rows}

    def training(self, board: Board) -> dict[str, Sequence[str]]:
        """Return the training sets that the models of a board declare."""
        cards = self._cards([model.name for model in board.models], "training_datasets")
        return {name: card["training_datasets"] for name, card in cards.items() if card["training_datasets"]}

    def history(self, board: Board) -> dict[str, list[dict[str, Any]]]:
        """Return the revisions of models that have several: mteb version, tasks, mean over the tasks they share."""
        rows = self.rows(
            """
            SELECT model, revision, task, score, version FROM mart_model_task
            WHERE experiment = '' AND score IS NOT NULL AND list_contains(?, task) AND list_contains(?, model)
            ORDER BY model, mtime_ns, revision
            """,
            [[task.name for task in board.tasks], [model.name for model in board.models]],
        )
        revisions_of: dict[str, dict[str, dict[str, Any]]] = {}
        for row in rows:
            revisions_of.setdefault(row["model"], {}).setdefault(row["revision"], {})[row["task"]] = row
        return {model: _revisions(revisions) for model, revisions in revisions_of.items() if len(revisions) > 1}

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _one_chunk(column: Any) -> Any:
    """Return a column whose chunks are combined as one array; one without rows has no chunk."""
    import pyarrow as pa

    return column.chunk(0) if column.num_chunks else pa.array([], column.type)


def _revisions(revisions: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    common = sorted(set.intersection(*(set(tasks) for tasks in revisions.values())))
    return [
        {
            "revision": revision,
            "version": max((row["version"] for row in tasks.values() if row["version"]), default=None),
            "tasks": len(tasks),
            "common": len(common),
            "mean": fmean(tasks[task]["score"] for task in common) if common else None,
        }
        for revision, tasks in revisions.items()
    ]


def _task(facts: dict[str, Any], revision: str | None) -> BoardTask:
    languages = tuple(facts["languages"] or ())
    return BoardTask(
        facts["task"],
        facts["type"],
        facts["category"],
        languages,
        facts["main_score"],
        revision=revision and revision[:12],
    )


def _model(name: str, card: dict[str, Any], queries: int) -> BoardModel:
    return BoardModel(
        name,
        card["revision"],
        card["family"],
        card["n_parameters"],
        card["embed_dim"],
        card["max_tokens"],
        card["license"],
        card["open_weights"],
        card["release_date"],
        card["url"],
        bool(card["own"]),
        variant_of=card["model"] if name != card["model"] else card["variant_of"],
        queries=queries,
    )


def query_results(library: Library, board: Board, models: Collection[int], tasks: Collection[int]) -> Results:
    """Return the results of models on tasks, by positions in the board, that have scores of queries.

    Scores on other data are left out. Models have the names of the board, so that variants are distinct.
    """
    chosen = {board.models[place].name for place in models}
    origins = {name for place in models for name in (board.models[place].variant_of, board.models[place].name) if name}
    names = [board.tasks[place].name for place in tasks]
    sql = QUERY_SCORES.format(models=", ".join("?" * len(origins)))
    columns = library.columns(sql, [board.name, names, *sorted(origins)])
    numbers = columns.pop("numbers")
    values, ends = numbers.values.to_numpy(zero_copy_only=False), numbers.offsets.to_numpy()
    rows_of: dict[tuple[str, str], list[dict[str, Any]]] = {}
    plain = {name: column.to_pylist() for name, column in columns.items()}
    ids = library.query_ids(plain["query_set"])
    for place, row in enumerate(dict(zip(plain, one, strict=True)) for one in zip(*plain.values(), strict=True)):
        name = variant_name(row["model"], row["experiment"])
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
    means = {name: float(values.mean()) for name, values in columns.items() if name != first["main"]}
    return Result(
        task,
        model,
        {},
        _key(task, first["type"], first["data"]),
        main_metric=first["main"],
        metrics={first["main"]: first["score"], **means},
        facts=facts,
        queries=scores,
    )


@lru_cache(maxsize=4096)
def _key(task: str, kind: str, data: str | None) -> str:
    """Return the key of a result without settings: results of all models on the same data have the same."""
    return result_key({}, task, TaskFacts(type=kind, data_hash=data))

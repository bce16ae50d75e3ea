"""The tables that the leaderboard reads: small, rebuilt from the facts at the end of each import.

| mart | one row per |
|---|---|
| `tasks` | task: type, category, languages, main metric |
| `benchmarks` | benchmark and task, with the splits that count |
| `benchmark_subsets` | subset that counts, where a benchmark counts only some of a task |
| `mart_models` | model: its card, its preferred revision, how many tasks it has, whether Steelyard evaluated it here |
| `mart_model_task` | model, revision, experiment and task: mean over splits and subsets |
| `mart_benchmark` | benchmark, model, experiment and task: the score that the board shows |
| `mart_model_language` | model, experiment, language and task type: mean over tasks |
| `mart_metrics` | model, revision, experiment and task: other metrics than the main one, one column each |
| `mart_queries` | score that a board compares by query, and metric: the values of all queries as one list |
| `mart_query_ids` | list of queries that scores of `mart_queries` have in common |

As in mteb, a task's score is the mean of its main scores over the declared splits and all subsets. A model has
several revisions in public results. The preferred one has results for the most tasks (then: the newest files). A task
that only another revision has takes its score from there, and the row has `other_revision`.

In `mart_benchmark`, `data` identifies the data of a score: the revision of the dataset, one name for revisions that
differ in format only (`same_data.json`), and the limit of an evaluation on a sample. It is null where no revision is
recorded. A row has `other_data` if its data is not the one that most models have on the task; `usual_data` is that one.
`query_score` is the score whose queries are in `queries`; null where there are none, or several splits or subsets.

`queries` has a row for every query and metric: 188 million for 4 million queries. What the pages read is in
`mart_queries`: the main metric and the rank of the first positive, or all metrics of a score that does not have the
main one by query, such as a correlation.

Tasks that mteb does not have, such as `NanoAlmanac/en`, form a benchmark with the name of their group.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from steelyard.warehouse.catalogue import catalogue, same_data
from steelyard.warehouse.manifest import Manifest, WarehouseFolder
from steelyard.warehouse.query import closing, open_tables
from steelyard.warehouse.readers.rows import FIRST_POSITIVE
from steelyard.warehouse.tables import FACTS

if TYPE_CHECKING:
    import duckdb

MARTS_VERSION = 3
"""Changes whenever a mart changes. An import builds the marts of another version again, even if no file changed."""
MOST_PARTS = 40
"""More parts of a table than this are merged."""
DEAD_SHARE = 0.3
"""A larger share of rows of files that changed or are gone makes an import rewrite the parts."""

ROW_GROUP = 122_880
"""Rows of a Parquet file that are read together; the default of DuckDB."""

MODEL_TASK = """
    WITH declared AS (
        SELECT s.file_id, bool_or(list_contains(t.splits, s.split)) AS known
        FROM scores s JOIN tasks t USING (task)
        GROUP BY s.file_id
    )
    SELECT s.model, s.revision, s.experiment, s.task,
           avg(s.main_score) AS score,
           count(s.main_score)::INTEGER AS n_values,
           count(*)::INTEGER AS n_rows,
           any_value(t.n_expected) AS n_expected,
           CASE WHEN count(*) = 1 THEN any_value(s.low) END AS low,
           CASE WHEN count(*) = 1 THEN any_value(s.high) END AS high,
           list(DISTINCT s.dataset_revision) FILTER (s.dataset_revision IS NOT NULL) AS dataset_revisions,
           max(s.version) AS version,
           sum(s.seconds) AS seconds,
           min(s."limit") AS "limit",
           max(f.mtime_ns) AS mtime_ns
    FROM scores s JOIN files f USING (file_id) LEFT JOIN tasks t ON t.task = s.task
         LEFT JOIN declared d ON d.file_id = s.file_id
    WHERE d.known IS NOT true OR list_contains(t.splits, s.split)
    GROUP BY s.model, s.revision, s.experiment, s.task
    ORDER BY s.model, s.revision, s.experiment, s.task
"""
OTHER_TASKS = """
    SELECT s.task, list_sort(list(DISTINCT s.split)) AS splits, any_value(f.format) AS format,
           list_sort(list_distinct(flatten(list(s.languages)))) AS languages, any_value(s.extra) AS extra
    FROM scores s JOIN files f USING (file_id) WHERE contains(s.task, '/') GROUP BY s.task ORDER BY s.task
"""
REVISIONS = """
    SELECT model, revision, count(DISTINCT task)::INTEGER AS n_tasks,
           row_number() OVER (
               PARTITION BY model ORDER BY count(DISTINCT task) DESC, max(mtime_ns) DESC, revision
           ) AS rank
    FROM mart_model_task
    GROUP BY model, revision
"""
MODELS = """
    WITH own AS (
        SELECT DISTINCT s.model FROM scores s JOIN files f USING (file_id) WHERE f.format = 'steelyard'
    ), cards AS (
        SELECT m.*, row_number() OVER (
            PARTITION BY m.model
            ORDER BY (m.revision = r.revision) DESC, (m.n_parameters IS NULL), m.file_id DESC
        ) AS place
        FROM models m JOIN revisions r ON r.model = m.model AND r.rank = 1
    )
    SELECT r.model, r.revision, r.n_tasks, r.model IN (SELECT model FROM own) AS own,
           c.* EXCLUDE (file_id, model, revision, place)
    FROM revisions r LEFT JOIN cards c ON c.model = r.model AND c.place = 1
    WHERE r.rank = 1
    ORDER BY r.model
"""
UNRECORDED = "|None|unknown|external|1|no_revision_available|[0-9a-f]{8,39}|[0-9a-f]{41,}"
"""Data revisions that do not identify published data, as a regular expression: also hashes of the content of a task."""
BENCHMARK = """
    WITH counted AS (
        SELECT b.benchmark, s.model, s.revision, s.experiment, s.task,
               avg(s.main_score) AS score, count(s.main_score)::INTEGER AS n_values,
               any_value(b.n_expected) AS n_expected,
               CASE WHEN count(*) = 1 THEN any_value(s.low) END AS low,
               CASE WHEN count(*) = 1 THEN any_value(s.high) END AS high,
               min(s."limit") AS "limit", max(s.dataset_revision) AS dataset_revision, max(s.version) AS version,
               CASE WHEN count(*) = 1 THEN any_value(q.score_id) END AS query_score
        FROM scores s JOIN benchmarks b ON b.task = s.task
             LEFT JOIN (SELECT DISTINCT score_id FROM queries) q USING (score_id)
        WHERE list_contains(b.splits, s.split) AND (
            NOT b.restricted OR (b.benchmark, s.task, s.subset) IN (
                SELECT (benchmark, task, subset) FROM benchmark_subsets
            )
        )
        GROUP BY b.benchmark, s.model, s.revision, s.experiment, s.task
    ), identified AS (
        SELECT c.*, CASE
                   WHEN c."limit" IS NOT NULL THEN concat_ws(' ', c.dataset_revision, 'limit', c."limit")
                   WHEN NOT regexp_full_match(c.dataset_revision, '{UNRECORDED}')
                   THEN coalesce(d.data, c.dataset_revision)
               END AS data
        FROM counted c LEFT JOIN same_data d ON d.task = c.task AND d.revision = c.dataset_revision
    ), usual AS (
        SELECT benchmark, task, data AS usual_data FROM identified WHERE data IS NOT NULL AND score IS NOT NULL
        GROUP BY benchmark, task, data
        QUALIFY row_number() OVER (PARTITION BY benchmark, task
                                   ORDER BY bool_or("limit" IS NOT NULL), count(DISTINCT model) DESC, data) = 1
    ), chosen AS (
        SELECT c.*, u.usual_data, coalesce(c.data != u.usual_data, false) AS other_data, r.rank > 1 AS other_revision,
               row_number() OVER (PARTITION BY c.benchmark, c.model, c.experiment, c.task
                                  ORDER BY (c.score IS NULL), coalesce(c.data != u.usual_data, false), r.rank) AS place
        FROM identified c JOIN revisions r USING (model, revision) LEFT JOIN usual u USING (benchmark, task)
    )
    SELECT * EXCLUDE (place) FROM chosen WHERE place = 1 ORDER BY benchmark, model, experiment, task
"""
MODEL_LANGUAGE = """
    WITH spoken AS (
        SELECT DISTINCT s.model, s.experiment, s.task, s.subset, s.main_score,
               split_part(l.language, '-', 1) AS language
        FROM scores s JOIN revisions r USING (model, revision), unnest(s.languages) AS l(language)
        WHERE r.rank = 1 AND s.main_score IS NOT NULL
    )
    SELECT s.model, s.experiment, s.language, coalesce(t.type, 'unknown') AS type,
           avg(s.main_score) AS score, count(DISTINCT s.task)::INTEGER AS n_tasks
    FROM spoken s LEFT JOIN tasks t ON t.task = s.task
    GROUP BY ALL
    ORDER BY ALL
"""

QUERY_LISTS = """
    WITH compared AS (
        SELECT DISTINCT b.query_score AS score_id, b.model, b.task, t.main_score AS main
        FROM mart_benchmark b JOIN tasks t USING (task) WHERE b.query_score IS NOT NULL
    ), known AS (
        SELECT DISTINCT c.score_id FROM compared c JOIN queries q ON q.score_id = c.score_id AND q.metric = c.main
    )
    SELECT c.model, c.task, q.score_id, q.metric::VARCHAR AS metric,
           list(q.query ORDER BY q.position, q.query) AS ids,
           list(q.value ORDER BY q.position, q.query) AS numbers
    FROM queries q JOIN compared c USING (score_id)
    WHERE q.metric = c.main OR q.metric = '{FIRST_POSITIVE}' OR q.score_id NOT IN (SELECT score_id FROM known)
    GROUP BY ALL
"""
QUERY_IDS = "SELECT min(score_id) AS query_set, ids FROM query_lists GROUP BY ids ORDER BY query_set"
QUERY_VALUES = """
    SELECT l.model, l.task, l.score_id, l.metric, i.query_set, l.numbers
    FROM query_lists l JOIN query_ids i USING (ids) ORDER BY l.model, l.task, l.score_id, l.metric
"""
QUERY_ROWS = 8192
"""Rows of `mart_queries` that are read together: few enough that a comparison of two models leaves most rows unread."""

METRICS = (
    "ndcg_at_10",
    "mrr_at_10",
    "map_at_10",
    "precision_at_1",
    "recall_at_10",
    "recall_at_100",
    "hit_rate_at_10",
    "ndcg_at_1",
    "ndcg_at_100",
    "accuracy",
    "f1",
    "v_measure",
    "cosine_spearman",
    "cosine_pearson",
    "max_ap",
)
"""The columns of `mart_metrics`; `metrics` has all."""
_COLUMNS = ", ".join(f"avg(m.value) FILTER (m.metric = '{name}') AS {name}" for name in METRICS)
_NAMES = ", ".join(f"'{name}'" for name in METRICS)
MODEL_METRICS = f"""
    WITH counted AS (
        SELECT s.score_id, s.model, s.revision, s.experiment, s.task
        FROM scores s LEFT JOIN tasks t ON t.task = s.task
        WHERE t.splits IS NULL OR list_contains(t.splits, s.split)
    )
    SELECT c.model, c.revision, c.experiment, c.task, {_COLUMNS}
    FROM (SELECT score_id, metric::VARCHAR AS metric, value FROM metrics WHERE metric::VARCHAR IN ({_NAMES})) m
         JOIN counted c USING (score_id)
    GROUP BY c.model, c.revision, c.experiment, c.task
    ORDER BY c.model, c.revision, c.experiment, c.task
"""


def build(target: WarehouseFolder, manifest: Manifest) -> Manifest:
    """Write every mart again and return the manifest that lists them."""
    with closing(open_tables(target, manifest)) as connection:
        others = _other_tasks(connection)
    manifest = _store(target, manifest, "tasks", _tasks(others))
    benchmarks, subsets = _benchmarks(others)
    manifest = _store(target, manifest, "benchmarks", benchmarks)
    manifest = _store(target, manifest, "benchmark_subsets", subsets)
    with closing(open_tables(target, manifest)) as connection:
        connection.execute("SET memory_limit = '1GB'")
        manifest = _store_query(target, manifest, connection, "mart_model_task", MODEL_TASK)
        connection.execute(f"CREATE TEMP TABLE revisions AS {REVISIONS}")
        connection.register("same_data", _same_data())
        manifest = _store_query(target, manifest, connection, "mart_models", MODELS)
        benchmark = BENCHMARK.replace("{UNRECORDED}", UNRECORDED)
        manifest = _store_query(target, manifest, connection, "mart_benchmark", benchmark)
        manifest = _store_query(target, manifest, connection, "mart_metrics", MODEL_METRICS)
        manifest = _store_query(target, manifest, connection, "mart_model_language", MODEL_LANGUAGE)
        lists = QUERY_LISTS.replace("{FIRST_POSITIVE}", FIRST_POSITIVE)
        connection.execute(f"CREATE TEMP TABLE query_lists AS {lists}")
        connection.execute(f"CREATE TEMP TABLE query_ids AS {QUERY_IDS}")
        manifest = _store_query(target, manifest, connection, "mart_query_ids", "SELECT * FROM query_ids")
        manifest = _store_query(target, manifest, connection, "mart_queries", QUERY_VALUES, QUERY_ROWS)
    return replace(manifest, marts=MARTS_VERSION)


def many_parts(manifest: Manifest) -> bool:
    """Return whether a table has so many parts that they are merged."""
    return any(len(manifest.parts.get(table, ())) > MOST_PARTS for table in FACTS)


def compact(target: WarehouseFolder, manifest: Manifest) -> Manifest:
    """Merge the parts of tables that have many, or many dead rows."""
    with closing(open_tables(target, manifest)) as connection:
        for table in FACTS:
            parts = manifest.parts.get(table, ())
            if not parts:
                continue
            stored = sum(pq.read_metadata(target.path / name).num_rows for name in parts)
            living = _count(connection, table)
            if len(parts) <= MOST_PARTS and living >= (1 - DEAD_SHARE) * stored:
                continue
            path = target.new_part(table)
            _copy(
                connection,
                f"SELECT * FROM {table} ORDER BY ALL" if table == "models" else f"SELECT * FROM {table}",
                path,
            )
            manifest = manifest.with_only(table, path.name)
        return manifest


def _count(connection: duckdb.DuckDBPyConnection, table: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(row[0]) if row else 0


def _copy(connection: duckdb.DuckDBPyConnection, sql: str, path: Any, row_group: int = ROW_GROUP) -> None:
    name = str(path).replace("'", "''")
    connection.execute(f"COPY ({sql}) TO '{name}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {row_group})")


def _store(target: WarehouseFolder, manifest: Manifest, table: str, content: pa.Table) -> Manifest:
    path = target.new_part(table)
    pq.write_table(content, path, compression="zstd")
    return manifest.with_only(table, path.name)


def _store_query(
    target: WarehouseFolder,
    manifest: Manifest,
    connection: duckdb.DuckDBPyConnection,
    table: str,
    sql: str,
    row_group: int = ROW_GROUP,
) -> Manifest:
    path = target.new_part(table)
    _copy(connection, sql, path, row_group)
    connection.execute(f"CREATE OR REPLACE TEMP VIEW {table} AS SELECT * FROM read_parquet('{path!s}')")
    return manifest.with_only(table, path.name)


def _other_tasks(connection: duckdb.DuckDBPyConnection) -> dict[str, dict[str, Any]]:
    """Return facts of the tasks with a group that mteb does not have, by name; Steelyard's results have their type."""
    rows = connection.sql(OTHER_TASKS).to_arrow_table().to_pylist()
    known = catalogue()["tasks"]
    tasks = {}
    for row in rows:
        own = json.loads(row["extra"]) if row["format"] == "steelyard" and row["extra"] else {}
        facts: dict[str, Any] = own["facts"] if isinstance(own.get("facts"), dict) else {}
        tasks[row["task"]] = {
            "type": str(facts.get("type") or "retrieval"),
            "category": facts.get("category"),
            "main_score": str(own.get("main_metric") or "ndcg_at_10"),
            "languages": row["languages"] or [],
            "domains": [],
            "modalities": ["text"],
            "splits": row["splits"],
            "subsets": [],
            "public": True,
        }
    return {task: facts for task, facts in tasks.items() if task not in known}


def _tasks(others: dict[str, dict[str, Any]]) -> pa.Table:
    tasks = catalogue()["tasks"] | others
    names = ("type", "category", "main_score", "languages", "domains", "modalities", "splits", "public")
    columns: dict[str, Any] = {"task": list(tasks)}
    columns |= {name: [facts[name] for facts in tasks.values()] for name in names}
    columns["n_expected"] = [len(facts["splits"]) * len(facts["subsets"]) for facts in tasks.values()]
    return pa.table(columns)


def _same_data() -> pa.Table:
    """Return one name for the revisions of a task that have the same data."""
    rows = [
        {"task": task, "revision": revision, "data": revisions[0]}
        for task, revisions in same_data().items()
        for revision in revisions
    ]
    return pa.Table.from_pylist(rows)


def _benchmarks(others: dict[str, dict[str, Any]]) -> tuple[pa.Table, pa.Table]:
    """Return the tasks of benchmarks, and the subsets of those tasks of which a benchmark counts only some."""
    tasks = catalogue()["tasks"]
    rows, subsets = [], []
    for benchmark, facts in catalogue()["benchmarks"].items():
        for task, part in facts["tasks"].items():
            chosen = part or tasks[task]
            restricted = chosen["subsets"] != tasks[task]["subsets"]
            row = {"benchmark": benchmark, "title": facts["title"], "task": task, "splits": chosen["splits"]}
            expected = len(chosen["splits"]) * len(chosen["subsets"])
            rows.append({**row, "restricted": restricted, "n_expected": expected})
            if restricted:
                subsets += [{"benchmark": benchmark, "task": task, "subset": subset} for subset in chosen["subsets"]]
    for task, facts in others.items():
        group = task.rpartition("/")[0]
        name = f"{group} (tasks)" if group in catalogue()["benchmarks"] else group
        row = {"benchmark": name, "title": group, "task": task, "splits": facts["splits"]}
        rows.append({**row, "restricted": False, "n_expected": 0})
    return pa.Table.from_pylist(rows), pa.Table.from_pylist(subsets)

"""Tasks of Python objects: tables of pandas, polars, Arrow or `datasets`, dictionaries, and lists of rows.

    load_task(frame)                                     rows of a question and its context
    load_task({"corpus": ..., "queries": ..., "qrels": ...})     tables, or dictionaries as in BEIR
    load_task({"corpus": frame, "questions": frame})     questions that name their document
    load_task([{"question": ..., "context": ...}, ...])  rows; also pairs of texts

They are read by the code that reads files, with the same names of columns and the same checks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from steelyard.datasets.assemble import assemble
from steelyard.datasets.formats.beir import CORPUS, QRELS, QUERIES
from steelyard.datasets.formats.question_files import QuestionLocation, table_of_rows
from steelyard.datasets.formats.sidecar import task_info
from steelyard.datasets.formats.task_files import TaskFiles, read_tables
from steelyard.datasets.problems import Report, Validate
from steelyard.datasets.references import Columns
from steelyard.datasets.tables.columns import QUERY_ID
from steelyard.errors import DataError, UsageError
from steelyard.types import Task

EXPECTED = (
    "a table of questions with contexts, rows, or a dictionary with corpus and queries (and qrels, unless queries name "
    "their documents)"
)


def is_data(value: object) -> bool:
    """Return whether an object is data that `load_data` reads, and not a name or a list of tasks.

    >>> is_data({"question": ["a"], "context": ["b"]}), is_data([("a", "b")]), is_data(["NanoAlmanac/en"])
    (True, True, False)
    """
    if isinstance(value, Mapping) or is_table(value):
        return True
    return isinstance(value, list | tuple) and bool(value) and (_is_rows(value) or all(map(is_table, value)))


def is_table(value: object) -> bool:
    """Return whether an object is a table of a library: of Arrow, pandas, polars, DuckDB or `datasets`."""
    return any(hasattr(value, name) for name in ("__arrow_c_stream__", "to_arrow", "iloc")) or _is_dataset(value)


def _is_dataset(value: object) -> bool:
    return hasattr(value, "with_format") and hasattr(value, "features")


def _is_rows(value: Collection[object]) -> bool:
    """Return whether a list has rows: dictionaries of values, or pairs of texts."""
    return all(
        (isinstance(row, Mapping) and not _parts(row) and not any(map(is_table, row.values())))
        or (isinstance(row, tuple | list) and len(row) in (2, 3) and all(isinstance(text, str) for text in row))
        for row in value
    )


def load_data(
    data: Any,
    *,
    name: str | None = None,
    columns: Columns | None = None,
    validate: Validate | None = None,
    missing_judgements: str = "count",
) -> Task:
    """Return the task of Python objects, checked like files; `name` is that of the task (default: `local/data`)."""
    label = name or "local/data"
    tables = _tables(data)
    own: dict[str, dict[str, str]] = {}
    for key, value in (columns or {}).items():
        if isinstance(value, Mapping):
            own[_name(key) or key] = dict(value)
        elif len(tables) == 1:
            own.setdefault(next(iter(tables)), {})[key] = value
        else:
            hint = f"give them by table: columns={{{next(iter(tables))!r}: {{{key!r}: {value!r}}}}}"
            raise UsageError("columns must name the table, because there are several", hint=hint, option="columns")
    report = Report(missing_judgements=missing_judgements)
    task = _task(tables, own, label, report)
    return report.finish(task, validate or "strict", label, local=False)


def _task(
    tables: Mapping[str, Any], columns: Mapping[str, Mapping[str, str]], name: str, report: Report
) -> Task | None:
    info = task_info({}, name=name if "/" in name else f"local/{name}", source="Python")
    files = {role: (role,) if role in tables else () for role in ("pairs", "corpus", "queries", "qrels")}
    named = {role: (role, table) for role, table in tables.items()}
    if files["qrels"]:
        listed = TaskFiles(files["corpus"], files["queries"], files["qrels"], columns=columns)
        return assemble(read_tables(listed, info, tables.__getitem__, report), report)
    corpus, queries = files["corpus"] or files["pairs"], files["queries"] or files["pairs"]
    listed = TaskFiles(corpus, queries, queries, columns=columns)
    return QuestionLocation(Path(), "", listed, info, name, named).read(report)


def _tables(data: Any) -> dict[str, Any]:
    """Return Arrow tables by role: `pairs` alone, or corpus, queries and qrels."""
    if isinstance(data, Mapping):
        if parts := _parts(data):
            return {role: _arrow(part, role) for role, part in parts.items()}
        if values := [value for value in data.values() if is_table(value)]:  # splits of `datasets`
            split = next((name for name in ("test", "validation", "train") if name in data), None)
            if len(values) > 1 and split is None:
                raise UsageError(
                    f"data must be one split, got {', '.join(map(str, data))}", hint="give one of them", option="data"
                )
            return {"pairs": _arrow(data[split] if split else values[0], "pairs")}
        return {"pairs": _arrow(dict(data), "pairs")}
    if isinstance(data, list | tuple) and data and all(map(is_table, data)) and len(data) in (2, 3):
        return {role: _arrow(part, role) for role, part in zip(("corpus", "queries", "qrels"), data, strict=False)}
    return {"pairs": _arrow(data, "pairs")}


def _name(key: str) -> str:
    """Return the role of a key such as `documents` or `questions`.

    >>> _name("documents"), _name("questions"), _name("judgements"), _name("context")
    ('corpus', 'queries', 'qrels', '')
    """
    roles = {"corpus": CORPUS, "queries": QUERIES, "qrels": (*QRELS, "relevant_docs")}
    return next((role for role, stems in roles.items() if str(key).lower() in stems), "")


def _parts(data: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the tables of a dictionary by role; empty if it is not a dictionary of tables."""
    parts = {_name(key): value for key, value in data.items() if _name(key)}
    structured = all(isinstance(part, Mapping | list | tuple) or is_table(part) for part in parts.values())
    columns = any(isinstance(part, list | tuple) and not _is_rows(part) for part in parts.values())
    return parts if "corpus" in parts and "queries" in parts and structured and not columns else {}


def _arrow(data: Any, role: str) -> pa.Table:
    """Return an object as an Arrow table."""
    try:
        if isinstance(data, pa.Table):
            return data
        if _is_dataset(data):
            return data.with_format("arrow")[:]
        if hasattr(data, "iloc"):
            return pa.Table.from_pandas(data, preserve_index=False)
        if hasattr(data, "to_arrow"):
            return pa.table(data.to_arrow())
        if hasattr(data, "__arrow_c_stream__"):
            return pa.table(data)
        if isinstance(data, Mapping):
            return _from_mapping(data, role)
        if isinstance(data, list | tuple) and _is_rows(data):
            return table_of_rows([_row(row) for row in data])
    except (pa.ArrowException, TypeError) as error:
        raise DataError(f"{role} cannot be read as a table: {error}", where=role, hint=f"give {EXPECTED}") from error
    raise UsageError.invalid("data", expected=EXPECTED, found=type(data).__name__, option="data")


def _row(row: Any) -> dict[str, Any]:
    return dict(row) if isinstance(row, Mapping) else dict(zip(("question", "context", "negative"), row, strict=False))


def _from_mapping(data: Mapping[Any, Any], role: str) -> pa.Table:
    """Return a dictionary as a table: columns by name, or texts and judgements by id, as in BEIR."""
    by_query = all(isinstance(own, Mapping | list | tuple | set | frozenset) for own in data.values())
    if role == "qrels" and by_query and not {*map(str, data)} & {*QUERY_ID, "query"}:
        judged = [(query, document, own) for query, own in data.items() for document in _sorted(own)]
        return pa.table(
            {
                "query-id": [str(query) for query, _, _ in judged],
                "corpus-id": [str(document) for _, document, _ in judged],
                "score": [own[document] if isinstance(own, Mapping) else 1 for _, document, own in judged],
            }
        )
    if role in ("corpus", "queries") and all(isinstance(text, str | Mapping) for text in data.values()):
        rows = [{"text": text} if isinstance(text, str) else dict(text) for text in data.values()]
        return table_of_rows([{"_id": str(id), **row} for id, row in zip(data, rows, strict=True)])
    return pa.table({str(name): list(column) for name, column in data.items()})


def _sorted(documents: Collection[Any]) -> Sequence[Any]:
    """Return the documents in a fixed order: that of sets differs from run to run."""
    return sorted(documents) if isinstance(documents, set | frozenset) else list(documents)

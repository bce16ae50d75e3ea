"""Query a warehouse with SQL. The connection can read the warehouse's own tables and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.errors import DataError, MissingPart, ResultError, UsageError
from steelyard.warehouse.manifest import FILE, Manifest, WarehouseFolder
from steelyard.warehouse.tables import FACTS

if TYPE_CHECKING:
    import duckdb


def connect(warehouse: str | Path, *, other_files: bool = False) -> duckdb.DuckDBPyConnection:
    """Return a connection on the tables and marts of a warehouse.

    The database is in memory and holds only views, so no statement can change the warehouse. Unless `other_files` is
    set, SQL cannot read or write files outside the warehouse, load extensions or change settings.
    """
    folder = WarehouseFolder(warehouse)
    if not (folder.path / FILE).exists():
        raise DataError(
            "the folder is not a warehouse",
            path=folder.path,
            hint=f"steelyard results import DIR --warehouse {folder.path}",
        )
    connection = open_tables(folder, folder.manifest())
    if not other_files:
        connection.execute("SET allowed_directories = [?]", [str(folder.path.absolute()) + "/"])
        connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def query(warehouse: str | Path, sql: str, parameters: list[Any] | None = None, *, other_files: bool = False) -> Any:
    """Run one SQL statement and return the result as an Arrow table."""
    duckdb = load_duckdb()
    with closing(connect(warehouse, other_files=other_files)) as connection:
        try:
            if not other_files:
                _check_read_only(duckdb, connection, sql)
            return _interruptible(connection, lambda: _arrow(connection, sql, parameters))
        except duckdb.Error as error:
            message = str(error).splitlines()[0]
            raise UsageError(
                f"the query failed: {message}", hint="steelyard results query 'SHOW TABLES' lists the tables"
            ) from error


def _arrow(connection: duckdb.DuckDBPyConnection, sql: str, parameters: list[Any] | None) -> Any:
    relation = connection.sql(sql, params=parameters or None)
    return relation.to_arrow_table() if relation is not None else None


def _interruptible(connection: duckdb.DuckDBPyConnection, work: Callable[[], Any]) -> Any:
    """Do the work of a query in another thread: DuckDB looks at signals so rarely that Ctrl-C could have no effect."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        try:
            return future.result()
        except KeyboardInterrupt:
            connection.interrupt()
            raise


@contextmanager
def closing(connection: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """Close the connection at the end. DuckDB turns a KeyboardInterrupt and a full disk into errors of its own."""
    try:
        yield connection
    except RuntimeError as error:
        if "interrupted" in str(error).lower():
            raise KeyboardInterrupt from error
        raise
    except load_duckdb().IOException as error:
        raise ResultError(
            f"the warehouse cannot be read or written: {_reason(str(error))}",
            hint="make room on its disk, or look at the rights of its folder, and try again",
        ) from error
    finally:
        connection.close()


def _reason(message: str) -> str:
    """Return the reason in a message of DuckDB, which may be in JSON after a sentence.

    >>> _reason('IO Error: Async write failed: {"exception_type":"IO","exception_message":"No space left on device"}')
    'No space left on device'
    """
    line = message.splitlines()[0]
    with suppress(ValueError, KeyError):
        return str(json.loads(line[line.index("{") :])["exception_message"])
    return line


def _check_read_only(duckdb: Any, connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Raise an error unless the SQL is one statement that only reads."""
    kinds = [statement.type for statement in connection.extract_statements(sql)]
    reading = {duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN}
    if len(kinds) != 1 or kinds[0] not in reading:
        names = ", ".join(kind.name for kind in kinds) or "nothing"
        raise UsageError.invalid(
            "the query", expected="one SELECT statement", found=names, hint="use --other-files to write files with COPY"
        )


def open_tables(folder: WarehouseFolder, manifest: Manifest) -> duckdb.DuckDBPyConnection:
    """Return a connection with a view per table; fact rows of files that changed or are gone are left out."""
    connection: duckdb.DuckDBPyConnection = load_duckdb().connect(":memory:")
    connection.execute("SET preserve_insertion_order = false")
    connection.execute("SET enable_progress_bar = false")  # it would be written into the output of a slow query
    connection.execute("SET python_enable_replacements = false")  # a table is never a Python variable
    for table, names in sorted(manifest.parts.items(), key=lambda item: item[0] != "files"):
        living = " WHERE file_id IN (SELECT file_id FROM files)" if table in FACTS else ""
        if table in ("metrics", "queries"):
            living = " WHERE score_id // 1048576 IN (SELECT file_id FROM files)"
        files = ", ".join("'" + str((folder.path / name).absolute()).replace("'", "''") + "'" for name in names)
        source = f"read_parquet([{files}])" if names else "(SELECT 1 WHERE false)"
        if table == "queries":  # parts of earlier imports do not have the position of a query
            source = source.replace("])", "], union_by_name = true)")
            source = f"(SELECT NULL::INTEGER AS position WHERE false UNION ALL BY NAME SELECT * FROM {source})"
        if table == "files":
            connection.execute(f"CREATE TABLE files AS SELECT * FROM {source}")
        else:
            connection.execute(f"CREATE VIEW {table} AS SELECT * FROM {source}{living}")
    for table, schema in FACTS.items():
        if table not in manifest.parts:
            connection.register(f"_empty_{table}", schema.empty_table())
            connection.execute(f"CREATE VIEW {table} AS SELECT * FROM _empty_{table}")
    return connection


def load_duckdb() -> Any:
    """Return the package duckdb; an error with the install command if it is missing."""
    try:
        import duckdb
    except ImportError as error:
        raise MissingPart.extra("duckdb", "web") from error
    return duckdb

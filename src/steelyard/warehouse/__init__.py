"""The results warehouse: many result files as tables in Parquet, queried with DuckDB.

    import_results([folders], warehouse)   read result files of Steelyard, mteb, HAKARI and tables
    connect(warehouse)                     a read-only DuckDB connection on the tables and marts
    export(warehouse, ...)                 write mteb's layout, model cards, CSV, Parquet, Markdown, LaTeX

`tables` documents the star schema, `marts` the tables that the leaderboard reads.
"""

from __future__ import annotations

from steelyard.warehouse.importer import ImportReport, import_results
from steelyard.warehouse.query import connect, query

__all__ = ["ImportReport", "connect", "import_results", "query"]

"""Scores of every query, stored in Parquet next to the result: the input of intervals and paired tests."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard.errors import ResultError, UnknownName
from steelyard.files import read_parquet
from steelyard.types import Float64, Int32

QUERY_COLUMN = "query-id"
RANK_COLUMN = "first-positive"
MAGIC = b"PAR1"
"""The first and last bytes of every Parquet file."""


def queries_path(result: Path) -> Path:
    """Return the path of the scores by query of a result file.

    >>> queries_path(Path("NanoX__en@12345678.json")).name
    'NanoX__en@12345678.queries.parquet'
    """
    return result.with_name(result.name.removesuffix(".json") + ".queries.parquet")


def has_both_ends(path: Path) -> bool:
    """Return whether a Parquet file exists with its first and last bytes; the rest is checked by reading it."""
    try:
        with path.open("rb") as file:
            first = file.read(len(MAGIC))
            file.seek(-len(MAGIC), os.SEEK_END)
            return first == file.read() == MAGIC
    except OSError:  # missing, or too short
        return False


@dataclass(frozen=True, eq=False, repr=False)
class QueryScores:
    """For each metric one value for each query, in the order of `ids`. Its length is the number of queries.

    >>> QueryScores(("q1", "q2"), np.array([1, 0]), {"ndcg_at_10": np.array([1.0, 0.0])})
    QueryScores(2 queries: ndcg_at_10)
    """

    ids: tuple[str, ...]
    first_positive: Int32 | None
    """The rank of the first relevant document, from 1; 0 if none was retrieved. None for tasks without a corpus."""
    by_metric: Mapping[str, Float64]

    @classmethod
    def read(cls, path: Path) -> QueryScores:
        """Read the Parquet file; a missing or damaged one is a ResultError."""
        import pyarrow

        try:
            table = read_parquet(path)
            ids = tuple(table.column(QUERY_COLUMN).to_pylist())
            if not all(isinstance(id_, str) for id_ in ids):
                raise ValueError(f"the column {QUERY_COLUMN} must hold texts")
            ranked = RANK_COLUMN in table.column_names
            ranks = table.column(RANK_COLUMN).to_numpy().astype(np.int32) if ranked else None
            names = [name for name in table.column_names if name not in (QUERY_COLUMN, RANK_COLUMN)]
            return cls(ids, ranks, {name: table.column(name).to_numpy().astype(np.float64) for name in names})
        except (OSError, KeyError, ValueError, TypeError, OverflowError, pyarrow.ArrowException) as error:
            reason = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read: {error}"
            raise ResultError(f"{path} {reason}", hint="run the evaluation again", path=path) from error

    def to_parquet(self) -> bytes:
        """Return the content of the Parquet file."""
        import pyarrow
        from pyarrow import parquet

        columns = {QUERY_COLUMN: pyarrow.array(self.ids, pyarrow.string())}
        if self.first_positive is not None:
            columns[RANK_COLUMN] = self.first_positive
        sink = pyarrow.BufferOutputStream()
        # Scores rarely repeat: dictionaries and statistics of sixty columns cost more than they save, and so does zstd,
        # which halves the speed to save a fifth of 30 kB.
        parquet.write_table(
            pyarrow.table({**columns, **self.by_metric}),
            sink,
            compression="snappy",
            use_dictionary=False,
            write_statistics=False,
        )
        return bytes(sink.getvalue())

    def __getitem__(self, metric: str) -> Float64:
        if metric not in self.by_metric:
            raise UnknownName("metric", metric, self.by_metric, hint=f"known: {', '.join(self.by_metric)}")
        return self.by_metric[metric]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_metric)

    def __contains__(self, metric: object) -> bool:
        return metric in self.by_metric

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"QueryScores({len(self.ids):,} queries: {', '.join(self.by_metric)})"

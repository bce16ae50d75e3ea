"""The first reading of a corpus: only ids. Eight bytes a document are kept, whatever the size of the corpus."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.build.sample.near_duplicates import UInt64
from steelyard.build.sample.recipe import draw
from steelyard.build.source.source import Source
from steelyard.errors import DataError
from steelyard.types import Int64, join_title
from steelyard.types.protocols import Tick, no_tick

STRETCH = 1 << 20
"""Documents whose draws are compared at a time."""


@dataclass(frozen=True, eq=False)
class Scan:
    """What the ids alone tell: how many documents there are, which come first in a draw, where the judged ones are."""

    draws: UInt64
    """A number for each document in the order of the source; the smallest are drawn first."""
    places: Int64
    """For each of `Source.judged_ids` its place in the source; -1: not there."""
    repeated: Int64
    """Places of documents whose id came before: nobody takes them."""

    def __len__(self) -> int:
        return len(self.draws)

    def free(self) -> npt.NDArray[np.bool_]:
        """A mark for each place: whether a document may be taken from there."""
        marks = np.ones(len(self), dtype=bool)
        marks[self.repeated] = False
        return marks

    def first(self, count: int, without: Any, *, source_order: bool = False) -> Int64:
        """The first `count` places of the draw (or of the source), leaving out those `without`."""
        free = self.free()
        free[np.asarray(without, dtype=np.int64)] = False
        best = np.empty(0, dtype=np.int64)
        # A stretch at a time: a copy of ten million numbers would cost more than all else that is kept.
        for start in range(0, len(self), STRETCH):
            best = np.concatenate([best, start + np.flatnonzero(free[start : start + STRETCH])])
            if source_order and len(best) >= count:
                return best[:count]
            if not source_order and count < len(best):
                best = best[np.argpartition(self.draws[best], count)[:count]]
        return best if source_order else best[np.argsort(self.draws[best], kind="stable")]


@dataclass(frozen=True)
class Document:
    """A document of the source."""

    id: str
    body: str
    title: str = ""

    @property
    def text(self) -> str:
        """What a model reads."""
        return join_title(self.title, self.body)

    @property
    def merged(self) -> str:
        r"""What the published sets store: title, an empty line, body; nothing twice.

        >>> Document("1", " A river. ", "Nile").merged, Document("2", "Nile", "Nile ").merged
        ('Nile\n\nA river.', 'Nile')
        """
        title, body = self.title.strip(), self.body.strip()
        return f"{title}\n\n{body}" if title and body and title != body else body or title


def scan(source: Source, seed: int, tick: Tick = no_tick) -> Scan:
    """Read the ids of the corpus once.

    An id that comes twice is a DataError with both rows, or, if the source is lenient, its first document counts.
    """
    wanted = np.array(draw(seed, "documents", source.judged_ids), dtype=np.uint64)
    order = np.argsort(wanted)
    ordered = wanted[order]
    places = np.full(len(wanted), -1, dtype=np.int64)
    parts: list[UInt64] = []
    row = 0
    for batch in source.documents(False):
        draws = np.array(draw(seed, "documents", batch["id"].to_pylist()), dtype=np.uint64)
        if len(ordered):
            # Sixty-four bits tell ids apart: among ten million the odds of two alike are one in 400,000.
            at = np.minimum(np.searchsorted(ordered, draws), len(ordered) - 1)
            hit = np.flatnonzero(ordered[at] == draws)[::-1]  # of repeated ids the first counts, so it is written last
            hit = hit[places[order[at[hit]]] < 0]
            places[order[at[hit]]] = row + hit
        parts.append(draws)
        row += len(draws)
        tick(len(draws))
    if not row:
        raise DataError("no documents", where=source.info.source, hint="check that the right files were given")
    draws = np.concatenate(parts)
    return Scan(draws, places, _repeated(draws, source))


def _repeated(draws: UInt64, source: Source) -> Int64:
    ordered = np.sort(draws)
    again = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(again):
        return np.empty(0, dtype=np.int64)
    suspects = np.flatnonzero(np.isin(draws, again))
    first = np.unique(draws[suspects], return_index=True)[1]
    if not source.lenient:
        rows = suspects[draws[suspects] == draws[suspects[0]]][:2] + 1
        raise DataError(
            f"documents {rows[0]:,} and {rows[1]:,} have the same id ({len(again):,} such cases)",
            where=source.info.source,
            hint="make ids unique, or remove the repeated documents",
        )
    return np.delete(suspects, first)


def fetch(source: Source, places: Any, tick: Tick = no_tick) -> dict[int, Document]:
    """The documents at these places of the source, by place."""
    wanted = np.unique(np.asarray(places, dtype=np.int64))
    found: dict[int, Document] = {}
    if not len(wanted):
        return found
    for start, columns in numbered(source):
        low, high = np.searchsorted(wanted, (start, start + len(columns["id"])))
        if high > low:
            found.update(zip(wanted[low:high].tolist(), documents_of(columns, wanted[low:high] - start), strict=True))
        tick(len(columns["id"]))
        if high == len(wanted):
            break
    return found


def numbered(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """Every batch of documents with the place of its first."""
    start = 0
    for columns in source.documents(True):
        yield start, columns
        start += len(columns["id"])


def documents_of(columns: dict[str, Any], rows: Int64) -> Sequence[Document]:
    """Some documents of a batch."""
    import pyarrow as pa

    taken = {field: column.take(pa.array(rows)).to_pylist() for field, column in columns.items()}
    titles = taken.get("title") or [""] * len(rows)
    return [Document(i, b or "", t or "") for i, b, t in zip(taken["id"], taken["text"], titles, strict=True)]

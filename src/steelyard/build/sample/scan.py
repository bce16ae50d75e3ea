"""The first pass over a corpus: only ids. It keeps eight bytes per document."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.build.sample.recipe import draw
from steelyard.build.source.source import Source
from steelyard.datasets import validation
from steelyard.datasets.problems import MISSING_KINDS, Report
from steelyard.errors import DataError
from steelyard.text.pieces import UInt64
from steelyard.types import Int64, join_title
from steelyard.types.protocols import Tick, no_tick

STRETCH = 1 << 20
"""Documents whose random numbers are compared at a time."""


@dataclass(frozen=True, eq=False)
class Scan:
    """What follows from the ids: the number of documents, their order in a draw, the positions of the judged ones."""

    draws: UInt64
    """A number for each document in the order of the source; the smallest are drawn first."""
    places: Int64
    """For each of `Source.judged_ids` its position in the source; -1: not in the corpus."""
    repeated: Int64
    """Positions of documents with a repeated id, which are never taken."""

    def __len__(self) -> int:
        return len(self.draws)

    def free(self) -> npt.NDArray[np.bool_]:
        """Return for each position whether its document may be taken."""
        marks = np.ones(len(self), dtype=bool)
        marks[self.repeated] = False
        return marks

    def first(self, count: int, without: Any, *, source_order: bool = False) -> Int64:
        """Return the first `count` positions of the draw (or of the source), except those in `without`."""
        free = self.free()
        free[np.asarray(without, dtype=np.int64)] = False
        best = np.empty(0, dtype=np.int64)
        # In parts: a copy of ten million numbers would need more memory than everything else.
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
        """Return the text that a model reads."""
        return join_title(self.title, self.body)

    @property
    def merged(self) -> str:
        r"""Return the text that the published sets store: title, an empty line, body, without repetition.

        >>> Document("1", " A river. ", "Nile").merged, Document("2", "Nile", "Nile ").merged
        ('Nile\n\nA river.', 'Nile')
        """
        title, body = self.title.strip(), self.body.strip()
        return f"{title}\n\n{body}" if title and body and title != body else body or title


def scan(source: Source, seed: int, tick: Tick = no_tick) -> Scan:
    """Read the ids of the corpus once.

    A repeated id is a DataError with both rows; if the source is lenient, the first document is used.
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
            # 64 bits distinguish ids: among ten million the probability of a collision is one in 400,000.
            at = np.minimum(np.searchsorted(ordered, draws), len(ordered) - 1)
            hit = np.flatnonzero(ordered[at] == draws)[::-1]  # the first of repeated ids counts, so it is written last
            hit = hit[places[order[at[hit]]] < 0]
            places[order[at[hit]]] = row + hit
        parts.append(draws)
        row += len(draws)
        tick(len(draws))
    if not row:
        raise DataError(
            "the corpus must have at least one document, got none",
            where=source.info.source,
            hint="check that the right files were given",
        )
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
        report = Report()
        _report_repeated(np.delete(suspects, first), source, report)
        report.raise_errors("strict")
    return np.delete(suspects, first)


def _report_repeated(places: Int64, source: Source, report: Report) -> None:
    """Report the documents at these positions, whose ids were seen before, with file, row and id."""
    start = 0
    for name, read in source.files or ((source.info.source, source.documents),):
        rows: list[int] = []
        example, first = "", start
        for batch in read(False):
            end = start + len(batch["id"])
            inside = places[(places >= start) & (places < end)]
            if len(inside) and not rows:
                example = str(batch["id"][int(inside[0]) - start].as_py())
            rows += (inside - first + 1).tolist()
            start = end
        if rows:
            report.add("duplicate-id", name, f"the id {example!r} again", rows)


def report_missing(source: Source, scanned: Scan, choice: str, report: Report) -> None:
    """Report judgements of documents that are not in the corpus, as a load of the whole task does."""
    if source.qrels is None or not (scanned.places < 0).any():
        return
    table = source.qrels
    numbers = np.asarray(table["document"].dictionary_encode().indices, dtype=np.int64)
    kind = MISSING_KINDS[choice]
    validation.known(table, "document", scanned.places[numbers], kind, table["document"][:0], "corpus", report)


def fetch(source: Source, places: Any, tick: Tick = no_tick) -> dict[int, Document]:
    """Return the documents at these positions of the source, by position."""
    ordered = np.unique(np.asarray(places, dtype=np.int64))
    documents: dict[int, Document] = {}
    if not len(ordered):
        return documents
    for start, columns in numbered(source):
        low, high = np.searchsorted(ordered, (start, start + len(columns["id"])))
        if high > low:
            rows = ordered[low:high]
            documents.update(zip(rows.tolist(), documents_of(columns, rows - start), strict=True))
        tick(len(columns["id"]))
        if high == len(ordered):
            break
    return documents


def numbered(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield every batch of documents with the position of its first one."""
    start = 0
    for columns in source.documents(True):
        yield start, columns
        start += len(columns["id"])


def documents_of(columns: dict[str, Any], rows: Int64) -> Sequence[Document]:
    """Return some documents of a batch."""
    import pyarrow as pa

    taken = {field: column.take(pa.array(rows)).to_pylist() for field, column in columns.items()}
    titles = taken.get("title") or [""] * len(rows)
    return [Document(i, b or "", t or "") for i, b, t in zip(taken["id"], taken["text"], titles, strict=True)]

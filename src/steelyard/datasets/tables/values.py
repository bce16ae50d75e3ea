"""Convert columns of tasks without a corpus: texts, scores and labels, one per row or a list of them per row.

As in `convert`, a function returns an array of its type, or None if the column cannot be converted. Labels keep their
type: integers are `int64`, anything else is text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from steelyard.datasets.tables.columns import Field
from steelyard.datasets.tables.convert import TEXT, AddProblem, as_texts, as_written, decimal

KINDS = ("texts", "numbers", "labels")
DEPTHS = {"texts": 1, "numbers": 1, "labels": 2}
"""How deep the lists of a row may be nested, by kind: a list of texts, a list of labels or of levels of labels."""
WHOLE = re.compile(r"[+-]?\d{1,18}")

Convert = Callable[[Any, AddProblem], Any]


def as_numbers(column: Any, add_problem: AddProblem) -> Any:
    """Return scores as float64, null for none, NaN and infinity."""
    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)):
        texts = as_texts(column, add_problem, missing=None)
        if texts is None:
            return None
        column = _parsed(texts.to_pylist(), add_problem)
        if column is None:
            return None
    numbers = column.cast(pa.float64())
    return pc.if_else(pc.is_finite(numbers), numbers, pa.scalar(None, pa.float64()))


def as_labels(column: Any, add_problem: AddProblem) -> Any:
    """Return labels as int64 or text, null for none. CSV and TSV have no types: integers in them are int64."""
    kind = column.type
    if pa.types.is_boolean(kind) or pa.types.is_null(kind) or pa.types.is_integer(kind):
        return column.cast(pa.int64())
    if pa.types.is_floating(kind):
        column = pc.if_else(pc.is_finite(column), column, pa.scalar(None, kind))
        whole = pc.all(pc.equal(pc.floor(column), column)).as_py()
        return column.cast(pa.int64()) if whole is not False else column.cast(TEXT)
    untyped = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
    labels = as_texts(column, add_problem, missing=None)
    if labels is None:
        return None
    labels = pc.if_else(pc.equal(pc.utf8_trim_whitespace(labels), ""), pa.scalar(None, TEXT), labels)
    if untyped and all(label is None or WHOLE.fullmatch(label.strip()) for label in labels.to_pylist()):
        return pc.utf8_trim_whitespace(labels).cast(pa.int64())
    return labels


def or_lists(convert: Convert, name: str) -> Convert:
    """Return the converter for lists, or lists of lists: values are converted, lengths are kept."""

    def converted(column: Any, add_problem: AddProblem) -> Any:
        if not is_list(column):
            return convert(column, add_problem)
        if _nesting(column.type) > (2 if name == "labels" else 1):
            add_problem("columns", f"lists of {name} are nested too deeply: {column.type}", ())
            return None
        if column.null_count:
            add_problem("row", f"the list of {name} is missing", np.flatnonzero(np.asarray(pc.is_null(column))))
            return None
        lengths = np.asarray(pc.list_value_length(column), dtype=np.int64)
        owner = np.repeat(np.arange(len(column)), lengths)
        # A problem inside a list is reported for the row of the list.
        inner = converted(column.flatten(), lambda kind, found, rows: add_problem(kind, found, _distinct(owner, rows)))
        if inner is None:
            return None
        return pa.LargeListArray.from_arrays(pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int64()), inner)

    return converted


CONVERTERS = {
    "texts": or_lists(as_written, "texts"),
    "numbers": or_lists(as_numbers, "scores"),
    "labels": or_lists(as_labels, "labels"),
}
"""By the kind of a field."""


def is_list(column: Any) -> bool:
    """Return whether the rows are lists.

    >>> is_list(pa.array([1, 2])), is_list(pa.array([[1], [2, 3]]))
    (False, True)
    """
    return bool(pa.types.is_list(column.type) or pa.types.is_large_list(column.type))


def _nesting(kind: Any) -> int:
    return 1 + _nesting(kind.value_type) if pa.types.is_list(kind) or pa.types.is_large_list(kind) else 0


def arrow_type(kind: str, example: Any) -> Any:
    """Return the type for Arrow's JSON reader, by the first record; None if it does not show it."""
    if isinstance(example, list):
        inner = arrow_type(kind, next((item for item in example if item is not None), None))
        return None if inner is None else pa.list_(inner)
    if kind == "texts":
        return pa.string() if isinstance(example, str) else None
    if kind == "numbers":
        return pa.float64() if type(example) in (int, float) else None
    return pa.string() if isinstance(example, str) else pa.int64() if type(example) is int else None


def from_json(cells: Sequence[Any], field: Field, add_problem: AddProblem) -> Any:
    """Return a column from JSON values of any kind; rows are counted from 1 here."""
    depths = {_depth(cell) for cell in cells if cell is not None}
    if depths and max(depths) > DEPTHS[field.kind]:
        deep = _rows(cells, lambda cell: _depth(cell) > DEPTHS[field.kind])
        add_problem("columns", f"{field.name} is nested too deeply: {_shown(cells[deep[0] - 1])}", deep)
        return None
    huge = _rows(cells, lambda cell: any(_too_large(value, field.kind) for value in _leaves(cell)))
    if huge:
        add_problem("columns", f"{field.name} must be a number of at most 64 bits: {_shown(cells[huge[0] - 1])}", huge)
        return None
    if len(depths) > 1:
        shallow = _rows(cells, lambda cell: _depth(cell) == min(depths))
        add_problem("columns", f"{field.name} is a list in some rows and a single value in others", shallow)
        return None
    expected: tuple[type, ...] = (str,) if field.kind == "texts" else (int, float, str)
    wrong = _rows(cells, lambda cell: not all(isinstance(value, expected) for value in _leaves(cell)))
    if wrong:
        kind = {"texts": "text", "numbers": "a number", "labels": "a label"}[field.kind]
        add_problem("columns", f"{field.name} must be {kind}, got {_shown(cells[wrong[0] - 1])}", wrong)
        return None
    return _array(cells, field, add_problem, depths.pop() if depths else 0)


def _array(cells: Sequence[Any], field: Field, add_problem: AddProblem, depth: int) -> Any:
    leaf: Callable[[Any], Any] = lambda value: value  # noqa: E731
    kind: Any = TEXT
    if field.kind == "numbers":
        textual = any(isinstance(value, str) for cell in cells for value in _leaves(cell))
        leaf, kind = (str, TEXT) if textual else (float, pa.float64())
    elif field.kind == "labels":
        texts = _rows(cells, lambda cell: any(isinstance(value, str) for value in _leaves(cell)))
        others = _rows(cells, lambda cell: any(not isinstance(value, str) for value in _leaves(cell)))
        if texts and others:
            minority = min(texts, others, key=len)
            add_problem(
                "label-type", f"labels must be all numbers or all text, got {_shown(cells[minority[0] - 1])}", minority
            )
        fractions = any(isinstance(value, float) for cell in cells for value in _leaves(cell))
        leaf, kind = (str, TEXT) if texts else (float, pa.float64()) if fractions else (int, pa.int64())
    for _ in range(depth):
        kind = pa.large_list(kind)
    return pa.array([_mapped(cell, leaf) for cell in cells], kind)


def _parsed(texts: Sequence[str | None], add_problem: AddProblem) -> Any:
    numbers: list[float | None] = []
    bad = []
    for row, text in enumerate(texts):
        try:
            numbers.append(decimal(text) if text and text.strip() else None)
        except ValueError:
            bad.append(row)
    if bad:
        add_problem("score", f"a score must be a number, got {texts[bad[0]]!r}", bad)
        return None
    return pa.array(numbers, pa.float64())


def _distinct(owner: Any, rows: Iterable[int]) -> list[int]:
    return np.unique(owner[list(rows)]).tolist() if len(owner) else []


def _too_large(value: Any, kind: str) -> bool:
    """Return whether a whole number cannot be a label (64 bits) or a score (a float)."""
    limit = 2**63 - 1 if kind == "labels" else 2**1023
    return isinstance(value, int) and abs(value) > limit


def _depth(cell: Any) -> int:
    """Return how deep lists are nested."""
    return 1 + max((_depth(item) for item in cell if item is not None), default=0) if isinstance(cell, list) else 0


def _leaves(cell: Any) -> Iterable[Any]:
    if isinstance(cell, list):
        for item in cell:
            yield from _leaves(item)
    elif cell is not None:
        yield cell


def _mapped(cell: Any, leaf: Callable[[Any], Any]) -> Any:
    if isinstance(cell, list):
        return [_mapped(item, leaf) for item in cell]
    return None if cell is None else leaf(cell)


def _rows(cells: Sequence[Any], test: Callable[[Any], bool]) -> list[int]:
    return [row for row, cell in enumerate(cells, 1) if cell is not None and test(cell)]


def _shown(cell: Any) -> str:
    text = repr(cell)
    return text if len(text) <= 40 else f"{text[:40]}..."

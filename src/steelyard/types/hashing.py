"""What data is known by: the same content has the same hash wherever it was read, and results are keyed by it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.types import Task

PORTION = 256
"""Texts joined at a time: the system hands out large memory by the page, which would take longer than the hash."""


def of_task(task: Task) -> str:
    """The hash of ids, texts, judgements and candidates; the order of the queries does not matter."""
    digest = hashlib.sha256()  # processors have instructions for it: three times as fast as blake2b here

    def feed(part: str, values: Sequence[str]) -> None:
        digest.update(f"\x00{part}\x00".encode())
        for start in range(0, len(values), PORTION):
            joint = "\x1f" if start else ""
            digest.update((joint + "\x1f".join(values[start : start + PORTION])).encode("utf-8", "surrogatepass"))

    feed("document ids", task.corpus.ids)
    feed("documents", task.corpus.texts)
    order = sorted(range(len(task.queries)), key=task.queries.ids.__getitem__)
    feed("query ids", [task.queries.ids[q] for q in order])
    feed("queries", [task.queries.texts[q] for q in order])
    for q in order:
        digest.update(task.qrels.rows_of(q).tobytes() + b"|" + task.qrels.grades_of(q).tobytes() + b";")
    for name in sorted(task.candidates):
        feed("candidates", [name])
        for q in order:
            digest.update(task.candidates[name].rows_of(q).tobytes() + b";")
    return digest.hexdigest()[:32]


def of_columns(type: str, *columns: Iterable[str]) -> str:
    """The hash of a task of that type that has columns of texts and labels, and no corpus.

    >>> of_columns("sts", ["a"], ["b"]) != of_columns("sts", ["a", "b"], [])
    True
    """
    digest = hashlib.sha256(type.encode())
    for column in columns:
        digest.update(b"\x00")
        for text in column:
            digest.update(text.encode("utf-8", "surrogatepass") + b"\x1f")
    return digest.hexdigest()[:32]

"""What a reader of figures should know of lengths: texts that were longer than a model reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steelyard.results import Result

KINDS = ("documents", "queries", "texts")


def cut_lines(results: Iterable[Result]) -> Iterator[str]:
    """A line for each model that did not read all of its texts to the end; counted where they were encoded.

    >>> from steelyard.results import Result
    >>> notes = {"documents": {"texts_encoded": 40, "texts_cut": 3}, "queries": {"texts_encoded": 9, "texts_cut": 0}}
    >>> list(cut_lines([Result("T/a", "dense:X", {}, "1", notes=notes), Result("T/a", "bm25", {}, "2")]))
    ['dense:X read only the beginning of 3 of 40 documents']
    """
    counts: dict[str, dict[str, list[int]]] = {}
    for result in results:
        for kind in KINDS:
            told = result.notes.get(kind)
            if isinstance(told, Mapping) and told.get("texts_cut"):
                cut, of = counts.setdefault(result.model, {}).setdefault(kind, [0, 0])
                counts[result.model][kind] = [cut + told["texts_cut"], of + told.get("texts_encoded", 0)]
    for model, kinds in counts.items():
        parts = (f"{cut:,} of {of:,} {kind}" for kind, (cut, of) in kinds.items())
        yield f"{model} read only the beginning of {' and '.join(parts)}"

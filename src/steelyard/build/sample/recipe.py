"""Every choice of a sample: the same source and recipe give the same bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from steelyard.errors import UsageError

Order = Literal["random", "source"]
Shares = Literal["equal", "proportional"]
Copies = Literal["merge", "drop"]


@dataclass(frozen=True)
class Recipe:
    """The choices of a sample; `Recipe.hakari()` has those of the published sets.

    >>> Recipe(queries=50).documents, Recipe.hakari().order
    (10000, 'source')
    """

    queries: int = 200
    documents: int = 10_000
    seed: int = 0
    order: Order = "random"
    """`random`: drawn by a hash of seed and id, independent of the order of the files. `source`: the first that fit."""
    exact: bool = False
    """Duplicates are equal character by character, and texts are stripped; else white space is ignored."""
    stratify: str | None = None
    """A column of the queries; each of its values gets a share. `language` is detected from the texts if missing."""
    shares: Shares = "equal"
    max_positives: int | None = None
    """The best-graded positives are kept; the others are removed from the corpus, unless another query keeps them."""
    near: float = 0.9
    """Jaccard index from which a query, or an unjudged document, is a near duplicate and excluded; 0: never."""
    copies: Copies = "merge"
    """Judged documents with the same text: one is kept with the judgements of all, or the later ones are dropped."""
    judged_negatives: bool = True
    mine: tuple[str, ...] = ()
    """Models whose best unjudged documents are used as hard negatives."""
    hard_negatives: int = 20
    """The most for each query."""
    guard_similarity: float = 0.7
    """A mined document this similar to a positive of its query may be an unjudged positive: excluded. 0: never."""
    guard_margin: float | None = None
    """Also exclude what scores above this share of the query's best positive; see docs/build.md before use."""
    pool: int | None = None
    """Mine among this number of documents, drawn by the seed; None: among all."""
    binary: bool = False
    """Write every positive as 1."""
    merge_titles: bool = False
    """Put a title and an empty line before the text, for readers that do not support titles."""
    zero_grades: bool = False
    """Also write judgements below 1; readers that ignore grades would count them as positives."""

    def __post_init__(self) -> None:
        _check("queries", self.queries, self.queries >= 1, "at least 1")
        _check("documents", self.documents, self.documents >= 1, "at least 1")
        _check("max positives", self.max_positives, self.max_positives is None or self.max_positives >= 1, "at least 1")
        _check("near", self.near, 0 <= self.near <= 1, "between 0 (off) and 1")
        _check("guard similarity", self.guard_similarity, 0 <= self.guard_similarity <= 1, "between 0 (off) and 1")
        _check("guard margin", self.guard_margin, self.guard_margin is None or self.guard_margin > 0, "above 0")
        _check("hard negatives", self.hard_negatives, self.hard_negatives >= 0, "at least 0")
        _check("pool", self.pool, self.pool is None or self.pool >= 1, "at least 1")

    @classmethod
    def hakari(cls, *, queries: int = 200, documents: int = 10_000) -> Recipe:
        """Return the recipe of the published sets: the first queries and documents, without exact duplicates.

        It gives the same ids with two exceptions: positives that do not fit are an error here, and a query keeps its
        judgements beyond the hundredth, whose documents the published sets keep as if they were not relevant.
        """
        return cls(
            queries, documents, order="source", exact=True, near=0.0, copies="drop", binary=True, merge_titles=True
        )

    @property
    def settings(self) -> dict[str, Any]:
        """Return every choice, JSON-ready."""
        return asdict(self) | {"mine": list(self.mine)}


def draw(seed: int, what: str, ids: Iterable[str]) -> list[int]:
    """Return a 64-bit number for each id, which depends only on seed, purpose and id.

    Taking the smallest is a random draw that does not depend on the order of the source, and changes little when the
    source grows.

    >>> draw(0, "queries", ["a", "b"]) == draw(0, "queries", ["b", "a"])[::-1]
    True
    """
    start = hashlib.blake2b(f"{seed}\x1f{what}\x1f".encode(), digest_size=8)
    numbers = []
    for id_ in ids:
        state = start.copy()
        state.update(id_.encode("utf-8", "surrogatepass"))
        numbers.append(int.from_bytes(state.digest(), "big"))
    return numbers


def _check(name: str, value: object, good: bool, expected: str) -> None:
    if not good:
        raise UsageError.invalid(name, expected=expected, found=value)

"""What a Nano-set is to be: every choice of a cut, so that the same source and recipe give the same bytes."""

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
    """The choices of a cut; the defaults are ours, `Recipe.hakari()` has those of the published sets.

    >>> Recipe(queries=50).documents, Recipe.hakari().order
    (10000, 'source')
    """

    queries: int = 200
    documents: int = 10_000
    seed: int = 0
    order: Order = "random"
    """`random`: drawn by a hash of seed and id, whatever the order of the files. `source`: the first that fit."""
    exact: bool = False
    """Copies are the same to the letter, and texts lose white space at their ends; else none of it matters."""
    stratify: str | None = None
    """A column of the queries whose values all get their share; `language` is told from the texts if need be."""
    shares: Shares = "equal"
    max_positives: int | None = None
    """The best-graded ones stay; the others leave the corpus, unless another query keeps them."""
    near: float = 0.9
    """Jaccard index from which a query, or a document that nobody judged, is a near copy and left out; 0: never."""
    copies: Copies = "merge"
    """Judged documents with the same text: one stays and has the judgements of all, or the later ones are dropped."""
    judged_negatives: bool = True
    mine: tuple[str, ...] = ()
    """Models whose best unjudged documents are taken as hard negatives."""
    hard_negatives: int = 20
    """At most so many for each query."""
    guard_similarity: float = 0.7
    """A mined document this similar to a positive of its query may be an unjudged positive: left out. 0: never."""
    guard_margin: float | None = None
    """Also leave out what scores more than this share of the query's best positive; see docs/build.md before use."""
    pool: int | None = None
    """Mine among so many documents, drawn by the seed; None: among all."""
    binary: bool = False
    """Write every positive as 1."""
    merge_titles: bool = False
    """Put a title and an empty line before the text, for readers that know no titles."""
    zero_grades: bool = False
    """Also write judgements below 1; readers that look at no grades would take them for positives."""

    def __post_init__(self) -> None:
        _check("queries", self.queries, self.queries >= 1, "1 or more")
        _check("documents", self.documents, self.documents >= 1, "1 or more")
        _check("max positives", self.max_positives, self.max_positives is None or self.max_positives >= 1, "1 or more")
        _check("near", self.near, 0 <= self.near <= 1, "between 0 (off) and 1")
        _check("guard similarity", self.guard_similarity, 0 <= self.guard_similarity <= 1, "between 0 (off) and 1")
        _check("guard margin", self.guard_margin, self.guard_margin is None or self.guard_margin > 0, "above 0")
        _check("hard negatives", self.hard_negatives, self.hard_negatives >= 0, "0 or more")
        _check("pool", self.pool, self.pool is None or self.pool >= 1, "1 or more")

    @classmethod
    def hakari(cls, *, queries: int = 200, documents: int = 10_000) -> Recipe:
        """The published sets': the first queries and documents of the source, no exact copies, grades or titles.

        The same ids as theirs but for two things: positives that do not fit are an error here, and a query keeps its
        judgements beyond the hundredth, whose documents theirs leaves in the corpus as if they were not relevant.
        """
        return cls(
            queries, documents, order="source", exact=True, near=0.0, copies="drop", binary=True, merge_titles=True
        )

    @property
    def settings(self) -> dict[str, Any]:
        """Every choice, JSON-ready."""
        return asdict(self) | {"mine": list(self.mine)}


def draw(seed: int, what: str, ids: Iterable[str]) -> list[int]:
    """A number of 64 bits for each id, which nothing but seed, purpose and id decide.

    Taking the smallest is a fair draw that does not depend on the order of the source, and stays much the same when
    the source grows.

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
        raise UsageError(f"{name}: {value}", hint=f"expected {expected}")

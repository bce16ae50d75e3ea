"""The best way to cut a word into pieces, in double precision, as the package of USE multilingual v3 finds it.

`sentencepiece` sums scores in single precision. Where two ways have the same score, as in a run of one character, its
rounding decides between them, and not always for the one that the package takes.
"""

from __future__ import annotations

from collections.abc import Sequence

UNKNOWN = 0


class BestPath:
    """Finds the ids of words.

    >>> path = BestPath(["<unk>", "<s>", "</s>", "a", "aa", "b"], [0.0, 0.0, 0.0, -1.0, -1.5, -2.0])
    >>> path("aaab")
    (3, 4, 5)
    >>> path("?a")
    (0, 3)
    """

    def __init__(self, pieces: Sequence[str], scores: Sequence[float]) -> None:
        self._ids = dict(zip(pieces, range(len(pieces)), strict=True))
        self._scores = scores
        self._unknown_score = min(scores) - 10.0
        self._lengths: dict[str, list[int]] = {}
        """Of the pieces that begin with two characters."""
        for two, length in {(piece[:2], len(piece)) for piece in pieces if len(piece) > 1}:
            self._lengths.setdefault(two, []).append(length)

    def __call__(self, word: str) -> tuple[int, ...]:
        """The pieces with the highest sum of scores; of equal sums the one whose last pieces are longest.

        A character that is no piece of its own may be passed as unknown.
        """
        best = [0.0] + [float("-inf")] * len(word)
        last = [(0, UNKNOWN)] * (len(word) + 1)
        for start in range(len(word)):
            for length in (1, *self._lengths.get(word[start : start + 2], ())):
                id_ = self._ids.get(word[start : start + length])
                if id_ is not None:
                    score = best[start] + self._scores[id_]
                elif length == 1:
                    id_, score = UNKNOWN, best[start] + self._unknown_score
                else:
                    continue
                end = start + length
                if end <= len(word) and score > best[end]:
                    best[end], last[end] = score, (start, id_)
        ids, end = [], len(word)
        while end:
            end, id_ = last[end]
            ids.append(id_)
        return tuple(reversed(ids))

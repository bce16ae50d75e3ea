"""The five forms of BM25 of Kamphuis et al. (ECIR 2020), as bm25s computes them.

A form has a weight for the rarity of a term (`idf`) and for its count and the document's length (`gain`). Lucene and
Robertson leave out the factor k1 + 1 of ATIRE, BM25L and BM25+, which does not change the ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from steelyard.types import Float32, Float64

Idf = Callable[[Float64, int], Float64]
Gain = Callable[[Float32, Float32, float, float], Float32]


@dataclass(frozen=True)
class Form:
    """`idf(df, documents)` and `gain(tf, norm, k1, delta)`, where norm is 1 - b + b * length / mean length."""

    idf: Idf
    gain: Gain
    delta: float = 0.0
    """The value of the form's authors; 0 if the form has no delta."""


def _saturate(tf: Float32, norm: Float32, k1: float, delta: float) -> Float32:
    return tf / (k1 * norm + tf)


def _atire(tf: Float32, norm: Float32, k1: float, delta: float) -> Float32:
    return (k1 + 1) * tf / (k1 * norm + tf)


def _bm25l(tf: Float32, norm: Float32, k1: float, delta: float) -> Float32:
    shifted = tf / norm + np.float32(delta)
    return (k1 + 1) * shifted / (k1 + shifted)


def _bm25_plus(tf: Float32, norm: Float32, k1: float, delta: float) -> Float32:
    return _atire(tf, norm, k1, delta) + np.float32(delta)


FORMS: Mapping[str, Form] = {
    "lucene": Form(lambda df, n: np.log1p((n - df + 0.5) / (df + 0.5)), _saturate),
    # At least zero: a term in more than half of the documents does not count.
    "robertson": Form(lambda df, n: np.log(np.maximum(1.0, (n - df + 0.5) / (df + 0.5))), _saturate),
    "atire": Form(lambda df, n: np.log(n / df), _atire),
    "bm25l": Form(lambda df, n: np.log((n + 1) / (df + 0.5)), _bm25l, delta=0.5),
    "bm25+": Form(lambda df, n: np.log((n + 1) / df), _bm25_plus, delta=0.5),
}
"""The forms by name."""

"""Pooling of token vectors, with the names and definitions of sentence-transformers' Pooling."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from steelyard.types import Float32, Int64

POOLING_MODES = ("cls", "lasttoken", "max", "mean", "mean_sqrt_len_tokens", "weightedmean")


def pool(states: Float32, mask: npt.NDArray[np.int64], mode: str) -> Float32:
    """Return vectors (texts, dimension) from states (texts, tokens, dimension); `mask` is 0 where a token is padding.

    `cls` is the first token, `lasttoken` the last; `max` and `mean` use all of them; `mean_sqrt_len_tokens` divides
    their sum by the square root of their number; `weightedmean` gives token i the weight i, counted from 1. A text
    without tokens has the zero vector.

    >>> states, mask = np.array([[[2.0], [4.0], [9.0]]], dtype=np.float32), np.array([[1, 1, 0]])
    >>> {mode: round(float(pool(states, mask, mode)[0, 0]), 3) for mode in POOLING_MODES}
    {'cls': 2.0, 'lasttoken': 4.0, 'max': 4.0, 'mean': 3.0, 'mean_sqrt_len_tokens': 4.243, 'weightedmean': 3.333}
    """
    present = mask.astype(bool)
    texts = np.arange(len(states))
    if mode == "cls":
        pooled = states[texts, present.argmax(axis=1)]
    elif mode == "lasttoken":
        pooled = states[texts, present.shape[1] - 1 - present[:, ::-1].argmax(axis=1)]
    elif mode == "max":
        pooled = np.where(present[:, :, None], states, -np.inf).max(axis=1)
    else:
        pooled = _mean(states, present, mode)
    pooled = np.array(pooled, dtype=np.float32)
    pooled[~present.any(axis=1)] = 0
    return pooled


def _mean(states: Float32, present: npt.NDArray[np.bool_], mode: str) -> Float32:
    weights = present.astype(np.float32)
    if mode == "weightedmean":
        weights *= np.cumsum(present, axis=1)
    total = np.einsum("bt,btd->bd", weights, states, optimize=True)
    divisor = np.maximum(weights.sum(axis=1, keepdims=True), np.float32(1e-9))
    return np.asarray(total / (np.sqrt(divisor) if mode == "mean_sqrt_len_tokens" else divisor), dtype=np.float32)


def pool_spans(
    states: Float32, starts: Int64, spans: Sequence[tuple[int, int]], prompt: int, normalise: bool
) -> Float32:
    """Return the mean of the states of each span's tokens; `prompt` is the number of characters before the text."""
    starts = np.where(starts >= 0, np.maximum(starts - prompt, 0), -1)
    pooled = np.stack([states[mask].mean(axis=0) for mask in masks_of(starts, spans)])
    return pooled / np.linalg.norm(pooled, axis=1, keepdims=True) if normalise else pooled


def masks_of(starts: Int64, spans: Sequence[tuple[int, int]]) -> list[np.ndarray]:
    """Return which tokens belong to each span; what comes before the first belongs to it, and marks at the end to the
    last.

    >>> [mask.tolist() for mask in masks_of(np.array([-1, 0, 4, 9, -1]), [(0, 3), (4, 12)])]
    [[True, True, False, False, False], [False, False, True, True, True]]
    """
    place = np.arange(len(starts))
    text = np.flatnonzero(starts >= 0)
    lead = place < (text[0] if len(text) else len(starts))
    trail = place > (text[-1] if len(text) else len(starts))
    inside = ~lead & ~trail
    masks = []
    for number, (first, last) in enumerate(spans):
        mask = inside & (starts >= first) & (starts < last)
        if number == 0:
            mask |= lead | (inside & (starts < first))
        if number == len(spans) - 1:
            mask |= trail | (inside & (starts >= last))
        masks.append(mask if mask.any() else place == len(starts) - 1)
    return masks

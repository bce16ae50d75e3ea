"""The semantic level: training texts that mean the same as an evaluation text, also in another language.

A candidate is scored by its margin: how much more similar the two texts are than either is to its neighbours on the
other side (2 cos(x, y) - r(x) - r(y), where r is the mean similarity to four of these). Margins find translations far
better than similarities, which are high for all texts on one topic (Conneau et al. 2018). For an evaluation text the
nearest training text is not part of r: whether a text leaks must not change the margins of its other candidates.
Only a training text whose own nearest evaluation text is the one in question is a candidate.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from steelyard.audit.calibration import FALSE_POSITIVES, Calibration, calibrate, with_random_pairs
from steelyard.audit.evaluation_side import EvaluationSide
from steelyard.audit.lexical.normal_form import Bools
from steelyard.audit.match_log import Evidence
from steelyard.errors import ModelError
from steelyard.types import Float32, Float64, Int64
from steelyard.vectors.threads import single_threaded_blas

if TYPE_CHECKING:
    from steelyard.audit.training_data import Batch
    from steelyard.types.protocols import Encoder

NEIGHBOURS = 4
"""Texts of the other side that a similarity is compared with."""
STORED = 8
"""Candidates that are stored for each evaluation text."""
ENTRIES = 16_000_000
"""Similarities that are in memory at a time."""
LEAST_SIMILARITY = 0.4
"""No match has a lower cosine, whatever its margin."""
SNIPPET = 1_000
RANDOM = 128
"""Random pairs that are drawn from each batch."""
MOST_RANDOM = 65_536
"""Random pairs that are kept; of more, every second one."""
SAME = 1e-4
"""Two candidates whose similarities differ by less are copies of one text."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """For each evaluation text its nearest texts of a batch, best first."""

    similarities: Float32
    places: Int64
    hubness: Float32
    """For each text of the batch: its mean similarity to its nearest evaluation texts."""
    highest: Float32
    """For each text of the batch: its similarity to the nearest evaluation text."""
    random: tuple[Int64, Float32, Float32]
    """Random pairs: the evaluation text, the similarity, and the hubness of the text of the batch."""


@dataclass(frozen=True, eq=False)
class SemanticMatch:
    """An evaluation text and the training text that means the same."""

    text: int
    margin: float
    evidence: Evidence


class SemanticIndex:
    """The vectors of the evaluation texts, and the best candidates of each text so far."""

    def __init__(self, side: EvaluationSide, encoder: Encoder) -> None:
        self.encoder = encoder
        self._lock = threading.Lock()
        self.numbers = np.flatnonzero(side.lengths > 0)
        """The numbers of the texts that have a vector."""
        self.vectors = self._encode([side.texts[number] for number in self.numbers.tolist()])
        shape = (len(self.numbers), STORED)
        self._similarities: Float32 = np.full(shape, -np.inf, dtype=np.float32)
        self._hubness: Float32 = np.zeros(shape, dtype=np.float32)
        self._mutual: Bools = np.zeros(shape, dtype=np.bool_)
        """Whether the evaluation text is the nearest one of its candidate."""
        self._candidates: Int64 = np.full(shape, -1, dtype=np.int64)
        self._stored: dict[int, tuple[int, int, str, str]] = {}
        """File, row, column and text of the candidates that are in use."""
        self._next = 0
        self._random: list[tuple[Int64, Float32, Float32]] = []

    def search(self, texts: Sequence[str]) -> Nearest | None:
        """Return the nearest texts of a batch, None for an empty one; threads may call it side by side."""
        if not texts:
            return None
        vectors = self._encode(texts)
        parts, around, drawn = [], [], []
        generator = np.random.default_rng(crc32(texts[0].encode("utf-8", "replace")) + len(texts))
        step = max(1, ENTRIES // max(1, len(self.vectors)))
        for start in range(0, len(vectors), step):
            with single_threaded_blas():  # the scan has threads, and the bits do not depend on their number
                similarities = self.vectors @ vectors[start : start + step].T
            around.append(_top(similarities.T, NEIGHBOURS)[0])
            rows, columns = (generator.integers(0, count, RANDOM) for count in similarities.shape)
            drawn.append((rows, similarities[rows, columns], columns + start))
            best, places = _top(similarities, STORED)
            parts.append((best, places + start))
        best = np.concatenate([part[0] for part in parts], axis=1)
        places = np.concatenate([part[1] for part in parts], axis=1)
        order = np.argsort(-best, axis=1, kind="stable")[:, :STORED]
        chosen = np.take_along_axis(best, order, axis=1), np.take_along_axis(places, order, axis=1)
        neighbours = np.concatenate(around)
        hubness = neighbours.mean(axis=1)
        rows, sampled, columns = (np.concatenate(column) for column in zip(*drawn, strict=True))
        return Nearest(*chosen, hubness, neighbours[:, 0], (rows, sampled, hubness[columns]))

    def add(self, file: int, batch: Batch, nearest: Nearest) -> None:
        """Merge the candidates of a batch into the best so far; ties go to the earlier text."""
        similarities = np.concatenate((self._similarities, nearest.similarities), axis=1)
        hubness = np.concatenate((self._hubness, nearest.hubness[nearest.places]), axis=1)
        mutual = nearest.similarities >= nearest.highest[nearest.places] - SAME
        mutual = np.concatenate((self._mutual, mutual), axis=1)
        numbers = np.concatenate((self._candidates, nearest.places + self._next), axis=1)
        order = np.argsort(-similarities, axis=1, kind="stable")[:, :STORED]
        self._similarities = np.take_along_axis(similarities, order, axis=1)
        self._hubness = np.take_along_axis(hubness, order, axis=1)
        self._mutual = np.take_along_axis(mutual, order, axis=1)
        self._candidates = np.take_along_axis(numbers, order, axis=1)
        self._random.append(nearest.random)
        if len(self._random) * RANDOM > MOST_RANDOM:
            self._random = self._random[::2]
        used = np.unique(self._candidates[self._candidates >= self._next])
        for number in used.tolist():
            place = number - self._next
            snippet = batch.texts[place][:SNIPPET]
            self._stored[number] = (file, batch.rows[place], batch.fields[place], snippet)
        self._next += len(batch.texts)
        if len(self._stored) > 4 * self._candidates.size:
            alive = set(np.unique(self._candidates).tolist())
            self._stored = {number: place for number, place in self._stored.items() if number in alive}

    def finish(self, rate: float = FALSE_POSITIVES) -> tuple[list[SemanticMatch], Calibration]:
        """Return the matches, and the calibration that their threshold comes from."""
        known = self._candidates >= 0
        similarities = np.where(known, self._similarities, 0).astype(np.float64)
        around = _around(similarities[:, : max(1, min(NEIGHBOURS + 1, int(known.sum(axis=1).max(initial=0))))])[:, None]
        margins = np.where(known & self._mutual, 2 * similarities - around - self._hubness, -np.inf)
        first = margins.argmax(axis=1)
        rows = np.arange(len(margins))
        best = margins[rows, first]
        copies = np.abs(similarities - similarities[rows, first][:, None]) < SAME
        calibration = calibrate(best, margins[known & self._mutual & ~copies], rate)
        calibration = with_random_pairs(calibration, self._random_margins(around[:, 0]), self._next)
        passed = (best >= calibration.threshold) & (similarities[rows, first] >= LEAST_SIMILARITY)
        matches = []
        for row in np.flatnonzero(passed).tolist():
            place = self._stored[int(self._candidates[row, first[row]])]
            evidence = Evidence(float(similarities[row, first[row]]), *place)
            matches.append(SemanticMatch(int(self.numbers[row]), float(best[row]), evidence))
        return matches, calibration

    def _random_margins(self, around: npt.NDArray[Any]) -> Float64:
        if not self._random:
            return np.zeros(0)
        rows, similarities, hubness = (np.concatenate(column) for column in zip(*self._random, strict=True))
        return np.asarray(2 * similarities.astype(np.float64) - around[rows] - hubness)

    def to_state(self) -> dict[str, Any]:
        """Return the candidates as JSON-ready values."""
        return {
            "similarities": np.where(self._candidates >= 0, self._similarities, 0).tolist(),
            "hubness": self._hubness.tolist(),
            "mutual": self._mutual.tolist(),
            "candidates": self._candidates.tolist(),
            "stored": [[number, *place] for number, place in self._stored.items()],
            "next": self._next,
            "random": [[column.tolist() for column in drawn] for drawn in self._random],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what `to_state` returned."""
        self._candidates = np.array(state["candidates"], dtype=np.int64)
        similarities = np.array(state["similarities"], dtype=np.float32)
        self._similarities = np.where(self._candidates >= 0, similarities, -np.inf).astype(np.float32)
        self._hubness = np.array(state["hubness"], dtype=np.float32)
        self._mutual = np.array(state["mutual"], dtype=np.bool_)
        self._stored = {number: (file, row, column, text) for number, file, row, column, text in state["stored"]}
        self._next = state["next"]
        self._random = [
            (np.array(rows, dtype=np.int64), np.array(values, np.float32), np.array(hubness, np.float32))
            for rows, values, hubness in state["random"]
        ]

    def _encode(self, texts: Sequence[str]) -> Float32:
        with self._lock:  # encoders use all cores by themselves
            vectors = np.asarray(self.encoder.encode(list(texts), "text"), dtype=np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all():
            raise ModelError(f"{self.encoder.name} returned NaN or infinity", hint="choose another encoder")
        return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def _around(nearest: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the mean similarity to the nearest texts without the first; to the first where there is no other."""
    return np.asarray((nearest[:, 1:] if nearest.shape[1] > 1 else nearest).mean(axis=1))


def _top(values: Float32, count: int) -> tuple[Float32, Int64]:
    """Return the highest values of each row and their places, best first."""
    count = min(count, values.shape[1])
    places = np.argpartition(-values, count - 1, axis=1)[:, :count] if count < values.shape[1] else None
    if places is None:
        places = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    places = np.sort(places, axis=1)
    best = np.take_along_axis(values, places, axis=1)
    order = np.argsort(-best, axis=1, kind="stable")
    return np.take_along_axis(best, order, axis=1), np.take_along_axis(places, order, axis=1)

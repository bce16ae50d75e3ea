"""The checkpoints of one training run: is the newest one really better than the best one before it?"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import nan
from pathlib import Path

import numpy as np

from steelyard.errors import DataError
from steelyard.results import Results
from steelyard.stats.group_means import GroupScores
from steelyard.types import Float64


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The scores of a model at one step, and their comparison with the best confirmed checkpoint before it."""

    step: int
    epoch: float
    mean: float
    scores: Mapping[str, float]
    """The main score of every task."""
    queries: Mapping[str, Float64] = field(repr=False)
    """Per-query values of every task."""
    reference: int | None = None
    """Step of the checkpoint that it was compared with; None for the first."""
    gain: float = 0.0
    low: float = nan
    high: float = nan
    p_value: float = 1.0
    real: bool = False
    """Whether it is better than the reference by more than chance explains."""

    @property
    def row(self) -> dict[str, float | int | str]:
        """The checkpoint as a row of a CSV file."""
        reference = "" if self.reference is None else self.reference
        row: dict[str, float | int | str] = {"epoch": self.epoch, "steps": self.step, "mean": self.mean}
        row |= self.scores
        ends = {"gain_low": self.low, "gain_high": self.high} if self.reference is not None else {}
        return row | {
            "reference_step": reference,
            "gain": self.gain,
            "gain_low": ends.get("gain_low", ""),
            "gain_high": ends.get("gain_high", ""),
            "p_value": self.p_value,
            "real_gain": int(self.real),
        }

    def __str__(self) -> str:
        head = f"step {self.step}: mean {self.mean:.4f}"
        if self.reference is None:
            return f"{head}, the first checkpoint"
        verdict = "a real gain" if self.real else "not distinguishable from chance" if self.gain > 0 else "no gain"
        interval = f"[{self.low:+.4f}, {self.high:+.4f}]"
        return f"{head}, {self.gain:+.4f} {interval} over step {self.reference}, p = {self.p_value:.3f}: {verdict}"


class History:
    """Checkpoints in the order of training.

    The reference of a comparison is the last checkpoint with a confirmed gain, so that small gains add up until they
    can be confirmed. The first checkpoint is the first reference.
    """

    def __init__(self, alpha: float = 0.05) -> None:
        self.alpha = alpha
        self.checkpoints: list[Checkpoint] = []
        self.reference: Checkpoint | None = None

    @property
    def since_real_gain(self) -> int:
        """The number of checkpoints after the reference."""
        if self.reference is None:
            return 0
        return len(self.checkpoints) - 1 - self.checkpoints.index(self.reference)

    @property
    def best(self) -> Checkpoint | None:
        """The checkpoint with the highest mean, confirmed or not."""
        return max(self.checkpoints, key=lambda one: one.mean, default=None)

    def add(self, step: int, epoch: float, results: Results) -> Checkpoint:
        """Add the results of one step and return them with their comparison."""
        scores, queries = {}, {}
        for result in results:
            columns = results.query_columns(results.label_of(result))
            scores[result.task] = float(result.score or 0.0)
            if result.model in columns:
                queries[result.task] = columns[result.model].values
        mean = sum(scores.values()) / len(scores)
        newest = self._compared(Checkpoint(step, epoch, mean, scores, queries))
        self.checkpoints.append(newest)
        if self.reference is None or newest.real:
            self.reference = newest
        return newest

    def _compared(self, newest: Checkpoint) -> Checkpoint:
        before = self.reference
        if before is None:
            return newest
        tasks = [task for task in newest.queries if task in before.queries]
        if not tasks or set(tasks) != set(newest.scores) or set(before.scores) != set(newest.scores):
            raise DataError(
                "two checkpoints must have per-query scores of the same tasks", hint="keep the tasks of the evaluator"
            )
        pairs = tuple(np.stack([newest.queries[task], before.queries[task]]) for task in tasks)
        group = GroupScores(tuple(tasks), pairs)
        p_value = float(group.pair_p_values()[0, 1])
        drawn = group.resampled_means(over_tasks=False)
        low, high = np.quantile(drawn[0] - drawn[1], [0.025, 0.975])
        gain = newest.mean - before.mean
        return Checkpoint(
            newest.step,
            newest.epoch,
            newest.mean,
            newest.scores,
            newest.queries,
            before.step,
            gain,
            float(low),
            float(high),
            p_value,
            gain > 0 and p_value < self.alpha,
        )

    def write_csv(self, path: Path) -> None:
        """Append the newest checkpoint to a CSV file, with a header if the file is new."""
        row = self.checkpoints[-1].row
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = not path.exists() or not path.stat().st_size
        with path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(row))
            if fresh:
                writer.writeheader()
            writer.writerow(row)

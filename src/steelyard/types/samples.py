"""Tasks without a corpus: pairs of texts, texts with labels, texts to cluster, summaries.

They are values like `types.Task`: read by a source, evaluated by the engine. The types are MTEB's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from steelyard.types import Float64, Task, TaskInfo
from steelyard.types.hashing import of_columns

PAIR_COLUMNS = ("sentence1", "sentence2")
"""mteb's names of the two sides of a pair."""
Label = int | str
"""Whole numbers stay numbers: classes are compared and sorted as in the source."""

Levels = tuple[Label, ...]
"""The labels of one text from the broadest to the narrowest; one for a flat task."""


@dataclass(frozen=True, eq=False)
class PairTask:
    """Pairs of texts with a gold value: their similarity (`sts`), or whether they match (`pair_classification`).

    In `bitext_mining` the second text is the translation of the first, and every gold value is 1.
    """

    info: TaskInfo
    first: tuple[str, ...]
    second: tuple[str, ...]
    gold: Float64
    """Any scale for STS; 0 or 1 for pair classification."""
    columns: tuple[str, str] = PAIR_COLUMNS
    """The names of the two sides in the data; languages, if the subsets of a bitext task are columns of one table."""

    @property
    def name(self) -> str:
        """`Group/task`."""
        return self.info.name

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def content_hash(self) -> str:
        """A hash of the pairs in their order, independent of the source."""
        return of_columns(self.info.type, self.first, self.second, [self.gold.astype(np.float64).tobytes().hex()])

    def __repr__(self) -> str:
        return f"PairTask({self.name!r}: {len(self):,} pairs, {self.info.type}, {self.info.language})"


@dataclass(frozen=True, eq=False)
class LabelTask:
    """Texts to classify (`classification`): a classifier is trained on samples of the training texts.

    In `multilabel_classification` the label of a text is a tuple of labels.
    """

    info: TaskInfo
    train_texts: tuple[str, ...]
    train_labels: tuple[Label | Levels, ...]
    texts: tuple[str, ...]
    labels: tuple[Label | Levels, ...]
    samples_per_label: int = 8
    experiments: int = 10
    """Number of training samples."""

    @property
    def name(self) -> str:
        """`Group/task`."""
        return self.info.name

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def content_hash(self) -> str:
        """A hash of texts, labels and the constants of sampling."""
        constants = [str(self.samples_per_label), str(self.experiments)]
        labels = map(repr, (*self.train_labels, *self.labels))
        return of_columns(self.info.type, self.train_texts, self.texts, labels, constants)

    def __repr__(self) -> str:
        classes = len(set(self.labels) | set(self.train_labels))
        size = f"{len(self):,} texts, {len(self.train_texts):,} to learn from, {classes} labels"
        return f"LabelTask({self.name!r}: {size}, {self.info.language})"


@dataclass(frozen=True, eq=False)
class Problem:
    """Texts to cluster together, each with its labels."""

    texts: tuple[str, ...]
    labels: tuple[Levels, ...]

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def depth(self) -> int:
        """The number of levels of labels."""
        return max(map(len, self.labels), default=0)


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """The sampling of a clustering problem: `documents` of it (or that share), then `rounds` samples of `size`."""

    documents: int | float | None = 0.04
    """A number of texts, a share of them, or None for all."""
    stratified: int | None = None
    """Size of a stratified sample by the first label that is taken first (the `.v2` tasks of C-MTEB: 2048)."""
    size: int = 16384
    rounds: int = 10


@dataclass(frozen=True, eq=False)
class ClusterTask:
    """Texts to cluster (`clustering`): every problem as a whole, or one problem in bootstrap samples."""

    info: TaskInfo
    problems: tuple[Problem, ...]
    bootstrap: Bootstrap | None = None
    """None: each problem is clustered once as a whole (MTEB's legacy tasks, those of C-MTEB)."""

    @property
    def name(self) -> str:
        """`Group/task`."""
        return self.info.name

    def __len__(self) -> int:
        return sum(map(len, self.problems))

    @cached_property
    def content_hash(self) -> str:
        """A hash of texts, labels, their order, and the sampling."""
        parts: list[Iterable[str]] = [[repr(self.bootstrap)]]
        for problem in self.problems:
            parts += [problem.texts, map(repr, problem.labels)]
        return of_columns(self.info.type, *parts)

    def __repr__(self) -> str:
        problems = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        return f"ClusterTask({self.name!r}: {problems}, {len(self):,} texts, {self.info.language})"


@dataclass(frozen=True, eq=False)
class SummaryTask:
    """Machine-made summaries with scores by people, compared with summaries that people wrote (`summarization`)."""

    info: TaskInfo
    human: tuple[tuple[str, ...], ...]
    machine: tuple[tuple[str, ...], ...]
    gold: tuple[tuple[float, ...], ...]
    """The score of each machine-made summary."""
    with_p_values: bool = False
    """Whether p-values are averaged with the correlations, as in the first versions of mteb's tasks (issue 1156)."""
    score_range: tuple[float, float] | None = None
    """The lowest and highest possible score; None: those that occur. No metric depends on it."""

    @property
    def scale(self) -> tuple[float, float]:
        """The lowest and highest score."""
        scores = [score for row in self.gold for score in row]
        return self.score_range or (min(scores), max(scores))

    @property
    def name(self) -> str:
        """`Group/task`."""
        return self.info.name

    def __len__(self) -> int:
        return len(self.machine)

    @cached_property
    def content_hash(self) -> str:
        """A hash of summaries and scores in their order."""
        sides = [["\x1e".join(texts) for texts in side] for side in (self.human, self.machine)]
        return of_columns(self.info.type, *sides, map(repr, self.gold), [str(self.with_p_values)])

    def __repr__(self) -> str:
        machine = sum(map(len, self.machine))
        return f"SummaryTask({self.name!r}: {len(self):,} texts, {machine:,} summaries, {self.info.language})"


SampleTask = PairTask | LabelTask | ClusterTask | SummaryTask
AnyTask = Task | SampleTask
"""Every kind of task that a model can be evaluated on."""


def distinct(*columns: Sequence[str]) -> list[str]:
    """Return the texts of all columns, each once, in the order of their first appearance.

    >>> distinct(["a", "b", "a"], ["b", "c"])
    ['a', 'b', 'c']
    """
    return list(dict.fromkeys(chain.from_iterable(columns)))

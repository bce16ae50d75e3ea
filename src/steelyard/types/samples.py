"""Tasks without a corpus to search: pairs of texts, texts with labels, texts to be clustered.

They are values like `types.Task`: what a source reads and the engine weighs. The types are MTEB's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from steelyard.types import Float64, Task, TaskInfo
from steelyard.types.hashing import of_columns

Label = int | str
"""Whole numbers stay numbers: classes are told apart, and sorted, as the source wrote them."""

MTEB_TYPES = {
    "retrieval": "Retrieval",
    "reranking": "Reranking",
    "sts": "STS",
    "pair_classification": "PairClassification",
    "classification": "Classification",
    "clustering": "Clustering",
}
"""The types of task, and what mteb calls them."""

Levels = tuple[Label, ...]
"""The labels of one text from the widest to the narrowest; one for a flat task, fewer where deeper ones are missing."""


@dataclass(frozen=True, eq=False)
class PairTask:
    """Pairs of texts with a gold value: how alike they are (`sts`), or whether they match (`pair_classification`)."""

    info: TaskInfo
    first: tuple[str, ...]
    second: tuple[str, ...]
    gold: Float64
    """Any scale for STS; 0 or 1 for pair classification."""

    @property
    def name(self) -> str:
        """`Group/task`."""
        return self.info.name

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def content_hash(self) -> str:
        """The same pairs in the same order have the same hash wherever they were read."""
        return of_columns(self.info.type, self.first, self.second, [self.gold.astype(np.float64).tobytes().hex()])

    def __repr__(self) -> str:
        return f"PairTask({self.name!r}: {len(self):,} pairs, {self.info.type}, {self.info.language})"


@dataclass(frozen=True, eq=False)
class LabelTask:
    """Texts to be classified (`classification`): a classifier learns from some of the training texts."""

    info: TaskInfo
    train_texts: tuple[str, ...]
    train_labels: tuple[Label, ...]
    texts: tuple[str, ...]
    labels: tuple[Label, ...]
    samples_per_label: int = 8
    experiments: int = 10
    """How many training samples are drawn, one after the other."""

    @property
    def name(self) -> str:
        """`Group/task`."""
        return self.info.name

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def content_hash(self) -> str:
        """Covers texts, labels and the constants that decide what is drawn."""
        constants = [str(self.samples_per_label), str(self.experiments)]
        labels = map(repr, (*self.train_labels, *self.labels))
        return of_columns(self.info.type, self.train_texts, self.texts, labels, constants)

    def __repr__(self) -> str:
        classes = len(set(self.labels) | set(self.train_labels))
        size = f"{len(self):,} texts, {len(self.train_texts):,} to learn from, {classes} labels"
        return f"LabelTask({self.name!r}: {size}, {self.info.language})"


@dataclass(frozen=True, eq=False)
class Problem:
    """Texts that are clustered together, each with its labels."""

    texts: tuple[str, ...]
    labels: tuple[Levels, ...]

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def depth(self) -> int:
        """How many levels of labels there are."""
        return max(map(len, self.labels), default=0)


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """How a clustering problem is sampled: `documents` of it (or that share of it), then `rounds` draws of `size`."""

    documents: int | float | None = 0.04
    """A number of texts, a share of them, or None for all."""
    stratified: int | None = None
    """So many are taken first, each first-level label keeping its share (the `.v2` tasks of C-MTEB: 2048)."""
    size: int = 16384
    rounds: int = 10


@dataclass(frozen=True, eq=False)
class ClusterTask:
    """Texts to be clustered (`clustering`): every problem whole, or one problem in bootstrap samples."""

    info: TaskInfo
    problems: tuple[Problem, ...]
    bootstrap: Bootstrap | None = None
    """None: each problem is clustered whole, once (MTEB's legacy tasks, those of C-MTEB)."""

    @property
    def name(self) -> str:
        """`Group/task`."""
        return self.info.name

    def __len__(self) -> int:
        return sum(map(len, self.problems))

    @cached_property
    def content_hash(self) -> str:
        """Covers texts, labels, their order, and how they are sampled."""
        parts: list[Iterable[str]] = [[repr(self.bootstrap)]]
        for problem in self.problems:
            parts += [problem.texts, map(repr, problem.labels)]
        return of_columns(self.info.type, *parts)

    def __repr__(self) -> str:
        problems = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        return f"ClusterTask({self.name!r}: {problems}, {len(self):,} texts, {self.info.language})"


SampleTask = PairTask | LabelTask | ClusterTask
AnyTask = Task | SampleTask
"""Whatever the engine can weigh a model on."""


def distinct(*columns: Sequence[str]) -> list[str]:
    """The texts of all columns, each once, in the order of their first appearance.

    >>> distinct(["a", "b", "a"], ["b", "c"])
    ['a', 'b', 'c']
    """
    return list(dict.fromkeys(text for column in columns for text in column))

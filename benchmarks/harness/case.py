"""What is measured: a case has the same input for every contestant, ours first.

A module of `benchmarks/cases` has a list `CASES`, a function `make(**arguments)` that returns the input, and for each
contestant a function that takes the input, imports and prepares what is not measured, and returns the work: a function
without arguments. What the work returns are numbers by name. Those that ours and a peer both have must agree.

Numbers with these names are not compared but shown: `tokens`, of which the page makes tokens a second, and
`limit_gflop`, `limit_memory_gb` and `limit_disk_mb`: what any program has to compute, copy or read for this work. With
the measured limits of the machine they give the time that no program here can be faster than.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

FOLDER = Path(__file__).parents[1] / "cases"
ROWS = {
    1: "Cold start to the first score",
    2: "One Nano task with vectors given",
    3: "Variants of one encoding",
    4: "BM25 end to end",
    5: "Metrics",
    6: "Encoding with the same model",
    7: "A sweep of tasks and models",
    8: "Reranking",
    9: "Comparison of models",
    10: "Results warehouse and board",
    11: "Leakage audit",
    12: "Task types of MTEB",
    13: "Growth",
    14: "Loading",
    15: "Exact search",
}


@dataclass(frozen=True)
class Contestant:
    """One side of a case."""

    name: str
    work: str | Sequence[str]
    """The name of a function of the case's module, or the words of a command.

    Of the words, `python` stands for the interpreter of the environment and `INPUT` for what `make` returns, a path.
    """
    environment: str = "steelyard"
    """The virtual environment that it runs in; see `environments.py`."""


@dataclass(frozen=True)
class Case:
    """One measurement: contestants that do the same job on the same input."""

    row: int
    name: str
    title: str
    contestants: tuple[Contestant, ...]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    rounds: int = 5
    by: Literal["seconds", "cpu"] = "seconds"
    """Whether the ratio is one of wall time or of processor time."""
    target: float | None = None
    """How many times less than the peer ours should take; below 1: ours may take 1 / target times as long."""
    against: str = ""
    """The peer of the ratio and of the target; the fastest one if not given."""
    tolerance: float = 1e-6
    """How far the checks of two contestants may differ."""
    quick: bool = True
    """Whether it is part of a short run."""
    reason: str = ""
    """Why ours is slower, or does not reach the target, where that is known."""
    memory_reason: str = ""
    """Why ours uses more memory than the smallest peer."""
    note: str = ""
    """What a reader has to know about the contestants or the input; always shown."""
    seconds: float = 600.0
    """The longest time that one process may take, its preparations included."""
    module: str = ""

    @property
    def ours(self) -> Contestant:
        """Our side."""
        return self.contestants[0]


def all_cases() -> list[Case]:
    """Return the cases of every module, by row.

    >>> len({case.name for case in all_cases()}) == len(all_cases())
    True
    """
    cases = []
    for path in sorted(FOLDER.glob("[a-z]*.py")):
        module = importlib.import_module(f"cases.{path.stem}")
        cases += [Case(**{**vars(case), "module": path.stem}) for case in module.CASES]
    return sorted(cases, key=lambda case: (case.row, case.name))

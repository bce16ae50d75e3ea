"""The gate for CI: did the model get worse than its baseline, beyond chance and beyond a margin?

A regression is a difference of at most minus `margin` whose paired randomisation test has p < alpha: of the mean over
all tasks, or with `per_task` also of any task, corrected by Holm's method over the tasks.
"""

from __future__ import annotations

import xml.etree.ElementTree as Xml
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.comparison.comparison import Comparison
from steelyard.comparison.model import Difference, plain
from steelyard.errors import DataError, UsageError

MARGIN = 0.005


@dataclass(frozen=True)
class Check:
    """One difference that the gate looked at."""

    name: str
    """The task, or `mean of N tasks`."""
    difference: Difference
    regression: bool
    decides: bool
    """Whether a regression here fails the gate."""

    def __str__(self) -> str:
        one = self.difference
        p = one.p_holm if one.p_holm is not None else one.p_value
        test = "not tested" if p is None else f"p = {p:.4f}"
        return f"{self.name}: {one.model} against {one.baseline} {one.difference:+.4f} ({test})"


@dataclass(frozen=True)
class Gate:
    """The outcome of a gate."""

    checks: tuple[Check, ...]
    margin: float
    alpha: float
    per_task: bool

    @property
    def regressions(self) -> tuple[Check, ...]:
        """The checks that fail the gate."""
        return tuple(check for check in self.checks if check.regression and check.decides)

    @property
    def failed(self) -> bool:
        """Whether there is a significant regression."""
        return bool(self.regressions)

    def __str__(self) -> str:
        rule = f"margin {self.margin:g}, alpha {self.alpha:g}"
        if not self.failed:
            return f"gate passed: no significant regression ({rule})"
        first, *others = self.regressions
        more = f" and {len(others)} more" if others else ""
        return f"gate failed: {first}{more} ({rule})"

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {**plain(self), "failed": self.failed, "reason": str(self)}

    def junit(self) -> bytes:
        """Return JUnit XML: one test case for each task and one for the mean."""
        suite = Xml.Element(
            "testsuite",
            name="steelyard compare",
            tests=str(len(self.checks)),
            failures=str(len(self.regressions)),
            errors="0",
            skipped="0",
        )
        for check in self.checks:
            case = Xml.SubElement(suite, "testcase", classname=check.difference.model, name=check.name, time="0")
            if check.regression and check.decides:
                failure = Xml.SubElement(case, "failure", message=str(check), type="regression")
                difference = check.difference
                span = f"[{difference.low}, {difference.high}]"
                failure.text = f"difference {difference.difference:+.6f}, interval {span}, p {difference.p_holm}"
        root = Xml.Element("testsuites")
        root.append(suite)
        Xml.indent(root)
        return bytes(Xml.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"

    def annotations(self) -> list[str]:
        """Return GitHub workflow commands: an error for each regression, a warning for one that does not decide."""
        lines = []
        for check in self.checks:
            if check.regression:
                level = "error" if check.decides else "warning"
                lines.append(f"::{level} title={_property(f'Regression on {check.name}')}::{_message(str(check))}")
        return lines or [f"::notice title=Steelyard gate::{_message(str(self))}"]


def gate(comparison: Comparison, *, margin: float = MARGIN, per_task: bool = False) -> Gate:
    """Check the last model of a comparison against the first one, its baseline.

    A task that was refused raises a DataError: a gate must not pass because data could not be compared.
    """
    if not 0 <= margin < 1:
        raise UsageError(f"margin must be at least 0 and below 1, got {margin}", hint="0.005 is the default")
    refused = [flag for flag in comparison.flags if flag.refused]
    if refused:
        raise DataError(
            f"{refused[0].task} cannot be compared: {refused[0].reason}",
            hint="update the baseline, or choose the tasks with -t",
        )
    if comparison.overall is None:
        raise DataError("no task has per-query scores that can be tested", hint="choose another --metric")
    alpha, checks = comparison.method.alpha, []
    first = comparison.models[0]
    for task in comparison.tasks:
        for difference in _against(task.differences, first):
            checks.append(_check(task.task, difference, margin, alpha, decides=per_task))
    count = len(comparison.overall.tasks)
    name = f"mean of {count} tasks" if count > 1 else comparison.overall.tasks[0]
    for difference in _against(comparison.overall.differences, first):
        if count > 1:
            checks.append(_check(name, difference, margin, alpha, decides=True))
    if count == 1:
        checks = [Check(c.name, c.difference, c.regression, decides=True) for c in checks]
    return Gate(tuple(checks), margin, alpha, per_task)


def _against(differences: Sequence[Difference], baseline: str) -> list[Difference]:
    return [one for one in differences if one.baseline == baseline]


def _check(name: str, one: Difference, margin: float, alpha: float, *, decides: bool) -> Check:
    worse = one.p_holm is not None and one.p_holm < alpha and one.difference < 0 and one.difference <= -margin
    return Check(name, one, worse, decides)


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")

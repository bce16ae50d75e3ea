"""How far figures are from published ones."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.reports.pages.findings.sentences import Finding, finding, listed
from steelyard.reports.pages.measure.inputs import LABELS
from steelyard.reports.pages.measure.page_values import GroupFigures, TaskFigures
from steelyard.reports.pages.render.tables import METRIC_NAMES


def of_task(figures: TaskFigures) -> Iterator[Finding]:
    """How far our figures are from the published ones, and whether the data are the same."""
    if not figures.published:
        yield finding("not_published", name=figures.published_name)
        return
    yield finding("published", name=figures.published_name)
    yield from _same_data(figures)
    searched = [one.label for one in figures.main if not one.stored]
    if searched:
        yield finding("searched_here", names=listed(searched))
    known = [one for one in figures.published if one.inside is not None]
    outside = [one for one in known if not one.inside]
    if known and not outside:
        yield finding("all_inside", count=len(known))
    for one in outside:
        assert one.interval is not None
        yield finding(
            "outside_interval",
            label=LABELS[one.kind],
            metric=METRIC_NAMES[one.metric],
            distance=abs(one.difference),
            side="above" if one.difference > 0 else "below",
            low=one.interval.low,
            high=one.interval.high,
        )


def _same_data(figures: TaskFigures) -> Iterator[Finding]:
    """Whether the counts are those of the data behind the published figures."""
    if not figures.published_counts:
        yield finding("data_unknown")
        return
    other = [one for one in figures.published_counts if one.here != one.published]
    if other:
        told = listed([f"{one.here:,} {one.what} here and {one.published:,} there" for one in other])
        yield finding("other_data", counts=told)
    else:
        yield finding("same_counts", what=listed([one.what for one in figures.published_counts]))


def data_differ(figures: TaskFigures) -> str:
    """The warning that published figures are of other data; empty where none is due."""
    return "".join(one.sentence for one in _same_data(figures) if one.kind == "other_data") if figures.published else ""


def of_group(group: GroupFigures) -> Iterator[Finding]:
    """How many published figures lie outside our intervals, and which tasks have other data."""
    known = [one for task in group.tasks for one in task.published if one.inside is not None]
    if known:
        yield finding("group_published", outside=sum(not one.inside for one in known), count=len(known))
    other = [task for task in group.tasks if any(one.here != one.published for one in task.published_counts)]
    if other:
        yield finding("group_other_data", names=listed([task.task for task in other]))

"""Findings about the difference from published scores."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.reports.pages.findings.sentences import Finding, finding, listed
from steelyard.reports.pages.measure.page_inputs import LABELS, METRIC_NAMES, Kind
from steelyard.reports.pages.measure.page_values import GroupValues, TaskValues
from steelyard.reports.pages.measure.part_values import PublishedScore


def of_task(task: TaskValues) -> Iterator[Finding]:
    """Yield the significant differences from published scores, and whether the data are the same."""
    if not task.published:
        yield finding("not_published", name=task.published_name)
        return
    yield finding("published", name=task.published_name)
    yield from _same_data(task)
    searched = [one.label for one in task.main if not one.stored]
    if searched:
        yield finding("searched_here", names=listed(searched))
    known = [one for one in task.published if one.inside is not None]
    outside = [one for one in known if not one.inside]
    if known and not outside:
        yield finding("all_inside", count=len(known))
    sides: dict[tuple[Kind, str], list[PublishedScore]] = {}
    for score in outside:
        sides.setdefault((score.kind, "above" if score.difference > 0 else "below"), []).append(score)
    for (kind, side), scores in sides.items():
        yield finding(
            "outside_interval", label=LABELS[kind], side=side, differences=listed([_distance(one) for one in scores])
        )


def _distance(one: PublishedScore) -> str:
    """Return the distance from a published score with the interval of the difference."""
    assert one.interval is not None
    interval = f"[{one.interval.low:+.4f}, {one.interval.high:+.4f}]"
    return f"{abs(one.difference):.4f} {interval} in {METRIC_NAMES[one.metric]}"


def _same_data(task: TaskValues) -> Iterator[Finding]:
    """Yield whether the counts are those of the data of the published scores."""
    if not task.published_counts:
        yield finding("data_unknown")
        return
    other = [one for one in task.published_counts if one.here != one.published]
    if other:
        counts = listed([f"{one.here:,} {one.what} here and {one.published:,} in the published data" for one in other])
        yield finding("other_data", counts=counts)
    else:
        yield finding("same_counts", what=listed([one.what for one in task.published_counts]))


def data_differ(task: TaskValues) -> str:
    """Return the warning that published scores are of other data; empty if there is none."""
    return "".join(one.sentence for one in _same_data(task) if one.kind == "other_data") if task.published else ""


def of_group(group: GroupValues) -> Iterator[Finding]:
    """Yield how many published scores are outside our intervals, and which tasks have other data."""
    known = [one for task in group.tasks for one in task.published if one.inside is not None]
    if known:
        yield finding("group_published", outside=sum(not one.inside for one in known), count=len(known))
    other = [task for task in group.tasks if any(one.here != one.published for one in task.published_counts)]
    if other:
        yield finding("group_other_data", names=listed([task.task for task in other]))

"""The figures of the pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.reports.components.charts import Dot, Panel, Spot, bars, bubbles, dot_plot, heat_map, histograms
from steelyard.reports.pages.findings.sentences import language_name
from steelyard.reports.pages.measure.page_inputs import KINDS, LABELS, METRIC_NAMES, Kind
from steelyard.reports.pages.measure.page_values import GroupValues, TaskValues
from steelyard.reports.pages.measure.part_values import Lengths, ProfileValues
from steelyard.reports.pages.measure.profile_scores import METRICS
from steelyard.reports.pages.render.blocks import Picture
from steelyard.reports.pages.thresholds import FEW

MOST_LANGUAGES = 25
"""Maximum number of rows of a heat map; the JSON file has all."""


def scores(task: TaskValues) -> Picture | None:
    """Plot the metrics of each profile, with intervals."""
    main = task.main
    if not main:
        return None
    labels = tuple(one.label for one in main)
    dots = [[_dot(one, metric) for one in main] for metric in METRICS]
    caption = f"Scores of {task.name} by profile, with 95 % intervals where values by query are known."
    return Picture(
        "scores", caption, dot_plot([METRIC_NAMES[metric] for metric in METRICS], labels, dots, caption), labels
    )


def _dot(one: ProfileValues, metric: str) -> Dot | None:
    value = getattr(one, metric)
    interval = one.intervals.get(metric)
    return None if value is None else Dot(value, *((interval.low, interval.high) if interval else ()))


def first_positive(task: TaskValues) -> Picture | None:
    """Plot the rank of the first relevant document by profile."""
    main = [one for one in task.main if one.first_positive]
    if not main:
        return None
    classes = list(main[0].first_positive)
    labels = tuple(one.label for one in main)
    counts = [[one.first_positive[name] for name in classes] for one in main]
    caption = "Queries by the rank of their first relevant document."
    return Picture("ranks", caption, bars(classes, labels, counts, caption, "rank of the first relevant"), labels)


def overlap_gain(task: TaskValues) -> Picture | None:
    """Plot the lead of BM25 over the dense profile by overlap."""
    if not task.overlap_gain:
        return None
    spots = [Spot(one.overlap, one.gain, one.queries) for one in task.overlap_gain]
    caption = (
        "Queries by the share of their terms that a positive holds, and by nDCG@10 of BM25 minus that of Dense; "
        "the area of a circle is their number."
    )
    drawn = bubbles(spots, caption, "overlap of query and positive", "BM25 minus Dense")
    return Picture("overlap", caption, drawn)


def task_languages(task: TaskValues) -> Picture | None:
    """Plot nDCG@10 by query language and profile."""
    parts = [part for part in task.slices if part.dimension == "language" and part.queries >= FEW]
    rows = [(f"{language_name(part.name)}, {part.queries:,}", part.ndcg_at_10) for part in parts]
    caption = "nDCG@10 by language of the query (with their number) and profile."
    return _heat("languages", caption, rows[:MOST_LANGUAGES]) if len(rows) > 1 else None


def group_languages(group: GroupValues) -> Picture | None:
    """Plot nDCG@10 by query language and profile over all tasks of a group."""
    shown = [one for one in group.languages if one.queries >= FEW]
    rows = [(f"{language_name(one.language)}, {one.queries:,}", one.ndcg_at_10) for one in shown]
    caption = "nDCG@10 by language of the query (with their number, over all tasks) and profile."
    return _heat("languages", caption, rows[:MOST_LANGUAGES])


def _heat(name: str, caption: str, rows: Sequence[tuple[str, Mapping[Kind, float]]]) -> Picture | None:
    values = [(label, dict(scores)) for label, scores in rows]
    kinds = [kind for kind in KINDS if any(kind in scores for _, scores in values)]
    if not values or not kinds:
        return None
    cells = [[scores.get(kind) for kind in kinds] for _, scores in values]
    drawn = heat_map([label for label, _ in values], [LABELS[kind] for kind in kinds], cells, caption)
    return Picture(name, caption, drawn)


def lengths(what: str, measured: Lengths) -> Picture | None:
    """Plot the lengths of texts in each unit."""
    units = (("characters", measured.characters), ("words", measured.words), ("tokens", measured.tokens))
    panels = [
        Panel(unit, one.histogram.edges, one.histogram.counts, one.median)
        for unit, one in units
        if one is not None and one.histogram is not None
    ]
    if not panels:
        return None
    medians = ", ".join(f"{panel.name} {panel.median:,g}" for panel in panels)
    sampled = f"; tokens of {measured.tokens_of:,} drawn at random" if _sampled(measured) else ""
    caption = f"{what} by their length, in classes that double{sampled}. A line marks the median ({medians})."
    return Picture(f"{what.lower()}-lengths", caption, histograms(panels, caption, "length"), small=True)


def _sampled(measured: Lengths) -> bool:
    whole = measured.characters.histogram
    return whole is not None and measured.tokens_of < sum(whole.counts)


def group_scores(group: GroupValues) -> Picture | None:
    """Plot nDCG@10 of every task by profile."""
    kinds = [kind for kind in KINDS if any(task.profile(kind) for task in group.tasks)]
    if not kinds:
        return None
    dots = []
    for task in group.tasks:
        profiles = (task.profile(kind) for kind in kinds)
        dots.append([None if one is None else _dot(one, "ndcg_at_10") for one in profiles])
    labels = tuple(LABELS[kind] for kind in kinds)
    caption = f"nDCG@10 of the tasks of {group.name} by profile, with 95 % intervals where values by query are known."
    return Picture("scores", caption, dot_plot([task.task for task in group.tasks], labels, dots, caption), labels)

"""A comparison as tables: plain text, Markdown and LaTeX, all from the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.comparison.model import Difference, TaskComparison
from steelyard.results.display.text_table import text_table
from steelyard.results.export import latex_table, markdown_table
from steelyard.results.table import metric_title

if TYPE_CHECKING:
    from steelyard.comparison.comparison import Comparison

Section = tuple[str, list[str], list[list[str]]]
"""Title, columns, rows."""

MOST_ROWS = 200
"""Rows of differences by task; beyond, only the means of several pairs are listed."""
NONE = "-"
AGREEMENT = {"spearman": "Spearman", "kendall": "Kendall (tau-b)", "rbo": "rank-biased overlap (p = 0.9)"}
STRONG = 0.01
MARKS = "† p < {alpha:g}, ‡ p < 0.01, two-sided paired randomisation test, corrected by Holm's method"


def sections(comparison: Comparison) -> list[Section]:
    """Return every table of the comparison that has rows."""
    candidates = [
        differences(comparison),
        ranking(comparison),
        agreement(comparison),
        slices(comparison),
        changed(comparison),
        flags(comparison),
    ]
    return [section for section in candidates if section[2]]


def differences(comparison: Comparison) -> Section:
    """Return the differences of every pair on every task, and of the means."""
    pairs = len(comparison.models) * (len(comparison.models) - 1) // 2
    rows = []
    if pairs == 1 or pairs * len(comparison.tasks) <= MOST_ROWS:
        metrics = {task.metric for task in comparison.tasks}
        for task in comparison.tasks:
            for difference in task.differences:
                scores = task.scores[difference.baseline].value, task.scores[difference.model].value
                rows.append([_task(task, len(metrics) > 1), *_cells(comparison, difference, scores, single=pairs == 1)])
    if comparison.overall is not None and (len(comparison.overall.tasks) > 1 or not rows):
        count = len(comparison.overall.tasks)
        for difference in comparison.overall.differences:
            scores = (
                comparison.overall.scores[difference.baseline].value,
                comparison.overall.scores[difference.model].value,
            )
            rows.append([f"mean of {count} tasks", *_cells(comparison, difference, scores, single=pairs == 1)])
    return f"Differences ({_metric(comparison)})", _head(comparison, single=pairs == 1), rows


def _metric(comparison: Comparison) -> str:
    metrics = {task.metric for task in comparison.tasks}
    return metric_title(metrics.pop()) if len(metrics) == 1 else "main metric of each task"


def _head(comparison: Comparison, *, single: bool) -> list[str]:
    level = f"{comparison.method.level:.0%} interval"
    names = list(comparison.models[:2]) if single else ["baseline", "model", "scores"]
    more = ["difference", level, "p", "p (Holm)", "p (BH)", "d_z", "win/tie/loss", "P(better)", "detectable", "verdict"]
    return ["task", *names, *more]


def _cells(comparison: Comparison, difference: Difference, scores: tuple[float, float], *, single: bool) -> list[str]:
    first = [f"{scores[0]:.4f}", f"{scores[1]:.4f}"]
    names = first if single else [difference.baseline, difference.model, " → ".join(first)]
    counts = NONE if difference.wins is None else f"{difference.wins}/{difference.ties}/{difference.losses}"
    return [
        *names,
        f"{difference.difference:+.4f}{mark(difference, comparison.method.alpha)}",
        NONE if difference.low is None else f"[{difference.low:+.4f}, {difference.high:+.4f}]",
        *map(p_text, (difference.p_value, difference.p_holm, difference.p_bh)),
        NONE if difference.effect_size is None else f"{difference.effect_size:+.2f}",
        counts,
        NONE if difference.probability_better is None else f"{difference.probability_better:.3f}",
        NONE if difference.detectable is None else f"{difference.detectable:.4f}",
        difference.verdict(comparison.method.alpha),
    ]


def _task(task: TaskComparison, named: bool) -> str:
    return f"{task.task} ({metric_title(task.metric)})" if named else task.task


def mark(one: Difference, alpha: float) -> str:
    """Return the significance mark of a difference: † below alpha, ‡ below 0.01, after correction."""
    if one.p_holm is None or one.p_holm >= alpha:
        return ""
    return "‡" if one.p_holm < STRONG else "†"


def p_text(p: float | None) -> str:
    """Return a p-value for people.

    >>> p_text(0.00009999), p_text(0.0213), p_text(None)
    ('0.0001', '0.0213', '-')
    """
    return NONE if p is None else f"{p:.4f}"


def ranking(comparison: Comparison) -> Section:
    """Return the models by rank, with rank intervals and tie groups; nothing for two models."""
    head = ["rank", "model", "mean", "mean by type", "rank interval", "group", "Borda", "P(beats the next)"]
    rows: list[list[str]] = []
    for place, ranked in enumerate(comparison.ranking if len(comparison.models) > 2 else ()):
        below = comparison.ranking[place + 1].model if place + 1 < len(comparison.ranking) else None
        rows.append(
            [
                f"{ranked.rank:g}",
                ranked.model,
                f"{ranked.mean:.4f}",
                NONE if ranked.mean_by_type is None else f"{ranked.mean_by_type:.4f}",
                f"{ranked.low:g} to {ranked.high:g}",
                str(ranked.group),
                f"{ranked.borda:g}",
                NONE if below is None else f"{ranked.wins_against[below]:.3f}",
            ]
        )
    return "Ranking", head, rows


def agreement(comparison: Comparison) -> Section:
    """Return how well the ranking agrees with another one."""
    rows = []
    values = comparison.agreement
    for name in ("spearman", "kendall", "rbo") if values else ():
        interval = values.intervals.get(name) if values else None
        span = NONE if interval is None else f"[{interval.low:+.3f}, {interval.high:+.3f}]"
        rows.append([AGREEMENT[name], f"{getattr(values, name):+.3f}", span])
    return "Agreement with the other ranking", ["measure", "value", "95% interval"], rows


def slices(comparison: Comparison) -> Section:
    """Return the differences on slices of the queries."""
    single = len(comparison.models) == 2
    head = [
        "slice",
        "",
        *([] if single else ["baseline", "model"]),
        "queries",
        "difference",
        "interval",
        "p (Holm)",
        "",
    ]
    rows = []
    for part in comparison.slices:
        difference = part.difference
        verdict = difference.verdict(comparison.method.alpha) if part.conclusive else "too few queries"
        rows.append(
            [
                part.dimension,
                part.name,
                *([] if single else [difference.baseline, difference.model]),
                str(part.queries),
                f"{difference.difference:+.4f}{mark(difference, comparison.method.alpha) if part.conclusive else ''}",
                NONE if difference.low is None else f"[{difference.low:+.4f}, {difference.high:+.4f}]",
                p_text(difference.p_holm if part.conclusive else None),
                verdict,
            ]
        )
    return "Slices", head, rows


def changed(comparison: Comparison) -> Section:
    """Return the queries that changed most."""
    head = ["task", "query", "difference", "scores", "ranks of positives", "text", "in its place"]
    rows = []
    for change in comparison.queries:
        ranks = ", ".join(f"{_rank(p.baseline_rank)} → {_rank(p.rank)}" for p in change.positives)
        if not change.positives and (change.first_rank or change.baseline_first_rank):
            ranks = f"first: {_rank(change.baseline_first_rank)} → {_rank(change.first_rank)}"
        names = "" if len(comparison.models) == 2 else f" ({change.model} against {change.baseline})"
        rows.append(
            [
                change.task + names,
                change.query_id,
                f"{change.difference:+.4f}",
                f"{change.baseline_score:.4f} → {change.score:.4f}",
                ranks or NONE,
                _short(change.query),
                _short(change.instead),
            ]
        )
    return "Queries that changed most", head, rows


def _rank(rank: int | None) -> str:
    return NONE if rank is None else str(rank)


def _short(text: str | None, longest: int = 60) -> str:
    if text is None:
        return NONE
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def flags(comparison: Comparison) -> Section:
    """Return what was refused, and what differs between the results."""
    rows = [[flag.task, "refused" if flag.refused else "note", flag.reason] for flag in comparison.flags]
    return "Refused and noted", ["task", "", "reason"], rows


def summary(comparison: Comparison) -> list[str]:
    """Return one sentence for each pair: what can be concluded about the means."""
    if comparison.overall is None:
        return ["No task has a score that is a mean over queries: no difference was tested."]
    return [sentence(comparison, one) for one in comparison.overall.differences]


def sentence(comparison: Comparison, difference: Difference) -> str:
    """Return the overall difference of one pair in words."""
    overall = comparison.overall
    assert overall is not None
    if len(overall.tasks) == 1:  # the numbers of the table, which were drawn by themselves
        (task,) = (task for task in comparison.tasks if task.task == overall.tasks[0])
        difference = next(
            own for own in task.differences if (own.baseline, own.model) == (difference.baseline, difference.model)
        )
    tasks = overall.tasks[0] if len(overall.tasks) == 1 else f"the mean of {len(overall.tasks)} tasks"
    span = "" if difference.low is None else f" [{difference.low:+.4f}, {difference.high:+.4f}]"
    others = ""
    if difference.low_over_tasks is not None and len(overall.tasks) > 1:
        others = f" (over other tasks like these [{difference.low_over_tasks:+.4f}, {difference.high_over_tasks:+.4f}])"
    verdict = {
        "better": "is better than",
        "worse": "is worse than",
        "not distinguishable": "cannot be distinguished from",
        "not tested": "was not tested against",
    }[difference.verdict(comparison.method.alpha)]
    return (
        f"{difference.model} {verdict} {difference.baseline} on {tasks} ({overall.queries:,} queries): difference "
        f"{difference.difference:+.4f}{span}{others}, p = {p_text(difference.p_holm)}."
    )


def plain_text(comparison: Comparison) -> str:
    """Return the whole comparison as text for a terminal."""
    parts = [f"{title}\n{text_table(head, rows)}" for title, head, rows in sections(comparison)]
    return "\n\n".join([*parts, note(comparison), *summary(comparison)])


def note(comparison: Comparison) -> str:
    """Return what the marks mean."""
    return MARKS.format(alpha=comparison.method.alpha)


def markdown(comparison: Comparison) -> str:
    """Return the whole comparison as Markdown."""
    parts = [f"## {title}\n\n{markdown_table(head, rows)}" for title, head, rows in sections(comparison)]
    lines = "\n".join(f"- {line}" for line in summary(comparison))
    title = f"# {' and '.join(comparison.models)}" if len(comparison.models) == 2 else "# Comparison"
    return "\n\n".join([title, lines, *parts, note(comparison)]) + "\n"


def latex(comparison: Comparison) -> str:
    """Return the differences and the ranking as LaTeX tables with significance marks."""
    parts = []
    for title, head, rows in (differences(comparison), ranking(comparison)):
        if rows:
            parts.append(f"% {title}\n{_daggers(latex_table(head, rows))}")
    return "\n\n".join([*parts, f"% {note(comparison)}"]) + "\n"


def _daggers(text: str) -> str:
    replaced = text
    for sign, command in (("†", r"$^{\dagger}$"), ("‡", r"$^{\ddagger}$"), ("→", r"$\rightarrow$")):
        replaced = replaced.replace(sign, command)
    return replaced

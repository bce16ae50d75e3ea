"""The findings of a group of tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from steelyard.reports.pages.findings.advice import explaining_classes, judged_profile
from steelyard.reports.pages.findings.diagnosis_templates import RULES
from steelyard.reports.pages.findings.metric_findings import near_ceiling
from steelyard.reports.pages.findings.sentences import Finding, P, finding, language_name, listed
from steelyard.reports.pages.measure.page_inputs import LABELS, Kind
from steelyard.reports.pages.measure.page_values import MULTILINGUAL, GroupValues, TaskValues
from steelyard.reports.pages.thresholds import EXTREMES, MOST, NEAR_CEILING, SIGNIFICANT, SMALL_CORPUS, SOME


def overview(group: GroupValues) -> Iterator[Finding]:
    """Yield the size, the languages, and whether a profile leads over the tasks."""
    part = {"total": group.total, "missing": len(group.missing)} if group.missing else {}
    yield finding(
        "group_part" if group.missing else "group_size",
        **part,
        name=group.name,
        tasks=len(group.tasks),
        queries=group.queries,
        documents=group.documents,
        positives=group.positives,
        mean=group.positives / max(group.queries, 1),
    )
    codes = sorted({code for task in group.tasks for code in task.declared_languages or _multilingual(task)})
    if codes:
        yield finding("group_languages", languages=listed([language_name(code) for code in codes], 20))
    without = [task for task in group.tasks if not task.declared_languages and not _multilingual(task)]
    if without and codes:
        yield finding("group_undeclared_tasks", names=_names(without))
    elif without:
        yield finding("group_no_languages")
    yield from lead(group)


def lead(group: GroupValues) -> Iterator[Finding]:
    """Yield the profile that is best over tasks, and whether significantly."""
    if len(group.means) < 2 or len(group.tasks) < 2:
        return
    best = max(group.means, key=lambda kind: group.means[kind])
    tests = [test for test in group.comparisons if test.better == best]
    facts = {"tasks": len(group.tasks), "best": LABELS[best], "score": group.means[best]}
    if tests and all(test.significant for test in tests):
        others = listed([LABELS[test.worse] for test in tests])
        yield finding("group_lead", others=others, p=P(max(test.p_value for test in tests)), **facts)
    elif 2 * len(group.comparisons) >= SIGNIFICANT * 2 ** len(group.tasks):  # the smallest p-value is not below
        yield finding("group_too_few", **facts)
    else:
        yield finding("group_no_lead", **facts)


def measures(group: GroupValues) -> Iterator[Finding]:
    """Yield how many tasks are described."""
    count = sum(bool(task.description or task.cards) for task in group.tasks)
    if 0 < count < len(group.tasks):
        yield finding("group_described", count=count, tasks=len(group.tasks))
    else:
        yield finding("group_all_described" if count else "group_not_described")


def shape(group: GroupValues) -> Iterator[Finding]:
    """Yield relevant documents, lengths and languages over tasks."""
    several = [task for task in group.tasks if task.positives.multi_positive_queries]
    if several:
        yield _of_tasks(("group_multi", "group_multi_all"), several, group)
    else:
        yield finding("group_single")
    sized = sorted(group.tasks, key=lambda task: task.document_lengths.characters.mean)
    if sized:
        yield finding(
            "shape",
            low=sized[0].document_lengths.characters.mean,
            low_task=sized[0].task,
            high=sized[-1].document_lengths.characters.mean,
            high_task=sized[-1].task,
        )
        sizes = sorted(task.documents for task in group.tasks)
        if sizes[0] < sizes[-1]:
            yield finding("corpora", smallest=sizes[0], largest=sizes[-1])
        else:
            yield finding("even_corpora", documents=sizes[0])
    cross = [task for task in group.tasks if task.language_profile and task.language_profile.cross_language > MOST]
    if cross:
        yield _of_tasks(("group_cross", "group_cross_all"), cross, group)


def profile(group: GroupValues, kind: Kind) -> Iterator[Finding]:
    """Yield where a profile is high and low, and where it leads."""
    scored = [(one.ndcg_at_10, task) for task in group.tasks if (one := task.profile(kind))]
    if not scored:
        yield finding("no_profile")
        return
    ranked = sorted(scored, key=lambda pair: (-pair[0], pair[1].name))
    values = [value for value, _ in ranked]
    mean = sum(values) / len(values)
    yield finding("profile_mean", label=LABELS[kind], mean=mean, tasks=len(values), low=values[-1], high=values[0])
    count = min(EXTREMES, len(ranked) // 2)
    if count:
        yield finding("profile_strong", names=_scored(ranked[:count]))
        yield finding("profile_weak", names=_scored(list(reversed(ranked[-count:]))))
    clear = [task for _, task in scored if task.best and task.best.kind == kind and _tested(task) and not task.tied]
    if clear:
        yield _of_tasks(("group_wins", "group_wins_all"), clear, group, clear=len(clear), tasks=len(scored))
    elif any(_tested(task) for _, task in scored):
        yield finding("group_wins_none")


def _tested(task: TaskValues) -> bool:
    return bool(task.comparisons)


def interpretation(group: GroupValues) -> Iterator[Finding]:
    """Yield how to interpret the scores of this group."""
    yield from limits(group)
    shared = [task for task in group.tasks if task.tied]
    if shared:
        yield _of_tasks(("group_open", "group_open_all"), shared, group, count=len(shared), tasks=len(group.tasks))
    several = [task for task in group.tasks if task.positives.multi_positive_queries]
    if several:
        yield _of_tasks(("group_recall", "group_recall_all"), several, group)
    full = [task for task in group.tasks if near_ceiling(task) is not None]
    if full:
        yield _of_tasks(("group_ceiling", "group_ceiling_all"), full, group, margin=1 - NEAR_CEILING)
    small = [task for task in group.tasks if task.documents < SMALL_CORPUS]
    if small:
        yield _of_tasks(("group_small", "group_small_all"), small, group, limit=SMALL_CORPUS)


def limits(group: GroupValues) -> Iterator[Finding]:
    """Yield on how many tasks the ranking and on how many the candidates cost the best profile most."""
    causes: dict[str, list[TaskValues]] = {"group_ranking": [], "group_pool": []}
    for task in group.tasks:
        profile = judged_profile(task)
        bounds = task.diagnosis.limits if task.diagnosis else ()
        limit = next((one for one in bounds if profile and one.profile == profile.kind), None)
        if limit is not None and max(limit.ranking_loss, limit.pool_loss) >= SOME:
            causes["group_ranking" if limit.ranking_loss >= limit.pool_loss else "group_pool"].append(task)
    for kind, tasks in causes.items():
        if tasks and len(tasks) == len(group.tasks) > 1:
            yield Finding(kind.replace("group_", "group_every_"))
        elif tasks:
            yield Finding(kind, {"count": len(tasks), "tasks": len(group.tasks), "names": _names(tasks)})


def training(group: GroupValues) -> Iterator[Finding]:
    """Yield the kinds of training data that follow from failures, with the tasks."""
    recorded = dict.fromkeys(
        task.leakage.useful_data for task in group.tasks if task.leakage.useful_data != "not_recorded"
    )
    if recorded:
        yield finding("group_recorded", data="; ".join(recorded))
    classes: dict[str, list[TaskValues]] = {}
    for task in group.tasks:
        for failure in explaining_classes(task):
            classes.setdefault(failure.name, []).append(task)
    for name, tasks in sorted(classes.items(), key=lambda item: -len(item[1])):
        yield finding("group_class", name=RULES[name][0], count=len(tasks), names=_names(tasks))
    if not classes and any(task.diagnosis for task in group.tasks):
        yield finding("group_no_class")


def undeclared(group: GroupValues) -> Iterator[Finding]:
    """Yield the languages that the dense models do not declare, with the affected tasks."""
    models: dict[str, tuple[dict[str, None], list[TaskValues]]] = {}
    for task in group.tasks:
        values = task.diagnosis.undeclared if task.diagnosis else None
        if values is not None:
            languages, tasks = models.setdefault(values.model, ({}, []))
            languages.update(dict.fromkeys(values.languages))
            tasks.append(task)
    for model, (languages, tasks) in models.items():
        named = listed([language_name(code) for code in languages])
        yield finding("group_undeclared", model=model, languages=named, names=_names(tasks))


def leakage(group: GroupValues) -> Iterator[Finding]:
    """Yield training data and how many tasks were audited."""
    yield from training(group)
    audited = sum(task.leakage.audit != "not_audited" for task in group.tasks)
    yield finding("group_audit", audited=audited, tasks=len(group.tasks)) if audited else finding("group_not_audited")
    yield finding("group_keep_out")


def _of_tasks(kinds: tuple[str, str], affected: Sequence[TaskValues], group: GroupValues, **values: Any) -> Finding:
    """Return a finding about some tasks, which it names, or about all of them."""
    some, every = kinds
    if len(affected) == len(group.tasks) > 1:
        return Finding(every, values)
    return Finding(some, {"names": _names(affected), **values})


def _multilingual(task: TaskValues) -> tuple[str, ...]:
    return (MULTILINGUAL,) if task.language == MULTILINGUAL else ()


def _names(tasks: Sequence[TaskValues]) -> str:
    return listed([task.task for task in tasks])


def _scored(ranked: Sequence[tuple[float, TaskValues]]) -> str:
    return listed([f"{task.task} ({value:.4f})" for value, task in ranked])

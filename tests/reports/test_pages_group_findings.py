"""Findings of a group at the borders of their rules: some, all and none of its tasks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from pages_parts import ranked_task

from steelyard.reports.pages import measure_group, measure_task
from steelyard.reports.pages.findings import group_findings
from steelyard.reports.pages.findings.sentences import Finding
from steelyard.reports.pages.measure.diagnosis_values import Diagnosis, Limit
from steelyard.reports.pages.measure.page_values import GroupValues, TaskValues
from steelyard.reports.pages.thresholds import SOME


def measured(name: str, **ranks: list[int]) -> TaskValues:
    return measure_task(*ranked_task(ranks or {"bm25": [1, 2, 3], "dense": [2, 3, 4]}, name=f"NanoToy/{name}"))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def tasks() -> list[TaskValues]:
    return [measured("first"), measured("second")]


def by_kind(findings: Iterable[Finding]) -> dict[str, dict[str, Any]]:
    return {one.kind: dict(one.values) for one in findings}


def test_positives_of_a_query_are_a_mean_over_all_queries(tasks: list[TaskValues]) -> None:
    three = [replace(task, positives=replace(task.positives, count=9)) for task in tasks]
    assert by_kind(group_findings.overview(measure_group("NanoToy", three)))["group_size"]["mean"] == 3
    none = by_kind(group_findings.overview(GroupValues("NanoToy", ())))["group_size"]
    assert (none["queries"], none["positives"], none["mean"]) == (0, 0, 0)
    one = replace(tasks[0], queries=1, positives=replace(tasks[0].positives, count=5))
    assert by_kind(group_findings.overview(GroupValues("NanoToy", (one,))))["group_size"]["mean"] == 5


def test_a_lead_needs_two_profiles_and_two_tasks(tasks: list[TaskValues]) -> None:
    alone = [measured(name, bm25=[1, 2, 3]) for name in ("first", "second")]
    assert not list(group_findings.lead(measure_group("NanoToy", alone)))
    assert not list(group_findings.lead(measure_group("NanoToy", tasks[:1])))
    (found,) = group_findings.lead(measure_group("NanoToy", tasks))
    assert (found.kind, found.values["best"], found.values["tasks"]) == ("group_too_few", "BM25", 2)


def test_too_few_tasks_cannot_be_significant() -> None:
    equal = {"bm25": [1, 2], "dense": [2, 1]}
    for count, kind in ((5, "group_too_few"), (6, "group_no_lead")):
        tasks = [measured(f"t{number}", **equal) for number in range(count)]
        assert [one.kind for one in group_findings.lead(measure_group("NanoToy", tasks))] == [kind]
    better = [measured(f"t{number}", bm25=[1, 1], dense=[2, 3]) for number in range(6)]
    (found,) = group_findings.lead(measure_group("NanoToy", better))
    assert (found.kind, found.values["others"]) == ("group_lead", "Dense")


@pytest.mark.parametrize(
    ("described", "kind"),
    [((), "group_not_described"), ((0,), "group_described"), ((0, 1), "group_all_described")],
)
def test_descriptions_of_none_some_and_all_tasks_are_different_findings(
    described: tuple[int, ...], kind: str, tasks: list[TaskValues]
) -> None:
    given = [replace(task, description="what it is" if n in described else "") for n, task in enumerate(tasks)]
    (found,) = group_findings.measures(measure_group("NanoToy", given))
    assert found.kind == kind
    assert kind != "group_described" or found.values == {"count": 1, "tasks": 2}


def with_limit(task: TaskValues, ranking: float, pool: float) -> TaskValues:
    return replace(task, diagnosis=Diagnosis(limits=(Limit("bm25", 0.5, ranking, pool, 0.0),)))


@pytest.mark.parametrize(
    ("ranking", "pool", "kind"),
    [
        (2 * SOME, SOME, "ranking"),
        (SOME, 2 * SOME, "pool"),
        (SOME, SOME, "ranking"),
        (SOME / 2, SOME / 2, None),
    ],
)
def test_the_larger_loss_is_the_cause(ranking: float, pool: float, kind: str | None, tasks: list[TaskValues]) -> None:
    limited = [with_limit(task, ranking, pool) for task in tasks]
    every = by_kind(group_findings.limits(measure_group("NanoToy", limited)))
    assert every == ({} if kind is None else {f"group_every_{kind}": {}})
    some = by_kind(group_findings.limits(measure_group("NanoToy", [limited[0], replace(tasks[1], diagnosis=None)])))
    assert some == ({} if kind is None else {f"group_{kind}": {"count": 1, "tasks": 2, "names": "first"}})
    alone = by_kind(group_findings.limits(measure_group("NanoToy", limited[:1])))
    assert alone == ({} if kind is None else {f"group_{kind}": {"count": 1, "tasks": 1, "names": "first"}})


def test_a_finding_names_its_tasks_unless_it_is_about_all_of_several(tasks: list[TaskValues]) -> None:
    several = [replace(task, positives=replace(task.positives, multi_positive_queries=1)) for task in tasks]
    for given, expected in (
        (several, {"group_multi_all": {}}),
        ([several[0], tasks[1]], {"group_multi": {"names": "first"}}),
        (several[:1], {"group_multi": {"names": "first"}}),
        (tasks, {"group_single": {}}),
    ):
        found = by_kind(group_findings.shape(measure_group("NanoToy", given)))
        assert {kind: values for kind, values in found.items() if kind in ("group_single", *expected)} == expected


def test_classes_of_failures_are_named_with_their_tasks(
    tasks: list[TaskValues], monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = {tasks[0].name: ["undeclared_language", "script"], tasks[1].name: ["undeclared_language"]}
    monkeypatch.setattr(
        group_findings, "explaining_classes", lambda task: [SimpleNamespace(name=name) for name in failures[task.name]]
    )
    found = list(group_findings.training(measure_group("NanoToy", tasks)))
    classes = [(one.values["name"], one.values["count"]) for one in found if one.kind == "group_class"]
    assert classes == [("undeclared language", 2), ("script", 1)]

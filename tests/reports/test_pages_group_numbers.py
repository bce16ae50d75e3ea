"""Every number on a group's page is explained: totals, means, tests over tasks, best and tied profiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from every_number import Made, demoted, english_page, made_page, pool_page
from page_expectations import LABELS
from page_group_numbers import Group, problems
from page_oracle import KINDS
from page_statistics import bca, compared

from steelyard.datasets import load_task
from steelyard.reports.pages import GroupValues, measure_group
from steelyard.reports.pages.render.blocks import Page
from steelyard.reports.pages.render.group_page import group_page

pytestmark = pytest.mark.slow

CODES = ("de", "es", "fr", "ru", "ar")


def small_page(code: str, seed: int) -> Made:
    """A task in one language; the hybrid is the best of every task, by little."""
    task = load_task(f"NanoAlmanac/{code}")
    chances = zip(("bm25", "dense", "hybrid"), (0.5, 0.6, 0.3), strict=True)
    lists: Any = {kind: demoted(task, seed + n, chance) for n, (kind, chance) in enumerate(chances)}
    return made_page(task, lists, lambda id_: code, (), "lists")


@pytest.fixture(scope="module")
def made() -> list[Made]:
    return [pool_page(), english_page(), *(small_page(code, 10 * n) for n, code in enumerate(CODES))]


@pytest.fixture(scope="module")
def group(made: list[Made]) -> GroupValues:
    return measure_group("NanoAlmanac", [one.values for one in made])


@pytest.fixture(scope="module")
def page(group: GroupValues) -> Page:
    return group_page(group)


def test_every_number_of_a_group_is_explained(made: list[Made], page: Page) -> None:
    wrong = problems(Group(made), page)
    assert not wrong, "\n".join(wrong)


def test_profiles_over_tasks_are_tested_exactly(made: list[Made], group: GroupValues) -> None:
    """With few tasks all changes of sign are enumerated; Holm's correction triples the smallest p-value."""
    exact = compared({kind: np.array([one.oracle.ndcg[kind].mean() for one in made]) for kind in KINDS})
    assert {(one.better, one.worse) for one in group.comparisons} == set(exact)
    for one in group.comparisons:
        differences, (low, high) = exact[one.better, one.worse]
        assert low == high == pytest.approx(one.p_value, rel=1e-9)
        assert one.significant == (one.p_value < 0.05)
        ends = bca(differences, (-1.0, 1.0))
        assert (one.interval.low, one.interval.high) == pytest.approx(ends, rel=1e-6, abs=1e-9)
    smallest = min(one.p_value for one in group.comparisons)
    assert smallest == pytest.approx(3 / 2**6), "all seven tasks have the same sign: 2 of 128, three times"
    assert {LABELS[kind] for kind in group.means} == set(LABELS.values())

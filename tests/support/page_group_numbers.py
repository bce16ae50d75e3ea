"""The numbers that the page of a group must print: totals, means, tests over tasks, best and tied profiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from every_number import Made
from page_advice_numbers import PageExpectations, code_in
from page_expectations import KIND_OF
from page_numbers import Place, figure_texts, mismatch, numbers, places
from page_oracle import KINDS
from page_statistics import bca, compared

from steelyard.reports.pages.render.blocks import Page

HEADINGS = {"BM25 Profile": "bm25", "Dense Profile": "dense", "Reranking Hybrid Profile": "hybrid"}


class Group:
    """The expected numbers of a group's page."""

    def __init__(self, made: list[Made]) -> None:
        self.tasks = {one.values.task: PageExpectations(one.oracle) for one in made}
        self.count = len(made)
        self.extremes = min(3, len(made) // 2)
        self.means = {k: float(np.mean([one.means[k] for one in self.tasks.values()])) for k in KINDS}
        self.best = max(self.means, key=lambda kind: self.means[kind])
        self.sizes = [(one.size, len(one.oracle.task.corpus), sum(one.counts)) for one in self.tasks.values()]
        self.compared = compared({k: np.array([one.means[k] for one in self.tasks.values()]) for k in KINDS})

    def of(self, place: Place) -> list[Any]:
        method: Callable[[Place], list[Any]] | None = getattr(self, f"on_{place.kind}", None)
        if method is None:
            raise AssertionError(f"no expectation of {place.kind}: {place.text}")
        return method(place)

    def named(self, place: Place) -> list[str]:
        """The tasks that a sentence names at its end."""
        names = str(place.figures["names"]).replace(" and ", ", ").split(", ")
        assert all(name.split(" (")[0] in self.tasks for name in names), names
        return [name.split(" (")[0] for name in names]

    def on_group_size(self, place: Place) -> list[Any]:
        queries, documents, positives = (sum(column) for column in zip(*self.sizes, strict=True))
        return [self.count, queries, documents, positives, positives / queries]

    def on_group_lead(self, place: Place) -> list[Any]:
        tests = [p for (better, _), (_, p) in self.compared.items() if better == self.best]
        assert max(low for low, _ in tests) < 0.05
        return [self.count, self.means[self.best], (max(p[0] for p in tests), max(p[1] for p in tests))]

    def on_group_no_lead(self, place: Place) -> list[Any]:
        assert max(high for (better, _), (_, (_, high)) in self.compared.items() if better == self.best) >= 0.05
        return [self.count, self.means[self.best]]

    def on_group_too_few(self, place: Place) -> list[Any]:
        assert 2 / 2**self.count * len(self.compared) >= 0.05
        return [self.count, self.means[self.best]]

    def on_shape(self, place: Place) -> list[Any]:
        means = sorted(float(np.mean(one.oracle.characters("Documents"))) for one in self.tasks.values())
        return [means[0], means[-1]]

    def on_corpora(self, place: Place) -> list[Any]:
        return [min(size[1] for size in self.sizes), max(size[1] for size in self.sizes)]

    def scores(self, place: Place) -> list[float]:
        return sorted((one.means[HEADINGS[place.section]] for one in self.tasks.values()), reverse=True)

    def on_profile_mean(self, place: Place) -> list[Any]:
        scores = self.scores(place)
        return [self.count, np.mean(scores), scores[-1], scores[0]]

    def on_profile_strong(self, place: Place) -> list[Any]:
        kind = HEADINGS[place.section]
        assert [self.tasks[name].means[kind] for name in self.named(place)] == self.scores(place)[: self.extremes]
        return self.scores(place)[: self.extremes]

    def on_profile_weak(self, place: Place) -> list[Any]:
        return self.scores(place)[: -self.extremes - 1 : -1]

    def clear(self, kind: str) -> list[str]:
        """The tasks on which a profile is significantly better than all others."""
        found = []
        for name, one in self.tasks.items():
            tests = [p for (better, _), (_, p) in one.oracle.comparisons.items() if better == one.best]
            if one.best == kind and max(p[1] for p in tests) < 0.05:
                found.append(name)
        return found

    def on_group_wins(self, place: Place) -> list[Any]:
        assert self.named(place) == self.clear(HEADINGS[place.section])
        return [len(self.named(place)), self.count]

    def on_group_wins_all(self, place: Place) -> list[Any]:
        assert self.clear(HEADINGS[place.section]) == list(self.tasks)
        return []

    def on_group_open_all(self, place: Place) -> list[Any]:
        assert not any(self.clear(kind) for kind in KINDS)
        return []

    def on_group_open(self, place: Place) -> list[Any]:
        clear = {name for kind in KINDS for name in self.clear(kind)}
        assert set(self.named(place)) == set(self.tasks) - clear
        return [self.count - len(clear), self.count]

    def costly(self, kind: int) -> list[str]:
        """The tasks on which ranking (1) or candidates (2) cost the best profile most."""
        limits = {name: one.oracle.limits[one.judged_profile()] for name, one in self.tasks.items()}
        return [name for name, one in limits.items() if max(one[1:3]) == one[kind] and max(one[1:3]) >= 0.05]

    def on_group_ranking(self, place: Place) -> list[Any]:
        assert self.named(place) == self.costly(1)
        return [len(self.costly(1)), self.count]

    def on_group_every_ranking(self, place: Place) -> list[Any]:
        assert len(self.costly(1)) == self.count
        return []

    def on_group_small(self, place: Place) -> list[Any]:
        assert self.named(place) == [name for name, size in zip(self.tasks, self.sizes, strict=True) if size[1] < 1000]
        return [1000]

    def on_group_small_all(self, place: Place) -> list[Any]:
        assert max(size[1] for size in self.sizes) < 1000
        return [1000]

    def several(self) -> list[str]:
        """The tasks with several relevant documents for some queries."""
        return [name for name, one in self.tasks.items() if max(one.counts) > 1]

    def on_group_multi(self, place: Place) -> list[Any]:
        assert self.named(place) == self.several() != list(self.tasks)
        return []

    def on_group_multi_all(self, place: Place) -> list[Any]:
        assert self.several() == list(self.tasks)
        return []

    on_group_recall, on_group_recall_all = on_group_multi, on_group_multi_all

    def on_group_single(self, place: Place) -> list[Any]:
        assert not self.several()
        return []

    def on_group_cross(self, place: Place) -> list[Any]:
        assert self.named(place) == [name for name, one in self.tasks.items() if one.pair_shares()[1] > 0.5]
        return []

    def on_group_described(self, place: Place) -> list[Any]:
        return [sum(bool(one.oracle.task.info.description) for one in self.tasks.values()), self.count]

    def on_group_class(self, place: Place) -> list[Any]:
        return [len(self.named(place))]

    # tables
    def row(self, place: Place) -> tuple[list[str], list[Any]]:
        columns = tuple(str(name) for name in place.figures["columns"])  # type: ignore[attr-defined]
        cells = dict(zip(columns, place.key, strict=True))
        if "Field" in cells:
            return self.field(cells)
        if "Family" in cells:
            names = cells["Tasks"].replace(" and ", ", ").split(", ")
            own = [self.tasks[name] for name in names]
            means = [np.mean([one.means[kind] for one in own]) for kind in KINDS]
            return [cells["Queries"], *list(cells.values())[3:]], [sum(one.size for one in own), *means]
        if "Language" in cells and "Tasks" in cells:
            return self.language(cells)
        if cells.get("Task") in self.tasks and "Docs" in cells:
            one = self.tasks[cells["Task"]]
            self.check_best(one, cells["Best profile"])
            counts = [one.size, len(one.oracle.task.corpus), *([sum(one.counts)] if "Positives" in cells else [])]
            return list(cells.values())[1:-1], [*counts, *(one.means[kind] for kind in KINDS)]
        return [], []

    def check_best(self, one: PageExpectations, shown: str) -> None:
        first, *tied = [KIND_OF[label] for label in shown.split(" or ")]
        assert first == one.best
        for (better, worse), (_, (low, high)) in one.oracle.comparisons.items():
            if better == one.best and (low >= 0.05 or high < 0.05):
                assert (worse in tied) == (low >= 0.05), shown

    def field(self, cells: dict[str, str]) -> tuple[list[str], list[Any]]:
        size = self.on_group_size(Place("", "", (), "", {}))
        names = ("Task pages", "Queries", "Split-local documents", "Positive qrels", "Positives / query avg")
        known = dict(zip(names, size, strict=True))
        return ([cells["Value"]], [known[cells["Field"]]]) if cells["Field"] in known else ([], [])

    def language(self, cells: dict[str, str]) -> tuple[list[str], list[Any]]:
        code = code_in(cells["Language"])
        own = [(one, np.flatnonzero([c == code for c in one.oracle.asked])) for one in self.tasks.values()]
        own = [(one, queries) for one, queries in own if len(queries)]
        total = sum(len(queries) for _, queries in own)
        means = [sum(one.ndcg[kind][queries].sum() for one, queries in own) / total for kind in KINDS]
        return list(cells.values())[1:], [len(own), total, *means]


def figure(expected: Group, place: Place) -> str:
    """Why a number of a figure is not computed."""
    texts = figure_texts(place.text)
    if place.key[0] == "scores":
        for title in texts["titles"]:
            name, _, label = title.rpartition(": ")[0].partition(", ")
            values = expected.tasks[name].ndcg[KIND_OF[label]]
            if problem := mismatch(numbers(title.rpartition(": ")[2]), [values.mean(), *bca(values)]):
                return problem
        return ""
    for at, label in enumerate(texts["labels"]):
        cells = texts["cells"][at * len(KINDS) : (at + 1) * len(KINDS)]
        values = expected.language({"Language": label, "Tasks": ""})[1][1:]
        if problem := mismatch(numbers(" ; ".join((label.rpartition(", ")[2], *cells))), values):
            return problem
    return ""


def problems(expected: Group, page: Page) -> list[str]:
    """Every number of the page that is not the expected one."""
    wrong = []
    for place in places(page):
        if place.kind == "table":
            cells, values = expected.row(place)
            problem = mismatch(numbers(" ; ".join(cells)), values)
        elif place.kind == "figure":
            problem = figure(expected, place)
        else:
            shown = numbers(place.text)
            known = hasattr(expected, f"on_{place.kind}")  # also of sentences about all tasks or none
            problem = mismatch(shown, expected.of(place)) if shown or known else ""
        wrong += [f"{place.section}, {place.kind}: {problem}"] if problem else []
    return wrong

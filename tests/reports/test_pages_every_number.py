"""Every number on task pages is explained: extracted with its place, and computed again from data and lists.

A sentence, cell or label with a number that nothing explains fails.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from every_number import Made, english_page, pool_page, shared_page
from page_advice_numbers import PageExpectations
from page_expectations import HEADINGS
from page_numbers import Place, mismatch, numbers, places

from steelyard.reports.pages.render.markdown import markdown

pytestmark = pytest.mark.slow

SETS = {
    "english": english_page,
    "languages": pool_page,
    **{name: lambda name=name: shared_page(name) for name in ("xquad_th", "xquad_zh")},
}


@pytest.fixture(scope="module", params=SETS)
def made(request: pytest.FixtureRequest) -> Made:
    return SETS[request.param]()


class Claims(PageExpectations):
    """Also the sentences without a number, which claim that there is none, or always one."""

    def on_without_numbers(self, place: Place) -> list[Any]:
        assert self.on_numbers(place) == [0.0], place.text
        return []

    def on_without_questions(self, place: Place) -> list[Any]:
        assert not any(self.oracle.questions), place.text
        return []

    def on_without_names(self, place: Place) -> list[Any]:
        assert self.oracle.named_share == 0, place.text
        return []

    def on_names_unknown(self, place: Place) -> list[Any]:
        assert self.oracle.named_share is None, place.text
        return []

    def on_names_uncased(self, place: Place) -> list[Any]:
        assert self.oracle.named_share is None and not {*self.oracle.scripts} & {"latin", "cyrillic", "greek"}
        return []

    def on_no_duplicates(self, place: Place) -> list[Any]:
        assert self.on_duplicate_documents(place) == self.on_duplicate_queries(place) == [0], place.text
        return []

    def on_always_found(self, place: Place) -> list[Any]:
        assert 0 not in self.oracle.ranks[HEADINGS[place.section]], place.text
        return []

    def on_single_positive(self, place: Place) -> list[Any]:
        assert set(self.counts) == {1}, place.text
        return []


def problem(expectations: PageExpectations, place: Place) -> str:
    """Why a place is not explained."""
    if place.kind == "table":
        cells, expected = expectations.row(place)
        return mismatch(numbers(" ; ".join(cells)), expected)
    if place.kind == "figure":
        return expectations.check_figure(place)
    shown = numbers(expectations.shown_text(place))
    known = hasattr(expectations, f"on_{place.kind}")  # also of sentences that claim that there is none
    return mismatch(shown, expectations.of(place) if shown or known else [])


def test_every_number_is_explained(made: Made) -> None:
    expectations = Claims(made.oracle)
    found = list(places(made.page))
    wrong = [f"{one.section}, {one.kind}: {why}" for one in found if (why := problem(expectations, one))]
    assert not wrong, "\n".join(wrong)
    assert sum(len(numbers(one.text)) + sum(len(numbers(cell)) for cell in one.key) for one in found) > 300


def test_markdown_prints_no_other_numbers(made: Made) -> None:
    """What is extracted from the blocks of the page is what its Markdown file prints, but for names and links."""
    text = re.sub(r"\]\([^)]*\)", "]", markdown(made.page)).replace("\\", "").replace("&lt;", "<")
    printed = Counter(
        one.text for line in text.splitlines() if not line.startswith(("#", ">")) for one in numbers(line)
    )
    walked: Counter[str] = Counter()
    for one in places(made.page):
        columns = ()
        for part in (one.text if one.kind != "figure" else "", *(one.key if one.kind == "table" else columns)):
            walked.update(number.text for number in numbers(part))
    surplus = printed - walked
    assert surplus.total() <= len(made.page.title), surplus


def test_the_best_profile_and_those_tied_with_it(made: Made) -> None:
    """The best profile has the highest mean, and the others are tied unless the adjusted p-value is below 0.05."""
    values, oracle = made.values, made.oracle
    means = {kind: one.mean() for kind, one in oracle.ndcg.items()}
    assert values.best is not None and values.best.kind == max(means, key=lambda kind: means[kind])
    tied = {one.kind for one in values.tied}
    for (better, worse), (_, (low, high)) in oracle.comparisons.items():
        if better == values.best.kind and (low >= 0.05 or high < 0.05):
            assert (worse in tied) == (low >= 0.05)


def test_findings_of_the_json_page_are_those_of_the_page(made: Made, tmp_path: Path) -> None:
    from steelyard.reports.pages.render.json_page import json_page

    page = json.loads(json_page(made.page, made.values))
    assert [one["sentence"] for one in page["findings"]] == [one.sentence for _, one in made.page.findings]

"""Every key of mteb 1.14.15 and 2.26.24, from the vectors of parity/mteb/tasks; see parity/README.md."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from task_parts import FOLDER, VERSIONS, expected, sample_tasks, vectors_of

from steelyard.tasks import Profile, SampleScores, score_task, texts_of

FITTED = 1e-6
LAST_BITS = 1e-12
"""Of sums, which numpy and scipy round by the processor they find."""
TASKS = sample_tasks()
CASES = [(profile, name) for profile in VERSIONS for name in TASKS if name in expected(profile)]


def flat(value: Any, path: str = "") -> Iterator[tuple[str, float | None]]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from flat(part, f"{path}/{key}")
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from flat(part, f"{path}/{place}")
    else:
        yield path, value


def computed(name: str, profile: Profile) -> SampleScores:
    texts = texts_of(TASKS[name], profile)
    return score_task(TASKS[name], texts, vectors_of(texts), "cosine", profile)


@cache
def scores_of(name: str, profile: Profile = "mteb-2.26") -> SampleScores:
    return computed(name, profile)


def tolerance(name: str) -> float:
    return FITTED if "Cl" in name and "Pair" not in name else LAST_BITS


def test_the_fixtures_are_what_they_were() -> None:
    for line in (FOLDER / "SHA256SUMS").read_text().splitlines():
        digest, _, name = line.partition("  ")
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name


@pytest.mark.slow
@pytest.mark.parametrize(("profile", "name"), CASES)
def test_every_key_of_both_versions(profile: Profile, name: str) -> None:
    theirs = expected(profile)[name]
    main = theirs.pop("main_score")
    found = scores_of(name, profile)
    assert list(found.mteb) == list(theirs)
    ours, wanted = dict(flat(dict(found.mteb))), dict(flat(theirs))
    assert list(ours) == list(wanted)
    for key, value in wanted.items():
        if value is None:
            assert ours[key] is None, key
        else:
            assert ours[key] == pytest.approx(value, rel=0, abs=tolerance(name)), key
    assert found.metrics[found.main_metric] == pytest.approx(main, abs=FITTED)


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_the_main_figure_lies_in_its_interval_and_is_the_same_again(name: str) -> None:
    first, second = scores_of(name), computed(name, "mteb-2.26")
    interval = first.intervals[first.main_metric]
    value = first.metrics[first.main_metric]
    assert value is not None and interval.low <= value <= interval.high and interval.low < interval.high
    assert (first.metrics, first.intervals) == (second.metrics, second.intervals)
    assert first.resampling["over"] in ("pairs", "test texts", "problems", "rounds")
    assert first.samples is not None


def test_only_what_is_drawn_is_encoded() -> None:
    classified, sampled = TASKS["FixtureClassification"], TASKS["FixtureClusteringFast"]
    assert len(texts_of(sampled, "mteb-2.26")) <= int(0.8 * len(sampled))
    assert set(texts_of(classified, "mteb-2.26")) >= set(classified.texts)  # type: ignore[union-attr]


def test_texts_without_a_label_are_a_class_in_mteb_and_a_figure_without_them_stands_beside() -> None:
    found = scores_of("FixtureClusteringHier")
    assert found.notes["unlabelled_as_a_class"] == [0, 35]
    assert found.metrics["v_measure_labelled"] != found.metrics["v_measure"]
    assert "v_measure_labelled" not in found.mteb


def test_undefined_is_null_in_a_result_file() -> None:
    assert scores_of("FixtureClassification").mteb["ap"] is None
    assert "NaN" not in json.dumps(dict(scores_of("FixtureClassification").mteb), allow_nan=False)

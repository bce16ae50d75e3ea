"""Advice: only from significant findings, never from languages that the dense model does not declare."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pages_parts import ranked_task, run_with

from steelyard.reports.pages import Profile, TaskValues, measure_task
from steelyard.reports.pages.findings import advice, task_findings
from steelyard.reports.pages.findings.slice_findings import weak_slices
from steelyard.reports.pages.measure.part_values import Leakage, SliceValues
from steelyard.types import Corpus, Interval, Qrels, Queries, Task, TaskInfo

HINDI = "यह शहर एक बड़ी नदी के किनारे बसा है और वहाँ कई पुराने पुल हैं और बहुत से लोग रहते हैं"


def hindi_values(config: str) -> TaskValues:
    """A task in Hindi on which the dense model fails and fusion costs much."""
    count, documents = 40, 60
    corpus = Corpus.of([f"d{n:03}" for n in range(documents)], [f"{HINDI} {n}" for n in range(documents)])
    asked = tuple(f"वह शहर किस नदी के किनारे बसा है और वहाँ कितने पुल हैं {n}?" for n in range(count))
    queries = Queries(tuple(f"q{n:03}" for n in range(count)), asked)
    qrels = Qrels.of(np.arange(count), np.zeros(count), np.ones(count), queries=count)
    task = Task(TaskInfo("T/hi", language="hi", languages=("hi",)), corpus, queries, qrels)
    ranks = {"bm25": [1] * count, "dense": [40] * count, "hybrid": [8] * count}
    configs = {"bm25": "bm25", "dense": config, "hybrid": f"[bm25, {config}]"}
    return measure_task(task, [Profile(k, configs[k], run_with(v, documents)) for k, v in ranks.items()])  # type: ignore[arg-type]


def kinds(values: TaskValues) -> set[str]:
    found = (*advice.training(values), *advice.improvement(values), *advice.synthetic(values))
    return {one.kind for one in found}


def test_nothing_is_advised_from_languages_that_the_model_does_not_declare() -> None:
    undeclared = hindi_values("dense:use-multilingual-v3")
    profile = advice.judged_profile(undeclared)
    assert profile is not None and profile.kind == "bm25"
    assert not kinds(undeclared) & {"hybrid_hurts", "improve_choice", "weak_slice", "train_slice", "derived_data"}
    declared = hindi_values("dense:BAAI/bge-m3")  # lists Hindi
    assert "hybrid_hurts" in kinds(declared)


def part(name: str, queries: int, score: float, p: float | None) -> SliceValues:
    return SliceValues(
        "overlap",
        name,
        queries,
        {"bm25": score},
        {"bm25": Interval(score, score)},
        "bm25",
        against_rest={"bm25": score - 0.8},
        rest_p_values={} if p is None else {"bm25": p},
    )


def test_a_lower_class_is_named_next_to_a_middle_one() -> None:
    task, profiles = ranked_task({"bm25": [1] * 60})
    values = measure_task(task, profiles)
    low, middle, high = (
        part("low (up to 0.25)", 14, 0.1, None),
        part("middle", 30, 0.4, 0.001),
        part("high (from 0.75)", 80, 0.9, 0.001),
    )
    sliced = replace(values, slices=(low, middle, replace(high, against_rest={"bm25": 0.4})))
    assert [one.name for one in weak_slices(sliced)] == ["middle"]
    found = [(one.kind, one.values.get("where", "")) for one in advice.improvement(sliced)]
    assert ("weak_slice", "on queries of middle overlap") in found
    assert ("lower_class", "on queries of low overlap (up to 0.25)") in found
    tested = replace(sliced, slices=(part("low (up to 0.25)", 25, 0.1, 0.001), middle, high))
    assert [one.name for one in weak_slices(tested)] == ["low (up to 0.25)"]


def test_without_failures_no_training_data_is_derived() -> None:
    task, profiles = ranked_task({"bm25": [1] * 40, "dense": [1] * 40})
    values = measure_task(task, profiles)
    found = list(advice.training(values))
    assert [one.kind for one in found] == ["no_derived_data"]
    recorded = replace(values, leakage=replace(values.leakage, useful_data="pairs of questions"))
    assert [one.kind for one in advice.training(recorded)] == ["recorded_data", "no_derived_data"]


def test_an_unknown_split_is_not_recorded_and_signs_of_leakage_are_reported() -> None:
    task, profiles = ranked_task({"bm25": [1] * 30}, split="ranks")
    values = measure_task(task, profiles)
    assert values.leakage.split_origin == "not_recorded"
    signs = {"queries_that_are_a_document": 2, "queries_inside_a_positive": 0}
    found = [one.kind for one in task_findings.leakage(replace(values, leakage=Leakage(signs=signs)))]
    assert "leakage_signs" in found
    none = Leakage(signs=dict.fromkeys(signs, 0))
    assert "no_leakage_signs" in [one.kind for one in task_findings.leakage(replace(values, leakage=none))]

"""Advice: only from significant findings, never from languages that the dense model does not declare."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pages_parts import ranked_task, run_with

from steelyard.reports.pages import Profile, TaskValues, measure_task
from steelyard.reports.pages.findings import advice, diagnosis_findings, task_findings
from steelyard.reports.pages.findings.slice_findings import slices, weak_slices
from steelyard.reports.pages.findings.text_findings import word_unit
from steelyard.reports.pages.measure.diagnosis_values import FailureClass, UndeclaredLanguages
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


def plain_values() -> TaskValues:
    task, profiles = ranked_task({"bm25": [1, 20, 3, 30] * 10, "dense": [2, 1, 40, 1] * 10})
    return measure_task(task, profiles)


def undeclared(values: TaskValues, languages: dict[str, int], queries: int) -> TaskValues:
    assert values.diagnosis is not None
    odd = UndeclaredLanguages("a-model", languages, queries, {})
    return replace(values, diagnosis=replace(values.diagnosis, undeclared=odd))


def failure_class(failed: int) -> FailureClass:
    return FailureClass("name", "bm25", failed, 20, failed / 20, Interval(0.1, 0.5), 0, 20, 0.001, significant=True)


def test_a_class_is_claimed_from_five_failed_queries_on() -> None:
    values = plain_values()
    assert values.diagnosis is not None
    for failed, claimed in ((4, False), (5, True)):
        one = replace(values, diagnosis=replace(values.diagnosis, classes=(failure_class(failed),)))
        found = {finding.kind for finding in diagnosis_findings.classes(one) if "BM25" in finding.values.values()}
        assert ("class_significant" in found) == claimed


def test_pairs_of_undeclared_languages_are_not_advised() -> None:
    values = plain_values()
    assert values.language_profile is not None
    mixed = replace(values.language_profile, pair_languages={"ar-hi": 0.5, "ar-en": 0.5}, cross_language=1.0)
    (pairs,) = [
        one.values["pairs"]
        for one in advice.synthetic(undeclared(replace(values, language_profile=mixed), {"hi": 5}, 5))
        if one.kind == "synthetic_language"
    ]
    assert "English" in pairs and "Hindi" not in pairs


def test_overlap_says_nothing_about_a_model_in_undeclared_languages() -> None:
    values = replace(plain_values(), overlap_gain_correlation=0.5, overlap_gain_p_value=0.001)
    assert "overlap_gain" in {one.kind for one in slices(values)}
    assert "overlap_gain" not in {one.kind for one in slices(undeclared(values, {"hi": 40}, 40))}


def test_what_counts_as_a_word_has_its_own_name() -> None:
    values = plain_values()
    assert values.language_profile is not None
    for scripts, unit in (
        ({"han": 0.6, "japanese": 0.4}, "characters"),
        ({"thai": 1.0}, "clusters"),
        ({"han": 0.5, "latin": 0.5}, "words"),
        ({"hangul": 1.0}, "words"),
    ):
        one = replace(values, language_profile=replace(values.language_profile, query_scripts=scripts))
        assert word_unit(one) == unit
        (classes,) = (f.values["classes"] for f in task_findings.tendencies(one) if f.kind.startswith("query_c"))
        assert classes.endswith(unit)


def test_a_model_without_the_language_is_not_interpreted() -> None:
    """Its limits and its fusion are in the tables, but no sentence concludes from them."""
    for config, labels in (("dense:use-multilingual-v3", {"BM25"}), ("dense:BAAI/bge-m3", {"BM25", "Dense"})):
        values = hindi_values(config)
        limits = [one for one in diagnosis_findings.limits(values) if one.kind != "limit_same"]
        assert (
            labels <= {one.values["label"] for one in limits if "label" in one.values} <= {*labels, "Reranking hybrid"}
        )
        found = {one.kind for one in diagnosis_findings.complement(values)}
        assert found & {"complement", "no_overlap"}
        assert bool(found & {"choice", "no_choice"}) == (config == "dense:BAAI/bge-m3")


def test_lengths_in_characters_of_several_scripts_lead_to_no_advice() -> None:
    values = measure_task(*ranked_task({"bm25": [1, 20, 3, 30] * 10}))
    assert values.language_profile is not None
    short = replace(part("up to 38 characters", 60, 0.4, 0.001), dimension="query length")
    one_script = replace(values.language_profile, query_scripts={"latin": 1.0})
    mixed = replace(values.language_profile, query_scripts={"latin": 0.6, "han": 0.4})
    assert weak_slices(replace(values, slices=(short,), language_profile=one_script)) == [short]
    assert not weak_slices(replace(values, slices=(short,), language_profile=mixed))
    low = part("low (up to 0.25)", 60, 0.4, 0.001)
    assert weak_slices(replace(values, slices=(short, low), language_profile=mixed)) == [low]

"""Result files: round trip, strict JSON, MTEB's layout, errors for damaged files."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import ResultError
from steelyard.results import Failure, Miss, NewerResult, QueryScores, Result, Results, TaskFacts, keys
from steelyard.results.keys import digest, model_slug, result_key, settings_hash, task_slug
from steelyard.results.mteb_codes import mteb_languages
from steelyard.results.provenance import HEAVY, PACKAGES, provenance
from steelyard.results.result_file import plain
from steelyard.types import Interval


def full_result() -> Result:
    return Result(
        task="Small/geography",
        model="[bm25, dense:x/y@v1?dim=2]",
        settings={"model": "bm25", "model_settings": {"k1": 1.2, "form": "lucene"}, "top_k": 1000},
        key="0123456789abcdef0123456789abcdef",
        metrics={"ndcg_at_10": 0.51234567891, "hit_rate_at_10": 1.0, "recall_at_100": 1.0, "nauc_x": None},
        mteb={"ndcg_at_10": 0.51235, "mrr_at_10": 0.123456789, "nauc_ndcg_at_1_max": None},
        intervals={"ndcg_at_10": Interval(0.4, 0.625, 0.95)},
        facts=TaskFacts("en", ("en", "zh"), queries=6, documents=8, positives=7, data_hash="ff" * 16, revision="r1"),
        timings={"load": 0.5, "index": 1.0, "search": 0.25, "score": 0.25, "total": 2.0, "reused": 0.0},
        index_bytes=123,
        peak_memory_bytes=456_000,
        misses=(
            Miss("q1", "where?", None, "d2", "here", "d1", "there"),
            Miss("q2", "日本?", 12, None, None, "d1", "…"),
        ),
        notes={"analyser": {"en": "snowball"}, "cut": 3},
        provenance={"steelyard": "0.1.0"},
        created="2026-11-15T21:30:00+00:00",
    )


def test_result_file_round_trip() -> None:
    result = full_result()
    again = Result.from_json(result.to_json())
    for part in fields(Result):
        assert getattr(again, part.name) == getattr(replace(result, mteb=again.mteb), part.name), part.name
    assert again.to_json() == replace(result, mteb=again.mteb).to_json()


def test_failure_round_trip() -> None:
    failed = Result("T/a", "bm25", {}, "k", status="failed", error=Failure("HubError", "401", "set HF_TOKEN"))
    again = Result.from_json(failed.to_json())
    assert again.error == failed.error and not again.done and again.score is None
    assert json.loads(failed.to_json())["scores"] == {}
    assert "set HF_TOKEN" in str(again) and "HubError" in repr(again)


def test_layout_is_that_of_mteb() -> None:
    whole = json.loads(full_result().to_json())
    mteb = {"dataset_revision", "task_name", "mteb_version", "scores", "evaluation_time", "kg_co2_emissions"}
    assert set(whole) == mteb | {"steelyard"}
    (subset,) = whole["scores"]["test"]
    assert subset["main_score"] == subset["ndcg_at_10"] == 0.51235
    assert subset["mrr_at_10"] == 0.123457, "mteb 2 rounds to six decimals in its files"
    assert subset["nauc_ndcg_at_1_max"] is None
    assert subset["hf_subset"] == "default" and subset["languages"] == ["eng-Latn", "cmn-Hans"]
    assert whole["evaluation_time"] == 2.0 and whole["dataset_revision"] == "r1"


def test_json_is_strict() -> None:
    odd = replace(
        full_result(),
        metrics={"ndcg_at_10": math.nan, "map": np.float64(0.25)},
        notes={"inf": np.inf, "numbers": np.arange(2), "pair": (1, 2)},
    )
    text = odd.to_json()
    ours = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} in the file"))["steelyard"]
    assert ours["metrics"] == {"ndcg_at_10": None, "map": 0.25}
    assert ours["notes"] == {"inf": None, "numbers": [0, 1], "pair": [1, 2]}
    with pytest.raises(ResultError):
        plain({"a": {1, 2}})


@pytest.mark.parametrize("end", [0, 1, 50, 500, -2])
def test_truncated_file_is_an_error_with_its_path(end: int, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    with pytest.raises(ResultError) as caught:
        Result.from_json(full_result().to_json()[:end], path)
    assert caught.value.path == str(path)


def test_file_of_another_kind_is_an_error() -> None:
    whole = json.loads(full_result().to_json())
    newer = whole | {"steelyard": whole["steelyard"] | {"schema_version": 99}}
    for text in ("[]", "{}", json.dumps(whole | {"evaluation_time": math.nan})):
        with pytest.raises(ResultError):
            Result.from_json(text)
    with pytest.raises(NewerResult):
        Result.from_json(json.dumps(newer))
    grown = whole["steelyard"]["facts"] | {"licence": "CC0"}
    assert Result.from_json(json.dumps(whole | {"steelyard": whole["steelyard"] | {"facts": grown}})).facts.language
    lacking = whole | {"steelyard": {k: v for k, v in whole["steelyard"].items() if k != "metrics"}}
    with pytest.raises(ResultError) as caught:
        Result.from_json(json.dumps(lacking))
    assert caught.value.field == "metrics"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("status", "odd"),
        ("settings", 3),
        ("notes", None),
        ("model", ["bm25"]),
        ("metrics", []),
        ("metrics.ndcg_at_10", "high"),
        ("metrics.ndcg_at_10", 10**400),
        ("timings.total", "long"),
        ("intervals.ndcg_at_10", ["0.1", 0.2, 0.95]),
        ("intervals.ndcg_at_10", 7),
        ("index_bytes", "many"),
        ("peak_memory_bytes", -1),
        ("facts.queries", "many"),
        ("facts.queries", 1.5),
        ("facts.language", None),
        ("facts.languages", 3),
        ("facts.languages", ["en", 4]),
        ("facts.data_hash", 12),
        ("facts.reference", ["x"]),
        ("misses", "none"),
        ("misses", [3]),
        ("error", "broken"),
        ("notes.stages", 4),
        ("notes.stages", [{"model": 3}]),
    ],
)
def test_field_of_the_wrong_type_is_an_error_with_its_name(field: str, value: object) -> None:
    whole = json.loads(full_result().to_json())
    outer, _, inner = field.partition(".")
    whole["steelyard"][outer] = whole["steelyard"][outer] | {inner: value} if inner else value
    with pytest.raises(ResultError) as caught:
        Result.from_json(json.dumps(whole))
    assert str(caught.value.field).startswith(field)


@pytest.mark.parametrize("value", ["0.5", True, [1], 10**400])
def test_score_of_mteb_of_the_wrong_type_is_an_error(value: object) -> None:
    whole = json.loads(full_result().to_json())
    whole["scores"] = {"test": value} if isinstance(value, str | list) else {"test": [{"ndcg_at_10": value}]}
    with pytest.raises(ResultError):
        Result.from_json(json.dumps(whole))


FAULTS = Path(__file__).parents[2].parent / "shared" / "faults" / "inputs"


@pytest.mark.skipif(not FAULTS.is_dir(), reason="no folder of fuzzed inputs")
def test_fuzzed_result_files_are_errors_or_results(tmp_path: Path) -> None:
    """A file that is read as a result must also print, be written and go into tables."""
    readable = []
    for path in sorted([*FAULTS.glob("result_json__*"), *FAULTS.glob("result_report__*")]):
        try:
            result = Result.from_json(path.read_bytes(), path)
        except ResultError as error:
            assert error.path == str(path)
            continue
        readable.append(replace(result, path=None))
        assert str(result) and repr(result) and result.to_json()
        assert str(Results([result]))
    assert len(readable) < 20
    for path in FAULTS.glob("result_queries__*"):
        try:
            assert len(QueryScores.read(path)) > 0
        except ResultError as error:
            assert error.path == str(path)


def test_deeply_nested_file_is_an_error() -> None:
    with pytest.raises(ResultError):
        Result.from_json("[" * 100_000)


def test_query_scores_round_trip(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("results") / "a.queries.parquet"
    values = QueryScores(("q1", "質問"), np.array([3, 0], dtype=np.int32), {"ndcg_at_10": np.array([0.5, 0.0])})
    path.write_bytes(values.to_parquet())
    again = QueryScores.read(path)
    assert again.ids == values.ids and again.first_positive.tolist() == [3, 0] and len(again) == 2
    assert again["ndcg_at_10"].tolist() == [0.5, 0.0] and list(again) == ["ndcg_at_10"] and "map" not in again
    path.write_bytes(values.to_parquet()[:-20])
    with pytest.raises(ResultError) as caught:
        QueryScores.read(path)
    assert caught.value.path == str(path)
    path.unlink()
    with pytest.raises(ResultError) as caught:
        QueryScores.read(path)
    assert isinstance(caught.value.__cause__, FileNotFoundError)
    with pytest.raises(ResultError):
        _ = full_result().per_query


def test_repr_and_str() -> None:
    assert repr(full_result()) == (
        "Result([bm25, dense:x/y@v1?dim=2] on Small/geography: nDCG@10 0.5123 [0.4000, 0.6250], "
        "hit@10 1.0000, recall@100 1.0000, 2.00 s)"
    )
    assert "6 queries x 8 documents, en" in str(full_result())
    assert "(partial)" in str(replace(full_result(), facts=TaskFacts(limit=3)))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), json_values, min_size=1, max_size=4))
def test_key_depends_on_values_not_on_order(settings: dict[str, object]) -> None:
    backwards = dict(reversed(settings.items()))
    facts = TaskFacts(data_hash="aa")
    assert settings_hash(settings) == settings_hash(backwards)
    assert result_key(settings, "T/a", facts) == result_key(backwards, "T/a", facts)
    name = next(iter(settings))
    changed = settings | {name: [settings[name]]}
    assert settings_hash(changed) != settings_hash(settings)


def test_key_depends_on_everything_that_could_change_a_score() -> None:
    facts = TaskFacts("en", data_hash="aa")
    keys_of = {
        result_key({"top_k": 10}, "T/a", facts),
        result_key({"top_k": 11}, "T/a", facts),
        result_key({"top_k": 10}, "T/b", facts),
        result_key({"top_k": 10}, "T/a", replace(facts, data_hash="ab")),
        result_key({"top_k": 10}, "T/a", replace(facts, language="de")),
        result_key({"top_k": 10}, "T/a", replace(facts, category="code")),
        result_key({"top_k": 10}, "T/a", replace(facts, languages=("en", "de"))),
        result_key({"top_k": 10}, "T/a", replace(facts, split="dev")),
        result_key({"top_k": 10}, "T/a", replace(facts, type="reranking")),
        result_key({"top_k": 10}, "T/a", replace(facts, ignore_identical_ids=True)),
    }
    assert len(keys_of) == 10
    moved = replace(facts, source="elsewhere", reference={"bm25_ndcg_at_10": 0.5})
    assert result_key({}, "T/a", moved) == result_key({}, "T/a", facts), "the source of the data changes no score"


def test_scoring_version_changes_keys_and_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    before = result_key({}, "T/a", TaskFacts()), settings_hash({})
    monkeypatch.setattr(keys, "SCORING_VERSION", keys.SCORING_VERSION + 1)
    after = result_key({}, "T/a", TaskFacts()), settings_hash({})
    assert before[0] != after[0] and before[1] != after[1]


def test_mteb_1_14_did_not_round_in_files() -> None:
    result = full_result()
    older = replace(result, settings=dict(result.settings) | {"profile": "mteb-1.14"})
    for one, version, mrr in ((result, "2.26.24", 0.123457), (older, "1.14.15", 0.123456789)):
        written = json.loads(one.to_json())
        assert (written["mteb_version"], written["scores"]["test"][0]["mrr_at_10"]) == (version, mrr)


@given(st.text(min_size=1), st.text(min_size=1))
def test_different_tasks_have_different_file_names(one: str, two: str) -> None:
    for name in (one, two):
        assert not set(task_slug(name)) & set('/\\:*?"<>|@ ') and len(task_slug(name)) < 130
    assert (task_slug(one) == task_slug(two)) == (one == two)
    assert model_slug(one) and not set(model_slug(one)) & set('/\\:*?"<>| ')


def test_digest_is_stable() -> None:
    # printf '{"a":"ü","b":[1,null]}' | b2sum -l 128   (GNU coreutils)
    assert digest({"b": [1, None], "a": "ü"}) == "fbaf0220673a91889e919f4d6edb7ca3"


def test_language_codes_of_mteb() -> None:
    ours = ["en", "zh", "ja", "ar", "hi", "ru", "es", "de", "ko", "th", "vi", "fa", "sw", "fil", "zh-Hant", "no"]
    theirs = "eng-Latn cmn-Hans jpn-Jpan ara-Arab hin-Deva rus-Cyrl spa-Latn deu-Latn kor-Hang tha-Thai vie-Latn"
    theirs += " fas-Arab swa-Latn tgl-Latn zho-Hant nor-Latn"
    assert mteb_languages(ours) == theirs.split()
    assert mteb_languages(["multilingual", "unknown", ""]) == []


def test_provenance_has_no_host_and_user() -> None:
    import getpass
    import platform

    import sklearn  # noqa: F401 - what a process has loaded is recorded

    found = provenance()
    assert found["packages"]["scikit-learn"]
    assert found["packages"]["numpy"] == np.__version__ and found["machine"]["cores"] >= 1
    text = json.dumps(found)
    assert platform.node() not in text or len(platform.node()) < 4
    assert f'"{getpass.getuser()}"' not in text


def test_heavy_packages_are_recorded_if_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in HEAVY:
        monkeypatch.delitem(sys.modules, module, raising=False)
    assert set(provenance()["packages"]) == set(PACKAGES)
    monkeypatch.setitem(sys.modules, "sklearn", sys)
    assert set(provenance()["packages"]) == {*PACKAGES, "scikit-learn"}


def test_docs_describe_every_field() -> None:
    page = (Path(__file__).parents[2] / "docs" / "results.md").read_text(encoding="utf-8")
    whole = json.loads(full_result().to_json())
    for name in (*whole, *whole["steelyard"], "query-id", "first-positive"):
        assert f"`{name}`" in page, f"{name} is not on the page of results"

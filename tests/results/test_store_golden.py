"""Stored results across releases: keys, folders and files stay what they are.

A change of these values makes every stored result count as missing. Make it on purpose only, with a higher
`SCORING_VERSION` or `SCHEMA_VERSION` and a line in the changelog.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from steelyard.engine.plan import Conditions
from steelyard.results import Failure, Miss, QueryScores, Result, ResultStore, TaskFacts
from steelyard.results.keys import SCORING_VERSION, digest, model_slug, result_key, settings_hash, task_slug
from steelyard.results.result_parts import SCHEMA_VERSION
from steelyard.types import Interval

GOLDEN = Path(__file__).parent / "golden"
MODEL = "dense:org/model@v1?dim=2"
TASK = "NanoX/en"
SETTINGS = {
    "model": "bm25",
    "model_settings": {"form": "lucene", "k1": 1.2, "b": 0.75},
    "top_k": 1000,
    "metrics": [],
    "limit": None,
    "seed": None,
}
FACTS = TaskFacts("en", ("en",), queries=2, documents=3, positives=2, data_hash="0123456789abcdef" * 2)
KEY = "86f4c022f7788c2d2163f1042cdeca93"
PATH = Path("dense_org__model_v1_dim_2", "76c6e22dc205", "NanoX__en@01234567.json")


def golden_result() -> Result:
    return Result(
        TASK,
        MODEL,
        SETTINGS,
        KEY,
        metrics={"ndcg_at_10": 0.75, "hit_rate_at_10": 1.0, "nauc": None},
        mteb={"ndcg_at_10": 0.75},
        intervals={"ndcg_at_10": Interval(0.5, 1.0)},
        facts=FACTS,
        timings={"load": 0.5, "total": 0.5},
        index_bytes=10,
        misses=(Miss("q1", "where?", 2, "d2", "here", "d1", "there"),),
        notes={"analysers": {"en": 3}},
        provenance={"steelyard": "0.1.0"},
        created="2026-11-15T21:30:00+00:00",
        queries=QueryScores(("q1", "q2"), np.array([2, 1], dtype=np.int32), {"ndcg_at_10": np.array([0.5, 1.0])}),
    )


def test_versions() -> None:
    assert (SCORING_VERSION, SCHEMA_VERSION) == (1, 1)


def test_settings_hash_and_key() -> None:
    assert settings_hash(SETTINGS) == "76c6e22dc205"
    assert result_key(SETTINGS, TASK, FACTS) == KEY
    alone = TaskFacts("en", ("en",), data_hash=FACTS.data_hash, ignore_identical_ids=True)
    assert result_key(SETTINGS, TASK, alone) == "23564371cf35feb62f62ae26832b0ae3"


def test_hashes_of_any_text_and_lengths_of_names() -> None:
    assert digest({"ä": "日本", "x": [1, 2.5, None, True]}) == "9bfae1312df2cc4cda7e1656283bda2d"
    assert digest(float("nan")) == digest(None)
    assert model_slug("a" * 300) == "a" * 120 and task_slug("a" * 300) == "a" * 120 + "-b1508e"


def test_conditions_in_the_key() -> None:
    assert Conditions().settings == {"top_k": 1000, "metrics": ["default"]}
    assert digest(Conditions().settings) == "7b4ee5df814cc8f616b329501b4d6f05"
    some = Conditions.of(top_k=100, metrics=["P@5", "nDCG@7"], limit=5, seed=3, profile="mteb-1.14")
    expected = {"top_k": 100, "metrics": ["default", "ndcg_at_7"], "limit": 5, "seed": 3, "profile": "mteb-1.14"}
    assert {**some.settings, "metrics": [m for m in some.settings["metrics"] if m != "precision_at_5"]} == expected


def test_layout_of_the_folder(tmp_path: Path) -> None:
    stored = ResultStore(tmp_path).put(golden_result(), {"run.parquet": b"PAR1PAR1"})
    assert stored.path == tmp_path / PATH
    files = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    stem = PATH.as_posix().removesuffix(".json")
    assert files == [f"{stem}.json", f"{stem}.queries.parquet", f"{stem}.run.parquet"]
    assert (tmp_path / PATH).read_bytes() == (GOLDEN / PATH.name).read_bytes()


def test_stored_result_of_an_earlier_release_is_found(tmp_path: Path) -> None:
    (tmp_path / PATH).parent.mkdir(parents=True)
    for path in GOLDEN.iterdir():
        shutil.copy(path, (tmp_path / PATH).parent / path.name)
    store = ResultStore(tmp_path)
    result = store.load(store.path(MODEL, SETTINGS, TASK, FACTS.data_hash), result_key(SETTINGS, TASK, FACTS))
    assert result is not None
    assert (result.score, result.interval, result.facts) == (0.75, Interval(0.5, 1.0), FACTS)
    assert result.per_query.ids == ("q1", "q2") and result.per_query["ndcg_at_10"].tolist() == [0.5, 1.0]
    assert result.to_json() == golden_result().to_json()


@pytest.mark.parametrize("name", ["type", "message", "hint"])
def test_failure_fields(name: str) -> None:
    failed = Result(TASK, MODEL, SETTINGS, KEY, status="failed", error=Failure("HubError", "refused", "set HF_TOKEN"))
    assert getattr(Result.from_json(failed.to_json()).error, name) == getattr(failed.error, name)

"""How a service is asked changes no figure: results and vectors are found again whatever was said of it."""

from __future__ import annotations

from pathlib import Path

import api_server
import pytest
from engine_parts import small_task

from steelyard.engine import evaluate
from steelyard.http.traffic import Traffic
from steelyard.retrievers import load_retriever
from steelyard.retrievers.model_names import result_name
from steelyard.spec import parse

SLOW = "batch_size=2&concurrency=1&timeout=9&max_retries=1&max_wait=3&backoff=0.01"
FAST = "batch_size=50&concurrency=8&requests_per_minute=60000&tokens_per_minute=900000&price_per_million_tokens=0.1"
pytestmark = pytest.mark.usefixtures("own_home")


def test_every_option_of_traffic_is_left_out_of_names() -> None:
    given = "&".join(f"{name}=1" for name in Traffic.names())
    assert result_name(parse(f"dense:api/m?dimensions=8&{given}")) == "dense:api/m?dimensions=8"
    assert result_name(parse(f"bm25 > rerank:api/m?shape=tei&{given}")) == "bm25 > rerank:api/m?shape=tei"
    assert result_name(parse("dense:./model?batch_size=8&batch_tokens=99&timeout=5")) == "dense:./model?timeout=5"


def test_what_changes_figures_stays_in_names() -> None:
    name = "dense:api/m?dimensions=8&max_chars=100&query_prompt=q&url=http://127.0.0.1/v1"
    assert result_name(parse(name)) == name
    name = "opensearch:http://localhost:9200?auth_env=KEY&errors=empty&k1=1.5"
    assert result_name(parse(f"{name}&timeout=5&retries=0&concurrency=9&keep=no")) == name


def test_the_encoder_of_a_search_service_is_named_without_its_traffic() -> None:
    spec = parse("qdrant:memory?dense=api/m%3Fconcurrency%3D9%26dimensions%3D8")
    assert result_name(spec) == str(parse("qdrant:memory?dense=api/m%3Fdimensions%3D8"))


@pytest.mark.parametrize("family", ["dense", "rerank"])
def test_a_run_with_other_traffic_finds_the_result(tmp_path: Path, family: str) -> None:
    task = small_task()
    with api_server.serve() as api:

        def model(traffic: str) -> str:
            if family == "dense":
                return f"dense:api/tiny?url={api.url}&dimensions=8&{traffic}"
            return f"bm25 > rerank:api/tiny?url={api.url}&depth=5&{traffic}"

        [first] = evaluate([model(SLOW)], [task], results=tmp_path / "results")
        asked = len(api.requests)
        [second] = evaluate([model(FAST)], [task], results=tmp_path / "results")
        assert first.done and asked, first.error
        assert second.key == first.key and second.model == first.model and second.created == first.created
        assert len(api.requests) == asked, "a stored result asks nothing"
        assert "concurrency" not in first.model and "price" not in second.model


@pytest.mark.parametrize("family", ["dense", "rerank"])
def test_another_run_with_other_traffic_finds_what_was_stored(own_home: Path, family: str) -> None:
    task = small_task()
    with api_server.serve() as api:
        first = {"dense": "dense:", "rerank": "bm25 > rerank:"}[family]
        asked = []
        for traffic in (SLOW, FAST):
            [result] = evaluate([f"{first}api/tiny?url={api.url}&{traffic}"], [task])
            assert result.done, result.error
            asked.append(len(api.requests))
        assert asked[1] == asked[0] > 1, "the second time nothing is asked"
    stored = [folder for folder in (own_home / "vectors").iterdir() if folder.is_dir()]
    assert len(stored) == 1


def test_the_same_service_named_twice_in_a_batch_is_one_model() -> None:
    with api_server.serve() as api:
        models = [f"dense:api/tiny?url={api.url}&dimensions=8&{traffic}" for traffic in (SLOW, FAST)]
        assert load_retriever(models[0]).name == load_retriever(models[1]).name
        assert len(evaluate(models, [small_task()])) == 1

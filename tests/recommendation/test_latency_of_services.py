"""Latency and price against a running service."""

from __future__ import annotations

import json
from pathlib import Path

import api_server
import pytest
from search_servers import SearchService

from steelyard.recommendation import Sampling, measure_costs
from steelyard.retrievers import load_retriever
from steelyard.types import Task

TASK = Task.of(
    "Mine/two",
    {"a": "the red fox", "b": "blue whales"},
    {"q1": "a fox", "q2": "a whale", "q3": "a bird"},
    {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"a": 1}},
    language="en",
)


def test_every_sample_asks_the_service_and_has_its_price(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path))
    with api_server.serve() as api:
        model = load_retriever(f"dense:api/m?url={api.url}/v1&price_per_million_tokens=1000")
        model.index(TASK.corpus, TASK.info)
        before = len(api.requests)
        costs = measure_costs(model, TASK, Sampling(samples=6, warm_up=2, batch_size=3))
        asked = len(api.requests) - before
    batches = costs.batch_latency.samples + costs.batch_latency.warm_up
    assert asked >= 6 + 2 + batches, "no query is read from the store"
    assert costs.price_per_thousand_queries is not None and costs.price_per_thousand_queries > 0
    assert costs.price_per_million_documents is not None and costs.price_per_million_documents > 0


def test_a_running_search_service_is_timed_over_http(tmp_path: Path) -> None:
    service = SearchService(TASK.corpus)
    with service.running() as address:
        file = tmp_path / "search.json"
        template = {
            "url": f"{address}/search",
            "body": {"text": "{query}", "size": "{k}"},
            "ids": "found.items[*].doc.id",
            "scores": "found.items[*].score",
        }
        file.write_text(json.dumps(template), encoding="utf-8")
        costs = measure_costs(load_retriever(f"http:{file}"), TASK, Sampling(samples=6, warm_up=1, batch_size=2))
        asked = len(service.requests)
    batches = costs.batch_latency.samples + costs.batch_latency.warm_up
    assert asked >= 6 + 1 + 2 * batches, "every sample is a request"
    assert costs.latency.samples == 6 and costs.latency.p50 > 0
    assert costs.bytes_per_document is None and costs.documents_per_second is None, "the service keeps the index"

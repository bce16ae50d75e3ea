"""Latency and price against a running service."""

from __future__ import annotations

from pathlib import Path

import api_server
import pytest

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

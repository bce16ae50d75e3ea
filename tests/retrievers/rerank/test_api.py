"""Reranking services in every shape: scores in the order of the documents, nothing asked twice, odd answers named."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import api_server
import numpy as np
import pytest
from api_server import Api, changed, score_of, status
from hypothesis import given
from hypothesis import strategies as st

from steelyard.config import Settings
from steelyard.errors import MissingPart, ModelError, UnknownName, UsageError
from steelyard.http.endpoint import Endpoint
from steelyard.http.request_batches import BatchSize, in_batches
from steelyard.http.service import Refused, Service
from steelyard.http.traffic import Traffic
from steelyard.retrievers.rerank.api import SHAPES, ApiReranker, from_options, from_spec
from steelyard.spec import parse

QUERIES = ["first question", "second question", "third question"]
DOCUMENTS = [[f"document {number}" for number in range(20)], [], ["only one", "document 3", "only one"]]


def reranker(api: Api, **options: Any) -> ApiReranker:
    given_options = {"url": api.url, "backoff": 0.01, **options}
    return from_options("tiny", None, {name: str(value) for name, value in given_options.items()})


def expected(queries: list[str], documents: list[list[str]]) -> list[np.ndarray]:
    return [
        np.array([score_of(query, text) for text in texts], dtype=np.float32)
        for query, texts in zip(queries, documents, strict=True)
    ]


def assert_scores(found: list[Any], queries: list[str] = QUERIES, documents: list[list[str]] = DOCUMENTS) -> None:
    for scores, right in zip(found, expected(queries, documents), strict=True):
        assert scores.dtype == np.float32
        np.testing.assert_array_equal(scores, right)


FIELDS = {
    "jina": {"model", "query", "documents", "top_n", "return_documents"},
    "cohere": {"model", "query", "documents", "top_n"},
    "voyage": {"model", "query", "documents", "top_k"},
    "tei": {"query", "texts", "raw_scores", "truncate"},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape(shape: str) -> None:
    with api_server.serve() as api:
        model = reranker(api, shape=shape)
        done: list[int] = []
        assert_scores(model.rerank(QUERIES, DOCUMENTS, done.append))
        assert sum(done) == sum(map(len, DOCUMENTS))
        assert {frozenset(request) for request in api.requests} == {frozenset(FIELDS[shape])}
        assert set(api.paths) == {"/v1/rerank"}
        assert len(api.requests) == 2, "one for each query that has documents"
        assert api.answered["only one"] == 1, "a text that is there twice is scored once"
        notes = model.account()
    assert notes["requests"] == 2
    assert notes["tokens"] == (None if shape == "tei" else 7 * 22)


def test_searches_and_tokens_are_paid_for() -> None:
    with api_server.serve() as api:
        model = reranker(api, price_per_thousand_searches=2, price_per_million_tokens=1)
        model.rerank(QUERIES, DOCUMENTS)
        notes = model.account()
    assert notes["searches"] == 2 and notes["cost"] == pytest.approx(2 * 0.002 + 154e-6)


def test_more_documents_than_the_service_takes() -> None:
    with api_server.serve(max_batch=6) as api:
        model = reranker(api, concurrency=1)
        assert_scores(model.rerank(QUERIES, DOCUMENTS))
        assert max(api.sizes) <= 6
        refused = len(api.requests) - len(api.sizes)
        assert_scores(model.rerank(QUERIES, DOCUMENTS))
        assert len(api.requests) - len(api.sizes) == refused == 2, "refused at 20 and 10, then no more"


def test_prompts_and_cuts() -> None:
    with api_server.serve() as api:
        model = reranker(api, query_prompt="Q: ", document_prompt="D: ", max_chars=10, body='{"truncation":true}')
        found = model.rerank(["what"], [["longer than that", "short"]])
        assert_scores(found, ["Q: what"], [["D: longer ", "D: short"]])
        assert api.requests[0]["truncation"] is True
        assert model.account()["texts_cut"] == 1
        assert model.settings["prompts"] == {"query": "Q: ", "document": "D: "}


def test_failures_heal_and_do_not() -> None:
    with api_server.serve(moods=[api_server.reset, status(503), api_server.truncated]) as api:
        model = reranker(api, concurrency=1)
        assert_scores(model.rerank(QUERIES, DOCUMENTS))
        assert model.account()["retries"] == 3
    with api_server.serve(always=status(500)) as api, pytest.raises(MissingPart, match=r"/v1/rerank .*500"):
        reranker(api, max_retries=1).rerank(QUERIES, DOCUMENTS)
    with api_server.serve(max_chars=20, too_large=422) as api:
        long = "a document that is too long"
        with pytest.raises(ModelError, match=r"422.*'why'.*'a document that"):
            reranker(api).rerank(["why"], [["fine", long]])


def with_score(answer: dict[str, Any], index: int, score: Any) -> dict[str, Any]:
    items = [{**item, "relevance_score": score} if item["index"] == index else item for item in answer["results"]]
    return {"results": items}


@pytest.mark.parametrize(
    ("change", "found", "option"),
    [
        (lambda a: {"results": a["results"][:-1]}, 2, None),
        (lambda a: {"results": [*a["results"][:2], a["results"][0]]}, 3, None),
        (lambda a: with_score(a, 1, None), "null", None),
        (lambda a: with_score(a, 2, float("nan")), "NaN or infinity", None),
        (lambda a: with_score(a, 0, "high"), "str", None),
        (lambda a: {"ranking": []}, None, "shape"),
        (lambda a: ["a"], None, "shape"),
    ],
    ids=["too few", "twice", "null", "nan", "text", "other fields", "list"],
)
def test_invalid_answers_are_errors(change: Any, found: Any, option: str | None) -> None:
    with api_server.serve(always=changed(change)) as api, pytest.raises(ModelError) as caught:
        reranker(api).rerank(["why"], [["a", "b", "c"]])
    assert (caught.value.found, caught.value.option) == (found, option)


def test_where_a_service_is_and_how_it_speaks() -> None:
    assert (
        from_spec(parse("rerank:api/rerank-v3.5?shape=cohere"), Settings()).settings["url"]
        == "https://api.cohere.com/v2"
    )
    assert from_options("x", None, {"url": "https://api.cohere.com/v2"}).shape == "cohere"
    assert from_options("x", None, {"url": "http://localhost:1"}).shape == "jina"
    named = from_spec(parse("rerank:api/BAAI/bge-reranker-v2-m3@mine?shape=tei&url=http://localhost:8080"), Settings())
    assert named.name == "rerank:api/BAAI/bge-reranker-v2-m3@mine?shape=tei&url=http://localhost:8080"
    assert named.settings["reranker"] == "api/BAAI/bge-reranker-v2-m3" and named.settings["revision"] == "mine"
    for options in ({}, {"shape": "tei"}):
        with pytest.raises(UsageError) as caught:
            from_options("x", None, options)
        assert caught.value.option == "url"
    with pytest.raises(UnknownName) as unknown:
        from_options("x", None, {"shape": "smoke", "url": "http://localhost:1"})
    assert (unknown.value.option, unknown.value.name) == ("shape", "smoke")
    with pytest.raises(UsageError):
        named.rerank(["a", "b"], [["c"]])


@given(st.lists(st.integers(0, 12), max_size=5), st.integers(1, 12), st.integers(1, 12), st.integers(1, 4))
def test_batches_cover_everything_once_and_never_mix_spans(
    lengths: list[int], size: int, most: int, concurrency: int
) -> None:
    ends = np.cumsum([0, *lengths]).tolist()
    spans = [range(start, stop) for start, stop in pairwise(ends)]
    service = Service(Endpoint.of("http://127.0.0.1:9"), Traffic(concurrency=concurrency))

    def send(part: Any, stop: Any) -> list[int] | Refused:
        return list(part) if len(part) <= most else Refused(413, "too large")

    found = list(in_batches(service, spans, send, lambda part, refused: ModelError("never"), BatchSize(size)))
    assert sorted(item for part, _ in found for item in part) == list(range(ends[-1]))
    for part, answer in found:
        assert list(part) == answer and len(part) <= min(size, most)
        assert any(part[0] in span and part[-1] in span for span in spans)

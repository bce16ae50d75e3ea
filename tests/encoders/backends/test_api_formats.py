"""The wire formats of TEI, vLLM and Infinity, as their servers answer: /embed, /rerank, /pooling, /v1/rerank."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from api_server import score_of, vector_of

from steelyard.encoders import load_encoder
from steelyard.errors import ModelError
from steelyard.retrievers.rerank.load import load_reranker
from steelyard.spec import parse

TEXTS = ["the nile", "the alps", "oslo"]
pytestmark = pytest.mark.server


def tei_embed(body: dict[str, Any]) -> Any:
    assert set(body) == {"inputs", "normalize", "truncate"}
    return [vector_of(text).tolist() for text in body["inputs"]]


def tei_rerank(body: dict[str, Any]) -> Any:
    assert set(body) == {"query", "texts", "raw_scores", "truncate"}
    scores = [{"index": index, "score": score_of(body["query"], text)} for index, text in enumerate(body["texts"])]
    return sorted(scores, key=lambda item: -item["score"])


def vllm_pooling(body: dict[str, Any]) -> Any:
    assert {"model", "input"} <= set(body)
    data = [
        {"index": index, "object": "pooling", "data": vector_of(text).tolist()}
        for index, text in enumerate(body["input"])
    ]
    usage = {"prompt_tokens": 9, "total_tokens": 9, "completion_tokens": 0, "prompt_tokens_details": None}
    return {"id": "pool-1", "object": "list", "created": 1, "model": body["model"], "data": data, "usage": usage}


def vllm_rerank(body: dict[str, Any]) -> Any:
    results = [
        {
            "index": index,
            "document": {"text": text, "multi_modal": None},
            "relevance_score": score_of(body["query"], text),
        }
        for index, text in enumerate(body["documents"])
    ]
    results.sort(key=lambda item: -item["relevance_score"])
    return {
        "id": "rerank-1",
        "model": body["model"],
        "usage": {"total_tokens": 56},
        "results": results[: body["top_n"]],
    }


def infinity_rerank(body: dict[str, Any]) -> Any:
    results = [
        {"relevance_score": score_of(body["query"], text), "index": index, "document": None}
        for index, text in enumerate(body["documents"])
    ]
    usage = {"prompt_tokens": 20, "total_tokens": 20}
    return {"object": "rerank", "results": results, "model": body["model"], "usage": usage, "id": "1", "created": 1}


ROUTES = {
    "/embed": tei_embed,
    "/rerank": tei_rerank,
    "/pooling": vllm_pooling,
    "/v1/rerank": vllm_rerank,
    "/infinity/rerank": infinity_rerank,
}


class Server(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = json.dumps(ROUTES[self.path](body)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("shape", ["tei", "pooling"])
def test_vectors_of_tei_and_vllm(shape: str) -> None:
    with serving() as url:
        encoder = load_encoder("api/m", None, {"url": url, "shape": shape})
        vectors = encoder.encode(TEXTS, "document")
    np.testing.assert_array_equal(vectors, [vector_of(text) for text in TEXTS])
    assert encoder.settings["shape"] == shape


@pytest.mark.parametrize(("path", "shape"), [("", "tei"), ("/v1", "jina"), ("/v1", "cohere"), ("/infinity", "jina")])
def test_scores_of_tei_vllm_and_infinity(path: str, shape: str) -> None:
    with serving() as url:
        (scores,) = load_reranker(parse(f"rerank:api/m?url={url}{path}&shape={shape}")).rerank(["river"], [TEXTS])
    np.testing.assert_allclose(scores, [score_of("river", text) for text in TEXTS], rtol=1e-6)


def test_token_vectors_of_vllm_are_not_one_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    def tokens(body: dict[str, Any]) -> Any:
        return {"data": [{"index": 0, "data": [[1.0, 2.0], [3.0, 4.0]]}]}

    monkeypatch.setitem(ROUTES, "/pooling", tokens)
    with serving() as url, pytest.raises(ModelError):
        load_encoder("api/m", None, {"url": url, "shape": "pooling"})

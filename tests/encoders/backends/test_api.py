"""Embedding services: what comes back is what the service computed, through every way in which it can misbehave."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any

import api_server
import numpy as np
import pytest
from api_server import Api, busy, changed, status, vectors_of

from steelyard.encoders.backends.api import ApiEncoder, from_options
from steelyard.encoders.cache.cached_encoder import encode_once, open_store
from steelyard.errors import MissingPart, ModelError, UnknownName, UsageError
from steelyard.retrievers import load_retriever

TEXTS = [f"text number {number}, with some words" for number in range(50)]
pytestmark = pytest.mark.usefixtures("own_home")


def encoder(api: Api, **options: Any) -> ApiEncoder:
    """An encoder that knows its dimension, so that every request is one of the test's."""
    given = {"url": api.url, "dimensions": api_server.DIMENSION, "backoff": 0.01, "batch_size": 8, **options}
    return from_options("tiny", None, {name: str(value) for name, value in given.items() if value is not None})


@pytest.mark.parametrize("encoding", ["base64", "float"])
def test_vectors_are_the_service_s_in_the_order_of_the_texts(encoding: str) -> None:
    with api_server.serve() as api:
        model = encoder(api, encoding=encoding)
        done: list[int] = []
        np.testing.assert_array_equal(model.encode(TEXTS, "document", done.append), vectors_of(TEXTS))
        assert sum(done) == len(TEXTS)
        assert {request["encoding_format"] for request in api.requests} == {encoding}
        notes = model.account()
    assert notes["requests"] == 7 and notes["retries"] == 0
    assert notes["tokens"] == sum(map(len, TEXTS))
    assert notes["model_reported"] == "tiny"


HEALING = {
    "too many requests": ([status(429), status(429)], "429", 2),
    "seconds": ([busy(0.3, "seconds")], "429", 1),
    "milliseconds": ([busy(0.3, "milliseconds")], "429", 1),
    "date": ([busy(0.2, "date")], "429", 1),
    "unreadable Retry-After": ([status(503, Retry_After="soon")], "503", 1),
    "500, 502, 503": ([status(500), status(502), status(503)], None, 3),
    "429 within a 200": ([changed(lambda answer: {"error": {"message": "busy", "code": 429}})], "429", 1),
    "a failure within a 200": ([changed(lambda answer: {"error": "provider is down"})], "502", 1),
    "reset": ([api_server.reset], "no answer", 1),
    "garbage": ([api_server.garbage], "not JSON", 1),
    "truncated": ([api_server.truncated], "no answer", 1),
    "hanging": ([api_server.hang], "timeout", 1),
    "dripping": ([api_server.drip], "timeout", 1),
}


@pytest.mark.parametrize("case", HEALING)
def test_what_may_heal_is_waited_for(case: str) -> None:
    moods, kind, retries = HEALING[case]
    with api_server.serve(moods=list(moods)) as api:
        model = encoder(api, timeout=1 if kind == "timeout" else 30, concurrency=1)
        np.testing.assert_array_equal(model.encode(TEXTS, "document"), vectors_of(TEXTS))
        notes = model.account()
        assert api.early == 0
        assert set(api.answered.values()) == {1}, "an answer that was good is not asked for again"
    assert notes["retries"] == retries
    if kind:
        assert notes["faults"] == {kind: retries}


def test_what_does_not_heal_ends_after_max_retries() -> None:
    with api_server.serve(always=status(503, "overloaded")) as api:
        with pytest.raises(MissingPart, match=r"/v1/embeddings .*503 .*2 repetitions.*overloaded"):
            encoder(api, max_retries=2, concurrency=1).encode(TEXTS[:3], "query")
        assert len(api.requests) == 3


def test_a_service_that_asks_for_more_time_than_there_is() -> None:
    with api_server.serve(always=status(429, Retry_After="7200")) as api:
        with pytest.raises(MissingPart, match=r"7200 s.*max_wait=300"):
            encoder(api).encode(["a"], "query")
        assert len(api.requests) == 1


def test_an_empty_purse_is_not_waited_for() -> None:
    with api_server.serve(always=status(429, "You exceeded your quota", "insufficient_quota")) as api:
        with pytest.raises(ModelError, match="insufficient_quota"):
            encoder(api).encode(["a"], "query")
        assert len(api.requests) == 1


def test_nobody_there() -> None:
    with api_server.serve() as api:
        model = encoder(api, max_retries=1)
    with pytest.raises(
        MissingPart, match=r"http://127.0.0.1:\d+/v1/embeddings: Connection refused, after 1 repetition"
    ):
        model.encode(["a"], "query")


def test_encryption_that_cannot_be_agreed_on_is_not_tried_again() -> None:
    with api_server.serve() as api:
        model = encoder(api, url=api.url.replace("http:", "https:"))
        with pytest.raises(MissingPart, match=r"/v1/embeddings: .*WRONG_VERSION_NUMBER.*http or https"):
            model.encode(["a"], "query")
        assert model.account()["requests"] == 1


@pytest.mark.parametrize("code", [400, 413, 422])
def test_a_batch_that_is_too_large_is_halved_once_and_for_all(code: int) -> None:
    with api_server.serve(max_batch=3, too_large=code) as api:
        model = encoder(api, batch_size=16, concurrency=1)
        np.testing.assert_array_equal(model.encode(TEXTS, "document"), vectors_of(TEXTS))
        assert max(api.sizes) <= 3 and set(api.answered.values()) == {1}
        assert len(api.requests) - len(api.sizes) == 3, "refused at 16, 8 and 4, then no more"


def test_one_text_that_is_too_long_is_named() -> None:
    long = "a long story " * 20
    with api_server.serve(max_chars=100, too_large=400) as api:
        with pytest.raises(
            ModelError, match=r"answered 400 to the text 'a long story .*\(260 characters\).*max_chars="
        ):
            encoder(api).encode([*TEXTS, long], "document")
        model = encoder(api, max_chars=90)
        np.testing.assert_array_equal(model.encode(["short", long], "document"), vectors_of(["short", long[:90]]))
        assert model.account()["texts_cut"] == 1


def test_texts_are_cut_by_estimated_tokens() -> None:
    with api_server.serve() as api:
        model = encoder(api, max_tokens=3)
        found = model.encode(["twelve chars", "thirteen char", "四个汉字"], "document")
        np.testing.assert_array_equal(found, vectors_of(["twelve chars", "thirteen cha", "四个汉"]))
        assert model.account()["texts_cut"] == 2


ODD = {
    "too few": (lambda a: {**a, "data": a["data"][:-1]}, "text number 0", 3),
    "too many": (lambda a: {**a, "data": a["data"] * 2}, "number of vectors", 8),
    "an index twice": (
        lambda a: {**a, "data": [{**i, "index": 0} for i in a["data"]]},
        "indices",
        "4 integers",
    ),
    "an index missing": (
        lambda a: {**a, "data": [{}, *a["data"][1:]]},
        "indices",
        "3 integers",
    ),
    "null": (lambda a: with_vector(a, 2, None), "text number 2, with some words", "null"),
    "nulls": (lambda a: with_vector(a, 2, [None] * 8), "text number 2", "NaN or infinity"),
    "NaN": (lambda a: with_vector(a, 1, [float("nan")] * 8), "text number 1", "NaN or infinity"),
    "huge": (lambda a: with_vector(a, 1, [1e39] * 8), "text number 1", "NaN or infinity"),
    "short": (lambda a: with_vector(a, 3, [1.0] * 7), "text number 3", 7),
    "not base64": (lambda a: with_vector(a, 0, "what?"), "text number 0", "text"),
    "half a float": (lambda a: with_vector(a, 0, "AAA="), "text number 0", "text"),
    "nothing": (lambda a: {}, "data", "an object"),
    "a list": (lambda a: [1, 2], "data", "a list of 2"),
}


def with_vector(answer: dict[str, Any], place: int, vector: Any) -> dict[str, Any]:
    return {**answer, "data": [{**i, "embedding": vector} if i["index"] == place else i for i in answer["data"]]}


@pytest.mark.parametrize("case", ODD)
def test_an_invalid_answer_is_an_error_with_what_was_found(case: str) -> None:
    change, message, found = ODD[case]
    with api_server.serve(moods=[changed(change)]) as api, pytest.raises(ModelError, match=message) as error:
        encoder(api).encode(TEXTS[:4], "document")
    assert error.value.found == found


def test_items_are_put_in_order() -> None:
    reversed_items = changed(lambda a: {**a, "data": a["data"][::-1]})
    unnumbered = changed(lambda a: {"data": [{"embedding": item["embedding"]} for item in a["data"]]})
    with api_server.serve(moods=[reversed_items, unnumbered]) as api:
        for _ in range(2):
            np.testing.assert_array_equal(encoder(api).encode(TEXTS[:4], "query"), vectors_of(TEXTS[:4]))


def test_requests_go_side_by_side_over_few_connections() -> None:
    with api_server.serve(meeting=threading.Barrier(4)) as api:
        encoder(api, concurrency=4, batch_size=2).encode(TEXTS[:40], "document")
        assert api.most_under_way == 4
        assert len(api.requests) == 20 and api.connections == 4


def test_a_connection_that_was_closed_while_idle_is_replaced() -> None:
    with api_server.serve(always=api_server.hang_up_afterwards) as api:
        model = encoder(api, concurrency=1)
        np.testing.assert_array_equal(model.encode(TEXTS, "document"), vectors_of(TEXTS))
        assert model.account()["retries"] == 0 and set(api.answered.values()) == {1}


def test_requests_keep_to_the_rate() -> None:
    with api_server.serve() as api:
        model = encoder(api, requests_per_minute=1200, batch_size=1)
        started = time.monotonic()
        model.encode(TEXTS[:11], "query")
        assert sorted(api.times)[-1] - started >= 10 * 0.05, "the last of eleven turns is half a second away"
        assert model.account()["waited_seconds"] > 0


def test_tokens_keep_to_the_rate() -> None:
    with api_server.serve() as api:  # which counts characters, four times what is expected of English
        model = encoder(api, tokens_per_minute=60_000, batch_size=1, concurrency=1)
        started = time.monotonic()
        model.encode(["x" * 100] * 4, "query")
        assert api.times[-1] - started >= 0.3, "three answers of 100 tokens at 1,000 a second"


def test_prompts_and_fields_by_role() -> None:
    with api_server.serve() as api:
        options = {"query_prompt": "query: ", "document_prompt": "passage: ", "body": '{"truncate":true}'}
        model = encoder(api, **options, query_body='{"input_type":"query"}')
        np.testing.assert_array_equal(model.encode(["a"], "query"), vectors_of(["query: a"]))
        np.testing.assert_array_equal(model.encode(["a", ""], "document"), vectors_of(["passage: a", "passage: "]))
        np.testing.assert_array_equal(encoder(api).encode([""], "document"), vectors_of([" "]))
        query, document = api.requests[:2]
    assert query["truncate"] is True and query["input_type"] == "query" and query["dimensions"] == 8
    assert document["truncate"] is True and "input_type" not in document
    assert model.settings["symmetric"] is False and encoder(api).settings["symmetric"] is True


def test_settings_hold_what_changes_vectors_and_nothing_else() -> None:
    with api_server.serve() as api:
        plain = encoder(api).settings
        assert encoder(api, concurrency=9, timeout=3, key_env="SOME_KEY", price_per_million_tokens=1).settings == plain
        for option in ({"max_chars": 9}, {"max_tokens": 9}, {"dimensions": 4}, {"query_prompt": "q"}, {"body": "{}"}):
            changes = encoder(api, **option).settings != plain
            assert changes is (option != {"body": "{}"})
    json.dumps(plain, allow_nan=False)


def test_the_dimension_is_asked_for_once(own_home: Path) -> None:
    with api_server.serve() as api:
        assert [encoder(api, dimensions=None).dimension for _ in range(3)] == [8, 8, 8]
        assert len(api.requests) == 1
        for file in (own_home / "services").iterdir():
            file.write_text("{")
        assert encoder(api, dimensions=None).dimension == 8
        api.dimension = 6
        with pytest.raises(ModelError) as error:
            encoder(api, dimensions=None).encode(["a"], "query")
        assert (error.value.expected, error.value.found) == ("8", 6)
        renamed = from_options("tiny", "second", {"url": api.url})
        assert renamed.dimension == 6 and renamed.settings["revision"] == "second"


def test_tokens_and_cost_only_where_the_service_says() -> None:
    with api_server.serve() as api:
        model = encoder(api, price_per_million_tokens=0.5)
        model.encode(["x" * 1000] * 2, "query")
        assert model.account()["cost"] == 0.001
        assert model.account() == {}, "counted once"
        api.tokens = False
        model.encode(["x"], "query")
        notes = model.account()
    assert notes["tokens"] is None and "cost" not in notes


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"bach_size": "8"}, UnknownName, "did you mean 'batch_size'"),
        ({"batch_size": "0"}, UsageError, "batch_size"),
        ({"timeout": "soon"}, UsageError, "timeout"),
        ({"encoding": "utf-8"}, UnknownName, "encoding"),
        ({"body": "[1]"}, UsageError, "a JSON object"),
        ({"url": "localhost:80"}, UsageError, "localhost:80"),
    ],
)
def test_bad_options(options: dict[str, str], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        from_options("tiny", None, options)


def test_a_model_by_name_with_its_account_in_the_notes() -> None:
    from engine_parts import small_task

    task = small_task()
    with api_server.serve() as api:
        name = f"dense:api/tiny?url={api.url}&price_per_million_tokens=2"
        index = load_retriever(name).index(task.corpus, task.info)
        run = index.search(task.queries, 3)
        answers = len(api.sizes)
        again = load_retriever(name).index(task.corpus, task.info)
        assert len(api.sizes) == answers, "a second run asks nothing"
    assert run.rows.shape == (len(task.queries), 3)
    documents, queries = index.notes["documents"], index.notes["queries"]
    assert documents["texts_encoded"] == len(task.corpus)
    assert documents["tokens"] == sum(map(len, task.corpus.texts)) + len("steelyard")
    assert documents["cost"] == pytest.approx(2e-6 * documents["tokens"])
    assert queries["tokens"] == sum(map(len, task.queries.texts)) and queries["requests"] == 1
    assert {"texts": 8, "texts_encoded": 0, "texts_from_cache": 8}.items() <= again.notes["documents"].items()


def test_roles_share_vectors_only_where_they_are_put_alike() -> None:
    with api_server.serve() as api:
        for options, encoded in (({}, 0), ({"query_prompt": "query: "}, 4)):
            model = encoder(api, **options)
            encode_once(model, TEXTS[:4], "document", store=open_store(model))
            found, tally = encode_once(model, TEXTS[:4], "query", store=open_store(model))
            assert tally.encoded == encoded
            prompt = options.get("query_prompt", "")
            np.testing.assert_array_equal(found, vectors_of([prompt + text for text in TEXTS[:4]]))

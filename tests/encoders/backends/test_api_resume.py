"""A run over a service that ends in the middle goes on where it ended: what was answered is never asked for again."""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import Any

import api_server
import numpy as np
import pytest
from api_server import Api, vectors_of

from steelyard.encoders.backends.api import ApiEncoder, from_options
from steelyard.encoders.cache.cached_encoder import encode_once, open_store
from steelyard.errors import MissingPart, ModelError

TEXTS = [f"text number {number}" for number in range(200)]
pytestmark = pytest.mark.usefixtures("own_home")


def encoder(api: Api, **options: object) -> ApiEncoder:
    given = {"url": api.url, "dimensions": 8, "backoff": 0.01, "batch_size": 8, "max_retries": 1, **options}
    return from_options("tiny", None, {name: str(value) for name, value in given.items()})


def finish(api: Api, answered: int) -> None:
    """A new process would do this: what the first got is read, the rest is asked for, everything once."""
    model = encoder(api)
    vectors, tally = encode_once(model, TEXTS, "document", store=open_store(model))
    np.testing.assert_array_equal(vectors, vectors_of(TEXTS))
    assert tally.stored == answered and tally.encoded == len(TEXTS) - answered
    assert set(api.answered) == set(TEXTS) and set(api.answered.values()) == {1}


def test_a_service_that_dies_half_way() -> None:
    with api_server.serve(dies_after=10) as api:
        model = encoder(api, concurrency=3)
        with pytest.raises(MissingPart, match="500"):
            encode_once(model, TEXTS, "document", store=open_store(model))
        assert len(api.answered) == 80, "ten answers of eight texts"
        api.dies_after = 10**6
        finish(api, answered=80)


def test_a_text_that_spoils_its_batch_costs_no_other() -> None:
    spoilt = api_server.changed(lambda answer: {**answer, "data": answer["data"][:-1]})
    with api_server.serve(moods=[lambda *_: False] * 5 + [spoilt]) as api:
        model = encoder(api, concurrency=1)
        with pytest.raises(ModelError, match="number of vectors"):
            encode_once(model, TEXTS, "document", store=open_store(model))
        finish(api, answered=40)


def hang_for_the_first(handler: api_server.Handler, body: dict[str, Any]) -> bool:
    """Whenever the server gets round to reading it, a request of the first run is never answered."""
    return "Authorization" in handler.headers and api_server.hang(handler, body)


def test_an_interruption_keeps_what_has_arrived_and_waits_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_OF_THE_FIRST_RUN", "first")
    with api_server.serve(moods=[lambda *_: False] * 4, always=hang_for_the_first) as api:
        model = encoder(api, concurrency=3, timeout=600, key_env="KEY_OF_THE_FIRST_RUN")
        seen: list[int] = []

        def interrupt(done: int) -> None:
            seen.append(done)
            if sum(seen) == 32:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            encode_once(model, TEXTS, "document", store=open_store(model), tick=interrupt)
        assert api.outwaited == 0, "the requests that hang were cut, not waited for"
        finish(api, answered=32)


KILLED = """
import sys
from steelyard.encoders import streaming as parts
from steelyard.encoders.backends.api import from_options
from steelyard.encoders.cache.cached_encoder import encode_once, open_store

parts.MAX_UNSTORED_SECONDS = 0.0
model = from_options("tiny", None, {"url": sys.argv[1], "dimensions": "8", "batch_size": "8", "concurrency": "1"})
def tick(done):
    print(done, flush=True)
encode_once(model, [f"text number {number}" for number in range(200)], "document", store=open_store(model), tick=tick)
"""


def test_a_process_that_is_killed() -> None:
    with api_server.serve(moods=[lambda *_: False] * 10 + [api_server.hang]) as api:
        process = subprocess.Popen([sys.executable, "-c", KILLED, api.url], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        with process.stdout:
            assert process.stdout.readline() == "0\n", "nothing is known at first"
            for _ in range(10):
                assert process.stdout.readline() == "8\n"
            while len(api.requests) < 11:  # the tenth answer has been dealt with once the next is asked for
                api.closing.wait(0.01)
            process.send_signal(signal.SIGKILL)
            process.wait()
        finish(api, answered=80)


def test_vectors_are_kept_before_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    from steelyard.encoders import streaming as parts

    monkeypatch.setattr(parts, "MAX_UNSTORED", 20)
    with api_server.serve() as api:
        model = encoder(api, concurrency=1)
        store = open_store(model)
        assert store is not None
        counts = []

        def look(done: int) -> None:
            known, _ = store.get(store.keys(TEXTS, "document"))
            counts.append(int(known.sum()))

        encode_once(model, TEXTS, "document", store=store, tick=look)
    assert counts[:7] == [0, 0, 0, 0, 24, 24, 24]

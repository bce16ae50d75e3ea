"""`opensearch:` and `elasticsearch:` against a stand-in that speaks their language and searches with our BM25."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from search_servers import OpenSearchShaped, Reply, Store

from steelyard.errors import ModelError, UsageError
from steelyard.retrievers import load_retriever
from steelyard.retrievers.search_services.opensearch import bulk as opensearch_load
from steelyard.types import Corpus, Queries, Run, Task, TaskInfo

KINDS = ("opensearch", "elasticsearch")
DENSE = "dense=use-multilingual-v3"
pytestmark = pytest.mark.usefixtures("shared_home")


@pytest.fixture(scope="module")
def task(almanac: Task) -> Task:
    return almanac


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[OpenSearchShaped]:
    shaped = OpenSearchShaped(request.param)
    with shaped.running() as shaped.address:
        yield shaped


def search(model: str, task: Task, top_k: int = 100) -> tuple[Run, dict[str, Any]]:
    index = load_retriever(model).index(task.corpus, task.info)
    run = index.search(task.queries, top_k)
    assert index.size_bytes > 0
    return run, dict(index.notes)


def ranked(run: Run) -> list[list[int]]:
    return [[row for row in rows if row >= 0] for rows in run.rows.tolist()]


def model_of(server: OpenSearchShaped, options: str = "") -> str:
    return f"{server.distribution}:{server.address}" + (f"?{options}" if options else "")


def test_bm25_on_the_server_ranks_as_bm25_here(task: Task, server: OpenSearchShaped) -> None:
    run, notes = search(model_of(server), task)
    expected, _ = search("bm25", task)
    assert ranked(run) == ranked(expected)
    np.testing.assert_allclose(run.scores, expected.top(run.depth).scores, rtol=1e-6)
    assert notes["analyzer"] == "english" and notes["documents_stored"] == len(task.corpus)
    assert notes["server"] == f"{server.distribution} 3.1.0" and notes["latency_ms"]["p95"] > 0


def test_passages_on_the_server_rank_documents_as_here(task: Task, server: OpenSearchShaped) -> None:
    run, notes = search(model_of(server, "chunk=30&overlap=5"), task, 10)
    expected, _ = search("bm25?chunk=30&overlap=5", task, 10)
    assert ranked(run) == ranked(expected)
    assert notes["documents_stored"] == notes["passages"]["count"] > len(task.corpus)


def test_the_corpus_is_stored_once(task: Task, server: OpenSearchShaped) -> None:
    first, _ = search(model_of(server), task)
    again, notes = search(model_of(server, "concurrency=2&errors=empty"), task)
    assert notes["documents_stored"] == 0 and np.array_equal(first.rows, again.rows)
    assert sum(request.path.endswith("_bulk") for request in server.requests) == 1
    search(model_of(server, "k1=0.9"), task)
    other = Corpus.of(["a"], ["another text"])
    load_retriever(model_of(server)).index(other, task.info)
    assert len(server.stores) == 3


def test_an_interrupted_load_is_begun_again(
    task: Task, server: OpenSearchShaped, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opensearch_load, "PORTION_DOCUMENTS", 10)
    expected, _ = search(model_of(server, "keep=no"), task)
    assert not server.stores
    seen: list[int] = []

    def interrupted(done: int) -> None:
        seen.append(done)
        if len(seen) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_retriever(model_of(server)).index(task.corpus, task.info, interrupted)
    (half,) = server.stores.values()
    assert 0 < len(half.sent) < len(task.corpus)
    run, notes = search(model_of(server), task)
    assert notes["documents_stored"] == len(task.corpus) and np.array_equal(run.rows, expected.rows)
    assert len(server.stores) == 1


def test_a_server_without_room_is_asked_again(task: Task, server: OpenSearchShaped) -> None:
    server.full = 7
    run, _ = search(model_of(server), task)
    assert len(next(iter(server.stores.values())).sent) == len(task.corpus)
    assert ranked(run) == ranked(search("bm25", task)[0])


def test_a_document_that_is_refused_is_named(task: Task, server: OpenSearchShaped) -> None:
    refused = {"errors": True, "items": [{"index": {"status": 400, "error": {"type": "mapper_parsing_exception"}}}]}
    found = {"version": {"number": "1", **({"distribution": "opensearch"} if server.distribution == KINDS[0] else {})}}
    create = [Reply(200, found), Reply(404, {}), Reply(200, {})]
    server.faults = [*create, Reply(200, refused)]
    with pytest.raises(ModelError, match=r"'only'.*mapper_parsing_exception"):
        load_retriever(model_of(server)).index(Corpus.of(["only"], ["text"]), task.info)


def test_vectors_on_the_server_rank_as_vectors_here(task: Task, server: OpenSearchShaped) -> None:
    run, notes = search(model_of(server, f"{DENSE}&num_candidates=200"), task)
    expected, _ = search("dense:use-multilingual-v3", task)
    # The server scores (1 + cosine) / 2, whose float32 is coarser: neighbours closer than that may change places.
    np.testing.assert_allclose(2 * run.scores - 1, expected.scores, atol=1e-6)
    assert (run.rows[:, :10] == expected.rows[:, :10]).mean() > 0.99
    assert notes["query_vectors"]["texts"] == len(task.queries)
    (store,) = server.stores.values()
    field = store.definition["mappings"]["properties"]["vector"]
    assert field.get("dimension", field.get("dims")) == 512


def test_an_index_that_is_there(task: Task, server: OpenSearchShaped) -> None:
    fields = {"title": {"type": "text", "analyzer": "english"}, "body": {"type": "text", "analyzer": "english"}}
    store = Store({"settings": {"index": {}}, "mappings": {"properties": {**fields, "ref": {"type": "keyword"}}}})
    for place, (id_, text) in enumerate(zip(task.corpus.ids, task.corpus.texts, strict=True)):
        store.sent[f"internal-{place}"] = {"ref": id_, "title": text.split()[0], "body": text}
    store.seen = dict(store.sent)
    server.stores["articles"] = store
    model = model_of(server, "index=articles&fields=body&id_field=ref")
    run, notes = search(model, task)
    assert ranked(run) == ranked(search("bm25", task)[0])
    assert notes["documents_in_index"] == len(task.corpus)
    search(model_of(server, "index=articles&fields=title%5E2,body&id_field=ref&keep=no"), task)
    asked = server.requests[-1].json["query"]["multi_match"]
    assert asked["fields"] == ["title^2", "body"]
    assert "articles" in server.stores, "what is not ours is never removed"
    with pytest.raises(ModelError, match="'internal-"):
        search(model_of(server, "index=articles&fields=body"), task)
    with pytest.raises(UsageError) as missing:
        search(model_of(server, "index=missing"), task)
    assert (missing.value.option, missing.value.found) == ("index", "missing")


def test_rights_to_search_are_enough(task: Task, server: OpenSearchShaped) -> None:
    search(model_of(server), task)
    (name,) = server.stores
    forbidden = Reply(403, {"error": {"type": "security_exception"}})
    server.faults = [forbidden]
    server.private = "_stats/store"
    index = load_retriever(model_of(server, f"index={name}&id_field=id")).index(task.corpus, task.info)
    assert "not accessible" in index.notes["server"] and index.size_bytes == 0
    assert ranked(index.search(task.queries, 100)) == ranked(search("bm25", task)[0])


def test_credentials_come_from_a_variable(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    server = OpenSearchShaped(basic=b64encode(b"admin:s3same/0pen").decode())
    monkeypatch.setenv("OPENSEARCH_AUTH", "admin:s3same/0pen")
    with server.running() as server.address:
        retriever = load_retriever(model_of(server, "auth_env=OPENSEARCH_AUTH"))
        retriever.index(task.corpus, task.info).search(task.queries, 5)
        assert "s3same" not in json.dumps(dict(retriever.settings)) + retriever.name
        monkeypatch.setenv("OPENSEARCH_AUTH", "admin:wr0ng/guess")
        with pytest.raises(ModelError, match="401") as caught:
            retriever.index(task.corpus, task.info)
    assert "wr0ng" not in str(caught.value)


def test_the_other_kind_of_server_is_refused(task: Task, server: OpenSearchShaped) -> None:
    (other,) = set(KINDS) - {server.distribution}
    with pytest.raises(UsageError) as caught:
        load_retriever(f"{other}:{server.address}").index(task.corpus, task.info)
    assert (caught.value.expected, caught.value.found) == (other, server.distribution)


@pytest.mark.parametrize(
    "model",
    [
        "opensearch:http://user:hush@localhost:9200",
        "opensearch:localhost",
        "opensearch?id_field=ref",
        "opensearch?b=2",
        "opensearch?analyser=english",
        "elasticsearch?num_candidates=20000",
    ],
)
def test_names_that_cannot_be(model: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_retriever(model)
    assert "hush" not in str(caught.value)


def test_depth_beyond_the_window_is_cut(server: OpenSearchShaped) -> None:
    corpus, queries = Corpus.of(["a", "b"], ["red fox", "fox"]), Queries(("q",), ("fox",))
    index = load_retriever(model_of(server)).index(corpus, TaskInfo("x/y", language="en"))
    assert index.search(queries, 50_000).rows.tolist() == [[0, 1]]  # the shorter text is "b", row 0
    assert server.requests[-1].json["size"] == 10_000


def test_settings_hold_what_could_change_a_figure(server: OpenSearchShaped) -> None:
    models = ["", "k1=2", "analyzer=standard", DENSE, f"{DENSE}&m=8", f"{DENSE}&num_candidates=50", "index=x"]
    models += ["index=x&revision=2", "index=x&fields=title", "unknown=ignore", "errors=empty"]
    settings = [json.dumps(dict(load_retriever(model_of(server, options)).settings)) for options in models]
    assert len(set(settings)) == len(models)
    same = ["", "concurrency=9", "timeout=3", "retries=0", "keep=no"]
    assert len({json.dumps(dict(load_retriever(model_of(server, options)).settings)) for options in same}) == 1

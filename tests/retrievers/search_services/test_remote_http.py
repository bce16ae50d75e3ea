"""`http:TEMPLATE` against a real HTTP server on loopback, in good and in bad moods."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import numpy as np
import pytest
from search_servers import Reply, SearchService

import steelyard
from steelyard.cli import main
from steelyard.errors import DataError, MissingPart, ModelError, UsageError
from steelyard.http.secrets import Secrets
from steelyard.retrievers import load_retriever
from steelyard.retrievers.search_services.http_template import Template
from steelyard.types import Queries, Run, Task

SECRET = "tok-8c1f0a77"
ODD = 'say "hi" & {k} \\ %20 \n ünïcödé 漢字'
pytestmark = pytest.mark.usefixtures("shared_home")


@pytest.fixture(scope="module")
def task(almanac: Task) -> Task:
    return almanac


@pytest.fixture
def service(task: Task) -> Iterator[SearchService]:
    server = SearchService(task.corpus)
    with server.running() as address:
        server.address = address
        yield server


def template(folder: Path, service: SearchService, **extra: object) -> Path:
    file = folder / "search.json"
    value = {
        "url": f"{service.address}/search",
        "body": {"text": "{query}", "size": "{k}"},
        "ids": "found.items[*].doc.id",
        "scores": "found.items[*].score",
        **extra,
    }
    file.write_text(json.dumps({name: held for name, held in value.items() if held is not None}), encoding="utf-8")
    return file


def search(model: str, task: Task, top_k: int = 10) -> tuple[Run, dict[str, object]]:
    index = load_retriever(model).index(task.corpus, task.info)
    run = index.search(task.queries, top_k)
    return run, dict(index.notes)


def same(left: Run, right: Run) -> bool:
    return bool(np.array_equal(left.rows, right.rows)) and np.allclose(left.scores, right.scores)


def test_the_figures_are_those_of_the_engine_behind_the_service(
    task: Task, service: SearchService, tmp_path: Path
) -> None:
    model = f"http:{template(tmp_path, service)}"
    results = steelyard.evaluate([model, "bm25"], task, results=tmp_path / "results")
    theirs, ours = results
    assert theirs.done, theirs.error
    assert theirs.metrics == ours.metrics
    assert theirs.notes["latency_ms"]["p50"] > 0 and theirs.notes["queries"] == len(task.queries)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("search.yaml", 'url: "ADDRESS/search?q={query}&n={k}"\nids: "found.items[*].doc.id"\n'),
        (
            "search.toml",
            'url = "ADDRESS/search"\nids = "found.items[*].doc.id"\nscores = "found.items[*].score"\n'
            '[body]\ntext = "{query}"\nsize = "{k}"\n',
        ),
        (
            "search.yml",
            'url: ADDRESS/search\nids: found.items[*].doc.id\nbody: \'{"text": "{query}", "size": {k}}\'\n',
        ),
        ("form.yaml", "url: ADDRESS/search\nids: found.items[*].doc.id\nbody: q={query}&n={k}\n"),
    ],
)
def test_every_way_to_write_a_template(
    task: Task, service: SearchService, tmp_path: Path, name: str, text: str
) -> None:
    file = tmp_path / name
    file.write_text(text.replace("ADDRESS", service.address), encoding="utf-8")
    run, _ = search(f"http:{file}", task)
    expected, _ = search("bm25", task)
    # By rank alone ties stay in the order of the service, so only what was found is compared.
    found = zip(run.rows.tolist(), expected.rows.tolist(), strict=True)
    assert all(set(one) == set(other) for one, other in found)
    assert run.rows[0].tolist() == expected.rows[0].tolist()


def test_odd_queries_arrive_as_they_are(service: SearchService, tmp_path: Path, task: Task) -> None:
    odd = Queries(("q",), (ODD,))
    for extra in (
        {},
        {"url": f"{service.address}/search?q={{query}}&n={{k}}", "body": None},
        {"body": '{"text": "{query}", "size": {k}}'},
        {"body": "q={query}&n={k}"},
    ):
        model = f"http:{template(tmp_path, service, **extra)}"
        load_retriever(model).index(task.corpus, task.info).search(odd, 3)
    one, two, three, four = service.requests
    assert one.json == {"text": ODD, "size": 3} == three.json
    assert two.query["q"] == [ODD] and two.query["n"] == ["3"]
    assert ODD not in four.body.decode() and four.headers["Content-Type"] == "application/x-www-form-urlencoded"


def test_the_token_is_sent_and_shown_nowhere(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SEARCH_TOKEN", SECRET)
    service = SearchService(task.corpus, token=SECRET)
    with service.running() as service.address:
        file = template(tmp_path, service, headers={"Authorization": "Bearer ${SEARCH_TOKEN}"}, retries=0)
        model = f"http:{file}"
        command = ["run", model, "-v", "--save-runs", "trec", "-o", str(tmp_path / "results"), "-t"]
        assert main([*command, "NanoAlmanac/en"]) == 0
        service.token = "another"
        assert main([*command, "NanoAlmanac/de"]) == 1
    shown = capsys.readouterr()
    assert "answered 401" in shown.err and "no access for Bearer ${SEARCH_TOKEN}" in shown.err
    written = {path: path.read_bytes() for path in (tmp_path / "results").rglob("*") if path.is_file()}
    assert {path.suffix for path in written} >= {".json", ".html", ".parquet"}
    assert not any(SECRET.encode() in text for text in (*written.values(), shown.out.encode(), shown.err.encode()))


def test_a_secret_in_the_template_is_refused(service: SearchService, tmp_path: Path) -> None:
    for extra in (
        {"headers": {"Authorization": f"Bearer {SECRET}"}},
        {"headers": {"X-Api-Key": SECRET}},
        {"url": f"{service.address}/search?token={SECRET}"},
        {"url": f"http://user:{SECRET}@127.0.0.1/search"},
    ):
        with pytest.raises(DataError) as caught:
            load_retriever(f"http:{template(tmp_path, service, **extra)}")
        assert SECRET not in str(caught.value)


def test_failures_that_heal_are_counted(task: Task, service: SearchService, tmp_path: Path) -> None:
    soon = format_datetime(datetime.now(UTC) - timedelta(seconds=5), usegmt=True)
    service.faults = [
        Reply(503, {"error": "busy"}, {"Retry-After": "0"}),
        Reply(429, {"error": "slow down"}, {"Retry-After": soon}),
        Reply(500, {"error": "oops"}),
        Reply(200, raw=b'{"found"', cut=20),
    ]
    run, notes = search(f"http:{template(tmp_path, service, concurrency=1, retries=4)}", task)
    expected, _ = search("bm25", task)
    assert same(run, expected)
    assert notes["retries"] == 4, "an answer that breaks off is a failure like any other"


def test_a_service_that_hangs_is_left(task: Task, service: SearchService, tmp_path: Path) -> None:
    def hang() -> Reply:
        time.sleep(1)
        return Reply(200, {})

    service.faults = [hang]
    model = f"http:{template(tmp_path, service, timeout=0.2, retries=0, concurrency=1)}"
    with pytest.raises(MissingPart, match="no answer in time"):
        search(model, task)
    service.faults = [hang]
    run, notes = search(f"{model}?errors=empty", task)
    assert notes["failed_queries"] == 1 and run.lengths[0] == 0 and run.lengths[1] > 0


def test_an_answer_that_drips_is_left(task: Task, tmp_path: Path) -> None:
    """Each byte comes in time, the whole answer does not."""

    def drip(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            while True:
                connection.sendall(b" ")
                time.sleep(0.05)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        dripping = threading.Thread(target=drip, args=(listener,), daemon=True)
        dripping.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/search?q={{query}}"
        file = tmp_path / "search.json"
        file.write_text(json.dumps({"url": url, "ids": "ids[*]", "timeout": 0.3, "retries": 0, "concurrency": 1}))
        with pytest.raises(MissingPart, match="no answer in time"):
            search(f"http:{file}", task)
        dripping.join()


def test_a_proxy_is_used(task: Task, service: SearchService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service stands in for a proxy: it is asked for the host that only a proxy could know."""
    monkeypatch.setenv("http_proxy", service.address)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    run, _ = search(f"http:{template(tmp_path, service, url='http://search.example/search')}", task)
    assert same(run, search("bm25", task)[0])
    assert {request.headers["Host"] for request in service.requests} == {"search.example"}


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://localhost:none/search", "is not the address of a service"),
        ("http://me:${SEARCH_PASSWORD}@localhost/search", "localhost holds a user or a password"),
    ],
)
def test_an_address_that_cannot_work_is_refused(
    task: Task, service: SearchService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, message: str
) -> None:
    monkeypatch.setenv("SEARCH_PASSWORD", SECRET)
    with pytest.raises(UsageError, match=message) as caught:
        search(f"http:{template(tmp_path, service, url=url)}", task)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("reply", "error", "message"),
    [
        (Reply(400, {"error": "no such field"}), ModelError, "answered 400: .*no such field"),
        (Reply(200, raw=b"<html>welcome"), ModelError, "not JSON: <html>welcome"),
        (Reply(302, {}, {"Location": "http://127.0.0.1:1/x"}), ModelError, "redirects are not followed"),
        (Reply(200, {"results": []}), ModelError, "an object with 'results'"),
        (Reply(500, {"error": "for good"}), ModelError, "answered 500 after 2 tries"),
    ],
)
def test_failures_that_stay_end_the_task(
    task: Task, service: SearchService, tmp_path: Path, reply: Reply, error: type[Exception], message: str
) -> None:
    service.faults = [reply] * 2
    with pytest.raises(error, match=message):
        search(f"http:{template(tmp_path, service, concurrency=1, retries=1)}", task)


def test_connections_are_kept(task: Task, service: SearchService, tmp_path: Path) -> None:
    search(f"http:{template(tmp_path, service, concurrency=3)}", task)
    assert len(service.requests) == len(task.queries) and service.connections <= 3


def test_nobody_there(task: Task, service: SearchService, tmp_path: Path) -> None:
    file = template(tmp_path, service, url="http://127.0.0.1:1/search", retries=0)
    with pytest.raises(MissingPart, match="is the service running"):
        search(f"http:{file}", task)


def test_the_network_off_limits(
    task: Task, service: SearchService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_OFFLINE", "1")
    file = template(tmp_path, service)
    search(f"http:{file}", task)  # loopback is no network
    with pytest.raises(MissingPart, match="off limits"):
        search(f"http:{template(tmp_path, service, url='https://search.example.org/')}", task)


def test_ids_that_the_corpus_does_not_have(task: Task, service: SearchService, tmp_path: Path) -> None:
    first = task.corpus.ids[int(search("bm25", task)[0].rows[0, 0])]
    service.names = {first: "stranger"}
    model = f"http:{template(tmp_path, service)}"
    with pytest.raises(ModelError, match="'stranger' for query"):
        search(model, task)
    run, notes = search(f"{model}?unknown=ignore", task)
    assert notes["unknown_documents"] > 0 and notes["unknown_examples"] == ["stranger"]
    assert task.corpus.row_of[first] not in run.rows


def test_a_service_with_a_shortest_list(task: Task, service: SearchService, tmp_path: Path) -> None:
    run, notes = search(f"http:{template(tmp_path, service, max_k=3)}", task, top_k=100)
    assert run.depth == 3 and notes["asked_for"] == 3
    assert service.requests[0].json["size"] == 3


def test_settings_tell_templates_and_revisions_apart(service: SearchService, tmp_path: Path) -> None:
    file = template(tmp_path, service)
    one, two = load_retriever(f"http:{file}"), load_retriever(f"http:{file}@2024-05")
    assert one.settings != two.settings and json.dumps(dict(two.settings))
    template(tmp_path, service, body={"text": "{query}", "size": "{k}", "boost": 2})
    assert load_retriever(f"http:{file}").settings != one.settings


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "{", "a.json"),
        ("a.json", "[]", "found list"),
        ("a.toml", "url = ", "a.toml"),
        ("a.yaml", "url: [", "a.yaml"),
        ("a.json", '{"url": "http://h/?q={query}"}', "no 'ids'"),
        ("a.json", '{"ids": "x"}', "no 'url'"),
        ("a.json", '{"url": "http://h/", "ids": "x"}', "no place for|has a place"),
        ("a.json", '{"url": "http://{query}/", "ids": "x"}', "depends on the query"),
        ("a.json", '{"url": "http://h/", "ids": "x", "body": "{\\"q\\": {query}}"}', "not JSON"),
        ("a.json", '{"url": "http://h/?q={query}", "ids": "x", "headers": "y"}', "headers are 'y'"),
    ],
)
def test_templates_that_cannot_be(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        Template.read(tmp_path / name, {})


@pytest.mark.parametrize(
    "model", ["http://localhost:9200/search", "http", "http:nowhere.yaml", "http:pyproject.toml.txt"]
)
def test_names_that_cannot_be(model: str) -> None:
    with pytest.raises(UsageError):
        load_retriever(model)


def test_a_misspelt_setting_is_named(service: SearchService, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean 'timeout'"):
        load_retriever(f"http:{template(tmp_path, service, timout=3)}")
    with pytest.raises(UsageError, match="did you mean 'retries'"):
        load_retriever(f"http:{template(tmp_path, service)}?retry=3")


def test_a_host_in_a_variable_stays_there(
    task: Task, service: SearchService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARCH_URL", service.address)
    retriever = load_retriever(f"http:{template(tmp_path, service, url='${SEARCH_URL}/search')}")
    assert retriever.index(task.corpus, task.info).search(task.queries, 5).depth == 5
    assert service.address not in json.dumps(dict(retriever.settings))
    assert Template.read(tmp_path / "search.json", {}).host(Secrets()) == service.address

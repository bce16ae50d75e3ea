"""`http:TEMPLATE` against a real HTTP server on loopback, with good and bad answers."""

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

import api_server
import numpy as np
import pytest
from search_servers import Reply, SearchService

import steelyard
from steelyard.cli import main
from steelyard.errors import DataError, MissingPart, ModelError, UnknownName, UsageError
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


@pytest.mark.parametrize("parameters", ["{query}", "[q]={query}", "[" * 9000 + "={query}"], ids=len)
def test_parameters_of_an_address_may_begin_like_json(parameters: str, service: SearchService, tmp_path: Path) -> None:
    path = template(tmp_path, service, url=f"{service.address}/search?{parameters}", body=None)
    assert load_retriever(f"http:{path}").settings["url"] == f"{service.address}/search?{parameters}"


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
        model = f"http:{file}?env=SEARCH_TOKEN"
        command = ["run", model, "-v", "--save-runs", "trec", "-o", str(tmp_path / "results"), "-t"]
        assert main([*command, "NanoAlmanac/en"]) == 0
        service.token = "another"
        assert main([*command, "NanoAlmanac/de"]) == 1
    shown = capsys.readouterr()
    assert "401" in shown.err and "no access for Bearer ${SEARCH_TOKEN}" in shown.err
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
    with pytest.raises(MissingPart, match="in time"):
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
        with pytest.raises(MissingPart, match="in time"):
            search(f"http:{file}", task)
        dripping.join()


def test_a_proxy_is_used(task: Task, service: SearchService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service acts as a proxy: it is asked for a host that only a proxy can know."""
    monkeypatch.setenv("http_proxy", service.address)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    run, _ = search(f"http:{template(tmp_path, service, url='http://search.example/search')}", task)
    assert same(run, search("bm25", task)[0])
    assert {request.headers["Host"] for request in service.requests} == {"search.example"}


@pytest.mark.parametrize(
    "url", ["http://localhost:none/search", "http://${SEARCH_USER}:${SEARCH_PASSWORD}@localhost/search"]
)
def test_invalid_addresses_are_refused(
    task: Task, service: SearchService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("SEARCH_PASSWORD", SECRET)
    monkeypatch.setenv("SEARCH_USER", "me")
    with pytest.raises(UsageError) as caught:
        search(f"http:{template(tmp_path, service, url=url)}?env=SEARCH_PASSWORD,SEARCH_USER", task)
    assert caught.value.option == "url" and SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply(400, {"error": "no such field"}), "400.*no such field"),
        (Reply(200, raw=b"<html>welcome"), "<html>welcome"),
        (Reply(200, raw=b"[" * 100_000), "JSON"),
        (Reply(302, {}, {"Location": "http://127.0.0.1:1/x"}), r"http://127\.0\.0\.1:1/x"),
        (Reply(200, {"results": []}), "an object with 'results'"),
        (Reply(500, {"error": "permanent"}), "500 after 2 attempts"),
    ],
)
def test_permanent_failures_end_the_task(
    task: Task, service: SearchService, tmp_path: Path, reply: Reply, message: str
) -> None:
    service.faults = [reply] * 2
    with pytest.raises(ModelError, match=message):
        search(f"http:{template(tmp_path, service, concurrency=1, retries=1)}", task)


def test_a_redirect_is_not_followed(task: Task, service: SearchService, tmp_path: Path) -> None:
    with api_server.serve() as other:
        service.faults = [Reply(307, {}, {"Location": other.url})] * 2
        with pytest.raises(ModelError, match="307"):
            search(f"http:{template(tmp_path, service, concurrency=1, retries=1)}", task)
        assert not other.requests


def test_connections_are_kept(task: Task, service: SearchService, tmp_path: Path) -> None:
    search(f"http:{template(tmp_path, service, concurrency=3)}", task)
    assert len(service.requests) == len(task.queries) and service.connections <= 3


def test_no_server(task: Task, service: SearchService, tmp_path: Path) -> None:
    file = template(tmp_path, service, url="http://127.0.0.1:1/search", retries=0)
    with pytest.raises(MissingPart):
        search(f"http:{file}", task)


def test_offline_mode_allows_only_loopback(
    task: Task, service: SearchService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_OFFLINE", "1")
    file = template(tmp_path, service)
    search(f"http:{file}", task)  # loopback is no network
    with pytest.raises(MissingPart):
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
    ("name", "text", "field"),
    [
        ("a.json", "{", None),
        ("a.json", "[]", None),
        ("a.json", "[" * 100_000, None),
        ("a.yaml", "[" * 5_000, None),
        (
            "a.json",
            '{"url": "http://h/", "ids": "x", "body": {"q": "{query}", "n": ' + "[" * 80 + "]" * 80 + "}}",
            None,
        ),
        ("a.json", b'{"url": "\xff\xfehttp://h/?q={query}", "ids": "x"}', None),
        ("a.json", b" " * (1 << 20) + b"{}", None),
        ("a.toml", "url = ", None),
        ("a.yaml", "url: [", None),
        ("a.yaml", "on: x\nurl: http://h/?q={query}\nids: x\n", None),
        ("a.yaml", "url: http://h/\nids: x\nbody: {q: '{query}', day: 2024-05-01}\n", "body"),
        ("a.json", '{"url": "http://h/?q={query}"}', "ids"),
        ("a.json", '{"ids": "x"}', "url"),
        ("a.json", '{"url": "http://h/", "ids": "x"}', "body"),
        ("a.json", '{"url": "http://{query}/", "ids": "x"}', "url"),
        ("a.json", '{"url": "http://h/", "ids": "x", "body": "{\\"q\\": {query}}"}', "body"),
        ("a.json", '{"url": "http://h/?q={query}", "ids": "x", "headers": "y"}', None),
        ("a.json", '{"url": "http://h/?q={query}", "ids": "x", "env": "OPENAI_API_KEY"}', "env"),
        ("a.json", '{"url": "http://h/?q={query}", "ids": "x", "allow_http": "yes"}', "allow_http"),
    ],
)
def test_invalid_templates_are_refused(tmp_path: Path, name: str, text: str | bytes, field: str | None) -> None:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DataError) as caught:
        Template.read(path, {})
    assert (caught.value.path, caught.value.field) == (str(path), field)


FAULTS = sorted((Path(__file__).parents[4] / "shared" / "faults" / "inputs").glob("http_template__*"))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda path: path.name)
@pytest.mark.parametrize("suffix", [".json", ".yaml", ".toml"])
def test_fault_inputs_end_in_our_errors(tmp_path: Path, fault: Path, suffix: str) -> None:
    path = tmp_path / f"fault{suffix}"
    path.write_bytes(fault.read_bytes())
    with pytest.raises((DataError, UsageError)):
        Template.read(path, {})


@pytest.mark.parametrize(
    "model", ["http://localhost:9200/search", "http", "http:nowhere.yaml", "http:pyproject.toml.txt"]
)
def test_names_that_cannot_be(model: str) -> None:
    with pytest.raises(UsageError):
        load_retriever(model)


def test_a_misspelt_setting_is_named(service: SearchService, tmp_path: Path) -> None:
    with pytest.raises(UnknownName) as caught:
        load_retriever(f"http:{template(tmp_path, service, timout=3)}")
    assert caught.value.near == ["timeout"]
    with pytest.raises(UnknownName) as caught:
        load_retriever(f"http:{template(tmp_path, service)}?retry=3")
    assert caught.value.near == ["retries"]


def test_a_host_in_a_variable_stays_there(
    task: Task, service: SearchService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARCH_URL", service.address)
    retriever = load_retriever(f"http:{template(tmp_path, service, url='${SEARCH_URL}/search')}?env=SEARCH_URL")
    assert retriever.index(task.corpus, task.info).search(task.queries, 5).depth == 5
    assert service.address not in json.dumps(dict(retriever.settings))
    assert Template.read(tmp_path / "search.json", {}).host(Secrets()) == service.address


def test_a_template_reads_only_the_variables_that_the_user_names(
    task: Task, service: SearchService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("SEARCH_TOKEN", SECRET)
    for place in (
        {"headers": {"X-Note": "${OPENAI_API_KEY}"}},
        {"url": f"{service.address}/search?note=${{OPENAI_API_KEY}}"},
        {"body": {"text": "{query}", "size": "{k}", "note": ["${OPENAI_API_KEY}"]}},
    ):
        file = template(tmp_path, service, **place)
        with pytest.raises(UsageError) as caught:
            load_retriever(f"http:{file}?env=SEARCH_TOKEN")
        assert (caught.value.option, caught.value.found) == ("env", "OPENAI_API_KEY")
        with pytest.raises(UsageError) as caught:  # named, but it belongs to another host
            load_retriever(f"http:{file}?env=OPENAI_API_KEY")
        assert caught.value.option == "key_env"
    assert not service.requests


def test_credentials_need_https_or_permission(
    task: Task, service: SearchService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARCH_TOKEN", SECRET)
    monkeypatch.setenv("http_proxy", service.address)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for headers in ({"Authorization": "Bearer ${SEARCH_TOKEN}"}, {"X-Unusual": "literal-1234"}):
        file = template(tmp_path, service, url="http://search.example/search", headers=headers)
        with pytest.raises(UsageError) as caught:
            load_retriever(f"http:{file}?env=SEARCH_TOKEN")
        assert caught.value.option == "allow_http"
        retriever = load_retriever(f"http:{file}?env=SEARCH_TOKEN&allow_http=yes")
        assert "env" not in retriever.name and "allow_http" not in retriever.name
        assert retriever.index(task.corpus, task.info).search(task.queries, 3).depth == 3


@pytest.mark.parametrize("ending", ["\n", "\r\n", "  "])
def test_blanks_around_a_variable_are_not_sent(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setenv("SEARCH_TOKEN", SECRET + ending)
    service = SearchService(task.corpus, token=SECRET)
    with service.running() as service.address:
        file = template(tmp_path, service, headers={"Authorization": "Bearer ${SEARCH_TOKEN}"})
        assert search(f"http:{file}?env=SEARCH_TOKEN", task)[0].depth == 10


def test_a_line_break_inside_a_variable_is_refused_without_its_value(
    service: SearchService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARCH_TOKEN", f"{SECRET}\nX-Other: 1")
    file = template(tmp_path, service, headers={"Authorization": "Bearer ${SEARCH_TOKEN}"})
    with pytest.raises(UsageError) as caught:
        load_retriever(f"http:{file}?env=SEARCH_TOKEN")
    assert caught.value.option == "SEARCH_TOKEN" and SECRET not in repr(vars(caught.value))


def test_unusual_literals_are_stored_as_hashes(service: SearchService, tmp_path: Path) -> None:
    extra = {
        "url": f"{service.address}/search?subscription={SECRET}&lang=en&q={{query}}",
        "headers": {"Ocp-Apim-Trace": SECRET, "Accept-Language": "de"},
        "body": {"text": "{query}", "size": "{k}", "code": SECRET, "filter": {"tenant": [SECRET]}},
    }
    settings = load_retriever(f"http:{template(tmp_path, service, **extra)}").settings
    assert SECRET not in json.dumps(dict(settings))
    assert settings["headers"]["Accept-Language"] == "de" and "lang=en&q={query}" in settings["url"]
    assert settings["body"]["text"] == "{query}" and settings["body"]["size"] == "{k}"
    changed = {**extra, "headers": {"Ocp-Apim-Trace": "other", "Accept-Language": "de"}}
    assert load_retriever(f"http:{template(tmp_path, service, **changed)}").settings != settings
    for body in (f'{{"text": "{{query}}", "size": {{k}}, "code": "{SECRET}"}}', f"q={{query}}&code={SECRET}"):
        stored = load_retriever(f"http:{template(tmp_path, service, body=body)}").settings["body"]
        assert SECRET not in stored and "{query}" in stored


@pytest.mark.parametrize("name", ["Ocp-Apim-Subscription-Key", "X-Auth-Key", "x-functions-key", "signature", "api_key"])
def test_literal_secrets_in_bodies_and_headers_are_refused(service: SearchService, tmp_path: Path, name: str) -> None:
    body = {"text": "{query}", "nested": [{name: SECRET}]}
    for extra in ({"headers": {name: SECRET}}, {"body": body}, {"body": json.dumps(body)}):
        with pytest.raises(DataError) as caught:
            load_retriever(f"http:{template(tmp_path, service, **extra)}")
        assert caught.value.field == name and SECRET not in str(caught.value)


def test_a_secret_at_the_end_of_an_excerpt_is_hidden(
    task: Task, service: SearchService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEARCH_TOKEN", SECRET)
    service.faults = [Reply(400, raw=b"x" * 295 + SECRET.encode())]
    file = template(tmp_path, service, headers={"Authorization": "Bearer ${SEARCH_TOKEN}"}, concurrency=1)
    with pytest.raises(ModelError) as caught:
        search(f"http:{file}?env=SEARCH_TOKEN", task)
    assert SECRET[:4] not in str(caught.value)

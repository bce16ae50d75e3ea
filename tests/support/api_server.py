"""A service on loopback that embeds and reranks, and misbehaves on request.

Vectors and scores are hashes of texts, so what ought to come back is known. Moods are taken one a request; limits hold
for every request. The server writes down what it was asked, and how.
"""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

DIMENSION = 8


def vector_of(text: str, dimension: int = DIMENSION) -> np.ndarray:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=32).digest()
    return (np.frombuffer(digest, dtype=np.uint8)[:dimension].astype(np.float32) - 127.5) / 64


def vectors_of(texts: Sequence[str]) -> np.ndarray:
    return np.stack([vector_of(text) for text in texts])


def score_of(query: str, text: str) -> float:
    return float(np.float32(vector_of(query) @ vector_of(text)))


Mood = Callable[["Handler", dict[str, Any]], bool]
"""What to do with one request; True if it has been answered, or will never be."""


@dataclass
class Api:
    """What the service allows, what it was asked, and how it is to misbehave."""

    moods: list[Mood] = field(default_factory=list)
    always: Mood | None = None
    key: str | None = None
    max_batch: int = 10**6
    max_chars: int = 10**6
    too_large: int = 413
    dies_after: int = 10**6
    """Answers so many requests, then 500 to all."""
    meeting: threading.Barrier | None = None
    """Requests wait until so many of them are there."""
    tokens: bool = True
    dimension: int = DIMENSION

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    answered: Counter[str] = field(default_factory=Counter)
    """How often each text was embedded, or each document scored."""
    sizes: list[int] = field(default_factory=list)
    """Texts in each request that was answered."""
    lives: int = 0
    connections: int = 0
    under_way: int = 0
    most_under_way: int = 0
    not_before: float = 0.0
    early: int = 0
    """Requests that came before the time that the service had asked to wait for."""
    outwaited: int = 0
    """Hanging requests that the client waited for to the bitter end."""
    closing: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    api: Api

    def setup(self) -> None:
        super().setup()
        with self.api.lock:
            self.api.connections += 1

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        api = self.api
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with api.lock:
            api.requests.append(body)
            api.headers.append(dict(self.headers))
            api.paths.append(self.path)
            api.times.append(time.monotonic())
            api.under_way += 1
            api.most_under_way = max(api.most_under_way, api.under_way)
            api.early += time.time() < api.not_before
            mood = api.moods.pop(0) if api.moods else api.always
        try:
            if api.meeting is not None:
                api.meeting.wait(10)
            if mood is None or not mood(self, body):
                self.answer(body)
        finally:
            with api.lock:
                api.under_way -= 1

    def answer(self, body: dict[str, Any]) -> None:
        api = self.api
        if api.key is not None and self.headers.get("Authorization") != f"Bearer {api.key}":
            return self.error(401, f"Incorrect API key provided: {self.headers.get('Authorization')}")
        texts = body.get("input") or body.get("documents") or body.get("texts")
        with api.lock:
            api.lives += 1
            dead = api.lives > api.dies_after
        if dead:
            return self.error(500, "out of order")
        if len(texts) > api.max_batch or any(len(text) > api.max_chars for text in texts) or "" in texts:
            return self.error(api.too_large, "input is too large")
        return self.reply(200, self.content(body), texts)

    def content(self, body: dict[str, Any]) -> Any:
        if "input" in body:
            return self.embedded(body)
        texts = body.get("texts") or body["documents"]
        scores = [(score_of(body["query"], text), index) for index, text in enumerate(texts)]
        ranked = sorted(scores, reverse=True)
        if "texts" in body:
            return [{"index": index, "score": score} for score, index in ranked]
        items = [{"index": index, "relevance_score": score} for score, index in ranked]
        if "top_k" in body:
            return {"data": items[: body["top_k"]], "usage": {"total_tokens": 7 * len(texts)}}
        usage = {"usage": {"total_tokens": 7 * len(texts)}, "meta": {"billed_units": {"search_units": 1}}}
        return {"results": items[: body["top_n"]], **usage}

    def embedded(self, body: dict[str, Any]) -> dict[str, Any]:
        data = []
        for index, text in enumerate(body["input"]):
            vector = vector_of(text, body.get("dimensions") or self.api.dimension)
            form = base64.b64encode(vector.tobytes()).decode() if body.get("encoding_format") == "base64" else None
            data.append({"object": "embedding", "index": index, "embedding": form or vector.tolist()})
        answer: dict[str, Any] = {"object": "list", "data": data, "model": body["model"]}
        if self.api.tokens:
            count = sum(map(len, body["input"]))
            answer["usage"] = {"prompt_tokens": count, "total_tokens": count}
        return answer

    def error(self, status: int, message: str, headers: dict[str, str] | None = None, code: str | None = None) -> None:
        self.reply(status, {"error": {"message": message, "type": "error", "code": code}}, (), headers)

    def reply(
        self, status: int, content: Any, texts: Sequence[str] = (), headers: dict[str, str] | None = None
    ) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        if texts:
            with self.api.lock:
                self.api.answered.update(texts)
                self.api.sizes.append(len(texts))
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def status(code: int, message: str = "not now", error: str | None = None, **headers: str) -> Mood:
    def mood(handler: Handler, body: dict[str, Any]) -> bool:
        handler.error(code, message, {name.replace("_", "-"): value for name, value in headers.items()}, error)
        return True

    return mood


def busy(seconds: float, form: str) -> Mood:
    """429 with a time to wait, written as seconds, milliseconds or a date; who comes earlier is counted."""

    def mood(handler: Handler, body: dict[str, Any]) -> bool:
        until = time.time() + seconds
        headers = {"Retry-After": str(seconds)}
        if form == "milliseconds":
            headers = {"retry-after-ms": str(seconds * 1000)}
        if form == "date":
            until = float(int(until) + 1)
            headers = {"Retry-After": formatdate(until, usegmt=True)}
        handler.api.not_before = until
        handler.error(429, "slow down", headers)
        return True

    return mood


def hang(handler: Handler, body: dict[str, Any]) -> bool:
    handler.api.outwaited += not handler.api.closing.wait(30)
    handler.close_connection = True
    return True


def drip(handler: Handler, body: dict[str, Any]) -> bool:
    """An answer that comes byte by byte, each well within any socket's patience."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    try:
        while not handler.api.closing.wait(0.05):
            handler.wfile.write(b" ")
    except OSError:
        pass
    handler.close_connection = True
    return True


def reset(handler: Handler, body: dict[str, Any]) -> bool:
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True
    return True


def truncated(handler: Handler, body: dict[str, Any]) -> bool:
    content = json.dumps(handler.content(body)).encode()
    handler.reply(200, content[: len(content) // 2], (), {"Content-Length": str(len(content))})
    handler.close_connection = True
    return True


def garbage(handler: Handler, body: dict[str, Any]) -> bool:
    handler.reply(200, b"<html>Bad gateway</html>")
    return True


def hang_up_afterwards(handler: Handler, body: dict[str, Any]) -> bool:
    """A good answer, after which the connection is closed without notice."""
    handler.answer(body)
    handler.close_connection = True
    return True


def changed(change: Callable[[Any], Any]) -> Mood:
    """An answer that is almost right."""

    def mood(handler: Handler, body: dict[str, Any]) -> bool:
        handler.reply(200, change(handler.content(body)))
        return True

    return mood


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are part of the game."""


@contextmanager
def serve(**conditions: Any) -> Iterator[Api]:
    """The service on a free port of loopback."""
    api = Api(**conditions)
    server = Server(("127.0.0.1", 0), type("BoundHandler", (Handler,), {"api": api}))
    api.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield api
    finally:
        api.closing.set()
        server.shutdown()
        server.server_close()

"""Hubs on loopback: what their servers, and the processes in which their real clients live, have in common.

A client reads its endpoint when it is imported, so it lives in a process of its own, with its own home and cache.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

FOREIGN = ("HF_", "MODELSCOPE_", "STEELYARD_")
"""What the environment of the tests must not tell a client."""


class Answering(BaseHTTPRequestHandler):
    """Calls `answer` for every GET and HEAD, and sends what it is told to."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.answer()

    def do_GET(self) -> None:
        self.answer()

    def answer(self) -> None:
        raise NotImplementedError

    def send(self, status: int, body: bytes, headers: dict[str, str], break_after: int | None = None) -> None:
        """An answer; with `break_after` the connection drops after so many bytes of it."""
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(body[:break_after])
        if break_after is not None:
            self.wfile.flush()
            self.close_connection = True
            self.connection.close()


class Quiet(ThreadingHTTPServer):
    """A server that nothing disturbs: a client that hung up is part of the play."""

    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


@contextmanager
def running(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """A server on a free port, for the time of the block; its address."""
    server = Quiet(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def environment(home: Path, **more: str) -> dict[str, str]:
    """That of a process whose clients know nothing but what `more` tells them, and keep all in `home`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    return {
        **kept,
        "HF_HOME": str(home / "hf"),
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "MODELSCOPE_CACHE": str(home / "modelscope"),
        "STEELYARD_HOME": str(home / "steelyard"),
        "NO_PROXY": "127.0.0.1",
        **more,
    }


def told_by(script: str, home: Path, *arguments: object, **more: str) -> list[Any]:
    """What a script prints, each line of it JSON, in a process of its own; arguments that are no text go as JSON."""
    words = [word if isinstance(word, str) else json.dumps(word) for word in arguments]
    command = [sys.executable, "-W", "ignore", "-c", script, *words]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment(home, **more), check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


@dataclass
class Worker:
    """A process that takes orders, a line of JSON each, and answers each with one."""

    process: subprocess.Popen[str]

    def __call__(self, order: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, "the client's process ended"
        told: dict[str, Any] = json.loads(answer)
        return told


@contextmanager
def working(script: str, home: Path, **more: str) -> Iterator[Worker]:
    """Such a process, for the time of the block."""
    process = subprocess.Popen(
        [sys.executable, "-c", script], env=environment(home, **more), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        yield Worker(process)
    finally:
        assert process.stdin and process.stdout
        process.stdin.close()
        try:
            process.wait(timeout=60)
        finally:
            process.kill()
            process.stdout.close()


def parquet(table: pa.Table | None = None, /, *, row_group_size: int | None = None, **columns: Any) -> bytes:
    """A table, or columns, as a Parquet file."""
    stream = io.BytesIO()
    pq.write_table(pa.table(columns) if table is None else table, stream, row_group_size=row_group_size)
    return stream.getvalue()

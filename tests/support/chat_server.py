"""A chat service on loopback with OpenAI's interface, which answers with drafts that are true or false on request."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Chat:
    """The service: `answer` gets the content of the last message and returns the draft."""

    answer: Callable[[str], Any]
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)


@contextmanager
def serve_chat(answer: Callable[[str], Any]) -> Iterator[Chat]:
    """Serve on a free port of loopback."""
    chat = Chat(answer)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            chat.requests.append({"path": self.path, **body})
            chat.keys.append(self.headers.get("Authorization", ""))
            text = chat.answer(body["messages"][-1]["content"])
            content = text if isinstance(text, str) else json.dumps(text)
            payload = json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    chat.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield chat
    finally:
        server.shutdown()
        server.server_close()

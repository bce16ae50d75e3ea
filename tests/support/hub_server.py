"""A small hub on loopback: what `huggingface_hub` needs to load a dataset or a model, and faults on request.

Repository info, file metadata (HEAD) and content with ranges (GET). Repositories are dictionaries of files; faults
are set per server: statuses to answer with first, a body that breaks off, a body shorter than was announced.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import unquote

from loopback import Answering, running

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Repository:
    files: dict[str, bytes]
    commit: str = COMMIT
    token: str | None = None
    branches: tuple[str, ...] = ("main",)


@dataclass
class Hub:
    """What the server holds, what it was asked, and how it is to misbehave."""

    repositories: dict[str, Repository]
    requests: list[tuple[str, str, str | None]] = field(default_factory=list)
    """Method, path, Range header."""
    statuses: list[int] = field(default_factory=list)
    """Answered first, one a request."""
    break_after: dict[str, int] = field(default_factory=dict)
    """File name: how many bytes to send before the connection drops; once."""
    short_by: dict[str, int] = field(default_factory=dict)
    """File name: how many bytes fewer than announced the content has; always."""
    says: bytes | None = None
    """Answered to whoever asks for a repository, instead of the facts."""
    silences: list[float] = field(default_factory=list)
    """Seconds before the first answers, one a request."""
    url: str = ""

    def count(self, method: str, part: str = "") -> int:
        return sum(m == method and part in path for m, path, _ in self.requests)


class Handler(Answering):
    hub: Hub

    def answer(self) -> None:
        path = unquote(self.path.split("?")[0])
        self.hub.requests.append((self.command, path, self.headers.get("Range")))
        if self.hub.silences:
            time.sleep(self.hub.silences.pop(0))
        if self.hub.statuses:
            return self.refuse(self.hub.statuses.pop(0), "")
        if match := re.fullmatch(r"/api/(?:datasets|models)/([^/]+/[^/]+)(?:/revision/(.+))?", path):
            return self.info(match[1], match[2] or "main")
        if match := re.fullmatch(r"/api/(?:datasets|models)/([^/]+/[^/]+)/tree/([^/]+)(?:/(.+))?", path):
            return self.tree(match[1], match[2], match[3] or "")
        if match := re.fullmatch(r"/(?:datasets/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            return self.file(match[1], match[2], match[3])
        return self.refuse(404, "")

    def repository(self, name: str, revision: str) -> Repository | None:
        repository = self.hub.repositories.get(name)
        if repository is None:
            self.refuse(401, "RepoNotFound")  # the real hub does not tell private from absent
            return None
        if repository.token and self.headers.get("Authorization") != f"Bearer {repository.token}":
            self.refuse(401, "RepoNotFound")
            return None
        if revision != repository.commit and revision not in repository.branches:
            self.refuse(404, "RevisionNotFound")
            return None
        return repository

    def info(self, name: str, revision: str) -> None:
        if self.hub.says is not None:
            return self.send(200, self.hub.says, {"Content-Type": "application/json"})
        repository = self.repository(name, revision)
        if repository is None:
            return
        body = {
            "id": name,
            "sha": repository.commit,
            "private": bool(repository.token),
            "disabled": False,
            "gated": False,
            "downloads": 0,
            "likes": 0,
            "tags": [],
            "siblings": [{"rfilename": file} for file in repository.files],
        }
        self.send(200, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def tree(self, name: str, revision: str, folder: str) -> None:
        repository = self.repository(name, revision)
        if repository is None:
            return
        files = [
            {"type": "file", "path": file, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
            for file, content in repository.files.items()
            if not folder or file.startswith(f"{folder}/")
        ]
        self.send(200, json.dumps(files).encode(), {"Content-Type": "application/json"})

    def file(self, name: str, revision: str, file: str) -> None:
        repository = self.repository(name, revision)
        if repository is None:
            return
        if file not in repository.files:
            return self.refuse(404, "EntryNotFound")
        content = repository.files[file]
        headers = {
            "ETag": f'"{hashlib.sha256(content).hexdigest()}"',
            "X-Repo-Commit": repository.commit,
            "Accept-Ranges": "bytes",
            "X-Linked-Size": str(len(content)),
            "X-Linked-Etag": f'"{hashlib.sha256(content).hexdigest()}"',
        }
        if self.command == "HEAD":
            return self.send(200, content, headers)
        content = content[: len(content) - self.hub.short_by.get(file, 0)]
        status, start = 200, 0
        if match := re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or ""):
            status, start = 206, int(match[1])
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        return self.send(status, content[start:], headers, self.hub.break_after.pop(file, None))

    def refuse(self, status: int, code: str) -> None:
        self.send(status, b"{}", {"X-Error-Code": code} if code else {})


@contextmanager
def serve(repositories: dict[str, Repository]) -> Iterator[Hub]:
    """A hub on a free port of loopback."""
    hub = Hub(repositories)
    with running(type("BoundHandler", (Handler,), {"hub": hub})) as hub.url:
        yield hub

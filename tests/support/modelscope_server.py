"""A small ModelScope on loopback: what its client needs to list and fetch models and datasets, and refusals on request.

Answers are wrapped as the real service wraps them (`Code`, `Success`, `Data`). Repositories are dictionaries of files.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlparse

from loopback import Answering, running

COMMIT = "c0ffee" * 6 + "cafe"


@dataclass
class Scope:
    """What the server holds and what it was asked."""

    repositories: dict[str, dict[str, bytes]]
    revisions: tuple[str, ...] = ("master",)
    damaged: set[str] = field(default_factory=set)
    """Files whose content is not what its sum says."""
    requests: list[tuple[str, str]] = field(default_factory=list)
    url: str = ""

    def fetched(self, file: str) -> int:
        """How often the content of a file was asked for."""
        return sum(method == "GET" and path.endswith(file) for method, path in self.requests)


class Handler(Answering):
    scope: Scope

    def answer(self) -> None:
        parts = urlparse(self.path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        match = re.match(r"(?:/api/v1)?/(?:models|datasets)/(\d+|[^/]+/[^/]+)(?:/(.*))?$", unquote(parts.path))
        name, rest = (match[1], match[2] or "") if match else ("", "")
        if name.isdecimal():  # datasets are asked for by the number that was told for their name
            name = list(self.scope.repositories)[int(name)]
        resolved = re.fullmatch(r"resolve/([^/]+)/(.+)", rest)
        file = resolved[2] if resolved else asked.get("FilePath", "")
        self.scope.requests.append((self.command, f"{parts.path} {file}".strip()))
        files = self.scope.repositories.get(name)
        revision = resolved[1] if resolved else asked.get("Revision", "master")
        if files is None or revision not in self.scope.revisions:
            return self.refuse("no such repository or revision")
        if "revisions" in rest:
            branches = [{"Revision": branch, "BranchName": branch} for branch in self.scope.revisions]
            return self.data({"RevisionMap": {"Branches": branches, "Tags": []}, "Total": len(branches)})
        if rest.endswith(("repo/files", "repo/tree")):
            return self.data({"Files": [_described(path, content) for path, content in files.items()]})
        if not rest:
            number = list(self.scope.repositories).index(name)
            return self.data({"Id": number, "Type": 1, "Name": name, "Path": name.partition("/")[0]})
        if file in files:
            return self.content(file, files[file])
        return self.refuse("no such file")

    def data(self, value: Any) -> None:
        body = {"Code": 200, "Success": True, "Message": "success", "Data": value}
        self.send(200, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def refuse(self, message: str) -> None:
        body = {"Code": 10010205001, "Success": False, "Message": message, "Data": None}
        self.send(404, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def content(self, file: str, content: bytes) -> None:
        if file in self.scope.damaged:
            content = b"?" * len(content)
        status, headers = 200, {"ETag": f'"{hashlib.sha256(content).hexdigest()}"', "Accept-Ranges": "bytes"}
        if wanted := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or ""):
            first, last = int(wanted[1]), int(wanted[2] or len(content) - 1)
            headers["Content-Range"] = f"bytes {first}-{min(last, len(content) - 1)}/{len(content)}"
            status, content = 206, content[first : last + 1]
        self.send(status, content, headers)


def _described(path: str, content: bytes) -> dict[str, Any]:
    sha = hashlib.sha256(content).hexdigest()
    when = {"CommittedDate": 1_700_000_000, "CommitId": COMMIT, "Revision": COMMIT}
    return {"Path": path, "Name": path.rpartition("/")[2], "Type": "blob", "Size": len(content), "Sha256": sha, **when}


@contextmanager
def serve(repositories: dict[str, dict[str, bytes]], **conditions: Any) -> Iterator[Scope]:
    """The server, for the time of the block."""
    scope = Scope(repositories, **conditions)
    with running(type("Bound", (Handler,), {"scope": scope})) as scope.url:
        yield scope

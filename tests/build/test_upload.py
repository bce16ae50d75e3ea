"""Publishing with the real client, in a process of its own, to a hub on loopback that takes commits."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from build_parts import big_set

from steelyard.build.sample.recipe import Recipe
from steelyard.build.sample.sampler import sample_set
from steelyard.build.upload import prepare_upload
from steelyard.datasets import load_task
from steelyard.errors import DataError, UsageError

TOKEN = "hf_right"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Taking:
    """What was sent."""

    url: str = ""
    created: list[dict[str, Any]] = field(default_factory=list)
    commits: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Taking

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self.reply(404, {})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/api/validate-yaml":
            return self.reply(200, {"errors": [], "warnings": []})
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self.reply(401, {"error": "Invalid credentials"})
        if self.path == "/api/repos/create":
            self.hub.created.append(json.loads(body))
            return self.reply(200, {"url": f"{self.hub.url}/datasets/me/NanoMine", "id": "1", "name": "me/NanoMine"})
        if re.fullmatch(r"/api/datasets/me/NanoMine/preupload/main(\?.*)?", self.path):
            names = [file["path"] for file in json.loads(body)["files"]]
            return self.reply(
                200, {"files": [{"path": n, "uploadMode": "regular", "shouldIgnore": False} for n in names]}
            )
        if re.fullmatch(r"/api/datasets/me/NanoMine/commit/main(\?.*)?", self.path):
            return self.commit(body)
        return self.reply(404, {"error": self.path})

    def commit(self, body: bytes) -> None:
        for line in map(json.loads, body.splitlines()):
            if line["key"] == "header":
                self.hub.commits.append(line["value"])
            elif line["key"] == "file":
                self.hub.files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
        url = f"{self.hub.url}/datasets/me/NanoMine/commit/{COMMIT}"
        self.reply(200, {"commitUrl": url, "commitOid": COMMIT, "hookOutput": "", "success": True})

    def reply(self, status: int, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def hub() -> Iterator[Taking]:
    taking = Taking()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"hub": taking}))
    server.daemon_threads = True
    taking.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield taking
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("set")
    return sample_set(
        str(big_set(base / "source", documents=500)), base / "NanoMine", Recipe(queries=10, documents=100)
    ).folder


def publish(folder: Path, hub: Taking, *flags: str, token: str = TOKEN) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "HF_ENDPOINT": hub.url,
        "HF_TOKEN": token,
        "HF_HOME": str(folder.parent / "hf"),
        "HF_HUB_OFFLINE": "0",
        "HF_HUB_DISABLE_XET": "1",
    }
    command = [sys.executable, "-m", "steelyard", "publish", str(folder), "me/NanoMine", *flags]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_a_dry_run_sends_nothing(folder: Path, hub: Taking) -> None:
    done = publish(folder, hub, "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["commit"] is None and not hub.created and not hub.commits
    assert {"README.md", "eval.yaml", "manifest.json", "corpus/source.parquet", "metadata/source.json"} <= set(
        told["files"]
    )


def test_what_is_published_is_the_set(folder: Path, hub: Taking, tmp_path: Path) -> None:
    done = publish(folder, hub, "--private", "--message", "First")
    assert done.returncode == 0, done.stderr
    assert COMMIT in done.stderr
    made = hub.created[0]
    assert made["type"] == "dataset"
    assert made.get("visibility") == "private" or made.get("private") is True, (
        "the client's versions say it differently"
    )
    assert len(hub.commits) == 1 and hub.commits[0]["summary"] == "First"
    for name, content in hub.files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    assert load_task(str(tmp_path)).content_hash == load_task(str(folder)).content_hash


def test_a_wrong_token_is_told(folder: Path, hub: Taking) -> None:
    done = publish(folder, hub, token="hf_wrong")
    assert done.returncode == 3 and "me/NanoMine (401)" in done.stderr
    assert "HF_TOKEN" in done.stderr and not hub.files


def test_what_is_not_a_finished_set_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        prepare_upload(folder, "NanoMine")
    with pytest.raises(DataError, match=r"manifest\.json"):
        prepare_upload(tmp_path, "me/NanoMine")
    import shutil

    shutil.copytree(folder, tmp_path / "set")
    (tmp_path / "set" / "qrels" / "source.parquet").write_bytes(b"changed")
    with pytest.raises(DataError, match=r"manifest\.json.*qrels/source\.parquet"):
        prepare_upload(tmp_path / "set", "me/NanoMine")

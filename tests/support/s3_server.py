"""A real S3-compatible server on loopback (moto), in its own process."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def s3_server(folder: Path) -> Iterator[str]:
    """Start the server and yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            for _ in range(300):
                try:
                    urllib.request.urlopen(url, timeout=5).close()
                    break
                except OSError:
                    assert process.poll() is None, (folder / "log").read_text()
                    time.sleep(0.1)
            yield url
        finally:
            process.kill()

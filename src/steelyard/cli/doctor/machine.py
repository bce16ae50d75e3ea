"""`steelyard doctor machine`: check what is installed, missing or slow on this machine."""

from __future__ import annotations

import os
import platform
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING

from steelyard import __version__
from steelyard.cli._ui.wording import byte_size
from steelyard.config import machine_memory

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output
    from steelyard.config import Settings

NAME = re.compile(r"[A-Za-z0-9._-]+")
EXTRA = re.compile(r"""extra == ['"]([a-z0-9-]+)['"]""")
BOUND = re.compile(r"(==|>=)\s*([\d.]+)")
SENTENCES = ("Where does the river rise?", "Die Katze schläft auf dem Sofa.", "机器学习模型", "この本はとても面白い。")


@dataclass(frozen=True)
class Finding:
    """One check. `status` is `ok`, `optional` (not installed and not required), `poor` or `missing`."""

    topic: str
    status: str
    found: str
    remedy: str | None = None


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the job."""
    parser.add_argument("--no-speed", action="store_true", help="Skip the speed checks, which take some seconds.")


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Run all checks and return the exit code: 3 if something required is missing."""
    findings = [*_system(), *_packages(), *_folders(arguments.settings), *_hub(arguments.settings)]
    broken = any(finding.status == "missing" for finding in findings)
    if not arguments.no_speed and not broken:
        findings += _speed()
    if output.json:
        output.data({"ok": not broken, "findings": [vars(finding) for finding in findings]})
    else:
        rows = [[finding.topic, finding.status, finding.found] for finding in findings]
        output.table(["check", "status", "found"], rows)
        for finding in findings:
            if finding.remedy:
                output.note(f"{finding.topic}: {finding.remedy}")
    return 3 if broken else 0


def _system() -> Iterator[Finding]:
    yield Finding("steelyard", "ok", __version__)
    yield Finding("python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield Finding("cores", "ok", f"{usable} usable of {os.cpu_count()}")
    memory = machine_memory()
    if memory is not None:
        few = memory < 4 * 10**9
        yield Finding(
            "memory", "poor" if few else "ok", byte_size(memory), "large sets need 4 GB or more" if few else None
        )


def _packages() -> Iterator[Finding]:
    """Check the packages that Steelyard requires one by one, and its extras as a whole."""
    extras: dict[str, list[str]] = {}
    for requirement in metadata.requires("steelyard") or []:
        name = NAME.match(requirement)
        if name is None or name[0] == "steelyard":
            continue
        version, fits = _installed(name[0], requirement)
        if extra := EXTRA.search(requirement):
            if extra[1] != "all":  # all other extras together
                extras.setdefault(extra[1], []).append("" if fits else name[0])
            continue
        required = requirement.partition(";")[0].strip()
        remedy = None if fits else f"pip install '{required}'"
        yield Finding(name[0], "ok" if fits else "missing", version or "not installed", remedy)
    for extra_name, packages in sorted(extras.items()):
        lacking = [package for package in packages if package]
        state = f"missing: {', '.join(lacking)}" if lacking else "installed"
        remedy = f"pip install 'steelyard[{extra_name}]'" if lacking else None
        yield Finding(f"extra [{extra_name}]", "optional" if lacking else "ok", state, remedy)


def _installed(name: str, requirement: str) -> tuple[str | None, bool]:
    """Return the installed version, and whether it meets the `==` or `>=` of the requirement."""
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return None, False
    return version, all(
        version == bound if relation == "==" else _numbers(version) >= _numbers(bound)
        for relation, bound in BOUND.findall(requirement.partition(";")[0])
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version.partition("+")[0])))


def _folders(settings: Settings) -> Iterator[Finding]:
    from steelyard.cache import cached_entries

    home = settings.home
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=home):
            pass
    except OSError as error:
        remedy = "set STEELYARD_HOME to a folder with write permission"
        yield Finding("home folder", "missing", f"{home}: {error.strerror or error}", remedy)
        return
    used = sum(entry.bytes for entry in cached_entries(home))
    limit = f"vectors up to {byte_size(settings.cache_bytes)}" if settings.cache_bytes else "vectors are not stored"
    yield Finding("home folder", "ok", f"{home}, {byte_size(used)} used, {limit}")


def _hub(settings: Settings) -> Iterator[Finding]:
    """Check the hub client: its address, and whether there is a token (never the token)."""
    from huggingface_hub import constants, get_token

    endpoint = "offline" if settings.offline else constants.ENDPOINT
    yield Finding("hub", "ok", f"{endpoint}, {'with' if get_token() else 'without'} a token")


def _speed() -> Iterator[Finding]:
    import numpy as np

    from steelyard.encoders import load_encoder

    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    square = np.ones((1024, 1024), dtype=np.float32)
    rate = 2 * 1024**3 * _per_second(lambda: square @ square)
    slow = rate < 10e9
    remedy = "install numpy from PyPI, which has a fast BLAS; or stop other programs that use the cores"
    blas_rate = f"{blas['name']} {blas.get('version', '')}: {rate / 1e9:.0f} GFLOP/s"
    yield Finding("matrix product", "poor" if slow else "ok", blas_rate, remedy if slow else None)
    encoder = load_encoder("use-multilingual-v3")
    texts = [f"{sentence} {number}" for number in range(50) for sentence in SENTENCES]
    texts_rate = len(texts) * _per_second(lambda: encoder.encode(texts, "document"))
    slow = texts_rate < 100
    yield Finding(encoder.name, "poor" if slow else "ok", f"{texts_rate:,.0f} short texts/s", remedy if slow else None)


def _per_second(work: Callable[[], object]) -> float:
    """Return how many times per second the work can run: the best within half a second, after one warm-up."""
    work()
    best, begin = 0.0, time.perf_counter()
    while time.perf_counter() - begin < 0.5:
        start = time.perf_counter()
        work()
        best = max(best, 1 / (time.perf_counter() - start))
    return best

"""Encoders that workers on other processes and nodes import; what they do beyond encoding is set by the environment.

STEELYARD_TEST_LOG    a file that gets a line for every batch: hash of the batch, texts, process, node
STEELYARD_TEST_NODE   the name of the node: `slow` sleeps in every batch, on `full` no file can be written, `patient`
                      waits until both have begun a batch
"""

from __future__ import annotations

import hashlib
import os
import resource
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from steelyard.types import Float32, Task

SECONDS = 0.1
POISON = "poison"


def letters(texts: Sequence[str]) -> Float32:
    """Return counts of letters, with a part that depends on the whole batch, as on a GPU."""
    node = os.environ.get("STEELYARD_TEST_NODE", "")
    content = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
    if log := os.environ.get("STEELYARD_TEST_LOG"):
        with Path(log).open("a") as file:
            file.write(f"{content} {len(texts)} {os.getpid()} {node}\n")
        if node == "patient" and len(texts) > 1:
            _wait_for(Path(log), "slow", "full")
    if node == "full":
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))  # every larger file fails to be written
    time.sleep(60 if node == "slow" and len(texts) > 1 else SECONDS)
    counts = np.array([[text.count(letter) for letter in "abcdefghijklmnop"] for text in texts], dtype=np.float32)
    return counts + np.float32(1e-3) * counts.mean(axis=0) + np.float32(0.5)


def _wait_for(log: Path, *nodes: str) -> None:
    for _ in range(600):
        begun = {line.rpartition(" ")[2] for line in log.read_text().splitlines() if " 1 " not in line}
        if begun.issuperset(nodes):
            return
        time.sleep(0.05)


def poisoned(texts: Sequence[str]) -> Float32:
    """Encode like `letters`, but kill the process for a text that contains a word."""
    vectors = letters(texts)
    if any(POISON in text for text in texts):
        os.kill(os.getpid(), signal.SIGKILL)
    return vectors


def observed(texts: Sequence[str]) -> Float32:
    """Encode like `letters`, and append the environment and the command line of this process to the log."""
    with Path(os.environ["STEELYARD_TEST_LOG"] + ".process").open("ab") as file:
        for part in ("environ", "cmdline"):
            file.write(Path("/proc/self", part).read_bytes())
    return letters(texts)


def hanging(texts: Sequence[str]) -> Float32:
    """Encode like `letters`, but never return for a text that contains a word."""
    if any(POISON in text for text in texts):
        time.sleep(3600)
    return letters(texts)


def leaking(texts: Sequence[str]) -> Float32:
    """Encode like `letters`, but keep 60 MB for each batch, and allocate without end for a text with a word."""
    _leaked.append(np.ones(60_000_000, dtype=np.uint8))
    while any(POISON in text for text in texts) and len(_leaked) < 100:  # 6 GB at most
        _leaked.append(np.ones(60_000_000, dtype=np.uint8))
        time.sleep(0.05)
    return letters(texts)


_leaked: list[object] = []


def task(name: str, documents: int, *, poison: bool = False) -> Task:
    """Return a task of texts of about 550 characters, so that 512 of them make a shard."""
    generator = np.random.default_rng([len(name), documents])
    words = ["".join(generator.choice(list("abcdefghijklmnop"), 9)) for _ in range(300)]
    corpus = {f"d{row}": " ".join(generator.choice(words, 55)) for row in range(documents)}
    if poison:
        corpus["d0"] += f" {POISON}"
    queries = {f"q{row}": " ".join(corpus[f"d{row}"].split()[:20]) for row in range(10)}
    return Task.of(name, corpus, queries, {f"q{row}": {f"d{row}": 1} for row in range(10)}, language="en")

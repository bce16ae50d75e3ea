"""Where things are kept, and the few settings that come from the environment.

STEELYARD_HOME          cache of vectors and built-in sets   (default: the user's cache folder + /steelyard)
STEELYARD_RESULTS       where results go                     (default: ./results)
STEELYARD_CACHE_BYTES   the most that stored vectors may take (default: 10GB; 0: store none)
STEELYARD_HUB           where published datasets come from: huggingface (default) or modelscope
STEELYARD_DATA          a folder of copies of published datasets, read instead of any hub
STEELYARD_DEVICE        where models compute that do not say so themselves: auto (default), cpu, cuda:0,cuda:1, mps ...
STEELYARD_OFFLINE       1: never reach for the network       (HF_HUB_OFFLINE does the same)

The variables of the hub clients (HF_TOKEN, HF_HOME, HF_ENDPOINT, HF_HUB_OFFLINE) are left to those clients.
"""

from __future__ import annotations

import os
from pathlib import Path

from steelyard.errors import UnknownName

TRUE_WORDS = {"1", "true", "yes", "on"}
HUBS = ("huggingface", "modelscope")
"""The hubs that datasets can come from."""


def home() -> Path:
    """The folder of everything that can be made again."""
    if path := os.environ.get("STEELYARD_HOME"):
        return Path(path).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "steelyard"


def results_folder() -> Path:
    """Where results are written unless the command says otherwise."""
    return Path(os.environ.get("STEELYARD_RESULTS", "results")).expanduser()


def offline() -> bool:
    """Whether the network is off limits."""
    return any(os.environ.get(name, "").lower() in TRUE_WORDS for name in ("STEELYARD_OFFLINE", "HF_HUB_OFFLINE"))


def device() -> str:
    """Where models compute whose names do not say so."""
    return os.environ.get("STEELYARD_DEVICE") or "auto"


def hub() -> str:
    """Where published datasets come from."""
    name = os.environ.get("STEELYARD_HUB") or HUBS[0]
    if name not in HUBS:
        raise UnknownName("hub", name, HUBS, hint=f"STEELYARD_HUB is one of {', '.join(HUBS)}")
    return name


def data_folder() -> Path | None:
    """Where copies of published datasets are read from instead of any hub; None: nowhere."""
    path = os.environ.get("STEELYARD_DATA")
    return Path(path).expanduser() if path else None

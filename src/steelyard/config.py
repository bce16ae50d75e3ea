"""Where things are kept, and the few settings that come from the environment.

STEELYARD_HOME          cache of vectors and built-in sets   (default: the user's cache folder + /steelyard)
STEELYARD_RESULTS       where results go                     (default: ./results)
STEELYARD_CACHE_BYTES   the most that stored vectors may take (default: 10GB; 0: store none)
STEELYARD_OFFLINE       1: never reach for the network       (HF_HUB_OFFLINE does the same)

The variables of the hub clients (HF_TOKEN, HF_HOME, HF_ENDPOINT, HF_HUB_OFFLINE) are left to those clients.
"""

from __future__ import annotations

import os
from pathlib import Path

TRUE_WORDS = {"1", "true", "yes", "on"}


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

"""Where things are kept, and the few settings that come from the environment.

STEELYARD_HOME          cache of vectors and built-in sets   (default: the user's cache folder + /steelyard)
STEELYARD_RESULTS       where results go                     (default: ./results)
STEELYARD_CACHE_BYTES   the most that stored vectors may take (default: 10GB; 0: store none)
STEELYARD_HUB           where published datasets come from: huggingface (default) or modelscope
STEELYARD_DATA          a folder of copies of published datasets, read instead of any hub
STEELYARD_DEVICE        where models compute that do not say so themselves: auto (default), cpu, cuda:0,cuda:1, mps ...
STEELYARD_OFFLINE       1: never reach for the network       (HF_HUB_OFFLINE does the same)

What is not in the environment may stand in `steelyard.toml` in the folder where the command is given, by the same name
without STEELYARD_ and in small letters: `results = "weighed"`, `cache_bytes = "20GB"`, `offline = true`.

The variables of the hub clients (HF_TOKEN, HF_HOME, HF_ENDPOINT, HF_HUB_OFFLINE) are left to those clients.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from steelyard.errors import DataError, UnknownName

TRUE_WORDS = {"1", "true", "yes", "on"}
FALSE_WORDS = {"0", "false", "no", "off"}
HUBS = ("huggingface", "modelscope")
"""The hubs that datasets can come from."""
FILE = "steelyard.toml"
SETTINGS = ("home", "results", "cache_bytes", "hub", "data", "device", "offline")
"""What the file may say."""


def setting(name: str) -> str | None:
    """What the variable of that name says, else the file; None where both are silent."""
    return os.environ.get(f"STEELYARD_{name.upper()}") or _from_file().get(name)


def check() -> None:
    """Say what is wrong with the settings, if anything, also where none of them will be asked for."""
    _from_file()
    offline()
    hub()


def _from_file() -> dict[str, str]:
    path = Path(FILE).absolute()
    return _read(path, path.stat().st_mtime_ns) if path.is_file() else {}


@lru_cache(maxsize=1)
def _read(path: Path, changed: int) -> dict[str, str]:
    """The settings in the file; what is none of them, or no value, is an error."""
    import tomllib

    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", where=str(path), hint="see who may read it") from error
    except ValueError as error:
        raise DataError(f"not TOML: {error}", where=str(path), hint='such as: results = "weighed"') from error
    for name, value in found.items():
        if name not in SETTINGS:
            raise UnknownName(f"setting in {path}", name, SETTINGS, hint=f"known: {', '.join(SETTINGS)}")
        if not isinstance(value, str | bool | int):
            raise DataError(f"{name} is {value!r}", where=str(path), hint="a text, a whole number, true or false")
    return {name: str(value) for name, value in found.items()}


def home() -> Path:
    """The folder of everything that can be made again."""
    if path := setting("home"):
        return Path(path).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "steelyard"


def results_folder() -> Path:
    """Where results are written unless the command says otherwise."""
    return Path(setting("results") or "results").expanduser()


def offline() -> bool:
    """Whether the network is off limits; a word that is neither yes nor no is an error, lest it be taken for no."""
    said = (setting("offline") or "no").lower()
    if said not in TRUE_WORDS | FALSE_WORDS:
        known = ", ".join(sorted(TRUE_WORDS | FALSE_WORDS))
        raise UnknownName(
            "word of offline", said, (), hint=f"STEELYARD_OFFLINE, or offline in {FILE}, is one of {known}"
        )
    return said in TRUE_WORDS or os.environ.get("HF_HUB_OFFLINE", "").lower() in TRUE_WORDS


def device() -> str:
    """Where models compute whose names do not say so."""
    return setting("device") or "auto"


def hub() -> str:
    """Where published datasets come from."""
    name = setting("hub") or HUBS[0]
    if name not in HUBS:
        raise UnknownName("hub", name, HUBS, hint=f"STEELYARD_HUB, or hub in {FILE}, is one of {', '.join(HUBS)}")
    return name


def data_folder() -> Path | None:
    """Where copies of published datasets are read from instead of any hub; None: nowhere."""
    path = setting("data")
    return Path(path).expanduser() if path else None

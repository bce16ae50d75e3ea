"""Settings of an evaluation: where data, models and results are, and what the machine may do.

One frozen `Settings` value is made by the command line, or by the Python caller, and passed down to every loader. Each
setting comes from the first of these places that has it: the argument, the environment, `steelyard.toml` in the
current folder, the default.

| setting       | environment             | meaning                                                                 |
|---------------|-------------------------|-------------------------------------------------------------------------|
| `device`      | `STEELYARD_DEVICE`      | device of models that do not name one: `auto`, `cpu`, `cuda:0,cuda:1`    |
| `offline`     | `STEELYARD_OFFLINE`     | never use the network (`HF_HUB_OFFLINE` does the same)                   |
| `hub`         | `STEELYARD_HUB`         | hub of published datasets: `huggingface` (default) or `modelscope`       |
| `data`        | `STEELYARD_DATA`        | folder of copies of published datasets, read instead of any hub          |
| `home`        | `STEELYARD_HOME`        | folder of vectors and built-in sets (default: user cache + `/steelyard`) |
| `cache_bytes` | `STEELYARD_CACHE_BYTES` | limit of stored vectors, such as `500MB` (default `10GB`; 0: store none) |
| `vectors`     | `STEELYARD_VECTORS`     | store of vectors that machines share: a folder or `s3://BUCKET/PATH`     |
| `memory_bytes`| `STEELYARD_MEMORY_BYTES`| largest index in memory; larger ones are mapped files (default: a quarter) |
| `threads`     | `STEELYARD_THREADS`     | threads of BM25 (default: available cores, at most 8)                    |
| `results`     | `STEELYARD_RESULTS`     | folder of results (default `results`)                                    |

`missing_judgements` (`STEELYARD_MISSING_JUDGEMENTS`) is what to do with judgements of documents that are not in the
corpus: `count` them as not retrieved, as trec_eval does (default), `ignore` them, or `error`.

`home` and `vectors` are not accepted from `steelyard.toml`: a file that comes with a project must not choose the folder
that `steelyard cache rm` empties, or where vectors are sent. The hub clients read their own variables (HF_TOKEN,
HF_HOME, HF_ENDPOINT) themselves.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from steelyard.errors import DataError, UnknownName, UsageError

TRUE_WORDS = {"1", "true", "yes", "on"}
FALSE_WORDS = {"0", "false", "no", "off"}
HUBS = ("huggingface", "modelscope")
"""Hubs of datasets."""
MISSING_JUDGEMENTS = ("count", "ignore", "error")
"""What to do with judgements of documents that are not in the corpus; the first is the default."""
FILE = "steelyard.toml"
CGROUP_LIMITS = [Path("/sys/fs/cgroup", name) for name in ("memory.max", "memory/memory.limit_in_bytes")]
"""Where Linux keeps the limit of memory of a container, in version 2 and 1 of control groups."""
PREFIX = "STEELYARD_"
UNITS = {"": 1, "B": 1, "K": 10**3, "KB": 10**3, "M": 10**6, "MB": 10**6, "G": 10**9, "GB": 10**9, "T": 10**12}
UNITS |= {"TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def default_home() -> Path:
    """Return the folder for files that can be made again: `steelyard` in the user's cache folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "steelyard"


def machine_memory() -> int | None:
    """Return the memory of this machine, or of the container that limits it; None if it is not known."""
    sizes = []
    for path in CGROUP_LIMITS:
        with suppress(OSError, ValueError):  # "max": no limit
            sizes.append(int(path.read_text(encoding="ascii")))
    with suppress(AttributeError, ValueError, OSError):
        sizes.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return min(sizes, default=None)


def default_memory() -> int:
    """Return a quarter of the memory of this machine, or 2 GB if it is not known."""
    size = machine_memory()
    return 2 * 10**9 if size is None else size // 4


@dataclass(frozen=True)
class Settings:
    """Settings of one evaluation; `Settings.load` merges arguments, environment, file and defaults.

    >>> settings = Settings.load(offline=True, cache_bytes="2GB")
    >>> settings.offline, settings.cache_bytes
    (True, 2000000000)
    """

    device: str = "auto"
    """Device of models whose names do not include one."""
    offline: bool = False
    """Never use the network."""
    hub: str = HUBS[0]
    """Hub of published datasets."""
    data: Path | None = None
    """Folder of copies of published datasets, read instead of any hub."""
    home: Path = field(default_factory=default_home)
    """Folder of files that can be made again: vectors, built-in sets, hashes."""
    cache_bytes: int = 10 * 10**9
    """Limit of stored vectors, in bytes; 0 stores none."""
    vectors: str | None = None
    """Store of vectors that machines share, a folder or a URL that fsspec can open; None: only that in `home`."""
    memory_bytes: int = field(default_factory=default_memory)
    """The largest index of a corpus in memory; a larger one is a memory-mapped file below `home`."""
    threads: int | None = None
    """Threads of BM25; None: the available cores, at most 8."""
    results: Path = Path("results")
    """Folder of results."""
    missing_judgements: str = MISSING_JUDGEMENTS[0]
    """Judged documents outside the corpus: `count` them as not retrieved, as trec_eval does, `ignore`, or `error`."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    """API keys by the name that models use for them (`key_env=NAME`); the environment is read for other names."""

    def __post_init__(self) -> None:
        for name, reader in _READERS.items():
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, reader.read(name, value))

    @classmethod
    def load(cls, *, defaults: Mapping[str, Any] | None = None, **overrides: Any) -> Settings:
        """Merge arguments (None: not given), the environment, `steelyard.toml` and the defaults, in this order."""
        return cls(**{**(defaults or {}), **_from_file(), **_from_environment(), **_known(overrides)})

    def updated(self, **overrides: Any) -> Settings:
        """Return these settings with the given ones replaced; None leaves a setting as it is."""
        known = _known(overrides)
        return replace(self, **known) if known else self

    def secret(self, name: str) -> str | None:
        """Return the API key of that name, from `secrets` or the environment variable; None if neither has it."""
        return self.secrets.get(name) or os.environ.get(name)


def _known(overrides: Mapping[str, Any]) -> dict[str, Any]:
    for name in overrides:
        if name not in _READERS:
            raise UnknownName("setting", name, _READERS, hint=f"known: {', '.join(_READERS)}")
    return {name: value for name, value in overrides.items() if value is not None}


def _from_environment() -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, reader in _READERS.items():
        variable = f"{PREFIX}{name.upper()}"
        if name != "secrets" and (text := os.environ.get(variable)):
            values[name] = reader.read(variable, text)
    if os.environ.get("HF_HUB_OFFLINE", "").lower() in TRUE_WORDS:
        values["offline"] = True
    return values


def _from_file() -> dict[str, Any]:
    """Return the settings of `steelyard.toml` in the current folder; an unknown name or a bad value is an error."""
    path = Path(FILE).absolute()
    if not path.is_file():
        return {}
    import tomllib

    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(
            f"the file cannot be read: {error.strerror}", path=path, hint="check its permissions"
        ) from error
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"the file is not valid TOML: {error}", path=path, hint='write, for example: results = "out"'
        ) from error
    for name, value in table.items():
        if name == "home":
            raise DataError(
                "home must not be set in a project's file, because `steelyard cache rm` empties that folder",
                path=path,
                field=name,
                found=value,
                hint=f"export {PREFIX}HOME=FOLDER",
            )
        if name not in FILE_SETTINGS:
            raise UnknownName(f"setting in {path}", name, FILE_SETTINGS, hint=f"known: {', '.join(FILE_SETTINGS)}")
    try:
        return {name: _READERS[name].read(name, value) for name, value in table.items()}
    except UsageError as error:
        raise DataError(
            error.message, path=path, field=error.option, found=error.found, expected=error.expected
        ) from error


@dataclass(frozen=True)
class _Reader:
    """How a value of a setting is read from text, TOML or Python."""

    convert: Callable[[Any], Any]
    expected: str

    def read(self, label: str, value: Any) -> Any:
        """Return the value in its own type; what cannot be one is a UsageError that names the label."""
        try:
            return self.convert(value)
        except (ValueError, TypeError, RuntimeError) as error:
            raise UsageError.invalid(label, expected=self.expected, found=value, option=label) from error


def parse_bytes(text: str | int, what: str = "the size") -> int:
    """Return the number of bytes of a size such as `500MB`.

    >>> parse_bytes("2GB"), parse_bytes("1.5 MiB"), parse_bytes("0")
    (2000000000, 1572864, 0)
    """
    match = re.fullmatch(r"\s*(\d{1,18}(?:\.\d{1,18})?)\s*([A-Za-z]*)\s*", str(text))
    if not match or match[2].upper() not in UNITS or isinstance(text, bool):
        raise UsageError.invalid(what, expected="a number of bytes such as 500MB, 2GB or 1.5GiB", found=text)
    return int(float(match[1]) * UNITS[match[2].upper()])


def _bytes(value: Any) -> int:
    try:
        return parse_bytes(value)
    except UsageError as error:
        raise ValueError from error


def _switch(value: Any) -> bool:
    word = str(value).lower()
    if word not in TRUE_WORDS | FALSE_WORDS:
        raise ValueError
    return word in TRUE_WORDS


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value


def _hub(value: Any) -> str:
    if value not in HUBS:
        raise ValueError
    return str(value)


def _missing_judgements(value: Any) -> str:
    if value not in MISSING_JUDGEMENTS:
        raise ValueError
    return str(value)


def _path(value: Any) -> Path:
    if not isinstance(value, str | Path) or not str(value).strip():
        raise ValueError
    path = Path(value)
    return path.expanduser() if str(path).startswith("~") else path


def _count(value: Any) -> int:
    if isinstance(value, bool | float) or int(value) < 1:
        raise ValueError
    return int(value)


_READERS = {
    "device": _Reader(_text, "a device such as auto, cpu or cuda:0"),
    "offline": _Reader(_switch, "true or false (1, yes, on, 0, no, off)"),
    "hub": _Reader(_hub, f"one of {', '.join(HUBS)}"),
    "data": _Reader(_path, "a folder"),
    "home": _Reader(_path, "a folder"),
    "cache_bytes": _Reader(_bytes, "a size such as 500MB, 2GB or 1.5GiB"),
    "vectors": _Reader(_text, "a folder or a URL such as s3://BUCKET/PATH"),
    "memory_bytes": _Reader(_bytes, "a size such as 500MB, 2GB or 1.5GiB"),
    "threads": _Reader(_count, "a whole number of at least 1"),
    "results": _Reader(_path, "a folder"),
    "missing_judgements": _Reader(_missing_judgements, f"one of {', '.join(MISSING_JUDGEMENTS)}"),
    "secrets": _Reader(dict, "a mapping of names to keys"),
}
FILE_SETTINGS = tuple(name for name in _READERS if name not in ("home", "secrets", "vectors"))
"""Settings that `steelyard.toml` may have."""

"""Training data by reference: a file, a folder, a dataset of a hub; each file is read by the reader of its format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from steelyard.audit.training_data import jsonlines, tables
from steelyard.audit.training_data.batches import Block
from steelyard.datasets.tables.files import format_of, open_bytes
from steelyard.errors import DataError, HubError, MissingPart, UsageError

HUB = "hf://"
DESCRIPTIONS = ("dataset_info.json", "dataset_infos.json", "state.json")
"""Files that describe a dataset and hold no rows."""
SUFFIXES = ".jsonl, .ndjson, .json, .csv, .tsv, .txt, .parquet, each also as .gz, .zst or .bz2"


@dataclass(frozen=True, eq=False)
class TrainingFile:
    """One file of training data, or records in memory."""

    name: str
    """As reports show it."""
    path: Path | None = None
    records: Iterable[Any] = ()
    relative: str = ""
    """The path below the folder that was named, or the name of the file."""

    @property
    def size(self) -> int:
        """Bytes on disk; 0 for records in memory."""
        return self.path.stat().st_size if self.path is not None and self.path.exists() else 0

    @property
    def fingerprint(self) -> str:
        """Changes when the file changes."""
        if self.path is None or not self.path.exists():
            return self.name
        facts = self.path.stat()
        return f"{self.name}:{facts.st_size}:{facts.st_mtime_ns}"

    def blocks(self, columns: Sequence[str] = ()) -> Iterator[Block]:
        """Yield the content in blocks; an unreadable file is a DataError or an OSError."""
        if self.path is None:
            return tables.read_records(self.records, columns)
        return _reader(self.path)(self.path, columns)


def _reader(path: Path) -> Callable[[Path, Sequence[str]], Iterator[Block]]:
    kind = format_of(path.name)
    if path.name.lower().partition(".")[2].startswith("txt"):
        return tables.read_lines
    if kind == "json":
        with open_bytes(path) as stream:
            head = bytes(stream.read(1 << 12)).lstrip(b"\xef\xbb\xbf \t\r\n")
        several = head.startswith(b"{") and b"\n{" in head
        return jsonlines.read_blocks if several else tables.read_array
    readers: dict[str | None, Callable[[Path, Sequence[str]], Iterator[Block]]] = {
        "jsonl": jsonlines.read_blocks,
        "parquet": tables.read_parquet,
        "csv": partial(tables.read_delimited, delimiter=","),
        "tsv": partial(tables.read_delimited, delimiter="\t"),
    }
    if kind not in readers:
        raise DataError("the format of the file must be known by its suffix", where=path.name, hint=f"use {SUFFIXES}")
    return readers[kind]


def training_files(references: Iterable[Any], *, offline: bool = False) -> list[TrainingFile]:
    """Return the files that the references name, folders expanded, in a fixed order.

    A reference is a path, `hf://owner/dataset[@revision][/folder]`, or in Python an iterable of records.
    """
    files: list[TrainingFile] = []
    for reference in references:
        if isinstance(reference, str) and reference.startswith(HUB):
            files += _in_folder(_downloaded(reference, offline=offline), reference)
        elif isinstance(reference, str | Path):
            files += _of_path(Path(reference))
        else:
            files.append(TrainingFile(f"records {len(files) + 1}", None, reference))
    if not files:
        raise UsageError("there is no training data to audit against", hint="name a file or a folder with --against")
    return files


def _of_path(path: Path) -> list[TrainingFile]:
    if path.is_dir():
        return _in_folder(path, str(path))
    if not path.exists():
        raise MissingPart(f"training data does not exist: {path}", hint="check the path, or use hf://owner/dataset")
    return [TrainingFile(str(path), path, relative=path.name)]


def _in_folder(folder: Path, name: str) -> list[TrainingFile]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and format_of(path.name))
    paths = [path for path in paths if not path.name.endswith(DESCRIPTIONS)]
    if not paths:
        raise DataError("the folder does not hold training data", where=name, hint=f"files are {SUFFIXES}")
    relative = [path.relative_to(folder).as_posix() for path in paths]
    return [
        TrainingFile(f"{name.rstrip('/')}/{below}", path, relative=below)
        for path, below in zip(paths, relative, strict=True)
    ]


def _downloaded(reference: str, *, offline: bool) -> Path:
    """Return the folder that a dataset of the Hugging Face hub was downloaded to."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, RepositoryNotFoundError

    repository, _, rest = reference.removeprefix(HUB).partition("@")
    owner, _, tail = repository.partition("/")
    name, _, folder = tail.partition("/")
    revision, _, inside = rest.partition("/")
    folder = folder or inside
    if not owner or not name:
        raise UsageError(f"a dataset of the hub must be hf://owner/dataset, got {reference}", hint="add the owner")
    try:
        path = snapshot_download(
            f"{owner}/{name}",
            repo_type="dataset",
            revision=revision or None,
            allow_patterns=[f"{folder}/*"] if folder else None,
            local_files_only=offline,
        )
    except (RepositoryNotFoundError, LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise HubError(f"{reference} cannot be downloaded: {reason}", hint="check the name and the network") from error
    return Path(path) / folder

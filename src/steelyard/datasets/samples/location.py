"""One's own data of every type.

    sts:./pairs.jsonl                            a file
    classification:./train.csv,./test.csv        training texts, then those to classify
    clustering:./folder?bootstrap=true           a folder: test.*, or its only file; options behind a question mark
    pair_classification:./folder::validation     another split of it
    reranking:./rows.jsonl                       rows of query, positives, negatives; or a folder with candidates

A folder may have a `task.json` that tells type, languages, licence and the constants of the type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from steelyard.datasets.formats.folder import Place, listing, near, places
from steelyard.datasets.formats.layout import find_tasks
from steelyard.datasets.formats.sidecar import SIDECAR, read_json_object, task_info
from steelyard.datasets.problems import Report, Validate
from steelyard.datasets.samples.build import TRAIN, build
from steelyard.datasets.samples.constants import Constants, known_facts
from steelyard.datasets.samples.roles import ROLES
from steelyard.datasets.samples.splits import KIN, USUAL, find_splits, kin, weighed_split
from steelyard.datasets.sources import TYPES
from steelyard.datasets.tables.files import format_of, plain_name
from steelyard.datasets.tables.tabular import Named, read_table
from steelyard.errors import DataError, UnknownName, UsageError
from steelyard.types import TaskInfo
from steelyard.types.samples import AnyTask

SPLIT_NAMES = {name for names in KIN for name in names}
WIDTHS = {"classification": (1, 2)}
"""How many files a reference may name; one, for other types."""


@dataclass(frozen=True)
class Reference:
    """A reference in its parts.

    >>> Reference.parse("sts:./pairs.csv::dev?max_score=5")
    Reference(type='sts', path='./pairs.csv', split='dev', options={'max_score': '5'})
    """

    type: str
    path: str
    split: str
    options: Mapping[str, str]

    @classmethod
    def parse(cls, text: str) -> Reference:
        """Type, path, split and options of `type:path::split?option=value`."""
        type, _, rest = text.partition(":")
        if type not in TYPES:
            raise UnknownName("task type", type, TYPES, hint=f"one of {', '.join(TYPES)}")
        rest, _, query = rest.partition("?")
        path, _, split = rest.partition("::")
        return cls(type, path, split, dict(parse_qsl(query, keep_blank_values=True)))

    def __str__(self) -> str:
        query = "&".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.type}:{self.path}{'::' if self.split else ''}{self.split}{'?' if query else ''}{query}"


@dataclass(frozen=True)
class SamplePlace:
    """One task on this machine, found but not read."""

    reference: str
    files: Mapping[str, tuple[Named, ...]]
    """By split; under '' where no name tells of one."""
    split: str
    info: TaskInfo
    constants: Constants

    def read(self, report: Report, candidates: Iterable[str] | None = None) -> AnyTask | None:
        """Read and check the data; every fault goes into the report."""
        tables = {split: read_table(files, ROLES[self.info.type], report) for split, files in self.files.items()}
        there = {split: table for split, table in tables.items() if table is not None}
        return build(there, self.split, self.info, self.constants, report) if len(there) == len(tables) else None

    def load(self, validate: Validate = "strict", candidates: Iterable[str] | None = None) -> AnyTask:
        """The task, or a DataError that names the first fault that stops it."""
        report = Report()
        built: AnyTask | None = self.read(report, candidates)
        return report.settle(built, validate, self.reference)


def find(text: str) -> list[SamplePlace | TypedPlace]:
    """The tasks of a reference with a type in front: one, or those of a set in the layouts of retrieval."""
    reference = Reference.parse(text)
    paths = [Path(part.strip()).expanduser() for part in reference.path.split(",")]
    if reference.type in ("retrieval", "reranking") and _is_searched(reference, paths):
        if reference.options:
            Constants.of(reference.options, reference.type, text)
        named = f"{reference.path}::{reference.split}" if reference.split else reference.path
        return [TypedPlace.of(place, reference.type) for place in places(named)]
    for path in paths:
        if not path.exists():
            raise DataError("no such file or folder", where=str(path), hint=near(path))
    widths = WIDTHS.get(reference.type, (1,))
    if len(paths) not in widths:
        hint = f"{reference.type} takes {' or '.join(map(str, widths))}: {'train,test' if 2 in widths else 'one'}"
        raise UsageError(f"{len(paths)} files: {reference.path}", hint=hint)
    return [_samples(reference, paths)]


@dataclass(frozen=True)
class TypedPlace:
    """A task in one of the layouts of retrieval, whose type was named."""

    place: Place
    info: TaskInfo

    @classmethod
    def of(cls, place: Place, type: str) -> TypedPlace:
        """The place, with that type."""
        return cls(place, replace(place.info, type=type))

    @property
    def reference(self) -> str:
        """What names it on the command line."""
        return f"{self.info.type}:{self.place.reference}"

    def read(self, report: Report, candidates: Iterable[str] | None = None) -> AnyTask | None:
        """Read and check the data; every fault goes into the report."""
        task = self.place.read(report, candidates)
        return None if task is None else replace(task, info=replace(task.info, type=self.info.type))

    def load(self, validate: Validate = "strict", candidates: Iterable[str] | None = None) -> AnyTask:
        """The task, or a DataError that names the first fault that stops it."""
        task = self.place.load(validate, candidates)
        return replace(task, info=replace(task.info, type=self.info.type))


def _is_searched(reference: Reference, paths: list[Path]) -> bool:
    """Whether the data is documents, queries and judgements; reranking may also be rows."""
    if reference.type == "retrieval" or len(paths) > 2:
        return True
    return paths[0].is_dir() and bool(find_tasks(listing(paths[0])))


def _samples(reference: Reference, paths: list[Path]) -> SamplePlace:
    home = paths[0] if paths[0].is_dir() else paths[0].absolute().parent
    files = _files(reference, paths)
    facts = _facts(home, reference.type, own=paths[0].is_dir())
    split = _split(reference, files)
    names = [plain_name(path.name).rsplit(".", 1)[0] if path.is_file() else path.resolve().name for path in paths]
    alone = len(paths) == 1 and names[0].lower() not in SPLIT_NAMES
    root = str(facts.get("name") or (names[0] if alone else home.resolve().name))
    other = f":{split}" if reference.split and split not in ("", "test") else ""
    info = task_info({"split": split or "test", **facts}, name=f"local/{root}{other}", source=root)
    said = {**known_facts(facts, reference.type), **reference.options}
    main = said.pop("main_metric", None) or facts.get("main_metric")
    info = replace(info, type=reference.type, main_metric=str(main) if main else None)
    return SamplePlace(str(reference), files, split, info, Constants.of(said, reference.type, reference.type))


def _files(reference: Reference, paths: list[Path]) -> dict[str, tuple[Named, ...]]:
    if len(paths) == 2:
        return {TRAIN: ((paths[0].name, paths[0]),), "test": ((paths[1].name, paths[1]),)}
    (path,) = paths
    if path.is_file():
        return {"": ((path.name, path),)}
    names = tables_in(path)
    splits = find_splits(names)
    found = {split: tuple((name, path / name) for name in files) for split, files in splits.items()}
    known = {split: files for split, files in found.items() if split in SPLIT_NAMES}
    if not known and len(found) == 1:
        return {"": next(iter(found.values()))}
    if not known:
        shown = ", ".join(names[:6]) + (" ..." if len(names) > 6 else "")
        hint = "name the file, or name it test.jsonl (train.jsonl and test.jsonl for classification)"
        raise DataError(f"no data among its files ({shown or 'there are none'})", where=str(path), hint=hint)
    return known


def _split(reference: Reference, files: Mapping[str, Any]) -> str:
    if "" in files:
        return reference.split
    if reference.split:
        found = kin(reference.split, files)
        if found is None:
            raise UnknownName("split", reference.split, files, hint=f"{reference.path} has: {', '.join(files)}")
        return found
    return weighed_split(files) or next(iter(files))


def _facts(home: Path, type: str, *, own: bool) -> dict[str, Any]:
    """What `task.json` says; beside a single file it is heeded where it tells of this type."""
    facts = read_json_object(home / SIDECAR)
    return facts if own or facts.get("type") == type else {}


def tables_in(folder: Path) -> list[str]:
    """The files of a folder that could hold a split; nobody wants to wait while a whole home folder is searched."""
    homes = [folder, *(folder / name for name in USUAL if name)]
    found = [path for home in homes for path in home.glob("*") if path.is_file()]
    found += [path for home in homes[1:] for path in home.glob("*/*") if path.is_file()]
    names = (path.relative_to(folder) for path in found)
    return sorted({name.as_posix() for name in names if not any(part.startswith(".") for part in name.parts)})


def is_table(name: str) -> bool:
    """Whether a file of that name could hold a table.

    >>> is_table("test.jsonl.gz"), is_table("README.md"), is_table("task.json")
    (True, False, False)
    """
    return format_of(name) is not None and bool(find_splits([name]))

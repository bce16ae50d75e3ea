"""Your own data of every type.

    sts:./pairs.jsonl                            a file
    classification:./train.csv,./test.csv        training texts, then those to classify
    clustering:./folder?bootstrap=true           a folder: test.*, or its only file; options after a question mark
    pair_classification:./folder::validation     another split of it
    sts:./STS17?subset=ko-ko                     one subset of a folder whose card lists several; all without it
    reranking:./rows.jsonl                       rows of query, positives, negatives; or a folder with candidates

A folder may have a `task.json` with type, languages, licence and the constants of the type.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from steelyard.datasets.formats.folder import locate, scan, similar_path
from steelyard.datasets.formats.saved_dataset import saved_splits
from steelyard.datasets.formats.sidecar import SIDECAR, read_json_object, read_sidecar, task_info
from steelyard.datasets.formats.task_files import TaskLocation
from steelyard.datasets.problems import Report, Validate
from steelyard.datasets.references import TypedReference, local_path
from steelyard.datasets.samples.build import TRAIN, build, divided
from steelyard.datasets.samples.constants import Constants, known_facts
from steelyard.datasets.samples.roles import ROLES
from steelyard.datasets.samples.splits import (
    SYNONYMS,
    USUAL,
    Splits,
    card_subsets,
    evaluation_split,
    find_splits,
    matching_split,
)
from steelyard.datasets.tables.files import file_errors, format_of, plain_name
from steelyard.datasets.tables.tabular import Named, read_table
from steelyard.errors import DataError, UnknownName, UsageError
from steelyard.types import TaskInfo
from steelyard.types.samples import AnyTask
from steelyard.types.task_info import SEARCHED

SPLIT_NAMES = {name for names in SYNONYMS for name in names}
SUBSET = "subset"
"""The option that names a subset: `sts:./STS17?subset=ko-ko`."""
WIDTHS = {"classification": (1, 2), "multilabel_classification": (2, 1)}
"""How many files a reference may name; one, for other types."""


@dataclass(frozen=True)
class SampleLocation:
    """One task on this machine, located but not read."""

    reference: str
    files: Mapping[str, tuple[Named, ...]]
    """By split; under '' if no name mentions a split."""
    split: str
    info: TaskInfo
    constants: Constants

    def read(self, report: Report, candidates: Iterable[str] | None = None) -> AnyTask | None:
        """Read and check the data; every problem goes into the report."""
        tables = {split: read_table(files, ROLES[self.info.type], report) for split, files in self.files.items()}
        complete = {split: table for split, table in tables.items() if table is not None}
        if len(complete) < len(tables):
            return None
        return build(complete, self.split, self.info, self.constants, report)

    def load(
        self, validate: Validate = "strict", candidates: Iterable[str] | None = None, missing: str = "count"
    ) -> AnyTask:
        """Return the task, or raise a DataError for the first problem that prevents loading."""
        report = Report(missing_judgements=missing)
        task: AnyTask | None = self.read(report, candidates)
        return report.finish(task, validate, self.reference)


@dataclass(frozen=True)
class TypedLocation:
    """A task in a retrieval layout, whose type the reference names."""

    location: TaskLocation
    info: TaskInfo

    @classmethod
    def of(cls, location: TaskLocation, type: str) -> TypedLocation:
        """Return the location with that type."""
        return cls(location, replace(location.info, type=type))

    @property
    def reference(self) -> str:
        """Return what names the task on the command line."""
        return f"{self.info.type}:{self.location.reference}"

    def read(self, report: Report, candidates: Iterable[str] | None = None) -> AnyTask | None:
        """Read and check the data; every problem goes into the report."""
        task = self.location.read(report, candidates)
        return None if task is None else replace(task, info=replace(task.info, type=self.info.type))

    def load(
        self, validate: Validate = "strict", candidates: Iterable[str] | None = None, missing: str = "count"
    ) -> AnyTask:
        """Return the task, or raise a DataError for the first problem that prevents loading."""
        task = self.location.load(validate, candidates, missing)
        return replace(task, info=replace(task.info, type=self.info.type))


def locate_samples(text: str) -> list[SampleLocation | TypedLocation]:
    """Return the tasks of a reference with a type in front: one, or those of a set in a retrieval layout."""
    reference = TypedReference.parse(text)
    paths = [local_path(part.strip()) for part in reference.path.split(",")]
    with file_errors(reference.path):
        if reference.type in SEARCHED and _is_searched(reference, paths):
            if reference.options:
                Constants.of(reference.options, reference.type, text)
            named = f"{reference.path}::{reference.split}" if reference.split else reference.path
            return [TypedLocation.of(location, reference.type) for location in locate(named)]
        for path in paths:
            if not path.exists():
                raise DataError("the file or folder does not exist", path=path, hint=similar_path(path))
        widths = WIDTHS.get(reference.type, (1,))
        if len(paths) not in widths:
            expected = " or ".join(map(str, widths))
            raise UsageError.invalid(
                f"the number of files of {reference.type}",
                expected=expected,
                found=len(paths),
                hint=f"give {'train,test' if 2 in widths else 'one file'}, not {reference.path}",
            )
        subsets = card_subsets(paths[0]) if len(paths) == 1 and paths[0].is_dir() else {}
        chosen = reference.options.get(SUBSET)
        if chosen is not None and chosen not in subsets:
            raise UnknownName("subset", chosen, subsets, hint=f"{reference.path} has: {', '.join(subsets) or 'none'}")
        return [
            _samples(replace(reference, options={**reference.options, SUBSET: subset}), paths, splits)
            for subset, splits in subsets.items()
            if chosen in (None, subset) and (not reference.split or matching_split(reference.split, splits) is not None)
        ] or [_samples(reference, paths)]


def _is_searched(reference: TypedReference, paths: list[Path]) -> bool:
    """Return whether the data is documents, queries and judgements; reranking may also be rows."""
    if reference.type not in ROLES or len(paths) > 2:
        return True
    return paths[0].is_dir() and bool(scan(paths[0]).tasks)


def _samples(reference: TypedReference, paths: list[Path], subset: Splits | None = None) -> SampleLocation:
    home = paths[0] if paths[0].is_dir() else paths[0].absolute().parent
    files = _files(paths) if subset is None else {s: tuple((f, home / f) for f in names) for s, names in subset.items()}
    facts = _facts(home, reference.type, own=paths[0].is_dir())
    split = _split(reference, files)
    names = [plain_name(path.name).rsplit(".", 1)[0] if path.is_file() else path.resolve().name for path in paths]
    alone = len(paths) == 1 and names[0].lower() not in SPLIT_NAMES
    root = str(facts.get("name") or (names[0] if alone else home.resolve().name))
    other = f":{split}" if reference.split and split not in ("", "test") else ""
    root += f"[{reference.options[SUBSET]}]" if subset is not None else ""
    info = task_info({"split": split or "test", **facts}, name=f"local/{root}{other}", source=root)
    options_of_name = {name: value for name, value in reference.options.items() if name != SUBSET or subset is None}
    options = {**known_facts(facts, reference.type), **options_of_name}
    main = options.pop("main_metric", None) or facts.get("main_metric")
    info = replace(info, type=reference.type, main_metric=str(main) if main else None)
    return SampleLocation(str(reference), files, split, info, Constants.of(options, reference.type, reference.type))


def _files(paths: list[Path]) -> dict[str, tuple[Named, ...]]:
    if len(paths) == 2:
        return {TRAIN: ((paths[0].name, paths[0]),), "test": ((paths[1].name, paths[1]),)}
    (path,) = paths
    if path.is_file():
        return {"": ((path.name, path),)}
    if saved := saved_splits(path):
        return {split: tuple((name, path / name) for name in names) for split, names in saved.items()}
    names = tables_in(path)
    splits = find_splits(names)
    files = {split: tuple((name, path / name) for name in files) for split, files in splits.items()}
    known = {split: named for split, named in files.items() if split in SPLIT_NAMES}
    if not known and len(files) == 1:
        return {"": next(iter(files.values()))}
    if not known:
        shown = ", ".join(names[:6]) + (" ..." if len(names) > 6 else "")
        hint = "give the file, or name it test.jsonl (train.jsonl and test.jsonl for classification)"
        raise DataError(f"the folder does not contain data (files: {shown or 'none'})", path=path, hint=hint)
    return known


def _split(reference: TypedReference, files: Mapping[str, Any]) -> str:
    if "" in files:
        return reference.split
    if reference.split:
        match = matching_split(reference.split, files)
        if match is None:
            raise UnknownName("split", reference.split, files, hint=f"{reference.path} has: {', '.join(files)}")
        return match
    return evaluation_split(files) or next(iter(files))


def _facts(home: Path, type: str, *, own: bool) -> dict[str, Any]:
    """Return the content of `task.json`; next to a single file it is used only if it has the same type."""
    return read_sidecar(home) if own or read_json_object(home / SIDECAR).get("type") == type else {}


def tables_in(folder: Path) -> list[str]:
    """Return the files of a folder that could hold a split; other sub-folders are not searched."""
    homes = [folder, *(folder / name for name in USUAL if name)]
    paths = [path for home in homes for path in home.glob("*") if path.is_file()]
    paths += [path for home in homes[1:] for path in home.glob("*/*") if path.is_file()]
    names = (path.relative_to(folder) for path in paths)
    return sorted({name.as_posix() for name in names if not any(part.startswith(".") for part in name.parts)})


def is_table(name: str) -> bool:
    """Return whether a file of that name could hold a table.

    >>> is_table("test.jsonl.gz"), is_table("README.md"), is_table("task.json")
    (True, False, False)
    """
    return format_of(name) is not None and bool(find_splits([name]))


def local_splits(path: str, type: str = "retrieval") -> list[str]:
    """Return the splits of data on this machine: by its files, or by a column of its only file; none if undivided."""
    folder = local_path(path)
    if folder.is_dir() and (tasks := scan(folder).tasks):
        return [split for split in tasks if split]
    if type not in ROLES:
        return []
    files = getattr(locate_samples(f"{type}:{path}")[0], "files", {})  # none for a type in front of three files
    if "" not in files:
        return list(files)
    table = read_table(files[""], ROLES[type], Report())
    return [] if table is None else [split for split in divided(table, "")[0] if split]

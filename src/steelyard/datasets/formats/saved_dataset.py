"""Folders that `datasets` writes with `save_to_disk`: Arrow files, read without that package.

    saved/                  one dataset: state.json and data-00000-of-00001.arrow
    saved/                  several splits: dataset_dict.json, and such a folder for each
    set/corpus, set/queries, set/qrels     a folder of saved datasets, one for each table

A dataset of questions with contexts is a task; several splits are several tasks (`saved::validation`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from steelyard.config import Settings
from steelyard.datasets.formats.beir import CANDIDATES, CORPUS, QRELS, QUERIES
from steelyard.datasets.formats.question_files import corpus_and_questions, pairs_file
from steelyard.datasets.formats.sidecar import read_json_object, task_info
from steelyard.datasets.formats.task_files import TaskFiles, TaskLocation
from steelyard.errors import DataError, UnknownName
from steelyard.files import path_inside

STATE = "state.json"
SPLITS = "dataset_dict.json"
TEST = ("test", "validation", "dev", "train")
"""The split that is read if none is named, in order of preference."""


def saved_splits(folder: Path) -> dict[str, list[str]]:
    """Return the Arrow files of a saved dataset by split, relative to the folder; under '' if it has no splits.

    The result is empty if the folder is not a saved dataset.
    """
    if (folder / SPLITS).is_file():
        names = read_json_object(folder / SPLITS).get("splits")
        splits = names if isinstance(names, list) else []
        return {
            str(split): [f"{split}/{name}" for name in _files(path_inside(folder, str(split), SPLITS))]
            for split in splits
        }
    return {"": _files(folder)} if (folder / STATE).is_file() else {}


def _files(folder: Path) -> list[str]:
    listed = read_json_object(folder / STATE).get("_data_files")
    files = [file.get("filename") for file in listed if isinstance(file, dict)] if isinstance(listed, list) else []
    names = [name for name in files if isinstance(name, str)]
    for name in names:
        if not path_inside(folder, name, STATE).is_file():
            raise DataError("the file of a saved dataset does not exist", path=folder / name, hint="save it again")
    if not names:
        raise DataError(f"{STATE} must name the Arrow files of the dataset", path=folder, hint="save it again")
    return names


def locate_saved(folder: Path, path_text: str, task: str, columns: Mapping[str, str]) -> list[TaskLocation]:
    """Return the tasks of a folder that `datasets` wrote; none if it is something else."""
    splits = saved_splits(folder)
    if not splits:
        return _tables_in(folder, path_text, columns)
    if task and task not in splits:
        raise UnknownName("split", task, splits, hint=f"{path_text} has: {', '.join(splits)}")
    if not task and _role(splits, CORPUS) and _role(splits, QUERIES):
        return [_joined({name: (folder, files) for name, files in splits.items()}, folder, path_text)]
    chosen = task or next((split for split in TEST if split in splits), next(iter(splits)))
    files = [folder / name for name in splits[chosen]]
    listed = f"{path_text}::{chosen}" if chosen else path_text
    name = f"{folder.resolve().name}/{chosen}".rstrip("/")
    return [pairs_file(files, listed, columns, name=name, split=chosen)]


def _tables_in(folder: Path, path_text: str, columns: Mapping[str, str]) -> list[TaskLocation]:
    """Return the task of a folder with a saved dataset for each table."""
    tables: dict[str, tuple[Path, list[str]]] = {}
    present = {path.name.lower() for path in folder.iterdir()}  # one call instead of one per name
    for name in (*CORPUS, *QUERIES, *QRELS, *CANDIDATES):
        if name in present and (folder / name).is_dir() and (splits := saved_splits(folder / name)):
            split = next((one for one in (name, *TEST) if one in splits), next(iter(splits)))
            tables[name] = (folder, [f"{name}/{file}" for file in splits[split]])
    complete = _role(tables, CORPUS) and _role(tables, QUERIES)
    return [_joined(tables, folder, path_text)] if complete else []


def _role(names: Mapping[str, object], stems: Sequence[str]) -> str | None:
    return next((name for stem in stems for name in names if name.lower() == stem), None)


def _joined(tables: Mapping[str, tuple[Path, list[str]]], folder: Path, listed: str) -> TaskLocation:
    """Return the task of tables of documents, queries and, unless queries name their documents, judgements."""
    corpus, queries, qrels = (_role(tables, stems) for stems in (CORPUS, QUERIES, QRELS))
    assert corpus is not None and queries is not None
    if qrels is None:
        first, second = ([home / name for name in names] for home, names in (tables[corpus], tables[queries]))
        return corpus_and_questions(first, second, listed, folder=folder)
    documents, questions, judged = (tuple(tables[name][1]) for name in (corpus, queries, qrels))
    files = TaskFiles(documents, questions, judged)
    name = folder.resolve().name
    return TaskLocation(folder, "", files, task_info({}, name=f"local/{name}", source=name))


FILE = re.compile(r"(?:(?P<home>.+)/)?(?:data-\d{5}-of-\d{5}|dataset)\.arrow")
"""`test/data-00000-of-00001.arrow`; older versions wrote `test/dataset.arrow`."""
MARKS = (SPLITS, STATE)
"""Files that are in every such folder, or in the folders of its splits."""


def arrow_split(name: str) -> tuple[str, str] | None:
    """Return the folder and the split of a file of `save_to_disk`; None for any other file.

    >>> arrow_split("ko-ko/test/data-00000-of-00001.arrow"), arrow_split("data-00000-of-00001.arrow")
    (('ko-ko', 'test'), ('', ''))
    >>> arrow_split("test.arrow") is None
    True
    """
    match = FILE.fullmatch(name)
    if match is None:
        return None
    folder, _, split = (match["home"] or "").rpartition("/")
    return folder, split


def arrow_view(folder: Path, settings: Settings) -> Path | None:
    """Return a folder of links to the Arrow files alone, which `datasets.load_dataset` reads; None if there are none.

    `load_dataset` refuses a folder of `save_to_disk`, and takes the JSON files in it for data.
    """
    files = sorted(path for path in folder.rglob("*.arrow") if arrow_split(path.relative_to(folder).as_posix()))
    if not files or not any(next(folder.rglob(mark), None) for mark in MARKS):
        return None
    stamps = [f"{path.absolute()} {path.stat().st_mtime_ns} {path.stat().st_size}" for path in files]
    view = settings.home / "arrow" / hashlib.sha256("\n".join(stamps).encode()).hexdigest()[:16] / folder.name
    configs: dict[str, dict[str, str]] = {}
    for path in files:
        home, split = arrow_split(path.relative_to(folder).as_posix()) or ("", "")
        config, split = home.replace("/", "-") or "default", split or "test"
        link = view / config / split / path.name
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.exists():
            link.symlink_to(path.absolute())
        configs.setdefault(config, {})[split] = f"{config}/{split}/*.arrow"
    lines = ["---", "configs:"]
    for config, splits in configs.items():
        lines += [f'- config_name: "{config}"', "  data_files:"]
        lines += [line for split, path in splits.items() for line in (f"  - split: {split}", f'    path: "{path}"')]
    (view / "README.md").write_text("\n".join([*lines, "---", ""]), encoding="utf-8")
    return view

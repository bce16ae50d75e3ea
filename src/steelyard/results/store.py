"""The folder of results: one JSON file for each model, settings and task, with its Parquet files next to it.

    <folder>/<model>/<settings hash>/<Group>__<task>@<data hash>.json
                                     <Group>__<task>@<data hash>.queries.parquet
                                     <Group>__<task>@<data hash>.run.parquet or .run.trec    (if runs are saved)

The JSON file is written last: where it exists, the other files are complete.
"""

from __future__ import annotations

import contextlib
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from steelyard.errors import ResultError, UnknownName
from steelyard.files import remove_leftovers, write_output
from steelyard.results.keys import model_slug, settings_hash, task_slug
from steelyard.results.query_scores import has_both_ends, queries_path
from steelyard.results.result_file import NewerResult
from steelyard.results.schema import Result
from steelyard.types.protocols import ModelSettings

Report = Callable[[ResultError], None]
"""Called with the error of every damaged file that is skipped."""
SETTINGS_FOLDER = re.compile(r"[0-9a-f]{12}")


def warn(error: ResultError) -> None:
    """Report a damaged file as a Python warning."""
    warnings.warn(f"skipped: {error}", stacklevel=3)


class ResultStore:
    """Results in a folder, which is created with the first one. Several processes may share it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = ResultStore(folder)
    ...     stored = store.put(Result("NanoX/en", "bm25", {"top_k": 10}, "k1", status="failed"))
    ...     store.all(), stored.path.name
    ([Result(bm25 on NanoX/en: )], 'NanoX__en@unknown.json')
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._failures: dict[str, dict[str, set[Path]]] = {}
        """Paths of failures by model slug and task slug, listed once for each model."""

    def path(self, model: str, settings: ModelSettings, task: str, data_hash: str | None) -> Path:
        """Return the path of such a result, whether or not it exists."""
        name = f"{task_slug(task)}@{data_hash[:8] if data_hash else 'unknown'}.json"
        return self.folder / model_slug(model) / settings_hash(settings) / name

    def load(self, path: Path, key: str) -> Result | None:
        """Return the result at that path if it is complete and has that key; None if it has to be evaluated.

        A result of a later version is a NewerResult: it cannot be read, and must not be replaced.
        """
        try:
            result = Result.from_json(path.read_bytes(), path)
        except NewerResult:
            raise
        except (OSError, ResultError):  # a damaged result is written again
            return None
        complete = not result.done or has_both_ends(queries_path(path))
        return result if result.key == key and complete else None

    def put(self, result: Result, attachments: Mapping[str, bytes] | None = None) -> Result:
        """Write a result, with further files by their ending (`run.parquet`); return it with its path.

        A result that is done removes earlier failures of the same model and task. A failure does not replace a result
        that is done: it is returned without a path. A result of a later version is not replaced (NewerResult).
        """
        path = self.path(result.model, result.settings, result.task, result.facts.data_hash)
        before = self.load(path, result.key)
        if before is None:
            self._clear(path, result.key)
        elif before.done and not result.done:
            return result
        if result.queries is not None:
            write_output(queries_path(path), result.queries.to_parquet())
        for ending, content in (attachments or {}).items():
            write_output(attachment_path(path, ending), content)
        # A name from a path may contain bytes that are not text: JSON has an escape for each.
        write_output(path, result.to_json().encode(errors="backslashreplace"))
        if result.done:
            self.remove_failures(result)
        else:
            self._failures_of(result.model).setdefault(task_slug(result.task), set()).add(path)
        return replace(result, path=path)

    def _clear(self, path: Path, key: str) -> None:
        """Remove the files that a new result replaces.

        An old JSON file never stays next to new Parquet files, nor the run of another key or of a damaged result next
        to a new JSON file.
        """
        if not path.exists():
            return
        old = self._read(path, lambda error: None)
        _remove(path)
        if old is None or old.key != key:
            for other in path.parent.glob(attachment_path(path, "*").name):
                _remove(other)

    def remove_failures(self, result: Result) -> None:
        """Remove the failures of the same model and task, where that is permitted."""
        paths = self._failures_of(result.model).pop(task_slug(result.task), set())
        for path in paths:
            other = None if queries_path(path).exists() else self._read(path, lambda error: None)
            if other is not None and not other.done and (other.model, other.task) == (result.model, result.task):
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)

    def _failures_of(self, model: str) -> dict[str, set[Path]]:
        """Return the failures of a model by task slug: JSON files without scores by query. Listed once."""
        slug = model_slug(model)
        if slug not in self._failures:
            failures: dict[str, set[Path]] = {}
            for folder in _subfolders(self.folder / slug):
                names = {entry.name for entry in _entries(folder)}
                for name in names:
                    if name.endswith(".json") and "@" in name and queries_path(Path(name)).name not in names:
                        failures.setdefault(name.rpartition("@")[0], set()).add(folder / name)
            self._failures[slug] = failures
        return self._failures[slug]

    def all(self, report: Report = warn) -> list[Result]:
        """Return every result, in the order of the paths; damaged files are reported and skipped."""
        return list(self._results("*", None, report))

    def find(self, model: str | None = None, task: str | None = None, report: Report = warn) -> list[Result]:
        """Return the results of a model, on a task, or both, with any settings and data.

        Two models may share a folder (`org/model`, `org__model`): only those with the very name are returned.
        """
        results = self._results("*" if model is None else model_slug(model), task, report)
        return [one for one in results if model in (None, one.model) and task in (None, one.task)]

    def get(self, key: str) -> Result:
        """Return the result with that key, or the only one whose key begins with it."""
        results = self.all()
        matching = [result for result in results if result.key.startswith(key)]
        if len(matching) == 1:
            return matching[0]
        hint = f"{len(matching)} keys begin with it: give more digits" if matching else "run: steelyard list results"
        raise UnknownName("result", key, [result.key for result in results], hint=hint)

    def ready(self) -> None:
        """Create the folder and check that it can be written: a ResultError now, not after hours of work."""
        if self.folder.exists() and not self.folder.is_dir():
            raise ResultError(
                f"the results folder is a file: {self.folder}",
                hint="choose a folder with --output",
                path=self.folder,
            )
        write_output(self.folder / ".steelyard-ready", b"")
        (self.folder / ".steelyard-ready").unlink(missing_ok=True)

    def clean(self) -> int:
        """Remove the partial files of killed runs, in the folders of results only; return how many were removed."""
        folders = [inner for outer in _subfolders(self.folder) for inner in _subfolders(outer)]
        return remove_leftovers([self.folder, *(one for one in folders if SETTINGS_FOLDER.fullmatch(one.name))])

    def _results(self, slug: str, task: str | None, report: Report) -> Iterator[Result]:
        name = "*" if task is None else task_slug(task)
        for path in sorted(self.folder.glob(f"{slug}/*/{name}@*.json")):
            if (result := self._read(path, report)) is not None:
                yield result

    def _read(self, path: Path, report: Report) -> Result | None:
        try:
            return Result.from_json(path.read_bytes(), path)
        except FileNotFoundError:  # removed by another process meanwhile
            return None
        except OSError as error:
            report(ResultError(f"{path} cannot be read: {error.strerror}", hint="check its permissions", path=path))
        except ResultError as error:
            report(error)
        return None

    def __repr__(self) -> str:
        return f"ResultStore({str(self.folder)!r})"


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _subfolders(folder: Path) -> list[Path]:
    return [Path(entry.path) for entry in _entries(folder) if entry.is_dir(follow_symlinks=False)]


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise ResultError(
            f"cannot replace {path}: {error.strerror}",
            hint="remove it yourself, or choose another folder with --output",
            path=path,
        ) from error


def attachment_path(result: Path, ending: str) -> Path:
    """Return the path of the file with that ending next to a result file.

    >>> attachment_path(Path("NanoX__en@12345678.json"), "run.trec").name
    'NanoX__en@12345678.run.trec'
    """
    return result.with_name(result.name.removesuffix(".json") + f".{ending}")

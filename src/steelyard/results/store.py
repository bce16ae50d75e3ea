"""The folder of results: one JSON file for each model, settings and task, with its Parquet files beside it.

    <folder>/<model>/<settings hash>/<Group>__<task>@<data hash>.json
                                     <Group>__<task>@<data hash>.queries.parquet
                                     <Group>__<task>@<data hash>.run.parquet or .run.trec    (if runs are saved)

The JSON file is written last: where it stands, everything beside it is complete.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from steelyard.errors import ResultError, UnknownName
from steelyard.results.atomic import remove_leftovers, write_whole
from steelyard.results.keys import model_slug, settings_hash, task_slug
from steelyard.results.layout import NewerResult
from steelyard.results.queries import has_both_ends, queries_path
from steelyard.results.schema import Result
from steelyard.types.protocols import ModelSettings

Report = Callable[[ResultError], None]
"""Told of every damaged file that was passed over."""


def warn(error: ResultError) -> None:
    """The default report: a Python warning."""
    warnings.warn(f"passed over: {error}", stacklevel=3)


class ResultStore:
    """Results in a folder, which is made when the first is written. Several processes may share it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = ResultStore(folder)
    ...     stored = store.put(Result("NanoX/en", "bm25", {"top_k": 10}, "k1", status="failed"))
    ...     store.all(), stored.path.name
    ([Result(bm25 on NanoX/en: )], 'NanoX__en@unknown.json')
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, model: str, settings: ModelSettings, task: str, data_hash: str | None) -> Path:
        """Where such a result is, whether or not it is there."""
        name = f"{task_slug(task)}@{data_hash[:8] if data_hash else 'unknown'}.json"
        return self.folder / model_slug(model) / settings_hash(settings) / name

    def load(self, path: Path, key: str) -> Result | None:
        """The result at that path if it is whole and has that key, else None: then it has to be made.

        One that a later version wrote is a NewerResult: who cannot read it must not take its place.
        """
        try:
            result = Result.from_json(path.read_bytes(), path)
        except NewerResult:
            raise
        except (OSError, ResultError):  # a damaged result is as good as none: it is written anew
            return None
        whole = not result.done or has_both_ends(queries_path(path))
        return result if result.key == key and whole else None

    def put(self, result: Result, beside: Mapping[str, bytes] | None = None) -> Result:
        """Write a result, and `beside` it further files by ending (`run.parquet`); the result with its path.

        A finished result removes the failures that stand for the same model and task; a failure never takes the
        place of a finished result: it comes back without a path. What a later version wrote stays (NewerResult).
        """
        path = self.path(result.model, result.settings, result.task, result.facts.data_hash)
        before = self.load(path, result.key)
        if before is None:
            self._make_way(path, result.key)
        elif before.done and not result.done:
            return result
        if result.queries is not None:
            write_whole(queries_path(path), result.queries.to_parquet())
        for ending, content in (beside or {}).items():
            write_whole(beside_path(path, ending), content)
        # A name from a path may hold bytes that are no text: JSON has an escape for each.
        write_whole(path, result.to_json().encode(errors="backslashreplace"))
        if result.done:
            self.forget_failures(result)
        return replace(result, path=path)

    def _make_way(self, path: Path, key: str) -> None:
        """Remove what stands in the place of a new result: never an old JSON file beside new Parquet, and never the run
        of another key, or of a damaged result, beside a new JSON file.
        """
        if not path.exists():
            return
        old = self._read(path, lambda error: None)
        _remove(path)
        if old is None or old.key != key:
            for other in path.parent.glob(beside_path(path, "*").name):
                _remove(other)

    def forget_failures(self, result: Result) -> None:
        """Remove the failures that stand for the model and task of a finished result, where they may be removed."""
        for path in self._paths(model_slug(result.model), result.task):
            # What has values by query is finished: of a thousand stored results none is read for this.
            other = None if queries_path(path).exists() else self._read(path, lambda error: None)
            if other is not None and not other.done and (other.model, other.task) == (result.model, result.task):
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)

    def all(self, report: Report = warn) -> list[Result]:
        """Every result, in the order of their paths; damaged files are reported and passed over."""
        return list(self._results("*", None, report))

    def find(self, model: str | None = None, task: str | None = None, report: Report = warn) -> list[Result]:
        """The results of a model, on a task, or both, whatever their settings and data."""
        found = self._results("*" if model is None else model_slug(model), task, report)
        return [r for r in found if model in (None, r.model) and task in (None, r.task)]

    def get(self, key: str) -> Result:
        """The result with that key, or with the only key that begins so."""
        results = self.all()
        found = [result for result in results if result.key.startswith(key)]
        if len(found) == 1:
            return found[0]
        hint = f"{len(found)} keys begin so: give more of it" if found else "steelyard list results shows the keys"
        raise UnknownName("result", key, [result.key for result in results], hint=hint)

    def ready(self) -> None:
        """Make the folder and see that it can be written: a ResultError now, not after hours of work."""
        if self.folder.exists() and not self.folder.is_dir():
            raise ResultError(f"{self.folder} is a file", hint="choose a folder with --output")
        write_whole(self.folder / ".ready", b"")
        (self.folder / ".ready").unlink(missing_ok=True)

    def clean(self) -> int:
        """Remove what killed runs left half-written; how many files that were."""
        return remove_leftovers(self.folder) if self.folder.is_dir() else 0

    def _results(self, slug: str, task: str | None, report: Report) -> Iterator[Result]:
        for path in self._paths(slug, task):
            if (result := self._read(path, report)) is not None:
                yield result

    def _paths(self, slug: str, task: str | None) -> list[Path]:
        name = "*" if task is None else task_slug(task)
        return sorted(self.folder.glob(f"{slug}/*/{name}@*.json"))

    def _read(self, path: Path, report: Report) -> Result | None:
        try:
            return Result.from_json(path.read_bytes(), path)
        except FileNotFoundError:  # removed by another process meanwhile
            return None
        except OSError as error:
            report(ResultError(f"{path} cannot be read: {error.strerror}", hint="may you read it, and is it a file?"))
        except ResultError as error:
            report(error)
        return None

    def __repr__(self) -> str:
        return f"ResultStore({str(self.folder)!r})"


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        hint = "remove it yourself, or choose another folder with --output"
        raise ResultError(f"cannot take the place of {path}: {error.strerror}", hint=hint) from error


def beside_path(result: Path, ending: str) -> Path:
    """The file of that ending beside a result file.

    >>> beside_path(Path("NanoX__en@12345678.json"), "run.trec").name
    'NanoX__en@12345678.run.trec'
    """
    return result.with_name(result.name.removesuffix(".json") + f".{ending}")

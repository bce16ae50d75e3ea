"""The result file: MTEB's layout, so that its tools read it, with our own fields under `steelyard`."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from steelyard.errors import ResultError
from steelyard.results.mteb_codes import mteb_languages
from steelyard.results.result_parts import HEADLINES, SCHEMA_VERSION, Failure, Miss, Status, TaskFacts
from steelyard.types import Interval

if TYPE_CHECKING:
    from steelyard.results.schema import Result

MTEB_VERSION = "2.26.24"
"""The mteb version whose names, formulas and rounding the `scores` part follows."""

MTEB_VERSIONS = {"mteb-1.14": "1.14.15"}
"""The version under another profile than the default one."""

_MTEB_DIGITS = 6
LISTS = ("languages", "language_tags")
"""Facts that are lists of texts; the second is not written if it is empty."""
LARGEST = 2**63
"""Counts and values beyond this are not those of an evaluation."""


class NewerResult(ResultError):
    """A result of a later version of Steelyard: it cannot be read, and is not replaced."""


def to_json(result: Result) -> str:
    """Return the text of the file with one line for each part: readable, and written ten times faster than indented."""
    return _lines(to_dict(result), levels=2) + "\n"


def _lines(value: Any, levels: int) -> str:
    if levels and isinstance(value, dict) and value:
        parts = (f"{json.dumps(name)}: {_lines(part, levels - 1)}" for name, part in value.items())
        return "{\n" + ",\n".join(parts) + "\n}"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def to_dict(result: Result) -> dict[str, Any]:
    """Return the content of the file: plain dictionaries, lists, strings, finite numbers and None."""
    return {
        "dataset_revision": result.facts.revision or result.facts.data_hash or "unknown",
        "task_name": result.task,
        "mteb_version": mteb_version(result),
        "scores": {result.facts.split: [mteb_subset(result)]} if result.done else {},
        "evaluation_time": result.timings.get("total"),
        "kg_co2_emissions": result.notes.get("kg_co2_emissions"),
        "steelyard": plain(_own_fields(result)),
    }


def mteb_version(result: Result) -> str:
    """Return the version of mteb that the `mteb` part of the result follows."""
    return MTEB_VERSIONS.get(str(result.settings.get("profile")), MTEB_VERSION)


def mteb_subset(result: Result) -> dict[str, Any]:
    """Return the entry of the only subset of our tasks; mteb 1 did not round in files."""
    scores, facts = cast(dict[str, Any], plain(result.mteb)), result.facts
    if mteb_version(result) == MTEB_VERSION:
        scores = _rounded(scores)
    return {
        **scores,
        "main_score": scores.get(result.main_metric),
        "hf_subset": "default",
        "languages": list(facts.language_tags) or mteb_languages(facts.languages or (facts.language,)),
    }


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, _MTEB_DIGITS)
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    return [_rounded(part) for part in value] if isinstance(value, list) else value


def _own_fields(result: Result) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "key": result.key,
        "status": result.status,
        "model": result.model,
        "task": result.task,
        "main_metric": result.main_metric,
        "metrics": result.metrics,
        "intervals": {name: [i.low, i.high, i.level] for name, i in result.intervals.items()},
        "facts": _fields(result.facts),
        "timings": result.timings,
        "index_bytes": result.index_bytes,
        "peak_memory_bytes": result.peak_memory_bytes,
        "misses": [_fields(miss) for miss in result.misses],
        "settings": result.settings,
        "notes": result.notes,
        "provenance": result.provenance,
        "error": None if result.error is None else _fields(result.error),
        "created": result.created,
    }


def _fields(value: TaskFacts | Miss | Failure) -> dict[str, Any]:
    values = {part.name: getattr(value, part.name) for part in fields(value)}
    return {name: value for name, value in values.items() if value != () or name not in LISTS[1:]}


_UNCHANGED = frozenset((str, int, bool, type(None)))


def plain(value: Any) -> Any:
    """Return the value as strict JSON: tuples as lists, numpy numbers as Python's, NaN and infinity as None.

    >>> plain({"a": (1, float("nan"))})
    {'a': [1, None]}
    """
    kind = type(value)  # the usual types first: a result has hundreds of values, and most are plain
    if kind in _UNCHANGED:
        return value
    if kind is float or isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str | int):
        return value
    if isinstance(value, list | tuple):
        return [part if type(part) in _UNCHANGED else plain(part) for part in value]
    if isinstance(value, dict | Mapping):  # the check for dict is many times faster than for Mapping
        return {str(name): part if type(part) in _UNCHANGED else plain(part) for name, part in value.items()}
    if hasattr(value, "tolist"):  # numpy scalars and arrays
        return plain(value.tolist())
    raise ResultError(
        f"{type(value).__name__} {value!r} cannot be stored in a result",
        hint="use strings, numbers, booleans, lists and dictionaries in settings and notes",
    )


def read_fields(text: str | bytes, path: Path | None = None) -> dict[str, Any]:
    """Return the fields of a `Result` from the text of a file; anything wrong with it is a ResultError."""
    where = str(path) if path else "the result"
    try:
        content = json.loads(text, parse_constant=_refuse_constant)
        own = content["steelyard"]
        version = own["schema_version"]
        if version > SCHEMA_VERSION:
            raise NewerResult(
                f"{where} has schema version {version}, expected {SCHEMA_VERSION}; it is left unchanged",
                hint="use the version of Steelyard that wrote it, or another folder with --output",
                path=path,
            )
        if version != SCHEMA_VERSION:
            raise ResultError(
                f"the schema version of {where} must be {SCHEMA_VERSION}, got {version}",
                hint="evaluate again: an older version of Steelyard wrote the file",
                path=path,
            )
        _Check(where, path).all(content, own)
        return _fields_of_result(content, own, path)
    except KeyError as error:
        raise ResultError(
            f"{where} lacks the field {error}", hint="remove it and run again", path=path, field=str(error.args[0])
        ) from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ResultError(
            f"{where} is not a result file: {error}", hint="remove it and run again", path=path
        ) from error


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not valid JSON")


class _Check:
    """Raises a ResultError for the first field that no reader of the result could use."""

    def __init__(self, where: str, path: Path | None) -> None:
        self._where, self._path = where, path

    def all(self, content: Mapping[str, Any], own: Mapping[str, Any]) -> None:
        """Check every field that tables, reports and pages read."""
        for name in ("task", "model", "key", "main_metric", "created"):
            self._text(name, own[name])
        for name in ("settings", "metrics", "intervals", "facts", "timings", "notes", "provenance"):
            self._mapping(name, own[name])
        if own["status"] not in get_args(Status):
            raise self._bad("status", f"one of {', '.join(get_args(Status))}", own["status"])
        self._numbers("metrics", own["metrics"])
        for name, value in own["timings"].items():
            self._number(f"timings.{name}", value, optional=False)
        for name in ("top_k", "limit", "seed"):
            self._count(f"settings.{name}", own["settings"].get(name))
        for name, ends in own["intervals"].items():
            if not isinstance(ends, list) or len(ends) not in (2, 3):
                raise self._bad(f"intervals.{name}", "a list of low, high and level", ends)
            for end in ends:
                self._number(f"intervals.{name}", end)
        for name in ("index_bytes", "peak_memory_bytes"):
            self._count(name, own[name])
        self._facts(own["facts"])
        self._lists(own)
        self._subsets(content["scores"])
        self._stages(own["notes"].get("stages"))

    def _facts(self, facts: Mapping[str, Any]) -> None:
        known = {field.name: field.type for field in fields(TaskFacts)}
        for name, value in facts.items():
            label, kind = f"facts.{name}", str(known.get(name, ""))
            if kind.startswith("str"):
                self._text(label, value, optional="None" in kind)
            elif kind.startswith("int"):
                self._count(label, value)
        for name in LISTS:
            for language in self._list(f"facts.{name}", facts.get(name, ())):
                self._text(f"facts.{name}", language)
        self._numbers("facts.reference", self._mapping("facts.reference", facts.get("reference", {})))

    def _lists(self, own: Mapping[str, Any]) -> None:
        for miss in self._list("misses", own["misses"]):
            self._mapping("misses", miss)
            self._count("misses.rank", miss.get("rank"))
            for name in ("query_id", "query", "top_id", "top", "positive_id", "positive"):
                self._text(f"misses.{name}", miss.get(name), optional=True)
        if own["error"] is not None:
            error = self._mapping("error", own["error"])
            for name in ("type", "message", "hint"):
                self._text(f"error.{name}", error.get(name), optional=name == "hint")

    def _subsets(self, scores: Any) -> None:
        for split in self._mapping("scores", scores).values():
            for subset in self._list("scores", split):
                for name, value in self._mapping("scores", subset).items():
                    if not isinstance(value, str | dict | list):  # experiments of some types have values of their own
                        self._number(f"scores.{name}", value)

    def _stages(self, stages: Any) -> None:
        """Check what the report shows of a pipeline's stages."""
        for stage in self._list("notes.stages", [] if stages is None else stages):
            self._mapping("notes.stages", stage)
            self._text("notes.stages.model", stage.get("model"))
            self._text("notes.stages.over", stage.get("over"), optional=True)
            self._text("notes.stages.warning", stage.get("warning"), optional=True)
            self._count("notes.stages.reads", stage.get("reads"))
            self._number("notes.stages.recall_ceiling", stage.get("recall_ceiling"))
            for metric in HEADLINES:
                self._number(f"notes.stages.{metric}", stage.get(metric), optional=False)
            self._numbers("notes.stages.gain", self._mapping("notes.stages.gain", stage.get("gain", {})))

    def _numbers(self, label: str, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            self._number(f"{label}.{name}", value)

    def _number(self, label: str, value: Any, *, optional: bool = True) -> None:
        if value is None and optional:
            return
        if type(value) not in (int, float) or abs(value) > LARGEST:
            raise self._bad(label, "a number", value)

    def _count(self, label: str, value: Any) -> None:
        if value is not None and (type(value) is not int or not 0 <= value <= LARGEST):
            raise self._bad(label, "a whole number of at least 0", value)

    def _text(self, label: str, value: Any, *, optional: bool = False) -> None:
        if not isinstance(value, str) and not (optional and value is None):
            raise self._bad(label, "a text", value)

    def _mapping(self, label: str, value: Any) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise self._bad(label, "an object", value)
        return value

    def _list(self, label: str, value: Any) -> Iterable[Any]:
        if not isinstance(value, list | tuple):
            raise self._bad(label, "a list", value)
        return value

    def _bad(self, field: str, expected: str, found: Any) -> ResultError:
        shown = found if isinstance(found, int | float | None) and len(str(found)) < 40 else str(found)[:40]
        return ResultError.invalid(
            f"{self._where} is not a result file: {field}",
            expected=expected,
            found=shown,
            hint="remove it and run again",
            path=self._path,
            field=field,
        )


_UNCHANGED_FIELDS = (
    *("task", "model", "settings", "key", "status", "main_metric", "metrics", "timings"),
    *("index_bytes", "peak_memory_bytes", "notes", "provenance", "created"),
)


def _fields_of_result(content: Mapping[str, Any], own: Mapping[str, Any], path: Path | None) -> dict[str, Any]:
    facts = _known(TaskFacts, own["facts"])
    facts |= {name: tuple(facts.get(name, ())) for name in LISTS}
    subsets = [subset for split in content["scores"].values() for subset in split]
    not_metrics = {"main_score", "hf_subset", "languages"}
    error = own["error"]
    return {
        **{name: own[name] for name in _UNCHANGED_FIELDS},
        "mteb": {name: value for subset in subsets for name, value in subset.items() if name not in not_metrics},
        "intervals": {name: Interval(*parts) for name, parts in own["intervals"].items()},
        "facts": TaskFacts(**facts),
        "misses": tuple(Miss(**_known(Miss, miss)) for miss in own["misses"]),
        "error": None if error is None else Failure(**_known(Failure, error)),
        "path": path,
    }


def _known(kind: type[TaskFacts | Miss | Failure], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values without fields that a later version has added: they do not make a file invalid."""
    names = {part.name for part in fields(kind)}
    return {name: value for name, value in values.items() if name in names}

"""The result file: MTEB's layout, so that its tools read it, and under `steelyard` all that MTEB has no place for."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, cast, get_args

from steelyard.errors import ResultError
from steelyard.results.languages import mteb_languages
from steelyard.results.schema import SCHEMA_VERSION, Failure, Miss, Result, Status, TaskFacts
from steelyard.types import Interval

MTEB_VERSION = "2.26.24"
"""The mteb version whose names, formulas and rounding the `scores` part follows."""

MTEB_VERSIONS = {"mteb-1.14": "1.14.15"}
"""The version under a profile other than the usual one."""

_MTEB_DIGITS = 6


class NewerResult(ResultError):
    """A result that a later version of Steelyard wrote: what it holds is not known here, so it is let alone."""


def to_json(result: Result) -> str:
    """The text of the file, one line a part: short enough to read, and ten times sooner written than indented."""
    return _lines(to_dict(result), levels=2) + "\n"


def _lines(value: Any, levels: int) -> str:
    if levels and isinstance(value, dict) and value:
        parts = (f"{json.dumps(name)}: {_lines(part, levels - 1)}" for name, part in value.items())
        return "{\n" + ",\n".join(parts) + "\n}"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def to_dict(result: Result) -> dict[str, Any]:
    """The file as a value of plain dictionaries, lists, strings, finite numbers and None."""
    return {
        "dataset_revision": result.facts.revision or result.facts.data_hash or "unknown",
        "task_name": result.task,
        "mteb_version": mteb_version(result),
        "scores": {result.facts.split: [mteb_subset(result)]} if result.done else {},
        "evaluation_time": result.timings.get("total"),
        "kg_co2_emissions": None,
        "steelyard": plain(_ours(result)),
    }


def mteb_version(result: Result) -> str:
    """The version whose figures the result's `mteb` part has."""
    return MTEB_VERSIONS.get(str(result.settings.get("profile")), MTEB_VERSION)


def mteb_subset(result: Result) -> dict[str, Any]:
    """What MTEB knows of the one subset that a task of ours is; its first version did not round in files."""
    scores = cast(dict[str, Any], plain(result.mteb))
    if mteb_version(result) == MTEB_VERSION:
        scores = _rounded(scores)
    return {
        **scores,
        "main_score": scores.get(result.main_metric),
        "hf_subset": "default",
        "languages": mteb_languages(result.facts.languages or (result.facts.language,)),
    }


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, _MTEB_DIGITS)
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    return [_rounded(part) for part in value] if isinstance(value, list) else value


def _ours(result: Result) -> dict[str, Any]:
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
    return {part.name: getattr(value, part.name) for part in fields(value)}


_AS_THEY_ARE = (str, int, bool, type(None))


def plain(value: Any) -> Any:
    """The value as strict JSON can hold it: tuples as lists, numpy numbers as Python's, NaN and infinity as None.

    >>> plain({"a": (1, float("nan"))})
    {'a': [1, None]}
    """
    if type(value) in _AS_THEY_ARE or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, dict | Mapping):  # a dictionary is told apart many times faster than any mapping
        return {str(name): plain(part) for name, part in value.items()}
    if hasattr(value, "tolist"):  # numpy scalars and arrays
        return plain(value.tolist())
    raise ResultError(
        f"{type(value).__name__} {value!r} cannot be stored in a result",
        hint="settings and notes may hold strings, numbers, booleans, lists and dictionaries",
    )


def from_json(text: str | bytes, path: Path | None = None) -> Result:
    """Read the text of a file; whatever is wrong with it becomes one ResultError that names the file."""
    where = str(path) if path else "the result"
    try:
        whole = json.loads(text, parse_constant=_not_strict)
        ours = whole["steelyard"]
        version = ours["schema_version"]
        if version > SCHEMA_VERSION:
            raise NewerResult(
                f"{where} has schema version {version}, expected {SCHEMA_VERSION}: it stays as it is",
                hint="use the version of Steelyard that wrote it, or another folder with --output",
            )
        if version != SCHEMA_VERSION:
            hint = "evaluate again: the file is of an older version of Steelyard"
            raise ResultError(f"{where} has schema version {version}, expected {SCHEMA_VERSION}", hint=hint)
        return _result(whole, ours, path)
    except KeyError as error:
        raise ResultError(f"{where} lacks the field {error}", hint="it was not written by steelyard run") from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise ResultError(f"{where} is not a result file: {error}", hint="remove it and run again") from error


def _not_strict(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


_NUMBERS = frozenset((int, float, type(None)))
_FORMS: Mapping[str, type] = {
    **dict.fromkeys(("task", "model", "key", "main_metric", "created"), str),
    **dict.fromkeys(("settings", "metrics", "intervals", "facts", "timings", "notes", "provenance"), dict),
}
_COUNTS = ("queries", "documents", "positives", "samples", "limit")


def _check(ours: Mapping[str, Any]) -> None:
    """A TypeError or ValueError where a field holds what nobody who reads the result could use."""
    for name, kind in _FORMS.items():
        if type(ours[name]) is not kind:
            raise TypeError(f"{name} is {str(ours[name])[:40]!r}")
    if ours["status"] not in get_args(Status):
        raise ValueError(f"status is {ours['status']!r}")
    counts = {name: ours["facts"].get(name) for name in _COUNTS}
    odd = {
        f"intervals.{name}": end
        for name, parts in ours["intervals"].items()
        for end in parts
        if type(end) not in _NUMBERS
    }
    for part, values in (("metrics", ours["metrics"]), ("timings", ours["timings"]), ("facts", counts)):
        odd |= {f"{part}.{name}": value for name, value in values.items() if type(value) not in _NUMBERS}
    for name, value in odd.items():
        raise TypeError(f"{name} is {str(value)[:40]!r}")


def _result(whole: Mapping[str, Any], ours: Mapping[str, Any], path: Path | None) -> Result:
    _check(ours)
    facts = _known(TaskFacts, ours["facts"])
    facts["languages"] = tuple(facts.get("languages", ()))
    subsets = [subset for split in whole["scores"].values() for subset in split]
    beside = {"main_score", "hf_subset", "languages"}
    error = ours["error"]
    return Result(
        task=ours["task"],
        model=ours["model"],
        settings=ours["settings"],
        key=ours["key"],
        status=cast(Status, ours["status"]),
        main_metric=ours["main_metric"],
        metrics=ours["metrics"],
        mteb={name: value for subset in subsets for name, value in subset.items() if name not in beside},
        intervals={name: Interval(*parts) for name, parts in ours["intervals"].items()},
        facts=TaskFacts(**facts),
        timings=ours["timings"],
        index_bytes=ours["index_bytes"],
        peak_memory_bytes=ours["peak_memory_bytes"],
        misses=tuple(Miss(**_known(Miss, miss)) for miss in ours["misses"]),
        notes=ours["notes"],
        provenance=ours["provenance"],
        error=None if error is None else Failure(**_known(Failure, error)),
        created=ours["created"],
        path=path,
    )


def _known(kind: type[TaskFacts | Miss | Failure], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values without fields that a later version has added: a file is not damaged by them."""
    names = {part.name for part in fields(kind)}
    return {name: value for name, value in values.items() if name in names}

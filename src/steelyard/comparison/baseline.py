"""A baseline: the per-query scores of one model in a small file that can be committed next to the code.

The file is JSON, one task a line, so that a change is visible in a diff:

    {"format": "steelyard-baseline", "version": 1, "model": ..., "created": ..., "checksum": ...,
     "tasks": {NAME: {"metric", "scoring", "score", "data_hash", "revision", "language", "type", "limit", "seed",
                      "profile", "queries", "ids", "scores"}}}

`ids` is a JSON list of query ids and `scores` are little-endian doubles; both are compressed with zlib and written in
base64. `checksum` is the BLAKE2b hash (16 bytes) of everything else.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import DataError, UsageError
from steelyard.files import write_output
from steelyard.results import QueryScores, Result, TaskFacts
from steelyard.results.keys import SCORING_VERSION, result_key
from steelyard.results.per_query import columns, is_mean
from steelyard.types import Float64

FORMAT = "steelyard-baseline"
VERSION = 1
_HINT = "write it again with --update-baseline, or restore the committed file"


def write_baseline(path: Path, results: Sequence[Result], metric: str | None = None) -> Path:
    """Write the per-query scores of the results of one model, whole or not at all."""
    models = list(dict.fromkeys(result.model for result in results))
    if len(models) != 1:
        raise UsageError(f"a baseline must be of one model, got {len(models)}: {', '.join(models)}", hint="name one")
    tasks = {}
    for result in results:
        name = metric or result.main_metric
        column = columns(result, [name]).get(name)
        if column is None or not is_mean(column, result.metrics.get(name)):
            raise DataError(
                f"{result.task}: {name} has no per-query scores of which it is the mean",
                hint="leave the task out, or choose another --metric",
            )
        if result.task in tasks:
            raise UsageError(
                f"a baseline must have one result for each task, got several of {result.task}",
                hint="name the folder of one evaluation",
            )
        tasks[result.task] = _entry(result, name, column.ids, column.values)
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "model": models[0],
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "tasks": tasks,
    }
    write_output(path, _text({**content, "checksum": _checksum(content)}).encode())
    return path


def _entry(result: Result, metric: str, ids: Sequence[str], values: Float64) -> dict[str, Any]:
    facts = result.facts
    return {
        "metric": metric,
        "scoring": SCORING_VERSION,
        "score": float(values.mean()),
        "data_hash": facts.data_hash,
        "revision": facts.revision,
        "language": facts.language,
        "type": facts.type,
        "split": facts.split,
        "limit": facts.limit,
        "seed": result.settings.get("seed"),
        "profile": result.settings.get("profile"),
        "top_k": result.settings.get("top_k"),
        "queries": len(ids),
        "ids": _packed(json.dumps(list(ids), ensure_ascii=False).encode()),
        "scores": _packed(np.asarray(values, dtype="<f8").tobytes()),
    }


def _packed(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content, 9)).decode()


def _text(content: Mapping[str, Any]) -> str:
    """Return the file's text: one task a line."""
    head = {name: value for name, value in content.items() if name != "tasks"}
    lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in content["tasks"].items()]
    return json.dumps(head)[:-1] + ', "tasks": {\n' + ",\n".join(lines) + "\n}}\n"


def _checksum(content: Mapping[str, Any]) -> str:
    rest = {name: value for name, value in content.items() if name != "checksum"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def is_baseline(path: Path) -> bool:
    """Return whether a JSON file begins like a baseline."""
    with path.open("rb") as file:
        return FORMAT.encode() in file.read(200)


def read_baseline(path: Path) -> list[Result]:
    """Return the results of a baseline file; a damaged one raises a DataError with the reason."""
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise DataError(f"the baseline cannot be read: {error.strerror}", where=str(path), hint=_HINT) from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"the baseline must be JSON: {error}", where=str(path), hint=_HINT) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError(f"the file must be a baseline with format {FORMAT!r}", where=str(path), hint=_HINT)
    if content.get("version") != VERSION:
        raise DataError(
            f"the version of the baseline must be {VERSION}, got {content.get('version')!r}",
            where=str(path),
            hint="update Steelyard, or write the baseline again with --update-baseline",
        )
    if _checksum(content) != content.get("checksum"):
        raise DataError("the checksum of the baseline does not match its content", where=str(path), hint=_HINT)
    return [_result(path, content, task, entry) for task, entry in content["tasks"].items()]


def _result(path: Path, content: Mapping[str, Any], task: str, entry: Mapping[str, Any]) -> Result:
    try:
        ids = tuple(json.loads(zlib.decompress(base64.b64decode(entry["ids"], validate=True))))
        values = np.frombuffer(zlib.decompress(base64.b64decode(entry["scores"], validate=True)), dtype="<f8")
    except (KeyError, TypeError, ValueError, RecursionError, binascii.Error, zlib.error) as error:
        raise DataError(f"the scores of {task} cannot be read: {error}", where=str(path), hint=_HINT) from error
    if len(ids) != len(values) or not np.isfinite(values).all():
        raise DataError(
            f"{task} must have one finite score for each of its {len(ids)} queries, got {len(values)}",
            where=str(path),
            hint=_HINT,
        )
    metric = str(entry["metric"])
    facts = TaskFacts(
        language=entry.get("language") or "unknown",
        type=entry.get("type") or "retrieval",
        split=entry.get("split") or "test",
        queries=len(ids),
        revision=entry.get("revision"),
        data_hash=entry.get("data_hash"),
        limit=entry.get("limit"),
    )
    settings = {name: entry[name] for name in ("seed", "profile", "top_k") if entry.get(name) is not None}
    return Result(
        task=task,
        model=str(content["model"]),
        settings=settings,
        key=result_key(settings, task, facts) if entry.get("scoring") == SCORING_VERSION else "other scoring",
        main_metric=metric,
        metrics={metric: float(values.mean())},
        facts=facts,
        created=str(content.get("created", "")),
        queries=QueryScores(ids, None, {metric: values.astype(np.float64)}),
    )

"""What is known of a set besides its tables: `manifest.json` of a Nano-set, `task.json` of your own folder.

Both are optional. `task.json` is one object: `name`, `language` or `languages`, `category`, `type`, `source`,
`licence`, `description`, `ignore_identical_ids`, `main_metric`, the constants of a type (`samples_per_label`), and the
metadata of `formats.task_metadata` (references, training data ...). An unknown key is an error. `manifest.json` has one
such object for each task under `tasks`, with counts and hashes.
"""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.datasets.formats.task_metadata import (
    METADATA_KEYS,
    metadata_facts,
    parse_metadata,
    refuse_unknown_keys,
)
from steelyard.datasets.language_codes import language_code, overall_language
from steelyard.errors import DataError, printable
from steelyard.files import parse_yaml
from steelyard.types import TaskInfo

if TYPE_CHECKING:
    from steelyard.types import Task

MANIFEST = "manifest.json"
SIDECAR = "task.json"
CATEGORIES = ("natural_language", "code")
RECENT = 50_000_000
"""Nanoseconds in which a file may change twice with the same time stamp."""
EXPECTED = {
    "category": " or ".join(CATEGORIES),
    "language": 'a code such as "zh"',
    "languages": 'a list of codes such as ["zh", "en"]',
    "ignore_identical_ids": "true or false",
    "reference": "an object of numbers",
}
"""What these facts may be; the others may be anything."""
FACT_KEYS = (
    *("name", "language", "languages", "category", "type", "main_metric", "source", "revision", "split"),
    *("description", "note", "licence", "license", "ignore_identical_ids", "reference", "counts"),
)
"""The keys of the facts of a task besides its metadata."""
SET_FILE = "set.yaml"
SET_KEYS = ("title", "description", "licence", "license", "options", "tasks")
SET_TASK_KEYS = (
    *("source", "options"),
    *(key for key in FACT_KEYS if key not in ("name", "type", "source", "revision", "split", "reference")),
)
"""The keys of a task in `set.yaml` besides its metadata."""
SET_EXAMPLE = "tasks: {news: {source: ./news}}"


def read_json_object(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; empty if there is no such file."""
    try:
        state = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise DataError(
            f"the file cannot be read: {error}", path=path, hint="check its name and permissions"
        ) from error
    if not path.is_file():
        return {}
    if time.time_ns() - state.st_mtime_ns < RECENT:  # it may change again without a new time stamp
        return _parse(path)
    return copy.copy(_parse_once(path, state.st_ino, state.st_mtime_ns, state.st_size))


@lru_cache(maxsize=4)
def _parse_once(path: Path, inode: int, changed: int, size: int) -> dict[str, Any]:
    """Parse a file once as long as it does not change: a manifest is needed for each of its tasks."""
    return _parse(path)


def _parse(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        from steelyard.datasets.tables.files import os_error

        message, hint = os_error(error)
        raise DataError(message, path=path, hint=hint) from error
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
        raise DataError(f"the file must be JSON in UTF-8: {error}", path=path, hint="fix or remove the file") from error
    if not isinstance(value, dict):
        raise DataError.invalid("the content", expected="a JSON object", found=type(value).__name__, path=path)
    return value


def read_sidecar(folder: Path) -> dict[str, Any]:
    """Return the facts in the `task.json` of a folder, empty if it has none; an unknown key is a DataError."""
    path = folder / SIDECAR
    facts = read_json_object(path)
    if facts:
        from steelyard.datasets.samples.constants import FORMS  # imports numpy, which a list of tasks does not need

        known = (*FACT_KEYS, *METADATA_KEYS, "n_experiments", *FORMS)
        refuse_unknown_keys(facts, known, SIDECAR, path)
        parse_metadata(facts, SIDECAR, path)
    return facts


def read_set_file(path: Path) -> dict[str, Any]:
    """Return the object in a `set.yaml`; an unknown key, also of a task, is a DataError with the near name."""
    try:
        content = parse_yaml(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise DataError(f"the file cannot be read: {error.strerror}", path=path, hint="check the path") from error
    except ValueError as error:  # UnicodeDecodeError is one
        raise DataError(f"the file must be YAML in UTF-8: {error}", path=path, hint=SET_EXAMPLE) from error
    if not isinstance(content, dict):
        kind = type(content).__name__
        raise DataError.invalid("the file", expected="an object", found=kind, path=path, hint=SET_EXAMPLE)
    refuse_unknown_keys(content, SET_KEYS, path.name, path)
    tasks = content.get("tasks")
    if not isinstance(tasks, dict) or not tasks:
        expected = "an object of tasks by name"
        raise DataError.invalid("tasks", expected=expected, found=tasks, path=path, field="tasks", hint=SET_EXAMPLE)
    for name, facts in tasks.items():
        if isinstance(facts, dict):
            refuse_unknown_keys(facts, (*SET_TASK_KEYS, *METADATA_KEYS), f"tasks.{name}", path)
            parse_metadata(facts, f"tasks.{name}", path)
    return content


def set_facts(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the facts of the tasks in the `set.yaml` of a folder, by name; empty if it has none."""
    path = folder / SET_FILE
    if not path.is_file():
        return {}
    content = read_set_file(path)
    licence = content.get("licence") or content.get("license")
    return {
        str(name): {
            **({"licence": licence} if licence else {}),
            **{key: value for key, value in facts.items() if key not in ("source", "options")},
        }
        for name, facts in content["tasks"].items()
        if isinstance(facts, dict)
    }


def candidates_path(folder: Path, task: str) -> Path:
    """Return where a Nano-set documents how the candidate lists of a task were made."""
    return folder / "metadata" / f"{task}.candidates.json"


def with_safeguards(task: Task, facts_of: Mapping[str, Any]) -> Task:
    """Return the task with the safeguards of its candidate lists, which `made` records.

    A list whose last candidate is not the recorded one was made again since, so it has no known safeguards.
    """
    import numpy as np

    from steelyard.types import Guarded

    lists = dict(task.candidates)
    for name, ranked in task.candidates.items():
        facts = facts_of.get(name)
        recorded = facts.get("safeguards") if isinstance(facts, dict) else None
        if not isinstance(recorded, dict):
            continue
        rows, queries = task.corpus.row_of, task.queries.row_of
        guarded = {
            queries[query]: rows.get(str(document), -1) for query, document in recorded.items() if query in queries
        }
        if all(ranked.rows_of(query)[-1:].tolist() == [row] for query, row in guarded.items()):
            lists[name] = Guarded(ranked.offsets, ranked.rows, np.array(sorted(guarded), dtype=np.int64))
    return replace(task, candidates=lists)


def task_info(facts: Mapping[str, Any], *, name: str, source: str) -> TaskInfo:
    """Return a `TaskInfo` from the facts of a sidecar; missing ones have their defaults.

    >>> task_info({"languages": ["cmn", "eng"], "licence": "MIT"}, name="local/x", source="x").language
    'multilingual'
    """
    listed = facts.get("languages") or ()
    tags = [listed] if isinstance(listed, str) else listed
    _refuse(facts, tags, name)
    languages = tuple(dict.fromkeys(language_code(tag) for tag in tags))
    language = language_code(facts["language"]) if facts.get("language") else overall_language(languages)
    reference = facts.get("reference")
    return TaskInfo(
        name=_text(name),
        language=language,
        languages=languages or ((language,) if language not in ("multilingual", "unknown") else ()),
        category=_text(facts.get("category") or "natural_language"),
        type=_text(facts.get("type") or "retrieval"),
        main_metric=_text(facts["main_metric"]) if facts.get("main_metric") else None,
        source=_text(facts.get("source") or source),
        revision=_text(facts["revision"]) if facts.get("revision") else None,
        split=_text(facts.get("split") or "test"),
        description=_text(facts.get("description") or facts.get("note") or ""),
        licence=_text(licence) if (licence := facts.get("licence") or facts.get("license")) else None,
        ignore_identical_ids=bool(facts.get("ignore_identical_ids", False)),
        reference={key: float(value) for key, value in reference.items()} if isinstance(reference, dict) else {},
        metadata=parse_metadata(facts, name),
    )


def _refuse(facts: Mapping[str, Any], tags: Any, name: str) -> None:
    """Raise a DataError for an invalid fact; an unknown category would choose an analyser silently."""
    reference = facts.get("reference") or {}
    wrong = {
        "category": (facts.get("category") or CATEGORIES[0]) not in list(CATEGORIES),
        "language": not isinstance(facts.get("language") or "", str),
        "languages": not (isinstance(tags, list | tuple) and all(isinstance(tag, str) for tag in tags)),
        "ignore_identical_ids": not isinstance(facts.get("ignore_identical_ids", False), bool),
        "reference": not (isinstance(reference, dict) and all(_is_number(value) for value in reference.values())),
    }
    for key in (key for key, is_wrong in wrong.items() if is_wrong):
        raise DataError(
            f"{key} must be {EXPECTED[key]}, got {json.dumps(facts[key], ensure_ascii=False, default=str)[:200]}",
            where=name,
            field=key,
            found=facts[key],
            expected=EXPECTED[key],
            hint=f"fix it in {SIDECAR} or {MANIFEST}",
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**1023)


def _text(value: Any) -> str:
    """Return a fact as text that can be printed and encoded; null and numbers are possible in JSON."""
    return printable(str(value).encode("utf-8", "replace").decode()).strip()


def info_facts(info: TaskInfo) -> dict[str, Any]:
    """Return the facts of a task for a manifest."""
    facts: dict[str, Any] = {
        "name": info.name,
        "language": info.language,
        "languages": list(info.languages),
        "category": info.category,
        "type": info.type,
        "main_metric": info.main_metric,
        "source": info.source,
        "revision": info.revision,
        "split": info.split,
        "description": info.description,
        "licence": info.licence,
        "ignore_identical_ids": info.ignore_identical_ids,
        "reference": dict(info.reference),
        **metadata_facts(info.metadata),
    }
    return {key: value for key, value in facts.items() if value not in (None, "", [], {})}

"""Facts about the tasks and benchmarks of mteb: type, main metric, languages, which tasks a benchmark has.

The facts are in `mteb_catalogue.json.gz`. `write()` makes the file again from the installed mteb package; a test
checks that it matches. Reading needs no mteb. `same_data.json` lists revisions of a task's data that differ in format
only; `benchmarks/studies/same_data.py` made it from statistics that mteb recorded.
"""

from __future__ import annotations

import gzip
import json
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

FILE, SAME_DATA = "mteb_catalogue.json.gz", "same_data.json"


@lru_cache(maxsize=1)
def catalogue() -> dict[str, Any]:
    """Return `tasks` (facts by name), `benchmarks` (tasks, splits and subsets by name) and the `mteb` version."""
    data: dict[str, Any] = json.loads(gzip.decompress(_content(FILE)))
    return data


def _content(name: str) -> bytes:
    return resources.files("steelyard.warehouse").joinpath(name).read_bytes()


def same_data() -> dict[str, list[str]]:
    """Return, by task, the revisions that have the same data in another format."""
    groups: dict[str, list[str]] = json.loads(_content(SAME_DATA))
    return groups


def main_metric(task: str) -> str | None:
    """Return the metric that mteb declares as the task's main one.

    >>> main_metric("T2Retrieval"), main_metric("NoSuchTask")
    ('ndcg_at_10', None)
    """
    facts = catalogue()["tasks"].get(task)
    return facts["main_score"] if facts else None


def from_mteb() -> dict[str, Any]:
    """Return the catalogue as the installed mteb package has it."""
    import importlib

    mteb: Any = importlib.import_module("mteb")
    tasks = {task.metadata.name: _facts(task.metadata) for task in mteb.get_tasks(exclude_superseded=False)}
    benchmarks = {}
    for benchmark in mteb.get_benchmarks():
        chosen = {}
        for task in benchmark.tasks:
            facts = task.metadata
            tasks.setdefault(facts.name, _facts(facts))  # closed tasks are in benchmarks only
            subsets, splits = sorted(task.hf_subsets), list(task.eval_splits)
            whole = subsets == sorted(facts.hf_subsets) and splits == list(facts.eval_splits)
            chosen[facts.name] = None if whole else {"subsets": subsets, "splits": splits}
        benchmarks[benchmark.name] = {"title": benchmark.display_name or benchmark.name, "tasks": chosen}
    return {"mteb": mteb.__version__, "tasks": tasks, "benchmarks": benchmarks}


def _facts(metadata: Any) -> dict[str, Any]:
    return {
        "type": metadata.type,
        "category": metadata.category,
        "main_score": metadata.main_score,
        "languages": sorted(metadata.languages),
        "domains": sorted(metadata.domains or []),
        "modalities": sorted(metadata.modalities),
        "splits": list(metadata.eval_splits),
        "subsets": sorted(metadata.hf_subsets),
        "public": metadata.is_public is not False,
    }


def packed(data: dict[str, Any]) -> bytes:
    """Return the catalogue as the bytes of its file: the same for the same facts."""
    text = json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return gzip.compress(text.encode("utf-8"), compresslevel=9, mtime=0)


def write() -> None:
    """Write the file again from the installed mteb package."""
    Path(__file__).with_name(FILE).write_bytes(packed(from_mteb()))

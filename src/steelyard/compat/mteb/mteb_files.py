"""Results as files of mteb, so that its own readers load them: a file for each model and task, all splits in it.

A result under the profile `mteb-1.14` is written as that version wrote, any other as mteb 2 does:

    <folder>/<model>/<revision>/<Task>.json                 1.14: keys sorted, figures unrounded
    <folder>/results/<model>/<revision>/<Task>.json         2: `mteb.ResultCache(folder)` reads it
                                        model_meta.json     beside both
                                        run_settings.jsonl  beside the second

What mteb has no place for stands under `steelyard`, which its readers pass over: that a result is of a part of the
task, and the hash of the data.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from steelyard.compat.mteb.model_meta import write_meta, write_settings
from steelyard.compat.mteb.mteb_names import CMTEB, MtebModel, file_name, model_of, speaks_mteb_2, task_name
from steelyard.files import write_output
from steelyard.results import Result
from steelyard.results.result_file import mteb_subset, mteb_version, plain

UNDETERMINED = "und-Zyyy"
"""Where no language is known: mteb leaves figures without any language out of its means."""
PHASES = {
    "load": "Data loading",
    "index": "Encoding corpus",
    "encode": "Encoding samples",
    "search": "Searching corpus",
    "score": "Scoring",
}
"""What mteb calls the parts of an evaluation, in the order of time."""


class MtebFolder:
    """Writes results as they come; a task's splits and subsets join in one file."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._parts: dict[Path, dict[tuple[str, str], Result]] = {}

    def add(self, result: Result, model: MtebModel | None = None, previous: MtebModel | None = None) -> Path | None:
        """Write the file of a result, anew if other splits are in it; None for a failure, of which there is none.

        `previous` is the model whose lists a second stage ranked.
        """
        if not result.done:
            return None
        named = model or model_of(result)
        task, subset = task_name(result)
        folder = self.folder / "results" / named.path if speaks_mteb_2(result) else self.folder / named.path
        path = folder / f"{file_name(task)}.json"
        parts = self._parts.setdefault(path, {})
        parts[result.facts.split, subset] = result
        write_output(path, _text(_task_file(task, parts, previous), mteb_2=speaks_mteb_2(result)))
        write_meta(folder, named, mteb_2=speaks_mteb_2(result))
        if speaks_mteb_2(result):
            write_settings(folder / "run_settings.jsonl", task, named, parts)
        return path


def write_mteb_files(results: Iterable[Result], folder: str | Path) -> list[Path]:
    """Results as mteb's files; the paths of those written, each once."""
    files = MtebFolder(folder)
    return list(dict.fromkeys(path for result in results if (path := files.add(result)) is not None))


def _task_file(task: str, parts: Mapping[tuple[str, str], Result], previous: MtebModel | None = None) -> dict[str, Any]:
    scores: dict[str, list[dict[str, Any]]] = {}
    for (split, subset), result in parts.items():
        scores.setdefault(split, []).append(_subset(result, subset, previous))
    last = list(parts.values())[-1]
    written: dict[str, Any] = {
        "dataset_revision": last.facts.revision or last.facts.data_hash or "unknown",
        "task_name": task,
        "mteb_version": mteb_version(last),
        "scores": scores,
        "evaluation_time": sum(result.timings.get("total", 0.0) for result in parts.values()),
        "kg_co2_emissions": None,
    }
    if speaks_mteb_2(last):
        written["date"] = datetime.fromisoformat(last.created).timestamp() if last.created else None
        written["evaluation_phases"] = _phases(parts)
    written["steelyard"] = {f"{split}/{subset}": _beside(result) for (split, subset), result in parts.items()}
    return written


def _subset(result: Result, subset: str, previous: MtebModel | None) -> dict[str, Any]:
    scores = {**mteb_subset(result), "hf_subset": subset}
    if result.task.startswith(f"{CMTEB}/"):
        scores["languages"] = ["cmn-Hans"]  # mteb's code for the language that others call Chinese
    scores["languages"] = scores["languages"] or [UNDETERMINED]
    if speaks_mteb_2(result):
        scores["mteb_version"] = mteb_version(result)
        if previous is not None:
            scores["previous_results_model_meta"] = previous.meta
    return scores


def _beside(result: Result) -> dict[str, Any]:
    """What makes the figures comparable, or not."""
    facts = result.facts
    counts = {
        name: getattr(facts, name)
        for name in ("queries", "documents", "samples", "queries_in_full", "documents_in_full", "samples_in_full")
        if getattr(facts, name) is not None
    }
    return {
        "partial": result.partial,
        "limit": facts.limit,
        **counts,
        "data_hash": facts.data_hash,
        "model": result.model,
        "key": result.key,
    }


def _phases(parts: Mapping[tuple[str, str], Result]) -> list[dict[str, Any]]:
    phases: list[dict[str, Any]] = []
    now = 0.0
    for (split, subset), result in parts.items():
        for name, called in PHASES.items():
            if name in result.timings:
                place = {"split": "", "subset": ""} if name == "load" else {"split": split, "subset": subset}
                phases.append({"name": called, "start": now, "end": now + result.timings[name], **place})
                now = phases[-1]["end"]
    return phases


def _text(value: Mapping[str, Any], *, mteb_2: bool) -> bytes:
    """As the version writes; but NaN, which is no JSON, is null."""
    text = json.dumps(plain(value), indent=2, sort_keys=not mteb_2, ensure_ascii=False, allow_nan=False)
    return text.encode()

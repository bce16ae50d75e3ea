"""Results as files of mteb, which its own readers load: a file for each model and task, with all splits.

    <folder>/results/<model>/<revision>/<Task>.json          `mteb.ResultCache(folder)` reads it
                                        model_meta.json
                                        run_settings.jsonl
                                        experiments/<name>/  variants of the model, and partial results
    <folder>/<model>/<revision>/<Task>.json                  also, with the profile `mteb-1.14`, as that version does
                                model_meta.json

With the profile `mteb-1.14` files have the fields of that version: keys sorted, scores not rounded.

Fields that mteb does not have are under `steelyard`, which its readers ignore: whether the result is partial, and the
hash of the data.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from steelyard.compat.mteb.mteb_names import MtebModel, file_name, is_mteb_2, model_of, task_name
from steelyard.files import read_cached, write_output
from steelyard.results import Result
from steelyard.results.keys import digest
from steelyard.results.result_file import mteb_subset, mteb_version, plain

UNDETERMINED = "und-Zyyy"
"""The code of an unknown language: mteb leaves scores without a language out of its means."""
LIMITS = "limits"
"""The name of the experiment of a partial result: mteb's reader leaves experiments out unless it is asked for them."""
PHASES = {
    "load": "Data loading",
    "index": "Encoding corpus",
    "encode": "Encoding samples",
    "search": "Searching corpus",
    "score": "Scoring",
}
"""mteb's names of the phases of an evaluation, in the order of time."""


class MtebFolder:
    """Writes results one by one; the splits and subsets of a task share a file."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._parts: dict[Path, dict[tuple[str, str], Result]] = {}

    def add(self, result: Result, model: MtebModel | None = None, previous: MtebModel | None = None) -> Path | None:
        """Write the file of a result with the earlier splits of its task; return None for a failure, which has no file.

        `previous` is the model whose lists a second stage reranked.
        """
        if not result.done:
            return None
        named = model or model_of(result)
        task, _ = task_name(result)
        file, first = f"{file_name(task)}.json", None
        if not is_mteb_2(result):
            first = replace(named, name=named.label or named.name)
            self._write(self.folder / first.path / file, result, first, previous)
        if result.partial:  # mteb's reader must not take it for a whole one
            named = replace(named, experiment={**named.experiment, LIMITS: result.facts.limit})
        path = self.folder / "results" / named.path / file
        self._write(path, result, named, previous, settings=True)
        return path if first is None else self.folder / first.path / file

    def _write(
        self, path: Path, result: Result, model: MtebModel, previous: MtebModel | None, *, settings: bool = False
    ) -> None:
        task, subset = task_name(result)
        parts = self._parts.setdefault(path, {})
        parts[result.facts.split, subset] = result
        mteb_2 = is_mteb_2(result)
        write_output(path, _text(_task_file(task, parts, previous), mteb_2=mteb_2))
        write_meta(path.parent, model, mteb_2=settings)
        if settings:
            write_settings(path.parent / "run_settings.jsonl", task, model, parts)


def write_mteb_files(results: Iterable[Result], folder: str | Path) -> list[Path]:
    """Write results as mteb's files; return the paths, each once."""
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
        "kg_co2_emissions": _emissions(parts.values()),
    }
    if is_mteb_2(last):
        written["date"] = datetime.fromisoformat(last.created).timestamp() if last.created else None
        written["evaluation_phases"] = _phases(parts)
    written["steelyard"] = {f"{split}/{subset}": _own_fields(result) for (split, subset), result in parts.items()}
    return written


def _emissions(results: Iterable[Result]) -> float | None:
    """Return the sum over splits and subsets; None if one was not measured."""
    listed = list(results)
    measured = [float(value) for result in listed if (value := result.notes.get("kg_co2_emissions")) is not None]
    return sum(measured) if len(measured) == len(listed) else None


def _subset(result: Result, subset: str, previous: MtebModel | None) -> dict[str, Any]:
    scores = {**mteb_subset(result), "hf_subset": subset}
    scores["languages"] = scores["languages"] or [UNDETERMINED]
    if is_mteb_2(result):
        scores["mteb_version"] = mteb_version(result)
        if previous is not None:
            scores["previous_results_model_meta"] = previous.meta
    return scores


def _own_fields(result: Result) -> dict[str, Any]:
    """Return the fields that show whether scores are comparable."""
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
        "model_settings": settings_digest(result),
        "key": result.key,
    }


def settings_digest(result: Result) -> str:
    """Return a hash of the model's settings: files with the same one are of the same model."""
    return digest(plain(result.settings.get("model_settings")))


def other_settings(folder: Path, own: set[str]) -> list[str]:
    """Return the files in a folder of models that are not among these, by `settings_digest`."""
    others = []
    for path in sorted(folder.glob("*.json")):
        fields = read_cached(path).get("steelyard") if path.name != "model_meta.json" else None
        parts = fields.values() if isinstance(fields, dict) else ()
        known = {str(part["model_settings"]) for part in parts if isinstance(part, dict) and "model_settings" in part}
        if known - own:
            others.append(path.name)
    return others


def _phases(parts: Mapping[tuple[str, str], Result]) -> list[dict[str, Any]]:
    phases: list[dict[str, Any]] = []
    now = 0.0
    for (split, subset), result in parts.items():
        for name, title in PHASES.items():
            if name in result.timings:
                place = {"split": "", "subset": ""} if name == "load" else {"split": split, "subset": subset}
                phases.append({"name": title, "start": now, "end": now + result.timings[name], **place})
                now = phases[-1]["end"]
    return phases


def _text(value: Mapping[str, Any], *, mteb_2: bool) -> bytes:
    """Return the text as the version writes it, but with null instead of NaN."""
    text = json.dumps(plain(value), indent=2, sort_keys=not mteb_2, ensure_ascii=False, allow_nan=False)
    return text.encode()


def write_meta(folder: Path, model: MtebModel, *, mteb_2: bool) -> None:
    """Write the fields of the version, in its order; unknown values are null."""
    of = model.settings
    known = {
        "name": model.name,
        "revision": model.revision,
        "max_tokens": of.get("max_seq_length") or of.get("max_length"),
        "embed_dim": of.get("dimension"),
        "similarity_fn_name": of.get("similarity"),
        "framework": ["Sentence Transformers", "PyTorch"] if "sentence-transf" in str(of.get("library")) else [],
    }
    if mteb_2:
        kind = "cross-encoder" if model.cross_encoder else "dense"
        known |= {"loader_kwargs": {}, "modalities": ["text"], "model_type": [kind]}
        known |= {"is_cross_encoder": model.cross_encoder, "experiment_kwargs": dict(model.experiment) or None}
    names = _META if mteb_2 else _FIRST_META
    meta = {name: known.get(name) for name in names}
    write_output(folder / "model_meta.json", json.dumps(plain(meta), indent=4 if mteb_2 else None).encode())


def write_settings(path: Path, task: str, model: MtebModel, parts: Mapping[tuple[str, str], Result]) -> None:
    """Write one line for each task and split; they replace the earlier lines of the task."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    others = [line for line in lines if _task_of(line) not in (None, task)]
    versions = _versions(next(iter(parts.values())))
    for split in dict.fromkeys(split for split, _ in parts):
        row = {
            "task": task,
            "splits": [split],
            "version": versions,
            "encode_kwargs": plain(model.encode_kwargs),
            "subsets": sorted(subset for of, subset in parts if of == split),
        }
        others.append(json.dumps(row))
    write_output(path, "".join(f"{line}\n" for line in others).encode())


def _task_of(line: str) -> str | None:
    """Return the task of a line; None for a damaged one."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return str(row.get("task")) if isinstance(row, dict) else None


def _versions(result: Result) -> dict[str, str | None]:
    """Return the versions of the libraries that mteb lists; its own is the one that the scores follow."""
    from importlib import metadata

    versions: dict[str, str | None] = {"mteb": mteb_version(result)}
    for package in ("torch", "sentence-transformers", "flash-attn", "transformers", "steelyard"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    return versions


_FIRST_META = (
    *("name", "revision", "release_date", "languages", "n_parameters", "memory_usage", "max_tokens", "embed_dim"),
    *("license", "open_source", "similarity_fn_name", "framework", "loader"),
)


_META = (
    *("loader_kwargs", "name", "revision", "release_date", "languages", "n_parameters"),
    *("n_active_parameters_override", "n_embedding_parameters", "memory_usage_mb", "max_tokens", "embed_dim"),
    *("license", "open_weights", "public_training_code", "public_training_data", "framework", "reference"),
    *("similarity_fn_name", "use_instructions", "training_datasets", "adapted_from", "superseded_by", "modalities"),
    *("model_type", "citation", "contacts", "experiment_kwargs", "output_dtypes", "extra_requirements_groups"),
    *("loader", "is_cross_encoder"),
)
"""The fields of `model_meta.json` in mteb 1.14 and in mteb 2, in their order."""

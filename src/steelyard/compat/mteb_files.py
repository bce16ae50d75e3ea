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
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from steelyard.errors import UsageError
from steelyard.results import Result
from steelyard.results.atomic import write_whole
from steelyard.results.keys import model_slug
from steelyard.results.layout import MTEB_VERSION, mteb_subset, mteb_version, plain
from steelyard.spec import parse

CMTEB = "C-MTEB"
NO_REVISION = "no_revision_available"
"""What mteb calls the revision of a model that has none."""
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
_UNSAFE = re.compile(r"[^A-Za-z0-9._+-]+")
_TASK = re.compile(r"(?P<task>[^\[\]:]+)(?:\[(?P<subset>[^\[\]]+)\])?(?::(?P<split>[^\[\]:]+))?")


@dataclass(frozen=True)
class MtebModel:
    """A model as mteb's files name it."""

    name: str
    """`organisation/name`; the first version has names without an organisation, too."""
    revision: str = NO_REVISION
    cross_encoder: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the retriever or reranker: dimension, length and similarity are told from them."""
    encode_kwargs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """The folders of the model and its revision.

        >>> MtebModel("intfloat/multilingual-e5-small", "main").path
        'intfloat__multilingual-e5-small/main'
        """
        parts = (self.name.replace("/", "__"), self.revision)
        return "/".join(_UNSAFE.sub("_", part).lstrip(".") or "model" for part in parts)

    @property
    def meta(self) -> dict[str, str]:
        """How predictions and second stages refer to it."""
        return {"model_name": self.name, "revision": self.revision}


def model_of(result: Result) -> MtebModel:
    """The model of any result: an id of a hub under its own name, everything else under ours.

    >>> model_of(Result("T/a", "dense:intfloat/e5", {"model_settings": {"revision": "abc"}}, "")).path
    'intfloat__e5/abc'
    >>> model_of(Result("T/a", "[bm25, dense:X/y]?k=10", {}, "")).name
    'steelyard/bm25_dense_X__y_k_10'
    """
    settings = result.settings.get("model_settings") or {}
    try:
        spec = parse(result.model)
    except UsageError:  # a model that was given as an object may have any name
        spec = None
    revision = settings.get("revision")
    if spec is not None and not spec.parts and not spec.options and spec.id.count("/") == 1 and revision:
        return MtebModel(spec.id, str(revision), settings=settings)
    return MtebModel(f"steelyard/{model_slug(result.model)}", str(revision or NO_REVISION), settings=settings)


def task_name(result: Result) -> tuple[str, str]:
    """What mteb calls the task, and the subset.

    >>> task_name(Result("C-MTEB/ATEC:validation", "m", {}, "")), task_name(Result("mteb/STS22.v2[zh]", "m", {}, ""))
    (('ATEC', 'default'), ('STS22.v2', 'zh'))
    >>> task_name(Result("C-MTEB/CMedQAv1-reranking", "m", {"profile": "mteb-1.14"}, ""))[0]
    'CMedQAv1'
    """
    group, _, task = result.task.rpartition("/")
    match = _TASK.fullmatch(task)
    name, subset = (match["task"], match["subset"]) if match else (task, None)
    if group == CMTEB and not _present(result):
        name = name.removesuffix("-reranking")  # it got that ending later
    if group not in (CMTEB, "mteb", ""):
        name = f"{group}/{name}"
    return name, subset or "default"


def _present(result: Result) -> bool:
    """Whether the figures are those of mteb 2."""
    return mteb_version(result) == MTEB_VERSION


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
        folder = self.folder / "results" / named.path if _present(result) else self.folder / named.path
        path = folder / f"{_UNSAFE.sub('_', task.replace('/', '__'))}.json"
        parts = self._parts.setdefault(path, {})
        parts[result.facts.split, subset] = result
        write_whole(path, _text(_task_file(task, parts, previous), present=_present(result)))
        _write_meta(folder, named, present=_present(result))
        if _present(result):
            _write_settings(folder / "run_settings.jsonl", task, named, parts)
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
    if _present(last):
        written["date"] = datetime.fromisoformat(last.created).timestamp() if last.created else None
        written["evaluation_phases"] = _phases(parts)
    written["steelyard"] = {f"{split}/{subset}": _beside(result) for (split, subset), result in parts.items()}
    return written


def _subset(result: Result, subset: str, previous: MtebModel | None) -> dict[str, Any]:
    scores = {**mteb_subset(result), "hf_subset": subset}
    if result.task.startswith(f"{CMTEB}/"):
        scores["languages"] = ["cmn-Hans"]  # mteb's code for the language that others call Chinese
    scores["languages"] = scores["languages"] or [UNDETERMINED]
    if _present(result):
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


def _text(value: Mapping[str, Any], *, present: bool) -> bytes:
    """As the version writes; but NaN, which is no JSON, is null."""
    text = json.dumps(plain(value), indent=2, sort_keys=not present, ensure_ascii=False, allow_nan=False)
    return text.encode()


def _write_meta(folder: Path, model: MtebModel, *, present: bool) -> None:
    of = model.settings
    known = {
        "name": model.name,
        "revision": model.revision,
        "max_tokens": of.get("max_seq_length") or of.get("max_length"),
        "embed_dim": of.get("dimension"),
        "similarity_fn_name": of.get("similarity"),
        "framework": ["Sentence Transformers", "PyTorch"] if "sentence-transf" in str(of.get("library")) else [],
    }
    if present:
        kind = "cross-encoder" if model.cross_encoder else "dense"
        beside = {"loader_kwargs": {}, "modalities": ["text"], "model_type": [kind]}
        known |= {**beside, "is_cross_encoder": model.cross_encoder}
    names = _META if present else _FIRST_META
    meta = {name: known.get(name) for name in names}
    write_whole(folder / "model_meta.json", json.dumps(plain(meta), indent=4 if present else None).encode())


def _write_settings(path: Path, task: str, model: MtebModel, parts: Mapping[tuple[str, str], Result]) -> None:
    """One line a task and split, in place of those that the task had."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    kept = [line for line in lines if json.loads(line).get("task") != task]
    versions = _versions(next(iter(parts.values())))
    for split in dict.fromkeys(split for split, _ in parts):
        row = {
            "task": task,
            "splits": [split],
            "version": versions,
            "encode_kwargs": plain(model.encode_kwargs),
            "subsets": sorted(subset for of, subset in parts if of == split),
        }
        kept.append(json.dumps(row))
    write_whole(path, "".join(f"{line}\n" for line in kept).encode())


def _versions(result: Result) -> dict[str, str | None]:
    """The libraries that mteb names; its own is the one whose figures these are."""
    from importlib import metadata

    found: dict[str, str | None] = {"mteb": mteb_version(result)}
    for package in ("torch", "sentence-transformers", "flash-attn", "transformers", "steelyard"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = None
    return found


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
"""The fields of `model_meta.json` in the first version and now, in their order."""

"""mteb's further files of a model: `model_meta.json` and `run_settings.jsonl`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from steelyard.compat.mteb.mteb_names import MtebModel
from steelyard.files import write_output
from steelyard.results import Result
from steelyard.results.result_file import mteb_version, plain


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

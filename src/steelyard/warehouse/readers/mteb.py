"""Result files of mteb, every version: `scores` by split since 1.11, splits at the top level before."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from steelyard.warehouse.catalogue import main_metric
from steelyard.warehouse.readers.rows import BadFile, Model, Score, number, text, texts, whole

OLD_PREFIXES = {
    "cos_sim": "cosine",
    "manhattan": "manhattan",
    "euclidean": "euclidean",
    "dot": "dot",
    "max": "max",
    "similarity": "similarity",
}
"""Nested objects of old files, and the prefix of their metrics since."""
TOP_LEVEL = {"dataset_revision", "evaluation_time", "kg_co2_emissions", "mteb_version", "scores", "task_name"}
PER_SCORE = {"hf_subset", "languages", "main_score"}
NO_REVISION = "no_revision_available"


def accepts(data: dict[str, Any]) -> bool:
    """Return whether the content is a result of mteb."""
    return ("scores" in data and "task_name" in data) or "mteb_dataset_name" in data


def read(path: Path, data: dict[str, Any]) -> Iterator[Score]:
    """Yield the score of each split and subset."""
    model, revision, experiment = place(path)
    common: dict[str, Any] = {
        "model": model,
        "revision": revision,
        "experiment": experiment,
        "dataset_revision": text(data.get("dataset_revision")),
        "version": text(data.get("mteb_version")),
        "seconds": number(data.get("evaluation_time")),
    }
    if "scores" in data:
        extra = {name: value for name, value in data.items() if name not in TOP_LEVEL and value is not None}
        yield from _read_new(data, common, extra)
    else:
        yield from _read_old(data, common)


def place(path: Path) -> tuple[str, str, str]:
    """Return model, revision and experiment from where the file is: `org__model/revision/[experiments/NAME/]Task.json`.

    >>> place(Path("results/BAAI__bge-m3/5617a9f/experiments/dim_256/STSB.json"))
    ('BAAI/bge-m3', '5617a9f', 'dim_256')
    """
    folder, experiment = path.parent, ""
    if folder.parent.name == "experiments":
        folder, experiment = folder.parent.parent, folder.name
    model = folder.parent.name
    if not model or model == "results":  # no folder for the revision
        return folder.name.replace("__", "/", 1), NO_REVISION, experiment
    return model.replace("__", "/", 1), folder.name, experiment


def _read_new(data: dict[str, Any], common: dict[str, Any], extra: dict[str, Any]) -> Iterator[Score]:
    scores, task = data["scores"], data["task_name"]
    if not isinstance(scores, dict) or not isinstance(task, str):
        raise BadFile("`scores` must be an object and `task_name` a text")
    for split, rows in scores.items():
        if not isinstance(rows, list):
            raise BadFile(f"the scores of split {split!r} must be a list, got {type(rows).__name__}")
        for row in rows:
            if not isinstance(row, dict):
                raise BadFile(f"a score of split {split!r} must be an object, got {type(row).__name__}")
            metrics, unknown = _flatten(row)
            yield Score(
                task=task,
                split=split,
                subset=text(row.get("hf_subset")) or "default",
                languages=texts(row.get("languages")),
                main_score=_main_score(task, row.get("main_score"), metrics),
                metrics=metrics,
                limit=_limit(data, split, row),
                extra={**extra, **unknown},
                **common,
            )
            extra = {}  # once for a file: mteb's timings of 1,656 subsets are half a megabyte


def _limit(data: dict[str, Any], split: str, row: dict[str, Any]) -> int | None:
    """Return the size of the sample of a partial result that Steelyard wrote."""
    own = data.get("steelyard")
    part = own.get(f"{split}/{row.get('hf_subset')}") if isinstance(own, dict) else None
    return whole(part.get("limit")) if isinstance(part, dict) else None


def _read_old(data: dict[str, Any], common: dict[str, Any]) -> Iterator[Score]:
    task = data["mteb_dataset_name"]
    if not isinstance(task, str):
        raise BadFile("`mteb_dataset_name` must be a text")
    splits = {name: value for name, value in data.items() if isinstance(value, dict)}
    if not splits:
        raise BadFile("at least one split must have scores, got none")
    for split, content in splits.items():
        values = {name: value for name, value in content.items() if name != "evaluation_time"}
        nested = any(
            isinstance(value, dict) and name not in {*OLD_PREFIXES, "v_measures"} for name, value in values.items()
        )
        subsets = (
            {name: value for name, value in values.items() if isinstance(value, dict)}
            if nested
            else {"default": values}
        )
        for subset, row in subsets.items():
            metrics, unknown = _flatten(row)
            score = Score(
                task=task,
                split=split,
                subset=subset,
                main_score=_main_score(task, row.get("main_score"), metrics),
                metrics=metrics,
                extra=unknown,
                **common,
            )
            score.seconds = number(content.get("evaluation_time"))
            yield score


def _flatten(row: dict[str, Any]) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the numbers of a score by metric, and every other field."""
    metrics: dict[str, float] = {}
    unknown: dict[str, Any] = {}
    for name, value in row.items():  # most of an import: JSON has exact types, and bool is not one of these
        if type(value) is float or type(value) is int:
            if name not in PER_SCORE:
                metrics[name] = value
        elif type(value) is dict and name in OLD_PREFIXES:
            for inner, number_of in value.items():
                if type(number_of) is float or type(number_of) is int:
                    metrics[f"{OLD_PREFIXES[name]}_{inner}"] = number_of
        elif value is not None and name not in PER_SCORE:
            unknown[name] = value
    return metrics, unknown


def _main_score(task: str, written: Any, metrics: dict[str, float]) -> float | None:
    """Return the score as written, else the metric that mteb declares as the task's main one."""
    if (score := number(written)) is not None:
        return score
    return number(metrics.get(main_metric(task) or ""))


def read_model(path: Path, data: dict[str, Any]) -> Model:
    """Return what `model_meta.json` reports."""
    model, revision, _ = place(path)
    known = {
        *("name", "revision", "n_parameters", "embed_dim", "max_tokens", "memory_usage_mb", "license", "open_weights"),
        *("release_date", "languages", "training_datasets", "reference"),
    }
    training = data.get("training_datasets")
    training_names = sorted(map(str, training)) if isinstance(training, dict | list) else None
    open_weights = data.get("open_weights")
    return Model(
        model=text(data.get("name")) or model,
        revision=text(data.get("revision")) or revision,
        family=_family(data),
        n_parameters=whole(data.get("n_parameters")),
        embed_dim=whole(data.get("embed_dim")),
        max_tokens=whole(data.get("max_tokens")),
        memory_mb=number(data.get("memory_usage_mb")),
        license=text(data.get("license")),
        open_weights=open_weights if isinstance(open_weights, bool) else None,
        release_date=text(data.get("release_date")),
        languages=texts(data.get("languages")),
        training_datasets=training_names,
        url=text(data.get("reference")),
        extra={name: value for name, value in data.items() if name not in known and value is not None},
    )


def _family(data: dict[str, Any]) -> str | None:
    """Return the retrieval family that the card declares."""
    kinds = data.get("model_type")
    kinds = kinds if isinstance(kinds, list) else []
    if data.get("is_cross_encoder") or "cross-encoder" in kinds:
        return "rerank"
    if "late-interaction" in kinds or data.get("similarity_fn_name") == "MaxSim":
        return "late"
    return "dense" if "dense" in kinds or not kinds else str(kinds[0])

"""Predictions as mteb and EvalScope write them: ranked lists, similarities, labels, clusters, nearest texts."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.compat.mteb.mteb_names import MtebModel, file_name, is_mteb_2, model_of, task_name
from steelyard.engine.runs import PREDICTIONS
from steelyard.errors import ResultError
from steelyard.files import read_cached, write_output
from steelyard.results import Result
from steelyard.results.store import attachment_path
from steelyard.types.samples import PAIR_COLUMNS

META = "mteb_model_meta"
PAIRS = {
    "cosine": "cosine_scores",
    "manhattan": "manhattan_distances",
    "euclidean": "euclidean_distances",
    "similarity": "similarity_scores",
    "dot": "dot_scores",
}
"""mteb's names of the similarities of pairs."""
DISTANCES = ("manhattan", "euclidean")
PARALLEL = "parallel"
"""mteb's subset of bitext tasks whose languages are columns of one table; it holds the pairs of languages."""


def write_all_predictions(results: Iterable[Result], folder: Path) -> list[Path]:
    """Write the predictions of all results as mteb does; those of several models are in folders of their own."""
    done = [result for result in results if result.done]
    models = {result.model for result in done}
    written = []
    for result in done:
        model = model_of(result)
        path = write_predictions(result, model, folder / model.path if len(models) > 1 else folder)
        written += [path] if path is not None else []
    return list(dict.fromkeys(written))


def write_predictions(result: Result, model: MtebModel, folder: Path) -> Path | None:
    """Write the predictions of a result into the folder; return None if none are stored with it.

    mteb 1.14: `<Task>_default_predictions.json`, ranked lists by query. mteb 2: `<Task>_predictions.json` for every
    type, with the model first and the predictions under subset and split; those of other splits are kept.
    """
    task, subset = task_name(result)
    file = file_name(task)
    if not is_mteb_2(result):
        lists = _lists(result)
        if lists is None:
            return None
        path = folder / f"{file}_{subset}_predictions.json"
        write_output(path, f"{lists}\n".encode())
        return path
    text = _text(result)
    if text is None:
        return None
    path = folder / f"{file}_predictions.json"
    before = read_cached(path)
    parts = {name: part for name, part in before.items() if isinstance(part, dict) and before.get(META) == model.meta}
    if result.facts.type == "bitext_mining":
        subset, text = _with_other_pairs(subset, text, parts, result.facts.split)
    splits = {**parts.pop(subset, {}), result.facts.split: None}
    parts.pop(META, None)
    inner = ", ".join(
        f"{json.dumps(split)}: {text if split == result.facts.split else json.dumps(value)}"
        for split, value in splits.items()
    )
    others = "".join(f"{json.dumps(name)}: {json.dumps(part)}, " for name, part in parts.items())
    write_output(path, f'{{"{META}": {json.dumps(model.meta)}, {others}{json.dumps(subset)}: {{{inner}}}}}\n'.encode())
    return path


def _with_other_pairs(subset: str, text: str, parts: dict[str, Any], split: str) -> tuple[str, str]:
    """Return mteb's subset of a bitext task and its predictions, with those of other pairs of languages."""
    pairs = json.loads(text)
    if "-".join(PAIR_COLUMNS) in pairs:
        return subset, text
    return PARALLEL, json.dumps({**parts.get(PARALLEL, {}).get(split, {}), **pairs})


def _text(result: Result) -> str | None:
    """Return the predictions of a result as JSON; None if they are not stored."""
    if result.facts.type in ("sts", "pair_classification"):
        sign = -1.0 if result.facts.type == "pair_classification" else 1.0
        columns = result.per_query.by_metric
        scores = {
            name: (columns[ours] * (sign if ours in DISTANCES else 1.0)).tolist()
            for ours, name in PAIRS.items()
            if ours in columns
        }
        return json.dumps(scores)
    stored = attachment_path(result.path, PREDICTIONS) if result.path is not None else None
    if stored is None or not stored.exists():
        return _lists(result)
    try:
        return gzip.decompress(stored.read_bytes()).decode()
    except (OSError, EOFError, ValueError) as error:
        raise ResultError(f"{stored} cannot be read: {error}", hint="remove it and run again", path=stored) from error


def _lists(result: Result) -> str | None:
    """Return the ranked lists as JSON, a line for each query."""
    run = attachment_path(result.path, "run.parquet") if result.path is not None else None
    return "{" + ",\n".join(_queries(run)) + "}" if run is not None and run.exists() else None


def _queries(run: Path) -> Iterator[str]:
    """Yield a line for each query, best document first."""
    import pyarrow
    from pyarrow import parquet

    try:
        table = parquet.read_table(run, columns=["query-id", "corpus-id", "score"])
    except (OSError, KeyError, ValueError, pyarrow.ArrowException) as error:
        raise ResultError(f"{run} cannot be read: {error}", hint="remove it and run again", path=run) from error
    queries, documents = (table.column(name).to_pylist() for name in ("query-id", "corpus-id"))
    scores: list[Any] = table.column("score").to_pylist()
    starts = [0, *(np.flatnonzero([a != b for a, b in pairwise(queries)]) + 1).tolist()]
    for start, stop in zip(starts, [*starts[1:], len(queries)], strict=True):
        if start < stop:
            ranked = dict(zip(documents[start:stop], scores[start:stop], strict=True))
            yield f"{json.dumps(queries[start])}: {json.dumps(ranked)}"

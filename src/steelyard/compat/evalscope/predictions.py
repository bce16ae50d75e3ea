"""The ranked lists of a stage as EvalScope writes them: documents and scores by query, one JSON file for each task."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.compat.mteb.mteb_names import MtebModel, task_name
from steelyard.errors import ResultError
from steelyard.files import write_output
from steelyard.results import Result
from steelyard.results.result_file import MTEB_VERSION, mteb_version
from steelyard.results.store import attachment_path


def write_predictions(result: Result, model: MtebModel, folder: Path) -> Path | None:
    """Write the saved run of a result; return None for a task without a run.

    mteb 1.14: `<Task>_default_predictions.json`, queries only. mteb 2: `predictions/<Task>_predictions.json`, with the
    model first and the lists under subset and split.
    """
    run = attachment_path(result.path, "run.parquet") if result.path is not None else None
    if run is None or not run.exists():
        return None
    task, subset = task_name(result)
    file = task.replace("/", "__")
    lists = "{" + ",\n".join(_queries(run)) + "}"
    if mteb_version(result) == MTEB_VERSION:
        path = folder / "predictions" / f"{file}_predictions.json"
        split = json.dumps(result.facts.split)
        text = f'{{"mteb_model_meta": {json.dumps(model.meta)}, {json.dumps(subset)}: {{{split}: {lists}}}}}\n'
    else:
        path = folder / f"{file}_{subset}_predictions.json"
        text = lists + "\n"
    write_output(path, text.encode())
    return path


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

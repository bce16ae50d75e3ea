"""The board of results of one's own: their scores, ranks, costs, stages and failures."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from steelyard.engine.executors.progress_file import FILE as PROGRESS_FILE
from steelyard.reports.run_report.passages import passage_counts
from steelyard.reports.run_report.stages import stages_of
from steelyard.results import HEADLINES, Result, Results, load_results
from steelyard.results.display.cost_notes import encoding_cost, reranking_cost
from steelyard.web.board import LIMITED, Board, BoardModel, BoardStage, BoardTask, Cell, Failed
from steelyard.web.conclusions import conclusions

SHOWN_METRICS = (
    "ndcg_at_10",
    "hit_rate_at_10",
    "recall_at_100",
    "mrr_at_10",
    "map_at_10",
    "recall_at_10",
    "precision_at_1",
)
"""Metrics that the board offers next to the main one."""
STALE = 120.0
"""Seconds after which the progress of a run that was not written again is that of a run that was killed."""


def from_results(results: Results, *, name: str = "results", title: str = "Results") -> Board:
    """Return the board of results. Results on other data, such as a sample of the queries, are other tasks."""
    view = distinct(results)
    cells = [
        (task, model, cell)
        for task in view.labels
        for model in view.models
        if (cell := view.cell(task, model)) is not None and cell.done and cell.score is not None
    ]
    tasks = {task: place for place, task in enumerate(dict.fromkeys(task for task, _, _ in cells))}
    models = {model: place for place, model in enumerate(m for m in view.models if any(m == c[1] for c in cells))}
    by_model: dict[str, list[Result]] = {model: [] for model in models}
    firsts: dict[str, Result] = {}
    for task, model, cell in cells:
        by_model[model].append(cell)
        firsts.setdefault(task, cell)
    metrics = {m: [c.metrics.get(m) for _, _, c in cells] for m in SHOWN_METRICS}
    return Board(
        name,
        title,
        [_task(task, cell) for task, cell in firsts.items()],
        [_model(model, own) for model, own in by_model.items()],
        [_cell(models[model], tasks[task], cell) for task, model, cell in cells],
        {metric: values for metric, values in metrics.items() if any(value is not None for value in values)},
        note=_depth_note(view),
        failures=_failures(view),
        queries=bool(cells),
        **conclusions(view, list(tasks), models),
    )


def distinct(results: Results) -> Results:
    """Return results in which a name and its data have one place; the same object if they have it already."""
    renamed = results.distinct_names()
    return results if all(a.model == b.model for a, b in zip(results, renamed, strict=True)) else renamed


def _cell(model: int, task: int, result: Result) -> Cell:
    low, high = (result.interval.low, result.interval.high) if result.interval else (None, None)
    return Cell(model, task, result.score or 0.0, low, high, LIMITED if result.partial else 0)


def _task(label: str, result: Result) -> BoardTask:
    facts = result.facts
    languages = facts.languages or ((facts.language,) if facts.language != "unknown" else ())
    return BoardTask(
        label, facts.type, facts.category, tuple(languages), result.main_metric, facts.queries, facts.documents
    )


def _model(name: str, results: Sequence[Result]) -> BoardModel:
    settings = results[0].settings.get("model_settings")
    settings = settings if isinstance(settings, dict) else {}
    notes = results[0].notes
    costs = notes.get("costs") if isinstance(notes.get("costs"), dict) else {}
    documents = sum(result.facts.documents or 0 for result in results)
    size = notes.get("bytes_per_document")
    if size is None and documents:
        size = sum(result.index_bytes or 0 for result in results) / documents or None
    return BoardModel(
        name,
        revision=_text(settings.get("revision")),
        family=_family(name),
        dimension=_whole(settings.get("dimension")),
        tokens=_whole(settings.get("max_tokens")),
        own=True,
        variant_of=_text(notes.get("variant_of")),
        bytes=size,
        passages=_passages(results),
        rescore=notes.get("rescore_bytes_per_document"),
        seconds=sum(result.timings.get("total", 0.0) for result in results),
        latency=_latency(results, costs or {}),
        rate=(costs or {}).get("documents_per_second") or _rate(results),
        **(_measured(costs or {}) | _reranking(results, costs or {})),
        stages=_stages(results),
        queries=len(results),
    )


def _measured(costs: dict[str, Any]) -> dict[str, Any]:
    """Return what `run --costs` has measured, by the names of the board."""
    latency, stages = costs.get("latency") or {}, costs.get("stages_ms") or {}
    size, memory = costs.get("bytes_per_million_documents"), costs.get("peak_memory_bytes")
    return {
        "p95": latency.get("p95_ms"),
        "p99": latency.get("p99_ms"),
        **{name: stages.get(name) for name in ("encode", "search", "rerank")},
        "throughput": costs.get("queries_per_second"),
        "gigabytes": None if size is None else size / 1e9,
        "hours": costs.get("hours_per_million_documents"),
        "price": costs.get("price_per_thousand_queries"),
        "documents_price": costs.get("price_per_million_documents"),
        "memory": None if memory is None else memory / 1e6,
    }


def _reranking(results: Sequence[Result], costs: dict[str, Any]) -> dict[str, float]:
    """Return the milliseconds of reranking for one query, as measured by `run --costs`, or those of the evaluation."""
    measured = (costs.get("stages_ms") or {}).get("rerank")
    if measured is not None:
        return {"rerank": float(measured)}
    cost, queries = reranking_cost(results), sum(result.facts.queries or 0 for result in results)
    return {"rerank": 1000 * cost.seconds / queries} if cost is not None and queries else {}


def _family(name: str) -> str:
    """Return the kind of a model: the family of its name, `pipeline` for stages and `fusion` for several inputs.

    >>> _family("dense:X?precision=int8"), _family("bm25 > rerank:Y"), _family("[bm25, dense:X]")
    ('dense', 'pipeline', 'fusion')
    """
    if ">" in name:
        return "pipeline"
    return "fusion" if name.startswith("[") else name.partition(":")[0].partition("?")[0].partition(" ")[0]


def _latency(results: Sequence[Result], costs: dict[str, Any]) -> float | None:
    """Return the measured milliseconds of one query, or the seconds of the searches divided by the queries."""
    measured = costs.get("latency")
    if isinstance(measured, dict) and measured.get("p50_ms") is not None:
        return float(measured["p50_ms"])
    queries = sum(result.facts.queries or 0 for result in results)
    seconds = sum(result.timings.get("search", 0.0) for result in results)
    return 1000 * seconds / queries if queries and seconds else None


def _passages(results: Sequence[Result]) -> float | None:
    """Return the passages per document, a mean over the tasks; of a fusion, the sum over its parts."""
    counts = [counts for result in results if (counts := passage_counts(result.notes))]
    return fmean(sum(ratio for _, ratio in several) for several in counts) if counts else None


def _rate(results: Sequence[Result]) -> float | None:
    """Return documents encoded each second: as it was measured, also when their vectors were stored."""
    if (cost := encoding_cost(results)) is not None:
        return cost.rate
    documents = sum(result.facts.documents or 0 for result in results)
    seconds = sum(result.timings.get("index", 0.0) for result in results)
    return documents / seconds if documents and seconds else None


def _stages(results: Sequence[Result]) -> tuple[BoardStage, ...]:
    """Return the stages of a pipeline, with means over the tasks where it has them."""
    cells = [result for result in results if result.notes.get("stages")]
    if not cells:
        return ()
    reads: dict[str, list[int]] = {}
    for cell in cells:
        for stage in cell.notes["stages"]:
            if stage.get("reads"):
                reads.setdefault(stage["model"], []).append(stage["reads"])
    names = dict.fromkeys(stage["model"] for cell in cells for stage in cell.notes["stages"])
    return tuple(
        BoardStage(stage.name, stage.value, stage.gain, stage.ceiling, max(reads[name]) if name in reads else None)
        for name, stage in zip(names, stages_of(cells), strict=True)
    )


def _failures(results: Results) -> list[Failed]:
    newest = (results.cell(task, model) for task in results.labels for model in results.models)
    return [Failed(one.model, results.label_of(one), str(one.error)) for one in newest if one and not one.done]


def _depth_note(results: Results) -> str:
    """Return a sentence for lists that end before the deepest cut-off of the headline metrics."""
    deepest = max(int(name.rpartition("_")[2]) for name in HEADLINES)
    depths = [depth for result in results if isinstance(depth := result.settings.get("top_k"), int)]
    shallow = min(depths, default=deepest)
    if shallow >= deepest:
        return ""
    return f"Lists end at rank {shallow}: relevant documents below it count as not retrieved."


def revisions_of(results: Results, model: str) -> list[dict[str, Any]]:
    """Return the history of a model: each set of settings or revision, with its mean over the tasks they share.

    Results of one name with other settings have other keys; the newest of each is one entry, oldest first.
    """
    entries: dict[str, dict[str, Result]] = {}
    for result in sorted(results, key=lambda result: result.created):
        if result.model == model and result.done and result.score is not None and result.path is not None:
            entries.setdefault(result.path.parent.name, {})[results.label_of(result)] = result
    if len(entries) < 2:
        return []
    common = set.intersection(*(set(cells) for cells in entries.values()))
    rows = [
        {
            "revision": _text((cells[next(iter(cells))].settings.get("model_settings") or {}).get("revision")) or key,
            "date": max(result.created for result in cells.values())[:10],
            "tasks": len(cells),
            "common": len(common),
            "mean": fmean(cells[task].score or 0.0 for task in sorted(common)) if common else None,
            "settings": "",
        }
        for key, cells in entries.items()
    ]
    firsts = [next(iter(cells.values())).settings for cells in entries.values()]
    for row, (before, after) in zip(rows[1:], pairwise(firsts), strict=True):
        changed = {**_flat(before), **_flat(after)}
        row["settings"] = ", ".join(
            f"{name}={_flat(after).get(name)}" for name in changed if _flat(before).get(name) != _flat(after).get(name)
        )
    return rows


def _flat(settings: Any, prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        flat |= _flat(value, f"{name}.") if isinstance(value, dict) else {prefix + name: value}
    return flat


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


class OwnResults:
    """A results folder, read again when a file in it changes."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.results = Results([])
        self._board: tuple[str, Board | None] = ("", None)

    def stamp(self) -> str:
        """Return a text that changes with every result that is written."""
        times = []
        for path in self.folder.glob("*/*/*.json"):
            with suppress(FileNotFoundError):  # removed meanwhile
                times.append(path.stat().st_mtime_ns)
        return f"{len(times)}-{max(times, default=0)}"

    def progress(self) -> dict[str, Any] | None:
        """Return how far the run into this folder is; None if there is none, or if it was killed."""
        path = self.folder / PROGRESS_FILE
        try:
            if time.time() - path.stat().st_mtime > STALE:
                return None
            state = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        return state if isinstance(state, dict) and state.get("state") == "running" else None

    def board(self) -> Board | None:
        """Return the board; None if the folder has no finished result."""
        stamp = self.stamp()
        if stamp != self._board[0]:
            self.results = load_results(self.folder)
            board = from_results(self.results, name=self.folder.name, title=f"Results in {self.folder.name}")
            self._board = (stamp, board if board.models or board.failures else None)
        return self._board[1]

"""Which results may be compared: same data, same queries, same metric, same conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.comparison.model import Flag
from steelyard.results import Result, Results
from steelyard.results.keys import result_key

USUAL_PROFILE = "mteb-2.26"


def comparable(view: Results, models: Sequence[str], metric: str | None) -> tuple[dict[str, list[Result]], list[Flag]]:
    """Return the comparable tasks with one result of each model, and a flag for everything else.

    A task that some models do not have, or have on other data, with another limit, metric or mteb profile, is refused
    by name. A difference that does not change the score, such as the depth of lists beyond the cut-off, is flagged.
    """
    tasks: dict[str, list[Result]] = {}
    flags: list[Flag] = []
    for name in view.tasks:
        labels = [label for label in view.labels if label == name or label.startswith(f"{name}@")]
        whole = [label for label in labels if all(_finished(view, label, model) for model in models)]
        if not whole:
            flags.append(Flag(name, _why_missing(view, name, labels, models), refused=True))
        for label in whole:
            cells = [cell for model in models if (cell := view.cell(label, model)) is not None]
            if reason := _conflict(cells, models, metric):
                flags.append(Flag(label, reason, refused=True))
            else:
                tasks[label] = cells
                flags.extend(Flag(label, remark, refused=False) for remark in _remarks(cells, models))
    return tasks, flags


def _finished(view: Results, label: str, model: str) -> bool:
    cell = view.cell(label, model)
    return cell is not None and cell.done


def _why_missing(view: Results, name: str, labels: Sequence[str], models: Sequence[str]) -> str:
    """Return why no data under this name has a result of every model."""
    cells = {
        model: [cell for label in labels if (cell := view.cell(label, model)) is not None and cell.done]
        for model in models
    }
    missing = [model for model, found in cells.items() if not found]
    if missing:
        return f"no finished result of {', '.join(missing)}"
    limits = {model: found[-1].facts.limit for model, found in cells.items()}
    if len(set(limits.values())) > 1:
        return f"other limit of queries: {_listed(limits)}"
    seeds = {model: found[-1].settings.get("seed") for model, found in cells.items()}
    if len(set(seeds.values())) > 1:
        return f"other seed of the sample of queries: {_listed(seeds)}"
    revisions = {model: found[-1].facts.revision for model, found in cells.items()}
    if len(set(revisions.values())) > 1:
        return f"other revision of the data: {_listed(revisions)}"
    hashes = {model: (found[-1].facts.data_hash or "unknown")[:8] for model, found in cells.items()}
    return f"other data under the same name (content hash): {_listed(hashes)}"


def _conflict(cells: Sequence[Result], models: Sequence[str], metric: str | None) -> str | None:
    """Return the difference in conditions that forbids to compare these results."""
    profiles = {m: cell.settings.get("profile", USUAL_PROFILE) for m, cell in zip(models, cells, strict=True)}
    if len(set(profiles.values())) > 1:
        return f"other mteb profile: {_listed(profiles)}"
    if metric is None:
        mains = {m: cell.main_metric for m, cell in zip(models, cells, strict=True)}
        if len(set(mains.values())) > 1:
            return f"other main metric: {_listed(mains)}"
    name = metric or cells[0].main_metric
    without = [m for m, cell in zip(models, cells, strict=True) if cell.metrics.get(name) is None]
    if without:
        return f"no {name} in the results of {', '.join(without)}"
    own = {m: cell.facts.ignore_identical_ids for m, cell in zip(models, cells, strict=True)}
    if len(set(own.values())) > 1:
        return f"other handling of documents with the id of the query: {_listed(own)}"
    current = {
        m: result_key(cell.settings, cell.task, cell.facts) == cell.key for m, cell in zip(models, cells, strict=True)
    }
    if len(set(current.values())) > 1:  # the key of a result has the version of the scoring in it
        older = ", ".join(model for model, same in current.items() if not same)
        return f"other definition of the metrics: {older} was scored by another version of Steelyard"
    lists = {m: _candidates(cell) for m, cell in zip(models, cells, strict=True)}
    named = {value for value in lists.values() if value is not None}
    if len(named) > 1:
        return f"other candidate list: {_listed(lists)}"
    return None


def _remarks(cells: Sequence[Result], models: Sequence[str]) -> list[str]:
    """Return the differences in conditions that a reader should know of."""
    remarks = []
    depths = {m: cell.settings.get("top_k") for m, cell in zip(models, cells, strict=True)}
    if len({depth for depth in depths.values() if depth is not None}) > 1:
        remarks.append(f"other depth of lists (top_k): {_listed(depths)}")
    lists = {m: _candidates(cell) for m, cell in zip(models, cells, strict=True)}
    if len(set(lists.values())) > 1:
        remarks.append(f"only some models rank a candidate list: {_listed(lists)}")
    if any(cell.partial for cell in cells):
        remarks.append(f"partial: a sample of {cells[0].facts.queries} of {cells[0].facts.queries_in_full} queries")
    return remarks


def _candidates(cell: Result) -> str | None:
    """Return the name of the candidate list that a reranker without a first stage ranked."""
    return _find(cell.settings.get("model_settings"), "candidates")


def _find(settings: Any, name: str) -> str | None:
    if isinstance(settings, Mapping):
        if isinstance(settings.get(name), str):
            return str(settings[name])
        parts: Sequence[Any] = list(settings.values())
    elif isinstance(settings, list | tuple):
        parts = settings
    else:
        return None
    return next((found for part in parts if (found := _find(part, name)) is not None), None)


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{model} {'none' if value is None else value}" for model, value in values.items())

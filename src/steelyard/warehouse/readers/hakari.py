"""Result files of HAKARI-Bench (`.json` or `.json.xz`): metrics of each variant, top-100 rankings and judgements.

The files have no scores of single queries. nDCG@10 and recall@100 of each query are computed from the rankings and
judgements, and the rank of its first relevant document.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from steelyard.warehouse.readers.rows import FIRST_POSITIVE, BadFile, Model, Score, number, text, whole

MAIN = "ndcg@10"
QUERY_METRICS = ("ndcg@10", "recall@100")


def accepts(data: dict[str, Any]) -> bool:
    """Return whether the content is a result of HAKARI-Bench."""
    return isinstance(data.get("target"), dict) and isinstance(data.get("evaluation"), dict) and "model" in data


def read(path: Path, data: dict[str, Any]) -> Iterator[Score | Model]:
    """Yield the model, its main score and one score per variant."""
    model_of = data["model"] if isinstance(data["model"], dict) else {}
    target, evaluation = data["target"], data["evaluation"]
    model = text(model_of.get("id"))
    dataset, task = text(target.get("dataset_name")), text(target.get("task_name"))
    if model is None or task is None:
        raise BadFile("`model.id` and `target.task_name` must be texts")
    source: dict[str, Any] = model_of["source"] if isinstance(model_of.get("source"), dict) else {}
    revision = text(source.get("revision")) or "no_revision_available"
    metrics = _numbers(data.get("metrics"))
    revision_of: dict[str, Any] = target["dataset_revision"] if isinstance(target.get("dataset_revision"), dict) else {}
    known = {"metrics", "rerank_metrics", "artifacts", "target", "evaluation", "model"}
    common: dict[str, Any] = {
        "model": model,
        "revision": revision,
        "task": f"{dataset}/{task}" if dataset else task,
        "split": text(target.get("split_name")) or "test",
        "subset": "default",
        "dataset_revision": text(revision_of.get("resolved")),
    }
    yield Score(
        main_score=_main(evaluation, metrics),
        metrics=metrics,
        seconds=number(evaluation.get("wall_seconds")),
        extra={name: value for name, value in data.items() if name not in known},
        queries=_queries(data),
        **common,
    )
    for variant in _variants(evaluation):
        yield Score(experiment=variant[0], main_score=_main({}, variant[1]), metrics=variant[1], **common)
    yield Model(
        model=model,
        revision=revision,
        family=text(model_of.get("method")),
        n_parameters=whole(model_of.get("total_parameters")),
        max_tokens=whole(model_of.get("max_seq_length")),
        extra={name: value for name, value in model_of.items() if name not in ("id", "method", "source")},
    )


def _numbers(value: Any) -> dict[str, float]:
    pairs = value.items() if isinstance(value, dict) else []
    return {_name(str(name)): as_number for name, item in pairs if (as_number := number(item)) is not None}


def _name(metric: str) -> str:
    """Return a metric under our name.

    >>> _name("cosine_ndcg@10"), _name("recall@100")
    ('cosine_ndcg_at_10', 'recall_at_100')
    """
    return metric.replace("@", "_at_")


def _main(evaluation: dict[str, Any], metrics: dict[str, float]) -> float | None:
    if (value := number(evaluation.get("aggregate_metric_value"))) is not None:
        return value
    named = [value for name, value in sorted(metrics.items()) if name.endswith(_name(MAIN))]
    return named[0] if named else None


def _variants(evaluation: dict[str, Any]) -> Iterator[tuple[str, dict[str, float]]]:
    rows = evaluation.get("embedding_evaluations")
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict) or not text(row.get("name")):
            continue
        distances = row.get("distance_evaluations")
        for distance in distances if isinstance(distances, list) else []:
            if isinstance(distance, dict) and (values := _numbers(distance.get("metrics"))):
                label = text(distance.get("distance") or distance.get("name")) or ""
                yield f"{row['name']} {label}".strip(), values


def _rows(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _queries(data: dict[str, Any]) -> dict[str, tuple[Sequence[str], Sequence[float]]]:
    """Return nDCG@10 and recall@100 of each query from the first ranking and the judgements."""
    artifacts = data.get("artifacts")
    rankings = artifacts.get("top_rankings") if isinstance(artifacts, dict) else None
    if not isinstance(rankings, dict):
        return {}
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for row in _rows(rankings.get("qrels")):
        if isinstance(row, dict) and text(row.get("query_id")) and text(row.get("corpus_id")):
            grades[str(row["query_id"])][str(row["corpus_id"])] = whole(row.get("score", 1)) or 0
    lists: dict[str, list[str]] = {}
    for row in _rows(rankings.get("rankings")):
        if isinstance(row, dict) and isinstance(row.get("corpus_ids"), list):
            lists.setdefault(str(row.get("query_id")), [str(item) for item in row["corpus_ids"]])
    if not grades or not lists:
        return {}
    from steelyard.metrics import parse, score
    from steelyard.metrics.dicts import number_documents, qrels_from_dicts, run_from_dicts

    rows = number_documents(grades, lists)
    queries = sorted(grades)
    runs = {query: {doc: -float(rank) for rank, doc in enumerate(docs)} for query, docs in lists.items()}
    run = run_from_dicts(runs, queries, rows)
    scores = score(
        run, qrels_from_dicts(grades, queries, rows), [parse(name) for name in QUERY_METRICS], documents=len(rows)
    )
    relevant = {query: {doc for doc, grade in of.items() if grade > 0} for query, of in grades.items()}
    firsts = [next((r for r, d in enumerate(lists.get(q, ()), 1) if d in relevant[q]), 0) for q in queries]
    values = {name: scores.per_query[name].tolist() for name in scores.per_query} | {FIRST_POSITIVE: firsts}
    return {name: (queries, column) for name, column in values.items()}

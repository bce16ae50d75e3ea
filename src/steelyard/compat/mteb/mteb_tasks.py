"""Our tasks as tasks of mteb 2, all types, with their data in memory: no download, no files."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.config import Settings
from steelyard.datasets.catalogue import USUAL_METRICS
from steelyard.datasets.formats.mteb.tasks import DEFAULT, TYPES
from steelyard.errors import MissingPart, UnknownName, UsageError
from steelyard.results.mteb_codes import mteb_languages
from steelyard.types import Qrels, Ragged, Task, TaskInfo
from steelyard.types.samples import AnyTask, ClusterTask, LabelTask, PairTask, SummaryTask
from steelyard.types.task_info import CHANGED, RERANKED

MtebTask = Any
"""An `mteb.AbsTask`."""

UNKNOWN = "und-Zyyy"
"""The code of an unknown language and script."""

TRAIN = "train"
TEXT_TYPES = ("mteb.abstasks.text.bitext_mining", "mteb.abstasks.text.summarization")
SEED = 42
"""mteb's own seed of every sample."""


def as_mteb_task(task: str | AnyTask, *, candidates: str | None = None, settings: Settings | None = None) -> MtebTask:
    """Return the task as a task of mteb: `mteb.evaluate(model, [as_mteb_task("NanoAlmanac/en")])`.

    A name is loaded first. With `candidates`, the name of its candidate lists, a retrieval task becomes a reranking
    task. In mteb `Group/task` is called `Group__task`, because names are file names there.
    """
    if isinstance(task, str):
        from steelyard.datasets import load_any

        task = load_any(task, settings=settings)
    if isinstance(task, Task):
        return _retrieval(task, candidates)
    if candidates is not None:
        raise UsageError(
            f"{task.name} is a task of type {task.info.type} and has no candidate lists",
            hint="leave out candidates",
            option="candidates",
        )
    if isinstance(task, PairTask):
        return _pairs(task)
    if isinstance(task, SummaryTask):
        return _summaries(task)
    return _classification(task) if isinstance(task, LabelTask) else _clustering(task)


def mteb_name(name: str) -> str:
    """Return the name of a task in mteb.

    >>> mteb_name("NanoAlmanac/en"), mteb_name("C-MTEB/ATEC:validation")
    ('NanoAlmanac__en', 'C-MTEB__ATEC_validation')
    """
    return re.sub(r"[^\w.()\-]", "_", name.replace("/", "__"))


def _retrieval(task: Task, candidates: str | None) -> MtebTask:
    lists = _candidate_lists(task, candidates)
    corpus: dict[str, Sequence[str]] = {"id": task.corpus.ids, "text": task.corpus.bodies}
    if task.corpus.titles is not None:
        corpus["title"] = task.corpus.titles
    data = {
        "corpus": _table(corpus),
        "queries": _table({"id": task.queries.ids, "text": task.queries.texts}),
        "relevant_docs": _judgements(task),
        "top_ranked": None if lists is None else _names(task, lists),
    }
    kind = task.info.type if lists is None or task.info.type in RERANKED else "reranking"
    traits: dict[str, Any] = {"ignore_identical_ids": task.info.ignore_identical_ids}
    if specific := _instruction_scores(task):
        traits["task_specific_scores"] = specific
    return _made("AbsTaskRetrieval", task, {DEFAULT: {task.info.split: data}}, traits, kind)


def _candidate_lists(task: Task, name: str | None) -> Ragged | None:
    known = task.candidates
    if name is not None:
        if name not in known:
            raise UnknownName("candidate list", name, known, hint=f"known: {', '.join(known) or 'none'}")
        return known[name]
    if task.info.type not in RERANKED:
        return None
    known = {list_: rows for list_, rows in known.items() if list_ != CHANGED}
    if len(known) != 1:
        raise UsageError(
            f"{task.name} has {len(known)} candidate lists", hint="name one with candidates=...", option="candidates"
        )
    return next(iter(known.values()))


def _judgements(task: Task) -> dict[str, dict[str, int]]:
    """Return grades by id. A judged document outside the corpus has no id here; it gets one that no document has."""
    qrels: Qrels = task.qrels
    judged: dict[str, dict[str, int]] = {}
    for number, query in enumerate(task.queries.ids):
        rows, grades = qrels.rows_of(number).tolist(), qrels.grades_of(number).tolist()
        names = (task.corpus.ids[row] if row >= 0 else f"outside the corpus {place}" for place, row in enumerate(rows))
        judged[query] = dict(zip(names, grades, strict=True))
    return judged


def _instruction_scores(task: Task) -> Any:
    """Return the method that computes mteb's scores of instructions; None for other tasks."""
    from mteb._evaluators import retrieval_metrics

    if CHANGED in task.candidates:
        lists = _names(task, task.candidates[CHANGED])
        changed = {query.removesuffix("-changed"): ids for query, ids in lists.items() if ids}

        def p_mrr(self: Any, scores: Any, qrels: Any, results: Any, **_: Any) -> Any:
            return retrieval_metrics.evaluate_p_mrr_change(qrels, results, changed, self.k_values)

        return p_mrr
    if task.info.main_metric == "robustness_at_10":

        def robustness(self: Any, scores: Any, qrels: Any, results: Any, **_: Any) -> Any:
            return {"robustness_at_10": retrieval_metrics.robustness_at_10(qrels, results, scores)}

        return robustness
    return None


def _names(task: Task, lists: Ragged) -> dict[str, list[str]]:
    ids = task.corpus.ids
    return {query: [ids[row] for row in lists.rows_of(number)] for number, query in enumerate(task.queries.ids)}


def _pairs(task: PairTask) -> MtebTask:
    if task.info.type == "bitext_mining":
        texts = _table({"sentence1": task.first, "sentence2": task.second})
        return _made("AbsTaskBitextMining", task, _splits({task.info.split: texts}))
    is_sts = task.info.type == "sts"
    gold = task.gold.tolist() if is_sts else task.gold.astype(int).tolist()
    column = "score" if is_sts else "labels"
    rows: dict[str, Sequence[Any]] = {"sentence1": task.first, "sentence2": task.second, column: gold}
    base = "AbsTaskSTS" if is_sts else "AbsTaskPairClassification"
    return _made(base, task, _splits({task.info.split: _table(rows)}))


def _classification(task: LabelTask) -> MtebTask:
    split = task.info.split
    train = TRAIN if split != TRAIN else f"{TRAIN}ing"
    data = {
        train: _table({"text": task.train_texts, "label": _lists(task.train_labels)}),
        split: _table({"text": task.texts, "label": _lists(task.labels)}),
    }
    traits = {
        "samples_per_label": task.samples_per_label,
        "n_experiments": task.experiments,
        "train_split": train,
    }
    multilabel = task.info.type == "multilabel_classification"
    base = "AbsTaskMultilabelClassification" if multilabel else "AbsTaskClassification"
    return _made(base, task, _splits(data), traits | ({"max_eval_samples": None} if multilabel else {}))


def _lists(labels: Sequence[Any]) -> list[Any]:
    """Return labels with tuples as lists."""
    return [list(label) if isinstance(label, tuple) else label for label in labels]


def _summaries(task: SummaryTask) -> MtebTask:
    from mteb._evaluators.text.summarization_evaluator import DeprecatedSummarizationEvaluator, SummarizationEvaluator

    columns: dict[str, Sequence[Any]] = {
        "text": [""] * len(task),
        "human_summaries": [list(summaries) for summaries in task.human],
        "machine_summaries": [list(summaries) for summaries in task.machine],
        "relevance": [list(scores) for scores in task.gold],
    }
    lowest, highest = task.scale
    evaluator = DeprecatedSummarizationEvaluator if task.with_p_values else SummarizationEvaluator
    traits = {"min_score": lowest, "max_score": highest, "evaluator": evaluator}
    return _made("AbsTaskSummarization", task, _splits({task.info.split: _table(columns)}), traits)


def _clustering(task: ClusterTask) -> MtebTask:
    split = task.info.split
    if task.bootstrap is None:
        rows: dict[str, Sequence[Any]] = {
            "sentences": [list(problem.texts) for problem in task.problems],
            "labels": [[levels[0] for levels in problem.labels] for problem in task.problems],
        }
        return _made("AbsTaskClusteringLegacy", task, _splits({split: _table(rows)}))
    (problem,) = task.problems
    flat = problem.depth == 1
    labels = [levels[0] if flat else list(levels) for levels in problem.labels]
    data = _splits({split: _table({"sentences": problem.texts, "labels": labels})})
    how = task.bootstrap
    if how.stratified is not None:
        data = _base("AbsTaskClustering").stratified_subsampling(
            data, SEED, [split], label="labels", n_samples=how.stratified
        )
    share = how.documents if isinstance(how.documents, float) else None
    traits = {
        "max_fraction_of_documents_to_embed": share,
        "max_document_to_embed": how.documents if share is None else None,
        "max_documents_per_cluster": how.size,
        "n_clusters": how.rounds,
    }
    return _made("AbsTaskClustering", task, data, traits)


def _made(
    base: str, task: AnyTask, data: Any, traits: Mapping[str, Any] | None = None, kind: str | None = None
) -> MtebTask:
    """Return an object of its own class, because mteb stores the metadata of a task in the class."""
    metadata = _metadata(task, kind or task.info.type)
    instance = type(metadata.name, (_base(base),), {"metadata": metadata, **(traits or {})})()
    instance.dataset, instance.data_loaded = data, True
    return instance


def _metadata(task: AnyTask, kind: str) -> Any:
    from mteb.abstasks.task_metadata import TaskMetadata

    info = task.info
    # A retrieval task with candidates to rerank has the main metric of reranking.
    main = info.main_metric if kind == info.type else None
    return TaskMetadata(
        name=mteb_name(info.name),
        description=info.description or f"{info.name} in Steelyard.",
        dataset={"path": info.source or info.name, "revision": info.revision or task.content_hash},
        type=next(theirs for theirs, ours in TYPES.items() if ours == kind),
        category="t2c" if kind.endswith(("classification", "clustering")) and not kind.startswith("pair") else "t2t",
        modalities=["text"],
        eval_splits=[info.split],
        eval_langs=_languages(info),
        main_score=main or USUAL_METRICS[kind],
    )


def _languages(info: TaskInfo) -> list[str]:
    return list(info.language_tags) or mteb_languages(info.languages or (info.language,)) or [UNKNOWN]


def _base(name: str) -> Any:
    try:
        import mteb.abstasks
        import mteb.abstasks.clustering_legacy
    except ImportError as error:
        raise MissingPart.extra("mteb", "mteb") from error
    homes = (mteb.abstasks, mteb.abstasks.clustering_legacy, *map(importlib.import_module, TEXT_TYPES))
    return next(getattr(home, name) for home in homes if hasattr(home, name))


def _table(columns: Mapping[str, Sequence[Any]]) -> Any:
    tables = importlib.import_module("datasets")
    return tables.Dataset.from_dict({name: list(values) for name, values in columns.items()})


def _splits(data: Mapping[str, Any]) -> Any:
    return importlib.import_module("datasets").DatasetDict(data)

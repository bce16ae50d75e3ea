"""Load tasks with mteb's own data loaders, and convert them into our tasks of every type."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from steelyard.config import Settings
from steelyard.datasets.assemble import Tables, assemble
from steelyard.datasets.formats.mteb.tasks import DEFAULT, PREFIX, Part, info_of, one, parts, refusal
from steelyard.datasets.formats.saved_dataset import arrow_view
from steelyard.datasets.hubs.published import LOCAL_HINT, copy_folder, no_copy
from steelyard.datasets.options import LoadOptions
from steelyard.datasets.problems import Report
from steelyard.datasets.samples.splits import card_subsets
from steelyard.datasets.tables.columns import CANDIDATES, DOCUMENTS, JUDGEMENTS, QUERIES
from steelyard.datasets.tables.tabular import Table
from steelyard.errors import DataError, HubError, MissingPart, UsageError
from steelyard.types import Task, TaskInfo
from steelyard.types.samples import (
    PAIR_COLUMNS,
    AnyTask,
    Bootstrap,
    ClusterTask,
    Label,
    LabelTask,
    Levels,
    PairTask,
    Problem,
    SummaryTask,
)
from steelyard.types.task_info import CHANGED, SEARCHED

TOP_RANKED = "top_ranked"
"""The candidate lists of a reranking task."""
OFFLINE = "HF_HUB_OFFLINE"
LONGEST = 300
"""Characters of an error of `datasets` that are shown: some list every file extension."""


class MtebSource:
    """`mteb:NAME`."""

    def __init__(self, options: LoadOptions) -> None:
        self.options = options

    def accepts(self, reference: str) -> bool:
        """Return whether the reference begins with `mteb:`."""
        return reference.startswith(PREFIX)

    def names(self, reference: str) -> Sequence[str]:
        """Return `mteb:TASK[SUBSET]:SPLIT` for each subset and split that the reference means."""
        return [PREFIX + part.label for part in parts(reference)]

    def load(self, name: str) -> AnyTask:
        """Return the data as mteb reads it; a task that would not get mteb's score here is a UsageError."""
        part = one(name)
        if reason := refusal(part.task):
            raise UsageError(f"{name} cannot be evaluated: {reason}", hint="evaluate it with mteb itself")
        return load(part, info_of(part), self.options)


def load(part: Part, info: TaskInfo, options: LoadOptions) -> AnyTask:
    """Return the task, with data that mteb downloads, transforms and samples."""
    task = _fetched(part, options)
    if options.settings.data is not None and task is not part.task:
        info = replace(info, revision=None)  # a copy may be of any revision
    if info.type in SEARCHED:
        return _retrieval(task.dataset[part.hub_subset][part.split], info, options, changed_documents(task, part))
    if info.type in OTHER_TYPES:
        return OTHER_TYPES[info.type](task, part, info)
    rows = subset_of(task, part)
    if info.type == "classification":
        return _classification(task, rows, info)
    split = rows[part.split]
    if info.type == "clustering":
        return _clustering(task, split, info)
    return _pairs(task, split, info)


def _fetched(part: Part, options: LoadOptions) -> Any:
    """Return the mteb task with its data. Only this subset and split are read if the data allows it."""
    import mteb

    errors = importlib.import_module("datasets.exceptions")
    subsets = None if part.hub_subset == DEFAULT else [part.hub_subset]
    task = part.task
    if not task.data_loaded:  # a task that has its data need not be in the registry
        task = mteb.get_task(part.task.metadata.name, hf_subsets=subsets, eval_splits=[part.split])
        if options.settings.data is not None:
            _use_copy(task, options.settings.data, options.settings)
    try:
        if options.settings.data is None:
            _check_network(options.settings)
        task.load_data()
    except (OSError, errors.DatasetsError) as error:  # errors of the hub, of connections and of files are OSErrors
        raise HubError(
            f"{part.label} of mteb could not be loaded: {str(error)[:LONGEST]}",
            hint=f"check the connection, or the cache of the package `datasets`; {LOCAL_HINT}",
        ) from error
    if hasattr(task, "convert_v1_dataset_format_to_v2"):
        task.convert_v1_dataset_format_to_v2(None)
    return task


def _use_copy(task: Any, folder: Path, settings: Settings) -> None:
    """Let the task read the copy of its dataset in the folder, as `owner/name`, `name` or the folder itself."""
    dataset = dict(task.metadata.dataset)
    copy = copy_folder(folder, [dataset["path"], task.metadata.name])
    if copy is None:
        raise no_copy(folder, [dataset["path"]])
    # The metadata belongs to the class: this object alone gets another.
    path = str(arrow_view(copy, settings) or copy)
    task.metadata = task.metadata.model_copy(update={"dataset": {**dataset, "path": path, "revision": None}})
    if DEFAULT not in card_subsets(copy) and getattr(task, "fast_loading", False):
        task.fast_loading = not card_subsets(copy)  # it would read one table with all subsets


def _check_network(settings: Settings) -> None:
    """Raise a MissingPart where mteb would use the network although the settings forbid it.

    mteb downloads through `datasets`, which takes its offline mode from the environment when it is imported.
    """
    places = [importlib.import_module(name) for name in ("datasets.config", "huggingface_hub.constants")]
    if settings.offline and not all(getattr(place, OFFLINE) for place in places):
        raise MissingPart(
            "tasks of mteb cannot be loaded offline, because mteb would use the network",
            hint=f"export {OFFLINE}=1 before Python starts, or use steelyard run --offline; {LOCAL_HINT}",
        )


def _retrieval(data: Any, info: TaskInfo, options: LoadOptions, changed: Table | None = None) -> Task:
    """Return a retrieval task; as in mteb, unjudged queries are ignored, and documents outside the corpus count."""
    corpus, queries = _columns(data["corpus"]), _columns(data["queries"])
    judged = [
        (query, document, grade)
        for query, documents in data["relevant_docs"].items()
        for document, grade in documents.items()
    ]
    query_ids, document_ids, grades = zip(*judged, strict=True) if judged else ((), (), ())
    documents = {"id": _text(corpus["id"]), "text": _text(corpus["text"])}
    if "title" in corpus:
        documents["title"] = _text(title or "" for title in corpus["title"])
    candidates = {}
    if lists := data.get("top_ranked"):
        ids = pa.array([list(map(str, ranked)) for ranked in lists.values()], pa.large_list(pa.large_string()))
        candidates[TOP_RANKED] = Table(CANDIDATES, {"query": _text(lists), "documents": ids}, (TOP_RANKED,), (0,))
    if changed is not None:
        candidates[CHANGED] = changed
    tables = Tables(
        info,
        Table(DOCUMENTS, documents, ("corpus",), (0,)),
        Table(QUERIES, {"id": _text(queries["id"]), "text": _text(query_texts(queries))}, ("queries",), (0,)),
        Table(
            JUDGEMENTS,
            {
                "query": _text(query_ids),
                "document": _text(document_ids),
                "grade": pa.array(map(float, grades), pa.float64()),
            },
            ("relevant_docs",),
            (0,),
            trec=True,
        ),
        candidates,
    )
    report = Report(missing_judgements=options.settings.missing_judgements)
    return report.finish(assemble(tables, report), options.validate or "report", info.name, local=False)


def query_texts(queries: dict[str, list[Any]]) -> Iterator[str]:
    """Yield the text of each query: an instruction comes after a text, and before a conversation."""
    instructions = queries.get("instruction") or [None] * len(queries["text"])
    for text, instruction in zip(queries["text"], instructions, strict=True):
        if isinstance(text, list):
            turns = "; ".join(turn if isinstance(turn, str) else f"{turn['role']}: {turn['content']}" for turn in text)
            yield turns if instruction is None else f"{instruction} {turns}"
        else:
            yield text if instruction is None else f"{text} {instruction}"


def _pairs(task: Any, rows: Any, info: TaskInfo) -> PairTask:
    """Return STS or pair classification; a single row of lists is a whole split, as in C-MTEB."""
    columns = _columns(rows)
    if info.type == "sts":
        first, second = task.column_names
        gold = "score"
    else:
        first, second, gold = task.input1_column_name, task.input2_column_name, task.label_column_name
        if len(rows) == 1:
            columns = {name: values[0] if isinstance(values[0], list) else values for name, values in columns.items()}
    values = np.asarray(columns[gold], dtype=np.float64)
    if info.type == "pair_classification" and not np.isin(values, (0, 1)).all():
        odd = values[~np.isin(values, (0, 1))][0]
        raise DataError.invalid("a label", expected="0 or 1", found=float(odd), where=info.name, hint=OF_MTEB)
    return PairTask(info, texts_of(columns[first], info), texts_of(columns[second], info), values)


def _classification(task: Any, splits: Any, info: TaskInfo) -> LabelTask:
    text, label = task.input_column_name, task.label_column_name
    train, test = _columns(splits[task.train_split]), _columns(splits[info.split])
    return LabelTask(
        info,
        texts_of(train[text], info),
        labels_of(train[label], info),
        texts_of(test[text], info),
        labels_of(test[label], info),
        task.samples_per_label,
        task.n_experiments,
    )


def _clustering(task: Any, rows: Any, info: TaskInfo) -> ClusterTask:
    """Return a clustering task: a row of lists is one problem, rows of texts are one problem that is sampled."""
    from mteb.abstasks.clustering_legacy import AbsTaskClusteringLegacy

    columns = _columns(rows)
    texts, labels = columns[task.input_column_name], columns[task.label_column_name]
    if isinstance(task, AbsTaskClusteringLegacy):
        problems = (
            Problem(texts_of(some, info), tuple((label,) for label in labels_of(theirs, info)))
            for some, theirs in zip(texts, labels, strict=True)
        )
        return ClusterTask(info, tuple(problems))
    whole = Problem(texts_of(texts, info), tuple(_levels(label, task.max_depth, info) for label in labels))
    share, number = task.max_fraction_of_documents_to_embed, task.max_document_to_embed
    if share is not None and number is not None:
        raise DataError(
            "max_fraction_of_documents_to_embed and max_document_to_embed must not both be set, "
            f"got {share} and {number}",
            where=info.name,
            hint="set one of them to None in the class of the task",
        )
    bootstrap = Bootstrap(
        documents=number if share is None else float(share),
        size=task.max_documents_per_cluster,
        rounds=task.n_clusters,
    )
    return ClusterTask(info, (whole,), bootstrap)


def _levels(label: Any, deepest: int | None, info: TaskInfo) -> Levels:
    return labels_of((label if isinstance(label, list) else [label])[:deepest], info)


def _columns(rows: Any) -> dict[str, list[Any]]:
    """Return the columns of a table of `datasets` as lists."""
    return dict(rows.with_format(None)[:])


def _text(values: Any) -> Any:
    return pa.array(map(str, values), pa.large_string())


P_MRR = "p-MRR"
OF_MTEB = "the data comes from mteb: check the task there, or give its files yourself"


def bitext(task: Any, part: Part, info: TaskInfo) -> PairTask:
    """Return a bitext task: two columns of a subset, or the columns of two languages of one table."""
    if task.parallel_subsets:
        left, _, right = part.hub_subset.partition("-")
        rows, names = task.dataset[part.split], (left, right)
    else:
        rows, names = subset_of(task, part)[part.split], PAIR_COLUMNS
    first, second = (tuple(rows[name]) for name in names)
    if len(first) != len(second):
        raise DataError.invalid(
            "the columns of translations",
            expected="of the same length",
            found=f"{len(first)} and {len(second)}",
            where=info.name,
            hint="use the .v2 of the task, or evaluate it with mteb itself",
        )
    return PairTask(info, texts_of(first, info), texts_of(second, info), np.ones(len(first)), names)


def multilabel(task: Any, part: Part, info: TaskInfo) -> LabelTask:
    """Return a task with several labels per text; a large evaluation split is sampled by mteb, as in its evaluation."""
    splits = subset_of(task, part)
    text, label = task.input_column_name, task.label_column_name
    test, largest = splits[part.split], task.max_eval_samples
    if largest is not None and len(test) > largest:
        sample = importlib.import_module("mteb.abstasks.abstask")._multilabel_subsampling
        tables = importlib.import_module("datasets").DatasetDict({part.split: test})
        test = sample(tables, seed=task.seed, splits=[part.split], label=label, n_samples=largest)[part.split]
    train = splits[task.train_split]
    return LabelTask(
        info,
        texts_of(train[text], info),
        several(train[label], info),
        texts_of(test[text], info),
        several(test[label], info),
        task.samples_per_label,
        task.n_experiments,
    )


def summaries(task: Any, part: Part, info: TaskInfo) -> SummaryTask:
    """Return a summarization task."""
    rows = subset_of(task, part)[part.split]
    human, machine = (
        tuple(texts_of(cell, info) for cell in rows[name])
        for name in (task.human_summaries_column_name, task.machine_summaries_column_name)
    )
    gold = tuple(tuple(map(float, scores)) for scores in rows[task.relevancy_column_name])
    with_p_values = task.evaluator.__name__ == "DeprecatedSummarizationEvaluator"
    return SummaryTask(info, human, machine, gold, with_p_values, (float(task.min_score), float(task.max_score)))


def changed_documents(task: Any, part: Part) -> Table | None:
    """Return the documents that the changed instruction of each query makes irrelevant; None for other tasks."""
    metadata = task.metadata
    if metadata.main_score != P_MRR:
        return None
    subset = part.hub_subset.replace("eng-", "")  # queries in English have the documents of the other language
    rows = importlib.import_module("datasets").load_dataset(
        metadata.dataset["path"],
        "qrel_diff" if subset == DEFAULT else f"qrel_diff-{subset}",
        split="qrel_diff",
        revision=metadata.dataset["revision"],
    )
    ids = pa.array([list(map(str, changed)) for changed in rows["corpus-ids"]], pa.large_list(pa.large_string()))
    queries = pa.array([f"{query}-changed" for query in rows["query-id"]], pa.large_string())
    return Table(CANDIDATES, {"query": queries, "documents": ids}, ("qrel_diff",), (0,))


def subset_of(task: Any, part: Part) -> Any:
    """Return the splits of the subset."""
    alone = part.hub_subset == DEFAULT and DEFAULT not in task.dataset
    return task.dataset if alone else task.dataset[part.hub_subset]


def several(cells: Any, info: TaskInfo) -> tuple[tuple[Label, ...], ...]:
    """Return the labels of each text."""
    return tuple(labels_of(cell if isinstance(cell, list) else [cell], info) for cell in cells)


def labels_of(labels: Sequence[Any], info: TaskInfo) -> tuple[Label, ...]:
    """Return the labels; a label that is neither an integer nor a text is a DataError."""
    for label in labels:
        if not isinstance(label, int | str):
            raise DataError.invalid(
                "a label", expected="an integer or text", found=label, where=info.name, hint=OF_MTEB
            )
    return tuple(labels)


def texts_of(texts: Sequence[Any], info: TaskInfo) -> tuple[str, ...]:
    """Return the texts; a text that is not a string is a DataError."""
    for row, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise DataError.invalid("a text", expected="a string", found=text, where=info.name, row=row, hint=OF_MTEB)
    return tuple(texts)


OTHER_TYPES: dict[str, Callable[[Any, Part, TaskInfo], AnyTask]] = {
    "bitext_mining": bitext,
    "multilabel_classification": multilabel,
    "summarization": summaries,
}

"""Published tasks that load by name: facts about them, without their data.

`nano.csv`: 569 tasks of 38 Nano-sets of HAKARI-Bench, with counts and the published scores of BM25, a dense model and
their hybrid. `cmteb.json`: the 31 tasks of C-MTEB, in their current and their first form, and the nine that mteb has
revised (`C-MTEB.v2`). Both were compiled from public metadata in August 2026. `sources.json.gz`: the references, split
origins and train splits of the Nano-tasks, as HAKARI-Bench recorded them. `focus.csv`: queries and documents of a task
in a few words, written for this catalogue. Reading them imports nothing heavy.

A task is named `Group/task`. If a group has several hub datasets, the name includes the dataset:
`MNanoBEIR/NanoBEIR-ar/NanoArguAna`. So every name is unique, and its last part is always the task. A task that is
evaluated on several splits is named by its last one; the others are named `C-MTEB/ATEC:validation`.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.types import TaskInfo
    from steelyard.types.task_metadata import TaskMetadata

FIGURES = tuple(
    f"{profile}_{metric}"
    for profile in ("bm25", "dense", "hybrid")
    for metric in ("ndcg_at_10", "hit_at_10", "pooled_recall_at_100")
)
"""The published scores of a Nano-task: columns of `nano.csv`, keys of `TaskInfo.reference`."""

COUNTS = ("queries", "documents", "positives", "positives_max", "query_chars", "document_chars")
"""The sizes of a Nano-task: four whole numbers, two means."""
NANO_COLUMNS = ("group", "hub", "task", "language", "category", *COUNTS, *FIGURES, "hybrid_safeguard_rows")

CMTEB = "C-MTEB"

USUAL_METRICS = {
    "retrieval": "ndcg_at_10",
    "reranking": "map_at_1000",
    "sts": "cosine_spearman",
    "pair_classification": "max_ap",
    "classification": "accuracy",
    "clustering": "v_measure",
    "bitext_mining": "f1",
    "multilabel_classification": "accuracy",
    "summarization": "cosine_spearman",
    "instruction_retrieval": "ndcg_at_10",
    "instruction_reranking": "p-MRR",
}
"""The default main metric of each type."""


@dataclass(frozen=True)
class Entry:
    """One published task."""

    name: str
    hub: str
    """The dataset on the Hugging Face hub."""
    split: str
    language: str
    category: str = "natural_language"
    type: str = "retrieval"
    revision: str | None = None
    """The commit that the facts describe, if known."""
    licence: str | None = None
    ignore_identical_ids: bool = False
    counts: Mapping[str, float] = field(default_factory=dict)
    """`queries`, `documents`, `positives`, mean lengths in characters; `samples` and `labels` for other types."""
    reference: Mapping[str, float] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Facts of some types: main score, constants of the task, repositories of its first version."""

    @property
    def group(self) -> str:
        """Return the first part of the name."""
        return self.name.split("/")[0]

    @property
    def splits(self) -> tuple[str, ...]:
        """Return every split that the task is evaluated on, its own last."""
        return tuple(self.extra.get("splits") or (self.split,))

    def of_split(self, split: str) -> Entry:
        """Return the same task on another of its splits, with the name `Group/task:split`."""
        if split == self.split:
            return self
        counts = self.extra["counts"].get(split, {})
        return replace(self, name=f"{self.name}:{split}", split=split, counts=counts, aliases=())

    @property
    def info(self) -> TaskInfo:
        """Return the description of the task for its data and results."""
        return self.described(self.metadata)

    def described(self, metadata: TaskMetadata) -> TaskInfo:
        """Return the description with this metadata; a list of tasks needs none, and does not read their file."""
        from steelyard.types.task_info import TaskInfo

        main = self.extra.get("main_score")
        return TaskInfo(
            name=self.name,
            language=self.language,
            languages=() if self.language in ("multilingual", "unknown") else (self.language,),
            language_tags=tuple(self.extra.get("languages", ())),
            category=self.category,
            type=self.type,
            main_metric=None if main == USUAL_METRICS[self.type] else main,
            source=self.hub,
            revision=self.revision,
            split=self.split,
            description=str(self.extra.get("description", "")),
            licence=self.licence,
            ignore_identical_ids=self.ignore_identical_ids,
            reference=dict(self.reference),
            metadata=metadata,
        )

    @property
    def metadata(self) -> TaskMetadata:
        """Return the recorded references, splits and training data; read from their file on first use.

        >>> find("NanoMMTEB-v2/belebele").metadata.evaluation_split_origin
        'test'
        """
        from steelyard.types.task_metadata import TaskMetadata

        return _metadata().get(self.name.partition(":")[0], TaskMetadata())


@cache
def entries() -> Mapping[str, Entry]:
    """Return every published task by name, groups in alphabetical order.

    >>> entries()["NanoMMTEB-v2/belebele"].counts["documents"]
    10000
    """
    listed = sorted([*_nano(), *_cmteb()], key=lambda entry: entry.group.lower())
    return {entry.name: entry for entry in listed}


@cache
def aliases() -> Mapping[str, str]:
    """Return other spellings of task names: with the hub id, the dataset without its group, C-MTEB's own names.

    >>> aliases()["CMedQAv1"], aliases()["hakari-bench/NanoMMTEB-v2/belebele"]
    ('C-MTEB/CMedQAv1-reranking', 'NanoMMTEB-v2/belebele')
    """
    names: dict[str, str] = {}
    for entry in entries().values():
        for alias in entry.aliases:
            names.setdefault(alias, entry.name)
    return names


def find(name: str) -> Entry | None:
    """Return the task of that name, in any spelling, optionally with `:split`; None if there is none.

    >>> entry = find("ATEC:validation")
    >>> entry.name, entry.split, entry.counts["samples"], find("CMedQAv1").name
    ('C-MTEB/ATEC:validation', 'validation', 20000, 'C-MTEB/CMedQAv1-reranking')
    """
    name = aliases().get(name, name)
    if name in entries():
        return entries()[name]
    base, _, split = name.rpartition(":")
    entry = entries().get(aliases().get(base, base))
    known = () if entry is None else (*entry.splits, *entry.extra.get("v1_splits", ()))
    return entry.of_split(split) if entry is not None and split in known else None


@cache
def groups() -> Mapping[str, tuple[Entry, ...]]:
    """Return the tasks of each group."""
    members: dict[str, list[Entry]] = {}
    for entry in entries().values():
        members.setdefault(entry.group, []).append(entry)
    return {name: tuple(tasks) for name, tasks in members.items()}


def _read(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _nano() -> Iterator[Entry]:
    header, *rows = csv.reader(_read("nano.csv").splitlines())
    if tuple(header) != NANO_COLUMNS:
        raise ValueError(f"the columns of nano.csv must be {NANO_COLUMNS}, got {header}")
    hubs: dict[str, set[str]] = {}
    for row in rows:
        hubs.setdefault(row[0], set()).add(row[1])
    for group, hub, task, language, category, *numbers in rows:
        short = f"{hub.partition('/')[2]}/{task}"
        name = f"{group}/{task}" if len(hubs[group]) == 1 else f"{group}/{short}"
        yield Entry(
            name=name,
            hub=hub,
            split=task,
            language=language,
            category=category,
            counts=dict(zip(COUNTS, (*map(int, numbers[:4]), *map(float, numbers[4:6])), strict=True)),
            reference=dict(zip(FIGURES, map(float, numbers[6:-1]), strict=True)),
            aliases=tuple(alias for alias in (f"{hub}/{task}", short) if alias != name),
            extra={"hybrid_safeguard_rows": int(numbers[-1])},
        )


def _cmteb() -> Iterator[Entry]:
    fields = (
        *("main_score", "languages", "splits", "benchmark_splits", "text_category", "description", "link"),
        *("evalscope_samples", "samples_note", "counts", "v1", "v1_splits", "superseded_by"),
    )
    constants = (
        *("samples_per_label", "n_experiments", "min_score", "max_score"),
        *("bootstrap", "documents", "stratified"),
    )
    for facts in json.loads(_read("cmteb.json")):
        task, split, group = facts["task"], facts["splits"][-1], facts.get("group", CMTEB)
        names = [task, facts["evalscope_name"], f"{group}/{facts['evalscope_name']}"]
        if not (group != CMTEB and facts["hub"].startswith(f"{CMTEB}/")):  # else the first version's dataset
            names.append(f"{facts['hub']}/{split}")
        yield Entry(
            name=f"{group}/{task}",
            hub=facts["hub"],
            split=split,
            language="zh",
            type=facts["type"],
            revision=facts["revision"],
            licence=facts.get("licence"),
            ignore_identical_ids=facts.get("ignore_identical_ids", False),
            counts=facts["counts"][split],
            aliases=tuple(dict.fromkeys(alias for alias in names if alias != f"{group}/{task}")),
            extra={key: facts[key] for key in (*fields, *constants) if key in facts},
        )


SOURCES = "sources.json.gz"


@cache
def _metadata() -> Mapping[str, TaskMetadata]:
    """Return the metadata of the Nano-tasks by name.

    The file stores each reference and each list of references once: most tasks of a group share theirs.
    """
    import gzip

    from steelyard.types.task_metadata import Reference, TaskMetadata

    content = json.loads(gzip.decompress(Path(__file__).with_name(SOURCES).read_bytes()))
    references = [
        Reference(title, year, _reference_type(url, is_paper), url, doi, confidence)
        for title, year, is_paper, url, doi, confidence in content["references"]
    ]
    lists = [tuple(references[number] for number in numbers) for numbers in content["lists"]]
    words = {row["task"]: row["focus"] for row in csv.DictReader(_read("focus.csv").splitlines())}
    return {
        name: TaskMetadata(
            references=lists[number],
            original_train_split=train,
            evaluation_split_origin=origin,
            train_eval_overlap_audit=audit,
            retrieval_focus=_focus(name, words),
        )
        for name, (number, train, origin, audit) in content["tasks"].items()
    }


def _focus(name: str, words: Mapping[str, str]) -> str:
    """Return the retrieval focus of a task: of `group/task`, of `task` in any group, or of a pattern of the file."""
    last = name.rpartition("/")[2]
    short = f"{name.partition('/')[0]}/{last}"
    patterns = (
        focus for key, focus in words.items() if "*" in key and (fnmatchcase(short, key) or fnmatchcase(last, key))
    )
    return words.get(short) or words.get(last) or next(patterns, "")


def _reference_type(url: str, is_paper: int) -> str:
    if is_paper:
        return "paper"
    if "huggingface.co/datasets/" in url:
        return "dataset card"
    return "code repository" if "github.com/" in url else "web page"

"""The evaluation side of an audit: the texts of all tasks, each normal form once, and where each is used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from steelyard.audit.lexical.normal_form import Tokens, UInt64, batches, tokenise
from steelyard.audit.lexical.shingles import Windows
from steelyard.errors import UnknownName, UsageError
from steelyard.types import Int64, Task
from steelyard.types.samples import AnyTask, ClusterTask, LabelTask, PairTask, SummaryTask

PARTS: Mapping[str, str] = {
    "queries": "queries of retrieval and reranking tasks",
    "positives": "documents that are relevant to a query",
    "documents": "all other documents of the corpus",
    "first": "first texts of pairs (STS, pair classification)",
    "second": "second texts of pairs",
    "texts": "texts to classify or to cluster",
}
"""The parts of an evaluation set that can be audited."""
DEFAULT_PARTS = ("queries", "positives", "first", "second", "texts")


@dataclass(frozen=True, eq=False)
class Part:
    """One part of a task: the ids of its items and the number of the text of each."""

    task: str
    name: str
    ids: tuple[str, ...]
    texts: Int64

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Texts of a task that belong together: a query and a positive, or the two texts of a pair."""

    task: str
    ids: tuple[tuple[str, str], ...]
    first: Int64
    second: Int64

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, eq=False)
class EvaluationSide:
    """All that training data is compared with. Texts with one normal form are one text here."""

    texts: tuple[str, ...]
    hashes: UInt64
    """The hash of the normal form of each text."""
    lengths: Int64
    """The number of tokens of each text."""
    parts: tuple[Part, ...]
    pairs: tuple[Pairs, ...]
    content_hashes: Mapping[str, str] = field(default_factory=dict)
    """The hash of the data of each task, so that an audit can be matched with a set."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """The names of the tasks."""
        return tuple(dict.fromkeys(part.task for part in self.parts))

    @cached_property
    def uses(self) -> Int64:
        """How many items of all parts have each text."""
        used = [part.texts for part in self.parts] or [np.zeros(0, dtype=np.int64)]
        return np.bincount(np.concatenate(used), minlength=len(self.texts)).astype(np.int64)

    @cached_property
    def partners(self) -> Mapping[int, frozenset[int]]:
        """The texts that each text forms a pair with, in both directions."""
        partners: dict[int, set[int]] = {}
        for pairs in self.pairs:
            for one, other in zip(pairs.first.tolist(), pairs.second.tolist(), strict=True):
                partners.setdefault(one, set()).add(other)
                partners.setdefault(other, set()).add(one)
        return {text: frozenset(others) for text, others in partners.items()}

    def token_batches(self) -> Iterator[Tokens]:
        """Yield the tokens of all texts, a batch at a time."""
        for part in batches(self.texts):
            yield tokenise(self.texts[part])


def collect(tasks: Iterable[AnyTask], parts: Sequence[str] = DEFAULT_PARTS) -> EvaluationSide:
    """Collect the texts of the tasks.

    >>> task = Task.of("X/rivers", {"d1": "The Nile.", "d2": "the NILE"}, {"q1": "longest river"}, {"q1": ["d1"]})
    >>> side = collect([task], parts=("queries", "positives", "documents"))
    >>> side.texts, {part.name: part.texts.tolist() for part in side.parts}
    (('longest river', 'The Nile.'), {'queries': [0], 'positives': [1], 'documents': [1]})
    """
    for name in parts:
        if name not in PARTS:
            raise UnknownName("part", name, PARTS, hint=f"one of {', '.join(PARTS)}")
    collector = _Collector()
    content_hashes = {}
    for task in tasks:
        if task.name in content_hashes:
            raise UsageError(f"task {task.name} is given twice", hint="name each evaluation set once")
        content_hashes[task.name] = task.content_hash
        collector.add_task(task, frozenset(parts))
    return collector.finish(content_hashes)


class _Collector:
    """Numbers texts by the hash of their normal form, in the order in which they come."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.hashes: list[int] = []
        self.lengths: list[int] = []
        self.number_of: dict[int, int] = {}
        self.parts: list[Part] = []
        self.pairs: list[Pairs] = []

    def numbers(self, texts: Sequence[str]) -> Int64:
        """Return the number of each text, new ones added."""
        numbers = np.zeros(len(texts), dtype=np.int64)
        for part in batches(texts):
            batch = texts[part]
            tokens = tokenise(batch)
            counts = tokens.counts.tolist()
            for row, key in enumerate(Windows(tokens).whole().tolist()):
                number = self.number_of.setdefault(key, len(self.texts))
                if number == len(self.texts):
                    self.texts.append(batch[row])
                    self.hashes.append(key)
                    self.lengths.append(counts[row])
                numbers[part.start + row] = number
        return numbers

    def add(self, task: str, part: str, ids: Sequence[str], texts: Sequence[str]) -> Int64:
        """Add one part and return the numbers of its texts."""
        numbers = self.numbers(texts)
        self.parts.append(Part(task, part, tuple(ids), numbers))
        return numbers

    def add_task(self, task: AnyTask, parts: frozenset[str]) -> None:
        """Add the asked parts of a task."""
        if isinstance(task, Task):
            self._add_retrieval(task, parts)
        elif isinstance(task, PairTask):
            self._add_pairs(task, parts)
        elif isinstance(task, LabelTask) and "texts" in parts:
            self.add(task.name, "texts", _row_ids(len(task.texts)), task.texts)
        elif isinstance(task, ClusterTask) and "texts" in parts:
            texts = [text for problem in task.problems for text in problem.texts]
            self.add(task.name, "texts", _row_ids(len(texts)), texts)
        elif isinstance(task, SummaryTask) and "texts" in parts:
            self.add(task.name, "texts", _row_ids(len(task)), [" ".join(summaries) for summaries in task.human])

    def _add_retrieval(self, task: Task, parts: frozenset[str]) -> None:
        relevant = (task.qrels.grades > 0) & (task.qrels.rows >= 0)
        query_rows = np.repeat(np.arange(len(task.queries)), task.qrels.counts)[relevant]
        document_rows = task.qrels.rows[relevant].astype(np.int64)
        positives = np.unique(document_rows)
        texts = task.corpus.texts
        query_numbers = positive_numbers = None
        if "queries" in parts:
            query_numbers = self.add(task.name, "queries", task.queries.ids, task.queries.texts)
        if "positives" in parts:
            ids = [task.corpus.ids[row] for row in positives.tolist()]
            positive_numbers = self.add(task.name, "positives", ids, [texts[row] for row in positives.tolist()])
        if "documents" in parts:
            others = np.setdiff1d(np.arange(len(texts)), positives).tolist()
            self.add(task.name, "documents", [task.corpus.ids[row] for row in others], [texts[row] for row in others])
        if query_numbers is not None and positive_numbers is not None:
            ids = [
                (task.queries.ids[query], task.corpus.ids[document])
                for query, document in zip(query_rows.tolist(), document_rows.tolist(), strict=True)
            ]
            second = positive_numbers[np.searchsorted(positives, document_rows)]
            self.pairs.append(Pairs(task.name, tuple(ids), query_numbers[query_rows], second))

    def _add_pairs(self, task: PairTask, parts: frozenset[str]) -> None:
        ids = _row_ids(len(task))
        first = self.add(task.name, "first", ids, task.first) if "first" in parts else None
        second = self.add(task.name, "second", ids, task.second) if "second" in parts else None
        if first is not None and second is not None:
            self.pairs.append(Pairs(task.name, tuple((row, row) for row in ids), first, second))

    def finish(self, content_hashes: Mapping[str, str]) -> EvaluationSide:
        """Return all that was added."""
        return EvaluationSide(
            tuple(self.texts),
            np.array(self.hashes, dtype=np.uint64),
            np.array(self.lengths, dtype=np.int64),
            tuple(self.parts),
            tuple(self.pairs),
            content_hashes,
        )


def _row_ids(count: int) -> list[str]:
    """Return row numbers as ids, for samples that do not have any."""
    return [str(row) for row in range(count)]

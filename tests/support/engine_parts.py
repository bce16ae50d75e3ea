"""Small real tasks and a small real retriever for the tests of engine, store and command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steelyard.types import Corpus, Qrels, Queries, Run, Task, TaskInfo
from steelyard.types.protocols import Tick, no_tick

PASSAGES = {
    "danube": "The Danube rises in the Black Forest and reaches the Black Sea after crossing ten countries.",
    "nile": "The Nile flows north through the desert of Egypt and feeds a wide green delta.",
    "volga": "The Volga, the longest river of Europe, ends in the salty Caspian Sea.",
    "everest": "Everest, on the border of Nepal and Tibet, is the highest mountain above the sea.",
    "etna": "Etna on Sicily is a volcano that erupts often and is covered with snow in winter.",
    "sahara": "The Sahara is the largest hot desert, with dunes, rock plains and few oases.",
    "baikal": "Lake Baikal in Siberia holds a fifth of all fresh water that is not frozen.",
    "amber": "Amber is the hardened resin of old trees, washed ashore along the Baltic coast.",
}
QUESTIONS = {
    "q1": ("Which river crosses ten countries?", {"danube": 2, "volga": 1}),
    "q2": ("longest river of Europe", {"volga": 1}),
    "q3": ("a volcano with snow", {"etna": 1}),
    "q4": ("fresh water lake", {"baikal": 3, "nile": 0}),
    "q5": ("fossil tree sap", {"amber": 1}),
    "q6": ("desert", {"sahara": 2, "nile": 1}),
}


def small_task(name: str = "Small/geography", *, language: str = "en", shift: int = 0, **info: Any) -> Task:
    """Eight passages and six questions; `shift` moves the answers on, which makes other data of the same size."""
    corpus = Corpus.of(list(PASSAGES), list(PASSAGES.values()))
    queries = Queries(tuple(QUESTIONS), tuple(text for text, _ in QUESTIONS.values()))
    judged = [
        (q, (corpus.row_of[id_] + shift) % len(corpus), grade)
        for q, (_, grades) in enumerate(QUESTIONS.values())
        for id_, grade in grades.items()
    ]
    q, d, g = zip(*judged, strict=True)
    return Task(TaskInfo(name, language=language, **info), corpus, queries, Qrels.of(q, d, g, queries=len(queries)))


def words(text: str) -> set[str]:
    return {word.strip(".,?").lower() for word in text.split()}


@dataclass(frozen=True)
class OverlapIndex:
    texts: tuple[set[str], ...]
    weight: float
    notes: Mapping[str, Any] = field(default_factory=lambda: {"analyser": "words"})

    @property
    def size_bytes(self) -> int:
        return sum(len(word) for text in self.texts for word in text)

    def search(self, queries: Queries, top_k: int) -> Run:
        shared = [[self.weight * len(words(query) & text) for text in self.texts] for query in queries.texts]
        scores = np.array(shared, dtype=np.float32)
        rows = np.where(scores > 0, np.arange(len(self.texts)), -1)
        return Run.of(rows, scores).top(top_k)


@dataclass
class Overlap:
    """Counts shared words; remembers how often it was asked to index."""

    name: str = "overlap"
    weight: float = 1.0
    indexed: list[str] = field(default_factory=list)

    @property
    def settings(self) -> Mapping[str, Any]:
        return {"weight": self.weight}

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> OverlapIndex:
        self.indexed.append(info.name)
        for _ in corpus.texts:
            tick(1)
        return OverlapIndex(tuple(map(words, corpus.texts)), self.weight)


@dataclass
class Broken(Overlap):
    """Fails on the tasks that it is told to fail on."""

    name: str = "broken"
    on: tuple[str, ...] = ()

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> OverlapIndex:
        if info.name in self.on:
            raise ZeroDivisionError("no such luck")
        return super().index(corpus, info, tick)

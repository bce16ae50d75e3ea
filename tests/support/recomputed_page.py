"""A JSON page of a small task, next to what its numbers are computed again from: ids, texts, judgements and lists.

Languages are those in the ids of NanoAlmanac, not identified ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from page_oracles import Lists, as_lists, as_run, evaluate, noisy_lists, only_longer, qrels_of, similarity

from steelyard.datasets import load_task
from steelyard.errors import DataWarning
from steelyard.reports.pages import Profile, measure_task
from steelyard.reports.pages.render.json_page import json_page
from steelyard.reports.pages.render.task_page import task_page
from steelyard.retrievers.bm25.retriever import Bm25
from steelyard.text.analysis.language_policy import choose_policy
from steelyard.types import Task


@dataclass(eq=False)
class Measured:
    """A page next to what it was made from."""

    task: Task
    lists: dict[str, Lists]
    page: dict[str, Any]
    language: Callable[[str], str] = lambda id_: language_of(id_)
    """The language of a query or document by its id."""

    @cached_property
    def judged(self) -> list[dict[str, int]]:
        """The grades of every query by document."""
        return list(qrels_of(self.task).values())

    @cached_property
    def positives(self) -> list[list[str]]:
        """The relevant documents in the corpus."""
        return [[d for d, grade in one.items() if grade > 0 and d != "absent"] for one in self.judged]

    @cached_property
    def ndcg(self) -> dict[str, np.ndarray]:
        """nDCG@10 of every query by profile."""
        return {kind: evaluate(self.task, lists) for kind, lists in self.lists.items()}

    @cached_property
    def asked(self) -> list[str]:
        """The language of every query."""
        return [self.language(id_) for id_ in self.task.queries.ids]

    @cached_property
    def sought(self) -> list[set[str]]:
        """The languages of the relevant documents of every query."""
        return [{self.language(document) for document in rows} for rows in self.positives]

    @cached_property
    def text_of(self) -> dict[str, str]:
        """The text of every document."""
        return dict(zip(self.task.corpus.ids, self.task.corpus.texts, strict=True))

    @cached_property
    def terms(self) -> tuple[list[set[str]], dict[str, set[str]]]:
        """The terms of every query, and of every document by id."""
        policy = choose_policy([text[:200] for text in self.task.corpus.texts], self.task.info)
        sides = []
        for texts, query in ((self.task.queries.texts, True), (self.task.corpus.texts, False)):
            found: list[set[str]] = [set() for _ in texts]
            for analyser, places in policy.groups(texts):
                chosen = [texts[place] for place in places]
                tokens = analyser.query_tokens(chosen) if query else analyser.tokens(chosen)
                for owner, number in zip(tokens.owners.tolist(), tokens.numbers.tolist(), strict=True):
                    found[places[owner]].add(tokens.distinct[number])
            sides.append(found)
        return sides[0], dict(zip(self.task.corpus.ids, sides[1], strict=True))

    @cached_property
    def overlap(self) -> np.ndarray:
        """The share of every query's terms in its most similar relevant document."""
        queries, documents = self.terms
        shares = [
            max((len(own & documents[d]) / len(own) for d in rows), default=np.nan) if own else np.nan
            for own, rows in zip(queries, self.positives, strict=True)
        ]
        return np.array(shares)

    @cached_property
    def copies(self) -> dict[str, list[set[str]]]:
        """The unjudged near-duplicates of relevant documents in the top 10 of every query."""
        return {
            kind: [
                {
                    d
                    for d in ids[:10]
                    if d not in self.judged[q]
                    and any(_repeats(self.text_of[d], self.text_of[p]) for p in self.positives[q])
                }
                for q, ids in enumerate(lists)
            ]
            for kind, lists in self.lists.items()
        }

    def found(self, kind: str) -> np.ndarray:
        """Whether a relevant document is in the top 10 of every query."""
        hits = [bool(set(ids[:10]) & set(self.positives[q])) for q, ids in enumerate(self.lists[kind])]
        return np.array(hits)

    @cached_property
    def answerable(self) -> np.ndarray:
        """Whether every query has a relevant document in the corpus."""
        return np.array([bool(rows) for rows in self.positives])


def _repeats(one: str, other: str) -> bool:
    return similarity(one, other) >= 0.8 and only_longer(one, other)


def language_of(document: str) -> str:
    """The language in the id of a document."""
    return document.split(".")[1]


def reduced_task() -> Task:
    """160 queries of NanoAlmanac/pool with one to four relevant documents of two grades, and copies of documents.

    The copies are beginnings of every third document: half of them near-duplicates, the others too short for that.
    One query has no relevant document, one has one outside the corpus.
    """
    pool = load_task("NanoAlmanac/pool")
    judged = qrels_of(pool)
    queries = dict(zip(pool.queries.ids, pool.queries.texts, strict=True))
    chosen = {id_: text for n, (id_, text) in enumerate(queries.items()) if n % 2 == n // 10 % 2}
    qrels: dict[str, dict[str, int]] = {}
    for n, id_ in enumerate(chosen):
        others = sorted(judged[id_], key=lambda d: (_hash(d + id_), d))[: 1 + n % 4]
        qrels[id_] = {d: 2 if language_of(d) == id_.split(".")[1] else 1 for d in others}
    first, second = list(qrels)[:2]
    qrels[first] = dict.fromkeys(qrels[first], 0)
    qrels[second]["absent"] = 1
    corpus = dict(zip(pool.corpus.ids, pool.corpus.texts, strict=True))
    for n, (id_, text) in enumerate(list(corpus.items())[::3]):
        corpus[f"{id_}.copy"] = text[: len(text) * (11 if n % 2 else 9) // 12]
    with pytest.warns(DataWarning):
        return Task.of("Own/pool", corpus, chosen, qrels, language="multilingual", languages=pool.info.languages)


def _hash(text: str) -> int:
    return sum(place * ord(character) for place, character in enumerate(text, 7)) % 1009


def measured_page() -> Measured:
    """The page of the task, from BM25 and two profiles with random lists."""
    task = reduced_task()
    languages = [id_.split(".")[1] for id_ in task.queries.ids]

    def chance(same: float, other: float) -> Any:
        return lambda q, row: same if language_of(task.corpus.ids[row]) == languages[q] else other

    lists = {
        "bm25": as_lists(task, Bm25().index(task.corpus, task.info).search(task.queries, 200)),
        "dense": noisy_lists(task, 1, chance(0.9, 0.4)),
        "hybrid": noisy_lists(task, 2, chance(0.8, 0.5)),
    }
    for ids in lists["dense"]:  # a copy follows its original
        for document in [d for d in ids[:10] if f"{d}.copy" in task.corpus.row_of]:
            ids.remove(f"{document}.copy")
            ids.insert(ids.index(document), f"{document}.copy")
    profiles = [Profile(kind, f"{kind}-lists", as_run(task, found)) for kind, found in lists.items()]  # type: ignore[arg-type]
    values = measure_task(task, profiles)
    return Measured(task, lists, json.loads(json_page(task_page(values), values))["figures"])

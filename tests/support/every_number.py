"""Pages whose every number is computed again, next to what they were made from."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from page_oracle import Oracle
from page_oracles import Lists, as_lists, as_run, noisy_lists
from page_query_texts import digits_of
from recomputed_page import language_of, reduced_task

from steelyard.datasets import load_task
from steelyard.models.model_cards import card
from steelyard.reports.pages import Profile, TaskValues, measure_task
from steelyard.reports.pages.render.blocks import Page
from steelyard.reports.pages.render.json_page import json_page
from steelyard.reports.pages.render.task_page import task_page
from steelyard.retrievers.bm25.retriever import Bm25
from steelyard.types import Task

SHARED = Path(__file__).parents[3] / "shared" / "data"
ENCODER = "use-multilingual-v3"


@dataclass(eq=False)
class Made:
    """A page, its values, and what they are computed again from."""

    values: TaskValues
    page: Page
    oracle: Oracle


def made_page(
    task: Task, lists: dict[str, Lists], language: Callable[[str], str], declared: Sequence[str], dense: str
) -> Made:
    """The page of a task from these lists."""
    configs = {"bm25": "bm25", "dense": dense, "hybrid": "lists"}
    profiles = [Profile(kind, configs[kind], as_run(task, found)) for kind, found in lists.items()]  # type: ignore[arg-type]
    values = measure_task(task, profiles)
    page = task_page(values)
    oracle = Oracle(task, lists, language, declared)
    oracle.page = json.loads(json_page(page, values))["figures"]
    return Made(values, page, oracle)


def searched(task: Task, depth: int) -> Lists:
    """The lists of BM25."""
    return as_lists(task, Bm25().index(task.corpus, task.info).search(task.queries, depth))


@cache
def pool_page() -> Made:
    """Ten languages, several grades and relevant documents; the dense model does not declare all languages."""
    task = reduced_task()
    asked = [language_of(id_) for id_ in task.queries.ids]

    def chance(same: float, other: float) -> Any:
        return lambda q, row: same if language_of(task.corpus.ids[row]) == asked[q] else other

    lists = {
        "bm25": searched(task, 200),
        "dense": noisy_lists(task, 1, chance(0.9, 0.4)),
        "hybrid": noisy_lists(task, 2, chance(0.8, 0.42)),
    }
    known = card(ENCODER)
    assert known is not None and known.languages
    return made_page(task, lists, language_of, tuple(code[:2] for code in known.languages), f"dense:{ENCODER}")


@cache
def english_page(seeds: Sequence[int] = (4, 0, 12)) -> Made:
    """One language; the lists are those of BM25, where relevant documents were moved to the end for some queries.

    The documents that are ranked first are therefore similar to the relevant ones, and the profiles differ little.
    """
    task = numbered_task()
    lists = {
        kind: demoted(task, seed, chance)
        for kind, seed, chance in zip(("bm25", "dense", "hybrid"), seeds, (0.5, 0.6, 0.35), strict=True)
    }
    return made_page(task, lists, lambda id_: "en", (), "lists")


def numbered_task() -> Task:
    """The English questions; every other one contains the number of its relevant document that most documents have."""
    whole = load_task("NanoAlmanac/en")
    corpus = dict(zip(whole.corpus.ids, whole.corpus.texts, strict=True))
    qrels = {
        id_: {whole.corpus.ids[row]: 1 for row in whole.qrels.rows_of(q).tolist()}
        for q, id_ in enumerate(whole.queries.ids)
    }
    frequency = Counter(number for text in corpus.values() for number in digits_of(text))
    queries = {}
    for n, (id_, text) in enumerate(zip(whole.queries.ids, whole.queries.texts, strict=True)):
        own = digits_of(corpus[next(iter(qrels[id_]))])
        shared = sorted(own, key=lambda number: (-frequency[number], number))
        queries[id_] = f"{text[:-1]} about {shared[0]}?" if shared and n % 2 else text
    return Task.of("NanoAlmanac/en", corpus, queries, qrels, language="en", languages=("en",))


def demoted(task: Task, seed: int, chance: float) -> Lists:
    """The lists of BM25 with the relevant documents at the end, for some queries."""
    draw = random.Random(seed)
    lists = searched(task, 20)
    for q, ids in enumerate(lists):
        relevant = [task.corpus.ids[row] for row in task.qrels.rows_of(q).tolist()]
        if draw.random() < chance:
            lists[q] = [*(d for d in ids if d not in relevant), *(d for d in ids if d in relevant)]
    return lists


def shared_page(name: str) -> Made:
    """The first 200 queries of a set of real data, if it is there."""
    if not (SHARED / name).is_dir():
        pytest.skip(f"{name} is not there")
    whole = load_task(str(SHARED / name))
    code = whole.info.languages[0]
    ids = whole.queries.ids[:200]
    qrels = {id_: {whole.corpus.ids[row]: 1 for row in whole.qrels.rows_of(q).tolist()} for q, id_ in enumerate(ids)}
    queries = dict(zip(ids, whole.queries.texts, strict=False))
    corpus = dict(zip(whole.corpus.ids, whole.corpus.texts, strict=True))
    task = Task.of(f"Own/{name}", corpus, queries, qrels, language=code, languages=(code,))
    lists = {
        "bm25": searched(task, 100),
        "dense": noisy_lists(task, 1, lambda q, row: 0.8),
        "hybrid": noisy_lists(task, 2, lambda q, row: 0.85),
    }
    return made_page(task, lists, lambda id_: code, (), "lists")

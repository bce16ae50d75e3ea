"""Weights of an adaptive fusion: how far each list can be trusted for one query, without any judgement.

A list of words (BM25) is trusted as far as its best document shares terms with the query. A list of meanings (an
encoder) is trusted in the languages that the encoder declares; in a task of one language, it loses weight where the
best documents of the word list share many terms with the query and are far down in its own order. The constants were
chosen on the development sets of `benchmarks/studies/hybrid.py`; docs/hybrid.md has the rule and the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from steelyard.errors import UsageError
from steelyard.files import with_home
from steelyard.models import card
from steelyard.models.model_cards import ANY
from steelyard.spec import parse
from steelyard.text.analysis.language_policy import Policy, choose_policy
from steelyard.text.language_id.detect import UNDECIDED, detect
from steelyard.text.languages import canonical
from steelyard.types import Corpus, Float64, Int32, Run
from steelyard.types.protocols import ModelSettings, Retriever, Unjudged

VERSION = 2
"""Counts up whenever the rule gives other weights; part of the key of a result."""
LEXICAL = ("bm25",)
"""Families whose lists are ranked by shared words."""
MULTILINGUAL = "multilingual"
UNKNOWN = "unknown"

FULL_OVERLAP = 0.4
"""Overlap of the best document from which a word list has its full weight."""
DEPTH = 5
"""Documents of the word list that are looked at."""
OVERLAP_RAMP = (0.25, 0.4)
"""Mean overlap of the word list's best documents from which it begins to count against the other list, and fully."""
AGREEMENT_RAMP, POWER = (0.15, 0.45), 3
"""Agreement of the other list, on a scale from 0 to 1, to this power."""
UNDECLARED = 0.2
"""Weight of an encoder for a language that it does not declare."""
LEAST = 0.01
"""Smallest weight of a list of meanings."""


@dataclass(frozen=True, eq=False)
class Trust:
    """The weights of every query, (queries, lists), and how many queries each reason concerned."""

    weights: Float64
    notes: dict[str, Any]


def trust(task: Unjudged, runs: Sequence[Run], parts: Sequence[Retriever]) -> Trust:
    """Return the weight of each list for each query; all 1 unless lists of words and of meanings are joined."""
    weights = np.ones((len(task.queries), len(runs)))
    words = next((place for place, part in enumerate(parts) if is_lexical(part)), None)
    others = [place for place, part in enumerate(parts) if not is_lexical(part)]
    if words is None or not others or not len(task.queries):
        return Trust(weights, {})
    policy = policy_of(task)
    mixed = canonical(task.info.language) == MULTILINGUAL or (canonical(task.info.language) == UNKNOWN and policy.mixed)
    lexical = overlaps(task, runs[words].rows[:, :DEPTH], policy)
    weights[:, words] = lexical[:, 0] ** 2 if mixed else np.minimum(1.0, lexical[:, 0] / FULL_OVERLAP)
    undeclared = 0
    for place in others:
        if not mixed:
            weights[:, place] = _by_agreement(lexical.mean(axis=1), agreement(runs[place], runs[words].rows[:, :DEPTH]))
        foreign = undeclared_queries(task, parts[place], policy)
        weights[foreign, place] = np.minimum(weights[foreign, place], UNDECLARED)
        weights[:, place] = np.maximum(weights[:, place], LEAST)
        undeclared = max(undeclared, int(foreign.sum()))
    means = {part.name: round(float(mean), 4) for part, mean in zip(parts, weights.mean(axis=0), strict=True)}
    return Trust(weights, {"mean_weights": means, "queries_in_undeclared_languages": undeclared})


def _by_agreement(overlap: Float64, agreement: Float64) -> Float64:
    """Return the weight of a list from the overlap of the word list's best documents and its agreement with them."""
    low, high = OVERLAP_RAMP
    counts = np.clip((overlap - low) / (high - low), 0.0, 1.0)
    least, most = AGREEMENT_RAMP
    agrees = np.clip((agreement - least) / (most - least), 0.0, 1.0) ** POWER
    weight: Float64 = 1 - counts * (1 - agrees)
    return weight


def agreement(run: Run, rows: Int32) -> Float64:
    """Return the mean z-score that each list gives to these documents, divided by the z-score of its first document.

    A document that a list lacks has the lowest score of the list. 1 means that all of them are as good as the first.

    >>> run = Run.of([[0, 1, 2, 3]], [[3.0, 1.0, 0.0, 0.0]])
    >>> agreement(run, np.array([[0, 1]], dtype=np.int32)).round(4).tolist()
    [0.5]
    """
    real = run.rows >= 0
    count = np.maximum(real.sum(axis=1), 1)
    scores = np.where(real, run.scores, 0.0).astype(np.float64)
    centred = np.where(real, scores - (scores.sum(axis=1) / count)[:, None], 0.0)
    if not run.depth:
        return np.ones(len(run))
    lowest = np.take_along_axis(centred, count[:, None] - 1, axis=1)[:, 0]
    total, counts = np.zeros(len(run)), np.zeros(len(run))
    for column in rows.T:
        same = (run.rows == column[:, None]) & real
        here = np.where(same.any(axis=1), (centred * same).sum(axis=1), lowest)
        total += np.where(column >= 0, here, 0.0)
        counts += column >= 0
    mean = total / np.maximum(counts, 1)
    shares = np.divide(mean, centred[:, 0], out=np.ones(len(run)), where=centred[:, 0] > 0)
    return np.asarray(np.where(counts > 0, shares, 1.0), dtype=np.float64)


def overlaps(task: Unjudged, rows: Int32, policy: Policy) -> Float64:
    """Return the overlap coefficient of the terms of each query and of its documents: (queries, DEPTH).

    It is the number of shared distinct terms divided by the smaller number of the two; 0 where there is no document.
    """
    shares = np.zeros((len(rows), DEPTH))
    for analyser, places in policy.groups(task.queries.texts):
        texts = [task.queries.texts[place] for place in places.tolist()]
        queries = [frozenset(terms) for terms in analyser.query_tokens(texts).lists(len(texts))]
        distinct = np.unique(rows[places])
        distinct = distinct[distinct >= 0]
        bodies = [task.corpus.texts[row] for row in distinct.tolist()]
        lists = analyser.tokens(bodies).lists(len(bodies)) if bodies else []
        documents = {row: frozenset(terms) for row, terms in zip(distinct.tolist(), lists, strict=True)}
        for place, query in zip(places.tolist(), queries, strict=True):
            for rank, row in enumerate(rows[place].tolist()):
                if row >= 0 and query and documents[row]:
                    shared = len(query & documents[row])
                    shares[place, rank] = shared / min(len(query), len(documents[row]))
    return shares


_POLICIES: WeakKeyDictionary[Corpus, dict[tuple[str, ...], Policy]] = WeakKeyDictionary()


def policy_of(task: Unjudged) -> Policy:
    """Return which analyser reads which text of a task; chosen once for each corpus."""
    info = task.info
    key = (info.language, info.category, *info.languages)
    known = _POLICIES.setdefault(task.corpus, {})
    if key not in known:
        known[key] = choose_policy(task.corpus.texts, info)
    return known[key]


def is_lexical(part: Retriever) -> bool:
    """Return whether a retriever ranks by shared words."""
    return part.name.partition("?")[0].partition(":")[0].strip() in LEXICAL


def undeclared_queries(task: Unjudged, part: Retriever, policy: Policy) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return for which queries the language is none of those that the encoder declares."""
    declared = declared_languages(part.name)
    count = len(task.queries)
    if not declared or ANY in declared:
        return np.zeros(count, dtype=bool)
    language = canonical(task.info.language)
    if language not in (MULTILINGUAL, UNKNOWN):
        return np.full(count, language not in declared)
    among = [code for code in map(canonical, task.info.languages or policy.languages) if code not in (MULTILINGUAL,)]
    languages = detect(task.queries.texts, among)
    return np.array([code != UNDECIDED and code not in declared for code in languages], dtype=bool)


@lru_cache(maxsize=256)
def declared_languages(name: str) -> frozenset[str]:
    """Return the languages that a model declares, by its name; empty where nothing is known.

    They come from the model's card, or from the head of the README of a model folder.

    >>> sorted(declared_languages("dense:BAAI/bge-small-zh-v1.5")), declared_languages("dense:someone/unknown")
    (['zh'], frozenset())
    """
    try:
        spec = parse(name)
    except UsageError:  # the name of an object that somebody made
        return frozenset()
    if spec.parts:
        return frozenset()
    known = card(spec.id)
    if known is not None:
        return frozenset(map(canonical, known.languages))
    folder = with_home(spec.id)
    if not spec.id or not folder.is_dir():
        return frozenset()
    from steelyard.encoders.model_metadata import README, front_matter

    stated = front_matter(folder / README).get("language", [])
    return frozenset({ANY} if MULTILINGUAL in stated else map(canonical, stated))


def settings_of(parts: Sequence[Retriever]) -> ModelSettings:
    """Return what fixes the weights: the version of the rule, and the languages that each model declares."""
    return {
        "version": VERSION,
        "languages": [" ".join(sorted(declared_languages(part.name))) or None for part in parts],
    }

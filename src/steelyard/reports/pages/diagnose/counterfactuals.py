"""The score if one thing were different: cheap changes of the lists, and BM25 on shortened documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from steelyard import stats
from steelyard.metrics import score
from steelyard.reports.pages.diagnose.evidence import Evidence
from steelyard.reports.pages.diagnose.failure_classes import Ranking
from steelyard.reports.pages.measure.diagnosis_values import Counterfactual
from steelyard.reports.pages.measure.page_inputs import SAFEGUARD_DEPTH, Kind
from steelyard.reports.pages.measure.text_languages import UNCLEAR
from steelyard.reports.pages.thresholds import FEWEST, LONGER, SIGNIFICANT, SOME
from steelyard.retrievers.bm25.retriever import Bm25
from steelyard.stats.corrections import holm
from steelyard.text.language_id.detect import UNDECIDED
from steelyard.types import Corpus, Float64, Run, Task

HEADS = (256, 1024)
"""Numbers of characters to which documents are truncated."""
SHORT_LIST = 50
"""Queries with a shorter list of BM25 are left out where a model reranks it."""
MOST_DOCUMENTS = 50_000
"""BM25 is not searched again in a larger corpus."""

Change = tuple[str, Kind, Float64, Float64]
"""Name, profile, and nDCG@10 of every query before and after."""


def counterfactuals(evidence: Evidence, rankings: Sequence[Ranking]) -> tuple[Counterfactual, ...]:
    """Return every change that applies to the task, with tests and Holm's correction."""
    changes = [*_languages(evidence, rankings), *_near_duplicates(rankings), *_heads(evidence), *_rerank(rankings)]
    changes = [one for one in changes if (one[2] != one[3]).any()]
    rows = []
    for name, kind, old, new in changes:
        test = stats.paired_test(new, old)
        scores = (float(old.mean()), float(new.mean()), test.difference, test.interval, test.p_value)
        rows.append(
            Counterfactual(name, kind, *scores, significant=False, changed=int((old != new).sum()), queries=len(old))
        )
    adjusted = holm([one.p_value for one in rows]).tolist()
    return tuple(replace(one, p_value=p, significant=p < SIGNIFICANT) for one, p in zip(rows, adjusted, strict=True))


def ndcg(run: Run, task: Task) -> Float64:
    """Return nDCG@10 of every query."""
    return score(run, task.qrels, ["ndcg_at_10"]).per_query["ndcg_at_10"]


def filtered(run: Run, keep: Callable[[int, int], bool]) -> Run:
    """Return the run without the documents for which `keep(query, row)` is false.

    >>> filtered(Run.of([[2, 0, 1]], [[3.0, 2.0, 1.0]]), lambda query, row: row != 0).rows.tolist()
    [[2, 1, -1]]
    """
    lists = enumerate(run.rows.tolist())
    mask = np.array([[row >= 0 and keep(query, row) for row in rows] for query, rows in lists], dtype=bool)
    return Run.of(np.where(mask.reshape(run.rows.shape), run.rows, -1), run.scores)


def _languages(evidence: Evidence, rankings: Sequence[Ranking]) -> Iterator[Change]:
    """Yield the lists without documents in other languages than those of the query's relevant documents."""
    languages = evidence.reading.document_languages
    shares = {code: count / max(len(languages), 1) for code, count in Counter(languages).items()}
    hidden = shares.pop(UNDECIDED, 0.0)
    if sum(share >= SOME for share in shares.values()) < 2 or hidden > UNCLEAR:  # too many are undecided
        return
    sought = [{languages[row] for row in rows} | {UNDECIDED} for rows in evidence.positives]
    for ranking in rankings:
        run = filtered(ranking.measured.profile.run, lambda query, row: languages[row] in sought[query])
        yield "other_languages", ranking.kind, ranking.measured.ndcg, ndcg(run, evidence.task)


def _near_duplicates(rankings: Sequence[Ranking]) -> Iterator[Change]:
    """Yield the lists without unjudged near duplicates of relevant documents in the top 10."""
    for ranking in rankings:
        copies = [set(rows) for rows in ranking.near_duplicates]
        if any(copies):
            run = _without(ranking.measured.profile.run, copies)
            yield "near_duplicates", ranking.kind, ranking.measured.ndcg, ndcg(run, ranking.evidence.task)


def _without(run: Run, dropped: Sequence[set[int]]) -> Run:
    return filtered(run, lambda query, row: row not in dropped[query])


def _heads(evidence: Evidence) -> Iterator[Change]:
    """Yield BM25 on the beginnings of documents, against BM25 on whole documents."""
    task = evidence.task
    lengths = np.fromiter(map(len, task.corpus.texts), dtype=np.int64, count=len(task.corpus))
    heads = [head for head in HEADS if (lengths > head).mean() >= LONGER]
    if not heads or len(task.corpus) > MOST_DOCUMENTS or task.info.type != "retrieval":
        return
    whole = ndcg(_searched(task, task.corpus), task)
    for head in heads:
        short = Corpus.of(task.corpus.ids, [text[:head] for text in task.corpus.texts])
        yield f"head_{head}", "bm25", whole, ndcg(_searched(task, short), task)


def _searched(task: Task, corpus: Corpus) -> Run:
    return Bm25().index(corpus, task.info).search(task.queries, SAFEGUARD_DEPTH)


def _rerank(rankings: Sequence[Ranking]) -> Iterator[Change]:
    """Yield the dense model as a reranker of BM25's first 100 documents, and of those with all relevant ones added."""
    by_kind = {ranking.kind: ranking for ranking in rankings}
    if "bm25" not in by_kind or "dense" not in by_kind:
        return
    sparse, dense = by_kind["bm25"], by_kind["dense"]
    task = dense.evidence.task
    pool = [set(rows) for rows in sparse.measured.profile.run.top(SAFEGUARD_DEPTH).rows.tolist()]
    # In a short list a relevant document that is added wins by default.
    usable = dense.judged & (sparse.measured.profile.run.lengths >= SHORT_LIST)
    if usable.sum() < FEWEST:
        return
    ideal = [rows | set(dense.evidence.positives[query]) for query, rows in enumerate(pool)]
    run = dense.measured.profile.run
    alone = ndcg(filtered(run, lambda query, row: row in pool[query]), task)
    oracle = ndcg(filtered(run, lambda query, row: row in ideal[query]), task)
    yield "rerank_pool", "dense", dense.measured.ndcg[usable], alone[usable]
    yield "rerank_oracle", "dense", alone[usable], oracle[usable]

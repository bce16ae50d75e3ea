"""The numbers of a page, computed again with pytrec_eval and numpy from the data and the lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from page_oracles import Lists, as_run, evaluate, noisy_lists, qrels_of

from steelyard.datasets import load_task
from steelyard.reports.pages import Profile, TaskValues, measure_task
from steelyard.reports.pages.measure.text_languages import read
from steelyard.types import Task

pytestmark = pytest.mark.slow

KINDS = ("bm25", "dense", "hybrid")


@pytest.fixture(scope="module")
def measured() -> tuple[Task, dict[str, Lists], TaskValues]:
    task = load_task("NanoAlmanac/pool")
    lists = {kind: noisy_lists(task, n, lambda q, row, n=n: 0.35 + 0.15 * n) for n, kind in enumerate(KINDS)}  # type: ignore[misc]
    profiles = [Profile(kind, f"{kind}-lists", as_run(task, found)) for kind, found in lists.items()]  # type: ignore[arg-type]
    return task, lists, measure_task(task, profiles)


def close(value: float, expected: float) -> bool:
    return value == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_scores_of_profiles_and_slices(measured: tuple[Task, dict[str, Lists], TaskValues]) -> None:
    task, lists, values = measured
    for profile in values.profiles:
        per_query = evaluate(task, lists[profile.kind])
        assert close(profile.ndcg_at_10, per_query.mean())
        assert close(profile.hit_rate_at_10, evaluate(task, lists[profile.kind], "success_10").mean())
        assert profile.recall_at_100 is not None
        assert close(profile.recall_at_100, evaluate(task, lists[profile.kind], "recall_100").mean())
        for part in (one for one in values.slices if one.dimension == "language"):
            chosen = [q for q, code in enumerate(read(task).query_languages) if code == part.name]
            assert part.queries == len(chosen)
            assert close(part.ndcg_at_10[profile.kind], per_query[chosen].mean())


def best_order(task: Task, pool: Sequence[Sequence[str]]) -> Lists:
    judged = qrels_of(task)
    return [sorted(ids, key=lambda id_: -judged[task.queries.ids[q]].get(id_, 0)) for q, ids in enumerate(pool)]


def test_limits_add_up_and_are_those_of_perfect_rankings(
    measured: tuple[Task, dict[str, Lists], TaskValues],
) -> None:
    task, lists, values = measured
    assert values.diagnosis is not None
    ideal = evaluate(task, best_order(task, [list(task.corpus.ids)] * len(task.queries))).mean()
    for one in values.diagnosis.limits:
        perfect = evaluate(task, best_order(task, [ids[:100] for ids in lists[one.profile]])).mean()
        assert close(one.ranking_loss, perfect - one.ndcg_at_10)
        assert close(one.pool_loss, ideal - perfect)
        assert close(one.ndcg_at_10 + one.ranking_loss + one.pool_loss + one.judgement_loss, 1.0)


def test_complement_is_that_of_the_two_lists(measured: tuple[Task, dict[str, Lists], TaskValues]) -> None:
    task, lists, values = measured
    one = values.diagnosis.complement if values.diagnosis else None
    assert one is not None
    hits = {kind: evaluate(task, lists[kind], "success_10") > 0 for kind in ("bm25", "dense")}
    assert one.both == (hits["bm25"] & hits["dense"]).sum()
    assert one.only_bm25 == (hits["bm25"] & ~hits["dense"]).sum()
    assert one.only_dense == (~hits["bm25"] & hits["dense"]).sum()
    scores = {kind: evaluate(task, lists[kind]) for kind in ("bm25", "dense")}
    assert close(one.choice_ndcg_at_10, np.maximum(scores["bm25"], scores["dense"]).mean())
    pool = [list(dict.fromkeys(a[:100] + b[:100])) for a, b in zip(lists["bm25"], lists["dense"], strict=True)]
    assert close(one.pool_ndcg_at_10, evaluate(task, best_order(task, pool)).mean())


def languages_of(task: Task) -> Mapping[str, str]:
    return dict(zip(task.corpus.ids, read(task).document_languages, strict=True))


def test_relations_are_shares_of_pairs(measured: tuple[Task, dict[str, Lists], TaskValues]) -> None:
    task, lists, values = measured
    assert values.diagnosis is not None and len(values.diagnosis.relations) == 2
    asked, written, judged = read(task).query_languages, languages_of(task), qrels_of(task)
    for relation in values.diagnosis.relations:
        for kind, found in relation.found_at_10.items():
            shares = []
            for q, id_ in enumerate(task.queries.ids):
                known = [d for d, grade in judged[id_].items() if grade > 0 and "und" not in (asked[q], written[d])]
                own = [d for d in known if (written[d] == asked[q]) == (relation.name == "same")]
                if own:
                    shares.append(len(set(own) & set(lists[kind][q][:10])) / len(own))
            assert close(found, np.mean(shares))


def test_counterfactuals_are_those_of_filtered_lists(
    measured: tuple[Task, dict[str, Lists], TaskValues],
) -> None:
    task, lists, values = measured
    assert values.diagnosis is not None
    changes = {(one.name, one.profile): one for one in values.diagnosis.counterfactuals}
    judged = qrels_of(task)
    pool = [set(ids[:100]) for ids in lists["bm25"]]
    reranked = [[d for d in ids if d in pool[q]] for q, ids in enumerate(lists["dense"])]
    after = evaluate(task, reranked)
    assert close(changes["rerank_pool", "dense"].after, after.mean())
    oracle = [
        [d for d in ids if d in pool[q] or judged[task.queries.ids[q]].get(d, 0) > 0]
        for q, ids in enumerate(lists["dense"])
    ]
    if ("rerank_oracle", "dense") in changes:
        assert close(changes["rerank_oracle", "dense"].after, evaluate(task, oracle).mean())
    for one in changes.values():
        assert close(one.after - one.before, one.difference)
        assert one.interval.low <= one.difference <= one.interval.high


def test_every_score_in_the_text_is_a_value_of_the_page(measured: tuple[Task, dict[str, Lists], TaskValues]) -> None:
    """The sentences about profiles print the values that were computed again above."""
    from steelyard.reports.pages.render.task_page import task_page

    task, lists, values = measured
    sentences = {one.sentence for _, one in task_page(values).findings if one.kind == "profile"}
    for kind in KINDS:
        mean = evaluate(task, lists[kind]).mean()
        assert sum(f"nDCG@10 = {mean:.4f}" in sentence for sentence in sentences) == 1

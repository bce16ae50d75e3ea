"""Pairs: against scipy and scikit-learn, and where mteb's versions part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, rankdata, spearmanr
from sklearn.metrics import average_precision_score
from sklearn.metrics.pairwise import paired_cosine_distances, paired_euclidean_distances, paired_manhattan_distances
from task_parts import pairs, vectors_of

from steelyard.errors import DataError
from steelyard.tasks import score_task, texts_of
from steelyard.tasks.correlation import _resampled, average_ranks, correlation, correlations
from steelyard.tasks.pairs import _COMPARED, Sides, _own_cosine, _own_dot, compare
from steelyard.tasks.resampling import draws_for, resampled_counts
from steelyard.tasks.separation import Sorted, separations
from steelyard.types import Float64, TaskInfo
from steelyard.types.samples import PairTask

GRID = st.integers(0, 6).map(lambda number: number / 4)
"""Coarse, so that many values are equal."""


@st.composite
def scored_pairs(draw: st.DrawFn) -> tuple[Float64, Float64]:
    rows = draw(st.lists(st.tuples(GRID, st.integers(0, 1)), min_size=2, max_size=40))
    return np.array([score for score, _ in rows]), np.array([float(label) for _, label in rows])


@settings(max_examples=60)
@given(st.lists(GRID, min_size=1, max_size=30))
def test_ranks_are_scipys(values: list[float]) -> None:
    assert average_ranks(np.array(values)).tolist() == rankdata(values).tolist()


@settings(max_examples=60)
@given(scored_pairs())
def test_correlations_are_scipys(rows: tuple[Float64, Float64]) -> None:
    scores, gold = rows
    ours, ranked = correlation(gold, scores), correlation(average_ranks(gold), average_ranks(scores))
    if len(set(gold)) < 2 or len(set(scores)) < 2:
        assert ours is None and ranked is None
    else:
        assert ours == pytest.approx(pearsonr(gold, scores)[0], abs=1e-12)
        assert ranked == pytest.approx(spearmanr(gold, scores)[0], abs=1e-12)


@settings(max_examples=60)
@given(scored_pairs())
def test_average_precision_is_scikit_learns(rows: tuple[Float64, Float64]) -> None:
    scores, labels = rows
    ours = Sorted.of(scores, labels).average_precision
    assert ours == (average_precision_score(labels, scores) if labels.any() else 0.0)


def by_hand(scores: Float64, labels: Float64, split_ties: bool) -> dict[str, float]:
    """The definition, cut by cut."""
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    best = {"accuracy": 0.0, "f1": 0.0, "precision": 0.0, "recall": 0.0}
    for cut in range(1, len(order)):
        if not split_ties and scores[order[cut - 1]] == scores[order[cut]]:
            continue
        above, below = labels[order[:cut]], labels[order[cut:]]
        best["accuracy"] = max(best["accuracy"], (above.sum() + (1 - below).sum()) / len(labels))
        if above.sum():
            precision, recall = above.mean(), above.sum() / labels.sum()
            f1 = 2 * precision * recall / (precision + recall)
            if f1 > best["f1"]:
                best |= {"f1": f1, "precision": precision, "recall": recall}
    return best


@settings(max_examples=60)
@given(scored_pairs(), st.booleans())
def test_thresholds_by_hand(rows: tuple[Float64, Float64], split_ties: bool) -> None:
    found = Sorted.of(*rows).metrics(split_ties=split_ties)
    for name, value in by_hand(*rows, split_ties).items():
        assert found[name] == pytest.approx(value, abs=1e-12), name


@settings(max_examples=60)
@given(scored_pairs())
def test_a_resample_of_everything_once_is_the_sample(rows: tuple[Float64, Float64]) -> None:
    line = Sorted.of(*rows)
    accuracy, f1, ap = line.resampled(np.ones((1, len(rows[0])), dtype=np.uint16))[0]
    found = line.metrics()
    assert (accuracy, f1, ap) == pytest.approx((found["accuracy"], found["f1"], found["ap"]), abs=1e-12)


@settings(max_examples=60)
@given(scored_pairs(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_leak_into_2_26(rows: tuple[Float64, Float64], random: object) -> None:
    scores, labels = rows
    shuffled = np.array(sorted(range(len(scores)), key=lambda _: random.random()))  # type: ignore[attr-defined]
    assert Sorted.of(scores, labels).metrics() == Sorted.of(scores[shuffled], labels[shuffled]).metrics()


def test_the_order_of_rows_leaks_into_1_14() -> None:
    scores = np.array([0.5, 0.5, 0.1])
    assert Sorted.of(scores, [1, 0, 0]).metrics(split_ties=True)["accuracy"] == 1.0
    assert Sorted.of(scores, [0, 1, 0]).metrics(split_ties=True)["accuracy"] == pytest.approx(2 / 3)


def test_comparisons_are_scikit_learns_bit_by_bit() -> None:
    task = pairs("sts", "sts", "score")
    first, second = vectors_of(task.first) * 3, vectors_of(task.second)
    sides = Sides(first, second)
    assert _COMPARED["cosine"](sides).tolist() == (1 - paired_cosine_distances(first, second)).tolist()
    assert _COMPARED["manhattan"](sides).tolist() == (-paired_manhattan_distances(first, second)).tolist()
    assert _COMPARED["euclidean"](sides).tolist() == (-paired_euclidean_distances(first, second)).tolist()


@pytest.mark.torch  # imports it
@pytest.mark.parametrize("dimension", [1, 8, 20, 100, 384, 768, 1536])
def test_the_models_own_similarity_is_torchs_bit_by_bit(dimension: int) -> None:
    import torch
    from mteb.similarity_functions import pairwise_cos_sim, pairwise_dot_score

    generator = np.random.default_rng(dimension)
    first, other = generator.standard_normal((2, 400, dimension)).astype(np.float32)
    second = np.where(np.arange(400)[:, None] % 2, first, other)  # paired with themselves: 1, or next to it
    for ours, theirs in ((_own_cosine, pairwise_cos_sim), (_own_dot, pairwise_dot_score)):
        found = theirs(torch.from_numpy(first), torch.from_numpy(second)).tolist()
        assert ours(Sides(first, second)).tolist() == found


def test_pairs_are_compared_in_blocks_as_they_would_be_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    task = pairs("sts", "sts", "score")
    texts = texts_of(task)
    ways = list(_COMPARED.values())
    whole = compare(task, texts, vectors_of(texts), ways)
    monkeypatch.setattr("steelyard.tasks.pairs.BLOCK", 7)
    parts = compare(task, texts, vectors_of(texts), ways)
    assert [column.tolist() for column in parts] == [column.tolist() for column in whole]


def test_scores_do_not_depend_on_the_rows_of_the_texts_and_vectors_stay_as_they_are() -> None:
    names = [f"text {i}" for i in range(600)]
    task = PairTask(TaskInfo("Made/pairs", type="sts"), tuple(names[:300]), tuple(names[300:]), np.zeros(300))
    vectors = np.random.default_rng(3).standard_normal((600, 40)).astype(np.float32)
    ways, before = [*_COMPARED.values(), _own_cosine, _own_dot], vectors.copy()
    following = compare(task, names, vectors, ways)  # the rows of a side follow each other: not copied
    assert (vectors == before).all()
    order = np.random.default_rng(4).permutation(600)
    mixed = compare(task, [names[row] for row in order], vectors[order], ways)
    assert [column.tolist() for column in mixed] == [column.tolist() for column in following]


def tiny(gold: list[float], type: str = "sts", **info: str) -> PairTask:
    texts = tuple(f"text {i}" for i in range(len(gold)))
    return PairTask(TaskInfo("Tiny/pairs", type=type, **info), texts, texts[::-1], np.array(gold))  # type: ignore[arg-type]


def random_vectors(task: PairTask) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(len(texts_of(task)), 5)).astype(np.float32)


def test_a_gold_that_never_varies_has_no_correlation() -> None:
    task = tiny([1, 1, 1, 1])
    found = score_task(task, texts_of(task), random_vectors(task), "cosine")
    assert set(found.metrics.values()) == {None} and found.intervals == {}


@pytest.mark.parametrize("similarity", ["cosine", "dot", "euclidean", "manhattan"])
def test_the_models_own_similarity_stands_first(similarity: str) -> None:
    task = tiny([1, 0, 1, 0, 1, 0], "pair_classification")
    found = score_task(task, texts_of(task), random_vectors(task), similarity)
    assert found.metrics["similarity_ap"] == pytest.approx(found.metrics[f"{similarity}_ap"])


def test_other_labels_than_two_are_refused() -> None:
    task = tiny([1, 0, 3], "pair_classification")
    with pytest.raises(DataError) as caught:
        score_task(task, texts_of(task), random_vectors(task), "cosine")
    assert (caught.value.row, caught.value.found) == (2, 3)


def test_a_main_metric_that_there_is_not_is_refused() -> None:
    task = tiny([1, 2, 3], main_metric="ndcg_at_10")
    with pytest.raises(DataError) as caught:
        score_task(task, texts_of(task), random_vectors(task), "cosine")
    assert (caught.value.field, caught.value.found) == ("main_metric", "ndcg_at_10")
    other = replace(task, info=replace(task.info, main_metric="manhattan_pearson"))
    assert score_task(other, texts_of(other), random_vectors(other), "cosine").main_metric == "manhattan_pearson"


@settings(max_examples=6)
@given(st.integers(0, 5))
def test_an_interval_lies_about_the_truth_and_is_as_wide_as_theory_says(seed: int) -> None:
    generator = np.random.default_rng(seed)
    gold = generator.normal(size=300)
    scores = 0.6 * gold + 0.8 * generator.normal(size=300)
    _, intervals = correlations(gold, {"cosine": scores})
    interval = intervals["cosine_pearson"]
    reach = 1.96 / np.sqrt(300 - 3)  # by Fisher's transformation
    low, high = np.tanh(np.arctanh(correlation(gold, scores)) + np.array([-reach, reach]))
    assert (interval.low, interval.high) == pytest.approx((low, high), abs=0.03)


def test_resampled_correlations_are_those_of_the_resampled_pairs() -> None:
    generator = np.random.default_rng(3)
    gold, scores = generator.normal(size=40), generator.normal(size=40)
    found = _resampled({"pearson": (gold, {"cosine": scores})})["cosine_pearson"]
    drawn = np.concatenate(list(resampled_counts(40)))
    one_by_one = [correlation(np.repeat(gold, counts), np.repeat(scores, counts)) for counts in drawn]
    assert found == pytest.approx(one_by_one, abs=1e-5) and len(found) == draws_for(40)


@pytest.mark.parametrize("own", ["cosine", "dot"])
def test_the_models_own_similarity_has_the_interval_of_its_kind(own: str) -> None:
    generator = np.random.default_rng(0)
    gold, cosine = generator.normal(size=60), generator.normal(size=60)
    similarity = cosine if own == "cosine" else generator.normal(size=60)
    metrics, intervals = correlations(gold, {"similarity": similarity, "cosine": cosine}, own)
    assert intervals.keys() == metrics.keys()
    assert (intervals["similarity_pearson"] == intervals["cosine_pearson"]) == (own == "cosine")


def test_many_pairs_take_one_sort_each(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, 30_000).astype(np.float64)
    sorts = []
    real = Sorted.of.__func__  # type: ignore[attr-defined]
    monkeypatch.setattr(Sorted, "of", classmethod(lambda cls, *given: sorts.append(1) or real(cls, *given)))
    metrics, _ = separations(
        labels, {"cosine": labels + generator.normal(size=30_000), "dot": generator.random(30_000)}
    )
    assert len(sorts) == 2 and metrics["max_ap"] == metrics["cosine_ap"] > 0.7

"""Classification and clustering: draws as mteb's, scores as scikit-learn's, and the traps of both."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from datasets.utils.stratify import stratified_shuffle_split_generate_indices
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, average_precision_score, f1_score, precision_score, recall_score
from sklearn.metrics.cluster import adjusted_mutual_info_score, v_measure_score
from task_parts import clusters, labels, vectors_of

from steelyard.errors import DataError, MissingPart
from steelyard.tasks import classification, multilabel, score_task, texts_of
from steelyard.tasks.classification import training_samples
from steelyard.tasks.clustering import agreement, k_means, levels_of, rounds_of, sampled, v_measures
from steelyard.tasks.confusion import Confusion, average_precision_of_labels
from steelyard.types import TaskInfo
from steelyard.types.samples import Bootstrap, ClusterTask, LabelTask, Problem

CODES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40)


def mtebs_draws(task: LabelTask) -> list[list[int]]:
    """In the words of mteb: shuffled in place, on and on, by the same seed; then walked through."""
    places, found = list(range(len(task.train_texts))), []
    for _ in range(task.experiments):
        np.random.RandomState(42).shuffle(places)
        counts: dict[object, int] = defaultdict(int)
        chosen = []
        for place in places:
            if counts[task.train_labels[place]] < task.samples_per_label:
                chosen.append(place)
                counts[task.train_labels[place]] += 1
        found.append(chosen)
    return found


@settings(max_examples=40)
@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=60), st.integers(1, 5))
def test_training_texts_are_drawn_as_mteb_draws_them(marks: list[str], few: int) -> None:
    texts = tuple(map(str, range(len(marks))))
    task = LabelTask(TaskInfo("X/y"), texts, tuple(marks), (), (), samples_per_label=few, experiments=4)
    assert [rows.tolist() for rows in training_samples(task)] == mtebs_draws(task)


@settings(max_examples=40)
@given(CODES)
def test_scores_are_scikit_learns(rows: list[tuple[int, int]]) -> None:
    gold, given_ = (np.array(column) for column in zip(*rows, strict=True))
    found = {name: float(value) for name, value in Confusion.of(gold, given_, 4).scores().items()}
    assert found.pop("accuracy") == pytest.approx(accuracy_score(gold, given_))
    for name, function in (("f1", f1_score), ("precision", precision_score), ("recall", recall_score)):
        assert found[name] == pytest.approx(function(gold, given_, average="macro", zero_division=0))
        weighted = function(gold, given_, average="weighted", zero_division=0)
        assert found[f"{name}_weighted"] == pytest.approx(weighted)


@settings(max_examples=40)
@given(CODES, st.integers(0, 9))
def test_a_resample_is_as_good_as_the_texts_themselves(rows: list[tuple[int, int]], seed: int) -> None:
    gold, given_ = (np.array(column) for column in zip(*rows, strict=True))
    picked = np.random.default_rng(seed).integers(0, len(gold), len(gold))
    counts = np.bincount(picked, minlength=len(gold))[None, :]
    ours = Confusion.resampled(counts, gold, given_, 4).scores()
    plain = Confusion.of(gold[picked], given_[picked], 4).scores()
    assert {name: float(value[0]) for name, value in ours.items()} == pytest.approx(
        {name: float(value) for name, value in plain.items()}
    )


def test_average_precision_is_that_of_the_predicted_labels() -> None:
    gold, given_ = np.array([0, 1, 1, 0, 1]), np.array([0, 1, 0, 1, 1])
    assert average_precision_of_labels(gold, given_, np.array([0, 1])) == average_precision_score(gold, given_)
    names = np.array([1, 2])  # 1 is what is looked for, though it is the smaller
    theirs = average_precision_score(names[gold], names[given_], pos_label=1)
    assert average_precision_of_labels(gold, given_, names) == theirs
    assert average_precision_of_labels(gold, given_, np.array(["no", "yes"])) is not None
    assert average_precision_of_labels(np.array([0, 1, 2]), np.array([0, 1, 2]), np.arange(3)) is None


def test_labels_may_be_words() -> None:
    task = labels("binary")
    words = {0: "cold", 1: "warm"}
    named = replace(
        task,
        train_labels=tuple(words[label] for label in task.train_labels),
        labels=tuple(words[label] for label in task.labels),
    )
    texts = texts_of(task)
    assert (
        score_task(named, texts, vectors_of(texts), "cosine").mteb
        == score_task(task, texts, vectors_of(texts), "cosine").mteb
    )


def test_one_label_cannot_be_learned() -> None:
    task = LabelTask(TaskInfo("X/y", type="classification"), ("a", "b"), (1, 1), ("c",), (1,))
    with pytest.raises(DataError):
        score_task(task, texts_of(task), np.ones((3, 2), dtype=np.float32), "cosine")


def test_without_scikit_learn_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    task = labels("binary")
    texts = texts_of(task)
    with pytest.raises(MissingPart, match=r"pip install 'steelyard\[tasks\]'"):
        score_task(task, texts, vectors_of(texts), "cosine")


def test_accuracy_is_the_mean_over_texts() -> None:
    task = labels("classification")
    texts = texts_of(task)
    found = score_task(task, texts, vectors_of(texts), "cosine")
    assert found.samples is not None
    assert found.metrics["accuracy"] == pytest.approx(found.samples["accuracy"].mean())
    assert {"accuracy", "f1", "f1_weighted"} <= set(found.intervals)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=50))
def test_v_measures_are_scikit_learns(rows: list[tuple[int, int]]) -> None:
    table = np.zeros((4, 4))
    np.add.at(table, tuple(zip(*rows, strict=True)), 1)
    gold, given_ = zip(*rows, strict=True)
    assert v_measures(table[None])[0] == pytest.approx(v_measure_score(gold, given_), abs=1e-9)


def problem(size: int) -> Problem:
    return Problem(tuple(f"text {i}" for i in range(size)), tuple((("a", "b", "b", "c")[i % 4],) for i in range(size)))


def test_a_stratified_sample_is_that_of_the_datasets_library() -> None:
    whole = problem(97)
    codes = np.array([ord(levels[0]) for levels in whole.labels])
    _, theirs = next(stratified_shuffle_split_generate_indices(codes, 97 - 21, 21, np.random.default_rng(42)))
    ours = sampled(whole, Bootstrap(documents=None, stratified=21))
    assert ours.texts == tuple(f"text {i}" for i in theirs)
    assert Counter(levels[0] for levels in ours.labels) == {"a": 6, "b": 10, "c": 5}


def test_texts_and_rounds_are_one_stream_of_random_numbers() -> None:
    whole, bootstrap = problem(100), Bootstrap(documents=0.3, size=7, rounds=2)
    generator = Random(42)
    chosen = generator.sample(range(100), k=30)
    assert sampled(whole, bootstrap).texts == tuple(f"text {i}" for i in chosen)
    expected = [generator.choices(range(30), k=7) for _ in range(2)]
    assert [picked.tolist() for picked in rounds_of(whole, bootstrap, [30])[0]] == expected
    again = [picked.tolist() for picked in rounds_of(whole, bootstrap, [30])[0]]
    assert again == expected, "a second call draws the same, unlike mteb's, whose task keeps the stream"


def test_missing_labels_are_left_out_where_labels_are_numbers() -> None:
    levels = levels_of(Problem(("a", "b", "c"), ((1, 5), (1,), (2, 6))))
    assert levels[1].rows.tolist() == [0, 2] and levels[1].unlabelled == 0
    words = levels_of(Problem(("a", "b", "c"), (("x", "y"), ("x",), ("z", "w"))))
    assert words[1].rows.tolist() == [0, 1, 2] and words[1].unlabelled == 1
    assert words[1].labelled().rows.tolist() == [0, 2]


def test_a_problem_with_one_label_is_met_without_reading_it() -> None:
    task = clusters("clustering_legacy")
    one = Problem(("x", "y"), (("same",), ("same",)))
    more = replace(task, problems=(*task.problems, one))
    texts = texts_of(more)
    assert texts == texts_of(task)
    values = score_task(more, texts, vectors_of(texts), "cosine").mteb["v_measures"]
    assert values[-1] == 1.0 and values[:-1] == score_task(task, texts, vectors_of(texts), "cosine").mteb["v_measures"]


def test_one_problem_has_an_interval_over_its_texts() -> None:
    task = clusters("clustering_legacy")
    alone = replace(task, problems=task.problems[:1])
    texts = texts_of(alone)
    found = score_task(alone, texts, vectors_of(texts), "cosine")
    interval = found.intervals["v_measure"]
    assert found.resampling["over"] == "texts, as clustered"
    assert 0 < interval.low < interval.high < 1


def test_two_problems_cannot_be_sampled_as_one() -> None:
    task = ClusterTask(TaskInfo("X/y", type="clustering"), (problem(20), problem(20)), Bootstrap())
    with pytest.raises(DataError):
        score_task(task, texts_of(task), np.ones((20, 2), dtype=np.float32), "cosine")


def test_k_means_uses_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small batches on several threads spend their time waiting; the limits end with the fit."""
    from sklearn.cluster import MiniBatchKMeans
    from threadpoolctl import threadpool_info, threadpool_limits

    def counts() -> list[int]:
        folders = ("scikit_learn.libs", "scipy.libs", "numpy.libs")
        return [one["num_threads"] for one in threadpool_info() if any(name in one["filepath"] for name in folders)]

    seen: list[list[int]] = []
    fit = MiniBatchKMeans.fit_predict

    def recorded(self: MiniBatchKMeans, *arguments: object) -> object:
        seen.append(counts())
        return fit(self, *arguments)

    monkeypatch.setattr(MiniBatchKMeans, "fit_predict", recorded)
    vectors = np.random.default_rng(0).standard_normal((600, 8)).astype(np.float32)
    with threadpool_limits(2):
        before = counts()
        found = k_means(vectors, 5, 500, 42)
        assert counts() == before
    assert [set(one) - {1} for one in seen] == [set()]
    assert found.tolist() == fit(MiniBatchKMeans(5, batch_size=500, n_init=1, random_state=42), vectors).tolist()


def test_fits_have_the_same_bits_with_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    models: list[LogisticRegression] = []
    fit = LogisticRegression.fit
    monkeypatch.setattr(LogisticRegression, "fit", lambda self, *given: models.append(self) or fit(self, *given))
    random = np.random.default_rng(3)
    labels = random.integers(0, 15, 400)
    vectors = random.standard_normal((400, 512)).astype(np.float32) + labels[:, None].astype(np.float32) / 20
    kinds = (labels[:, None] == np.arange(15)).astype(np.int64)
    found = set()
    for threads in (1, 2, 3):
        with threadpool_limits(threads):
            classes, _ = classification._predict(vectors[:200], labels[:200], vectors[200:])
            near = multilabel._predict(vectors[:200], kinds[:200], vectors[200:])
            found.add((classes.tobytes(), models[-1].coef_.tobytes(), near.tobytes()))
    assert len(found) == 1


@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("kinds", [(1, 1), (1, 3), (3, 1), (2, 2), (4, 7), (15, 15), (40, 9)])
def test_the_agreement_of_labels_and_clusters_is_scikit_learns(kinds: tuple[int, int], noise: float) -> None:
    rng = np.random.default_rng(5)
    for count in (2, 9, 60, 2048):
        gold = rng.integers(0, kinds[0], count)
        groups = np.where(rng.random(count) < noise, rng.integers(0, kinds[1], count), gold % kinds[1])
        expected = v_measure_score(gold, groups), adjusted_mutual_info_score(gold, groups)
        assert agreement(gold, groups) == expected  # to the last bit

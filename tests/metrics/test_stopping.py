"""RBP and ERR, and nDCG with exponential gain, against others' answers and against their formulas, term by term."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.errors import UsageError
from steelyard.metrics import parse, score
from steelyard.types import Qrels, Run

# Answers of gdeval.pl 1.2, the script of TREC's Web tracks, for `drawn()`.
NDCG_20 = [0.51869, 0.17650, 0.14093, 0.32124, 0.34819, 0.25365]
ERR_20 = [0.95065, 0.20274, 0.08191, 0.53154, 0.94264, 0.14345]


def drawn(grades: tuple[int, ...] = (-2, 0, 1, 2, 3, 4)) -> tuple[Run, Qrels]:
    rng = np.random.default_rng(20)
    rows = np.stack([rng.permutation(60)[:30] for _ in range(6)])
    run = Run.of(rows, rng.integers(0, 9, rows.shape) / 8)
    query, row = np.nonzero(rng.random((6, 60)) < 0.5)
    return run, Qrels.of(query, row, rng.choice(grades, len(row)), queries=6)


def test_as_gdeval() -> None:
    found = score(*drawn(), ["ERR@20", "nDCG-exp@20"]).per_query
    assert found["err_at_20"].round(5).tolist() == ERR_20
    assert found["ndcg_exp_at_20"].round(5).tolist() == NDCG_20


@pytest.mark.parametrize("cutoff", [1, 3, 20, None])
@pytest.mark.parametrize("grades", [(0, 1), (-1, 0, 1, 2, 3, 4), (0, 3, 9)])
def test_err_term_by_term(grades: tuple[int, ...], cutoff: int | None) -> None:
    run, qrels = drawn(grades)
    highest = max(4, *grades)
    expected = []
    for query in range(6):
        mine = slice(qrels.offsets[query], qrels.offsets[query + 1])
        grade_of = dict(zip(qrels.rows[mine].tolist(), qrels.grades[mine].tolist(), strict=True))
        reading, total = 1.0, 0.0
        for rank, row in enumerate(run.rows[query].tolist()[:cutoff], start=1):
            content = (2 ** max(grade_of.get(row, 0), 0) - 1) / 2**highest
            total += reading * content / rank
            reading *= 1 - content
        expected.append(total)
    name = "err" if cutoff is None else f"err@{cutoff}"
    assert next(iter(score(run, qrels, [name]).per_query.values())) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(("name", "patience"), [("rbp", 0.8), ("RBP.0.95", 0.95), ("rbp.0", 0.0)])
def test_rbp_term_by_term(name: str, patience: float) -> None:
    run, qrels = Run.of([[0, 1, 2, 3], [3, 2, 1, 0]], [[4, 3, 2, 1]] * 2), Qrels.of([0, 0], [0, 3], [1, 3], queries=2)
    found = next(iter(score(run, qrels, [name]).per_query.values()))
    assert found == pytest.approx([(1 - patience) * (1 + patience**3), 0])
    strict = next(iter(score(run, qrels, [name], level=2).per_query.values()))
    assert strict == pytest.approx([(1 - patience) * patience**3, 0])


def test_all_relevant_for_ever_is_1_and_a_long_list_counts() -> None:
    run = Run.of([np.arange(500)], [-np.arange(500.0)])
    whole = Qrels.of(np.zeros(500), np.arange(500), np.full(500, 4), queries=1)
    found = score(run, whole, ["rbp", "err"])
    assert found["rbp"] == pytest.approx(1) and 15 / 16 < found["err"] < 1
    assert score(run, Qrels.of([0], [499], [2000], queries=1), ["err"])["err"] == pytest.approx(1 / 500)


def test_err_goes_by_the_grades_whatever_is_relevant() -> None:
    run, qrels = drawn()
    assert score(run, qrels, ["err"], level=3)["err"] == score(run, qrels, ["err"])["err"]


@pytest.mark.parametrize("name", ["rbp.95", "rbp.1", "rbp.-0.1", "rbp.0.5,0.8"])
def test_a_patience_that_is_no_chance_is_told(name: str) -> None:
    with pytest.raises(UsageError, match=r"rbp\.0\.95"):
        parse(name)


def test_names() -> None:
    assert [parse(name).trec for name in ("ERR@10", "expected-reciprocal-rank", "RBP", "rbp.0.95")] == [
        *("err_10", "err", "rbp", "rbp_0.95")
    ]

"""Python functions as metrics: what they are given, what they may return, and which names they may have."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.errors import SteelyardError, UsageError
from steelyard.metrics import METRICS, score
from steelyard.metrics.function_metric import metric_of
from steelyard.types import Qrels, Run

RUN = Run.of([[0, 2, -1], [1, 0, 2]], [[3, 2, -np.inf], [3, 2, 1]])
QRELS = Qrels.of([0, 0, 1], [0, 1, 1], [3, 1, 2], queries=2)
CALLS: list[tuple[list[int], list[int]]] = []


def seen(grades: list[int], judged: list[int]) -> float:
    """The grade of the first hit.

    More about it.
    """
    CALLS.append((grades, judged))
    return grades[0]


@pytest.fixture(autouse=True)
def _no_functions_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests list all metrics."""
    monkeypatch.setattr(METRICS, "_builtins", dict(METRICS._builtins))
    monkeypatch.setattr(METRICS, "_loaded", dict(METRICS._loaded))


def test_a_function_gets_grades_in_the_order_of_the_list_without_padding() -> None:
    CALLS.clear()
    scores = score(RUN, QRELS, [metric_of(seen)])
    assert CALLS == [([3, 0], [3, 1]), ([2, 0, 0], [2])]
    assert scores.per_query["seen"].tolist() == [3, 2]


def test_the_first_line_describes_the_metric_and_values_have_no_bounds() -> None:
    metric_of(seen)
    definition = METRICS.get("seen")
    assert definition.description == definition.formula == "The grade of the first hit."
    assert definition.bounds == (-np.inf, np.inf) and not definition.takes_cutoff


@pytest.mark.parametrize("value", [1, 1.5, np.float32(1.5), np.int64(1), True])
def test_any_number_is_a_value(value: float) -> None:
    def constant(grades: list[int], judged: list[int]) -> float:
        return value

    assert score(RUN, QRELS, [metric_of(constant)]).per_query["constant"].tolist() == [value, value]


@pytest.mark.parametrize("value", ["1", None, [1.0], np.ones(1)])
def test_what_is_not_a_number_is_an_error(value: object) -> None:
    def wrong(grades: list[int], judged: list[int]) -> float:
        return value  # type: ignore[return-value]

    with pytest.raises(SteelyardError) as caught:
        score(RUN, QRELS, [metric_of(wrong)])
    assert caught.value.found == type(value).__name__


def test_a_function_needs_a_name_that_no_metric_has() -> None:
    with pytest.raises(UsageError) as caught:
        metric_of(lambda grades, judged: 0.0)
    assert caught.value.found == "<lambda>"

    def ndcg(grades: list[int], judged: list[int]) -> float:
        return 0.0

    with pytest.raises(UsageError) as caught:
        metric_of(ndcg)
    assert caught.value.found == "ndcg" and not METRICS.get("ndcg").source


def test_another_function_of_the_name_replaces_the_first_and_has_another_hash() -> None:
    def mine(grades: list[int], judged: list[int]) -> float:
        return 1.0

    metric_of(mine)
    first = METRICS.get("mine").source

    def other(grades: list[int], judged: list[int]) -> float:
        return 2.0

    other.__name__ = "mine"
    metric_of(other)
    assert METRICS.get("mine").source not in ("", first)
    assert score(RUN, QRELS, ["mine"]).per_query["mine"].tolist() == [2, 2]


def test_functions_without_source_are_hashed_by_their_code() -> None:
    def compiled(text: str) -> str:
        names: dict[str, object] = {}
        exec(compile(text, "<string>", "exec"), names)
        metric_of(names["f"])  # type: ignore[arg-type]
        return METRICS.get("f").source

    one = compiled("def f(grades, judged): return 1.0")
    assert len(one) == 16 and one == compiled("def f(grades, judged): return 1.0")
    assert one != compiled("def f(grades, judged): return 2.0") and one != compiled("def f(grades, x): return len(x)")

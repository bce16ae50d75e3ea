"""What every search service shares: paths, secrets, options, and answers that become a run."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.errors import MissingPart, ModelError, UnknownName, UsageError
from steelyard.http.secrets import Secrets
from steelyard.options import Options
from steelyard.retrievers.search_services.json_path import JsonPath
from steelyard.retrievers.search_services.request_options import RequestOptions
from steelyard.retrievers.search_services.responses import Answers, Hits, by_id, query_all, to_run, with_retries
from steelyard.types import Queries

ANSWER = {"hits": {"hits": [{"_id": "a", "f": {"x.y": 1}}, {"_id": "b", "f": {"x.y": 2}}]}, "rows": [[3, 4], [5]]}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("hits.hits[*]._id", ["a", "b"]),
        ("$.hits.hits[*]._id", ["a", "b"]),
        ('hits.hits[*].f["x.y"]', [1, 2]),
        ("hits.hits[1]._id", ["b"]),
        ("rows[*][*]", [3, 4, 5]),
        ("rows[-1]", [5]),
        ("rows[0]", [3, 4]),
    ],
)
def test_a_path_leads_to_values(path: str, found: list[Any]) -> None:
    assert JsonPath.parse(path).find(ANSWER) == found


def test_a_bare_list_of_ids() -> None:
    assert JsonPath.parse("[*]").find(["a", "b"]) == ["a", "b"]
    assert JsonPath.parse("hits[*].id").find({"hits": []}) == []


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("hits.found[*]", "an object with 'hits'"),
        ("hits[*]", "an object with 'hits'"),
        ("hits.hits[*].id", "an object with '_id', 'f'"),
        ("rows[9]", "a list of 2"),
    ],
)
def test_a_path_that_does_not_match_reports_the_value(path: str, found: str) -> None:
    with pytest.raises(ModelError) as caught:
        JsonPath.parse(path).find(ANSWER)
    assert caught.value.found == found and caught.value.field == path


@pytest.mark.parametrize("path", ["", "a..b", "a[x]", "a[*", "$"])
def test_a_path_that_cannot_be_read(path: str) -> None:
    with pytest.raises(UsageError):
        JsonPath.parse(path)


def test_secrets_are_hidden_in_every_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_AUTH", "admin:pass/word?")
    secrets = Secrets()
    header = secrets.authorization("SEARCH_AUTH")
    for shown in (header, "pass/word?", "pass%2Fword%3F", "admin:pass/word?"):
        assert "pass" not in secrets.hide(f"refused {shown}") and "YWRt" not in secrets.hide(f"refused {shown}")


def test_a_token_with_its_scheme_is_sent_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_AUTH", "ApiKey abcdef")
    secrets = Secrets()
    assert secrets.authorization("SEARCH_AUTH") == "ApiKey abcdef"
    assert secrets.hide("the key abcdef is stale") == "the key ${SEARCH_AUTH} is stale"


def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEARCH_TOKEN", raising=False)
    with pytest.raises(MissingPart, match="SEARCH_TOKEN"):
        Secrets().fill("Bearer ${SEARCH_TOKEN}")
    monkeypatch.setenv("SEARCH_AUTH", "neither")
    with pytest.raises(MissingPart, match="SEARCH_AUTH"):
        Secrets().authorization("SEARCH_AUTH")


@pytest.mark.parametrize(
    "values",
    [{"concurrency": "0"}, {"timeout": "soon"}, {"retries": "-1"}, {"unknown": "maybe"}, {"errors": "yes"}],
)
def test_options_out_of_bounds(values: dict[str, str]) -> None:
    with pytest.raises(UsageError) as caught:
        RequestOptions.of(Options("http", values, RequestOptions.NAMES))
    assert {caught.value.option: caught.value.found} == values


def test_unknown_options_have_near_names() -> None:
    with pytest.raises(UnknownName) as caught:
        Options("qdrant", {"concurency": "2"}, RequestOptions.NAMES)
    assert caught.value.near == ["concurrency"] and caught.value.option == "concurency"


QUERIES = Queries(("q1", "q2"), ("one", "two"))


def run_of(*hits: Hits, top_k: int = 10, **options: Any) -> tuple[Any, dict[str, Any]]:
    return to_run(Answers(list(hits)), QUERIES, top_k, RequestOptions(**options))


def test_ties_go_to_the_lower_row_and_short_lists_are_fine() -> None:
    run, _ = run_of(Hits([5, 2, 9], [2.0, 1.0, 1.0]), Hits([9, 2], [1.0, 1.0]))
    assert run.rows.tolist() == [[5, 2, 9], [2, 9, -1]]
    assert np.isneginf(run.scores[1, 2])


def test_without_scores_the_order_counts() -> None:
    run, _ = run_of(Hits([7, 3, 5]), Hits([]))
    assert run.rows.tolist() == [[7, 3, 5], [-1, -1, -1]]
    assert run.scores[0].tolist() == pytest.approx([1, 1 / 2, 1 / 3])


@given(st.lists(st.integers(0, 30_000), max_size=3000, unique=True))
def test_ranks_stay_apart_as_float32(rows: list[int]) -> None:
    run, _ = to_run(Answers([Hits(rows)]), Queries(("q",), ("x",)), 10_000, RequestOptions())
    assert run.rows[0].tolist() == rows


def test_scores_that_rise_are_refused() -> None:
    with pytest.raises(ModelError) as caught:
        run_of(Hits([1], [1.0]), Hits([1, 2], [0.1, 0.4]))
    assert caught.value.found == 0.4


def test_rounding_is_no_rise() -> None:
    run, _ = run_of(Hits([8, 4, 6], [0.9, 0.5, 0.500001]), Hits([]))
    assert run.rows[0].tolist() == [8, 6, 4]


def test_a_document_listed_twice_counts_where_it_came_first() -> None:
    run, notes = run_of(Hits([4, 1, 4], [3.0, 2.0, 1.0]), Hits([]))
    assert run.rows[0].tolist() == [4, 1] and notes["documents_listed_twice"] == 1


def test_longer_lists_are_truncated() -> None:
    run, _ = run_of(Hits([4, 1, 3], [3.0, 2.0, 1.0]), Hits([]), top_k=2)
    assert run.rows[0].tolist() == [4, 1]


def test_unknown_documents_are_named_or_counted() -> None:
    hits = by_id(["a", "zz", "yy"], [3, 2, 1], {"a": 0}, seconds=0.5)
    with pytest.raises(ModelError) as caught:
        run_of(hits, Hits([]))
    assert (caught.value.option, caught.value.found) == ("unknown", 2)
    run, notes = run_of(hits, Hits([]), unknown="ignore")
    assert run.rows.tolist() == [[0], [-1]]
    assert notes["unknown_documents"] == 2 and notes["unknown_examples"] == ["yy", "zz"]


@pytest.mark.parametrize(("ids", "scores"), [([None], [1]), ([True], [1]), (["a"], ["x"]), (["a"], [float("nan")])])
def test_what_is_no_id_or_no_score(ids: list[Any], scores: list[Any]) -> None:
    with pytest.raises(ModelError) as caught:
        by_id(ids, scores, {"a": 0}, seconds=0.1)
    assert caught.value.expected and (caught.value.found is ids[0] or caught.value.found is scores[0])


@pytest.mark.parametrize("score", [None, float("nan")])
def test_a_score_that_is_none_names_its_document(score: float | None) -> None:
    with pytest.raises(ModelError, match="'b'") as caught:
        by_id(["a", "b"], [1.0, score], {"a": 0}, seconds=0.1)
    assert caught.value.found is score


def test_scores_beyond_float32_are_infinite_and_keep_their_order() -> None:
    run, _ = run_of(Hits([5, 2, 9], [1e300, 2.0, -1e300]), Hits([1, 0], [float("inf"), float("-inf")]))
    assert run.rows.tolist() == [[5, 2, 9], [1, 0, -1]]
    with pytest.raises(ModelError) as caught:
        run_of(Hits([5, 2, 9], [float("inf"), 1.0, 2.0]))
    assert caught.value.found == 2.0


def test_ids_and_scores_go_together() -> None:
    with pytest.raises(ModelError) as caught:
        by_id(["a", "b"], [1], {}, seconds=0.1)
    assert caught.value.found == 1


def test_several_queries_are_under_way_at_once_and_answers_stay_in_order() -> None:
    barrier = threading.Barrier(4, timeout=10)

    def ask(query: int) -> Hits:
        barrier.wait()  # passes only if four are in flight at a time
        return Hits([query], [1.0], (), 0.1)

    answers = query_all(8, ask, RequestOptions(concurrency=4))
    assert [hits.rows[0] for hits in answers.hits] == list(range(8))


def test_a_failing_query_ends_the_task_or_counts_as_empty() -> None:
    def ask(query: int) -> Hits:
        if query == 1:
            raise ModelError("no")
        return Hits([query], [1.0], (), 0.25)

    with pytest.raises(ModelError):
        query_all(2, ask, RequestOptions())
    options = RequestOptions(errors="empty")
    run, notes = to_run(query_all(2, ask, options), QUERIES, 5, options)
    assert run.rows.tolist() == [[0], [-1]]
    assert notes["failed_queries"] == 1 and notes["failures"] == ["no"]
    assert notes["latency_ms"] == {"p50": 250.0, "p95": 250.0, "max": 250.0}


def test_retries_are_counted() -> None:
    answers = iter([MissingPart("away"), Hits([1], [1.0]), MissingPart("away"), MissingPart("still away")])

    def ask(query: int) -> Hits:
        answer = next(answers)
        if isinstance(answer, MissingPart):
            raise answer
        return answer

    assert with_retries(ask, 1)(0).retries == 1
    with pytest.raises(MissingPart, match="still away"):
        with_retries(ask, 1)(0)

"""What matches mean: pairs are worse than either half, and texts that prove nothing are kept apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from audit_parts import label_task

from steelyard.audit import Thresholds, audit, load_audit
from steelyard.audit.verdict import Rate, verdict
from steelyard.errors import DataError, UnknownName, UsageError
from steelyard.stats.proportions import wilson
from steelyard.types import Task

DOCUMENTS = {
    "d1": "The Nile is a river in Africa that flows north through eleven countries to the sea.",
    "d2": "Mount Everest is the highest mountain of the world above the level of the sea.",
    "d3": "The Pacific is the largest and the deepest of the five oceans of this planet.",
}
QUERIES = {"q1": "how long is the Nile river", "q2": "highest mountain of the world today", "q3": "deep oceans"}
TASK = Task.of("X/places", DOCUMENTS, QUERIES, {"q1": ["d1"], "q2": ["d2"], "q3": ["d3"]})


def test_a_query_with_its_own_positive_is_severe() -> None:
    result = audit(TASK, records=[{"query": QUERIES["q1"].upper(), "positive": DOCUMENTS["d1"]}])
    (task,) = result.tasks
    assert (task.verdict, task.pair_ids, task.contaminated) == ("severe", (("q1", "d1"),), ("q1",))


def test_query_and_positive_in_different_rows_are_no_pair() -> None:
    (task,) = audit(TASK, records=[QUERIES["q1"], DOCUMENTS["d1"]]).tasks
    assert (task.pairs.count, task.rate.count) == (0, 1)


def test_a_pair_in_one_text_is_found_also_with_a_short_query() -> None:
    (task,) = audit(TASK, records=[f"Q: Deep oceans? A: {DOCUMENTS['d3']} That is all."]).tasks
    assert task.pair_ids == (("q3", "d3"),)
    assert task.parts[0].rates["any"].count == 0  # the query alone is too short to count


def test_documents_alone_are_minor() -> None:
    (task,) = audit(TASK, records=[DOCUMENTS["d2"]]).tasks
    assert (task.verdict, task.contaminated) == ("minor", ())


def test_a_short_text_is_kept_apart() -> None:
    (task,) = audit(TASK, records=["Deep oceans!"]).tasks
    assert (task.verdict, dict(task.parts[0].kept_apart)) == ("clean", {"short": 1})


def test_a_text_of_many_rows_is_boilerplate() -> None:
    (task,) = audit(TASK, records=[DOCUMENTS["d1"]] * 101).tasks
    assert (task.verdict, dict(task.parts[1].kept_apart)) == ("clean", {"boilerplate": 1})
    (task,) = audit(TASK, records=[DOCUMENTS["d1"]] * 100).tasks
    assert task.verdict == "minor"


def test_rows_that_only_touch_a_text_do_not_make_it_boilerplate() -> None:
    start = " ".join(DOCUMENTS["d1"].split()[:13])
    records = [
        f"{start} and then the text number {row} continues in another way than the document" for row in range(120)
    ]
    (task,) = audit(TASK, records=[DOCUMENTS["d1"], *records]).tasks
    assert (task.parts[1].rates["exact"].count, dict(task.parts[1].kept_apart)) == (1, {})


def test_a_text_of_many_items_is_boilerplate() -> None:
    texts = ["no description is available for this product"] * 5 + ["a text that is different from all the others"]
    (task,) = audit(label_task(texts), records=texts).tasks
    assert (task.parts[0].rates["exact"].count, dict(task.parts[0].kept_apart)) == (1, {"boilerplate": 5})


def test_a_template_is_kept_apart() -> None:
    place = "what was the total number of people of any age who lived in the old city and the suburbs of {}"
    texts = [place.format(name) for name in ("Paris", "London", "Rome", "Berlin", "Oslo")]
    (task,) = audit(label_task(texts), records=[place.format("Madrid")]).tasks
    assert (task.parts[0].rates["near"].count, dict(task.parts[0].kept_apart)) == (0, {"template": 5})
    (task,) = audit(label_task(texts[:1]), records=[place.format("Madrid")]).tasks
    assert task.parts[0].rates["near"].count == 1


@pytest.mark.parametrize(
    ("queries", "documents", "pairs", "word"),
    [
        (Rate(0, 200), Rate(0, 400), Rate(0, 400), "clean"),
        (Rate(0, 200), Rate(9, 400), Rate(0, 400), "minor"),
        (Rate(1, 200), Rate(0, 400), Rate(0, 400), "minor"),
        (Rate(2, 200), Rate(0, 400), Rate(0, 400), "contaminated"),
        (Rate(1, 200), Rate(1, 400), Rate(1, 400), "contaminated"),
        (Rate(20, 200), Rate(0, 400), Rate(0, 400), "severe"),
        (Rate(4, 200), Rate(4, 400), Rate(4, 400), "severe"),
    ],
)
def test_verdicts_follow_their_thresholds(queries: Rate, documents: Rate, pairs: Rate, word: str) -> None:
    assert verdict(queries, documents, pairs)[0] == word


def test_wilson_is_that_of_scipy() -> None:
    scipy = pytest.importorskip("scipy.stats")
    for count, total in ((0, 10), (3, 17), (50, 50), (136, 2082)):
        expected = scipy.binomtest(count, total).proportion_ci(0.95, method="wilson")
        ours = wilson(count, total)
        assert (ours.low, ours.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_an_audit_is_read_as_it_was_written(tmp_path: Path) -> None:
    result = audit(TASK, records=[(QUERIES["q1"], DOCUMENTS["d1"])], output=tmp_path)
    stored = load_audit(tmp_path)
    assert stored.to_dict() == result.to_dict()
    assert stored.task("X/places").data_hash == TASK.content_hash
    page = stored.page_record("X/places")
    assert (page["queries_found"], page["documents_found"], page["verdict"]) == (1, 1, "severe")
    with pytest.raises(UnknownName):
        stored.task("X/other")


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"kind": "leakage", "schema_version": 99}', '{"kind": "leakage", "schema_version": 1}']
)
def test_a_file_that_is_not_an_audit_is_a_data_error(content: str, tmp_path: Path) -> None:
    (tmp_path / "audit.json").write_text(content, encoding="utf-8")
    with pytest.raises(DataError):
        load_audit(tmp_path)


def test_the_report_shows_both_texts_with_the_difference(tmp_path: Path) -> None:
    training = DOCUMENTS["d1"].replace("Africa", "<b>Asia</b>")
    audit(TASK, records=[training], output=tmp_path, thresholds=Thresholds(jaccard=0.5))
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<del>Africa</del>" in page and "&lt;" in page and "<b>Asia" not in page
    assert "<script" not in page


def test_wrong_arguments_are_usage_errors() -> None:
    with pytest.raises(UsageError):
        audit(TASK)
    with pytest.raises(UsageError):
        audit([], records=["text"])
    with pytest.raises(UsageError):
        audit([TASK, TASK], records=["text"])
    with pytest.raises(UnknownName):
        audit(TASK, records=["text"], parts=["quries"])


def test_training_data_without_texts_shows_nothing_clean(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").touch()
    (tmp_path / "numbers.jsonl").write_text('{"id": 1}\n', encoding="utf-8")
    with pytest.raises(DataError):
        audit(TASK, [tmp_path / "empty.csv", tmp_path / "numbers.jsonl"])

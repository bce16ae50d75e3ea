"""Faults of tasks without a corpus: each found with file and row, and all of them at once."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from steelyard.cli import main
from steelyard.datasets import DataWarning, check, load_any
from steelyard.datasets.problems import KINDS, SAMPLE_KINDS
from steelyard.errors import DataError


def lines(*rows: object) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def pair(first: object = "a", second: object = "b", **value: object) -> dict[str, object]:
    return {"sentence1": first, "sentence2": second, **value}


@dataclass
class Fault:
    """Files, and the problem that they must give."""

    kind: str
    type: str
    found: str
    rows: tuple[int, ...]
    files: dict[str, bytes] = field(repr=False)
    options: str = ""
    file: str = "x.jsonl"

    def __str__(self) -> str:
        return f"{self.kind}-{self.type}-{self.found[:20].replace(' ', '_')}"


def one(*rows: object) -> dict[str, bytes]:
    return {"x.jsonl": lines(*rows)}


GOOD = (pair(score=1), pair("c", "d", score=3.5))
MATCHES = (pair(label=1), pair("c", "d", label=0))
TRAIN = lines(*({"text": f"t{i}", "label": "ab"[i % 2]} for i in range(20)))
FAULTS = [
    Fault("columns", "sts", "no column for second: sentence2", (), one({"sentence1": "a", "score": 1})),
    Fault("columns", "sts", "first 7 where text was expected", (2,), one(GOOD[0], pair(7, score=1))),
    Fault("columns", "clustering", "a list in some rows and a single value in others", (2,),
        one({"text": "a", "labels": ["x"]}, {"text": "b", "labels": "x"})),
    Fault("columns", "pair_classification", "hold lists", (), one(pair(["a"], ["b"], label=1))),
    Fault("row", "sts", "not JSON", (2,), {"x.jsonl": lines(GOOD[0]) + b"{oops\n" + lines(GOOD[1])}),
    Fault("encoding", "sts", "not UTF-8", (1,), {"x.csv": b"sentence1,sentence2,score\n\xff\xfe,b,1\nc,d,2\n"},
        file="x.csv"),
    Fault("unreadable", "sts", "empty", (), {"x.jsonl": b"\n"}),
    Fault("nothing-there", "sts", "no scored pairs", (), {"x.csv": b"sentence1,sentence2,score\n"}, file="x.csv"),
    Fault("ragged", "pair_classification", "2 in first, 1 in second", (1,),
        one(pair(["a", "c"], ["b"], labels=[0, 1]))),
    Fault("ragged", "clustering", "3 in text, 2 in label", (2,), one(
        {"sentences": ["a", "b"], "labels": ["x", "y"]}, {"sentences": ["a", "b", "c"], "labels": ["x", "y"]})),
    Fault("score", "sts", "the score 'high', which is not a number", (2,), one(*GOOD[:1], pair(score="high"))),
    Fault("score", "sts", "the score 'high'", (1,), {"x.csv": b"sentence1,sentence2,score\na,b,high\n"}, file="x.csv"),
    Fault("missing-score", "sts", "no score, or one that is NaN", (2,), one(*GOOD[:1], pair(score=None), GOOD[1])),
    Fault("missing-score", "sts", "no score", (2, 3),
        {"x.csv": b"sentence1,sentence2,score\na,b,1\nc,d,\ne,f,nan\ng,h,2\n"}, file="x.csv"),
    Fault("missing-label", "pair_classification", "no label", (3,), one(*MATCHES, pair(label=None))),
    Fault("score-range", "sts", "the score 3.5, outside 0 to 2", (2,), one(*GOOD), "?min_score=0&max_score=2"),
    Fault("constant-score", "sts", "every pair has the score 1", (), one(GOOD[0], GOOD[0])),
    Fault("pair-label", "pair_classification", "the label 2, where 0 or 1", (3,), one(*MATCHES, pair(label=2))),
    Fault("one-label", "pair_classification", "every pair has the label 1", (), one(MATCHES[0], MATCHES[0])),
    Fault("one-label", "classification", "every text to learn from has the label 'a'", (),
        {"train.jsonl": lines(*({"text": str(i), "label": "a"} for i in range(4))), "test.jsonl": TRAIN},
        file="train.jsonl"),
    Fault("one-label", "clustering", "every text has the label 1", (), one({"text": "a", "label": 1})),
    Fault("missing-label", "classification", "no label", (2,), {"train.jsonl": TRAIN, "test.jsonl": lines(
        {"text": "u", "label": "a"}, {"text": "v", "label": " "})}, file="test.jsonl"),
    Fault("missing-label", "clustering", "no label of the first level", (2,), one(
        {"text": "a", "labels": ["x", "y"]}, {"text": "b", "labels": []}, {"text": "c", "labels": ["z"]})),
    Fault("label-type", "clustering", "some are numbers, some text", (3,), one(
        {"text": "a", "label": "x"}, {"text": "b", "label": "y"}, {"text": "c", "label": 3})),
    Fault("label-type", "classification", "labels such as 1 here, such as 'a'", (),
        {"train.jsonl": TRAIN, "test.jsonl": lines({"text": "u", "label": 1})}, file="test.jsonl"),
    Fault("untrained-label", "classification", "no text to learn from has the label 'z'", (2,),
        {"train.jsonl": TRAIN, "test.jsonl": lines({"text": "u", "label": "a"}, {"text": "v", "label": "z"})},
        file="test.jsonl"),
    Fault("few-samples", "classification", "2 of 2 labels have fewer than 30", (),
        {"train.jsonl": TRAIN, "test.jsonl": TRAIN}, "?samples_per_label=30", file="train.jsonl"),
    Fault("split-here", "classification", "4 of 20 texts, 20% of each label", (), {"x.jsonl": TRAIN}),
    Fault("empty-text", "sts", "1 empty texts (second)", (2,), one(GOOD[0], pair("a", "  ", score=0))),
    Fault("empty-text", "classification", "2 empty texts", (1, 3), {"train.jsonl": TRAIN, "test.jsonl": lines(
        {"text": "", "label": "a"}, {"text": "v", "label": "b"}, {"text": " ", "label": "b"})}, file="test.jsonl"),
    Fault("one-sided", "reranking", "1 queries without positives or without negatives", (2,), one(
        {"query": "q", "positive": ["a"], "negative": ["b"]}, {"query": "r", "positive": ["a"], "negative": []})),
    Fault("list-query", "reranking", "1 queries that are lists", (1,),
        one({"query": ["q", "r"], "positive": ["a"], "negative": ["b"]})),
    Fault("nothing-there", "reranking", "no query with both", (),
        one({"query": "r", "positive": ["a"], "negative": []})),
]  # fmt: skip


def lay_out(fault: Fault, folder: Path) -> str:
    for name, content in fault.files.items():
        (folder / name).write_bytes(content)
    path = folder if len(fault.files) > 1 else folder / next(iter(fault.files))
    return f"{fault.type}:{path}{fault.options}"


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_faults_are_found_and_named(fault: Fault, tmp_path: Path) -> None:
    reference = lay_out(fault, tmp_path)
    (checked,) = check(reference)
    told = [(problem.kind, problem.file, problem.rows) for problem in checked.report.problems]
    assert (fault.kind, fault.file, fault.rows) in told, told
    values = re.findall(r"'[^']+'|\d[\d.,]*\d|\d", fault.found)
    same_kind = [problem.found for problem in checked.report.problems if problem.kind == fault.kind]
    assert any(all(value in found for value in values) for found in same_kind), same_kind
    kind = KINDS[fault.kind]
    if kind.severity != "error":
        if checked.good:
            load_any(reference)
        return
    with pytest.raises(DataError, match=fault.file):
        load_any(reference)
    if kind.repair is None:
        with pytest.raises(DataError):
            load_any(reference, validate="report")
    else:
        with pytest.warns(DataWarning, match=fault.file):
            load_any(reference, validate="report")


def test_every_kind_is_tried_in_good_and_bad() -> None:
    assert {fault.kind for fault in FAULTS} >= SAMPLE_KINDS.keys()


def test_repairs_leave_out_what_they_say(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    rows = [{"sentences": ["a", "b", "c"], "labels": ["x", None, "y"]}, {"sentences": ["d", "e"], "labels": ["x", "y"]}]
    path.write_bytes(lines(*rows))
    with pytest.warns(DataWarning):
        task = load_any(path, type="clustering", validate="report")
    assert [problem.texts for problem in task.problems] == [("a", "c"), ("d", "e")]  # type: ignore[union-attr]


def test_faults_in_shards_are_told_under_their_file(tmp_path: Path) -> None:
    for number, scores in enumerate(([1.0, 2.0], [3.0, None])):
        table = pa.table({"sentence1": ["a", "b"], "sentence2": ["c", "d"], "score": pa.array(scores, pa.float64())})
        pq.write_table(table, tmp_path / f"test-0000{number}-of-00002.parquet")
    (checked,) = check(f"sts:{tmp_path}")
    (problem,) = checked.report.problems
    assert (problem.kind, problem.file, problem.rows) == ("missing-score", "test-00001-of-00002.parquet", (2,))
    (tmp_path / "test-00000-of-00002.parquet").unlink()
    with pytest.raises(DataError, match=r"test-00000-of-00002\.parquet"):
        check(f"sts:{tmp_path}")


def test_files_that_do_not_fit_together(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["a", "b"], "label": [0, 1]}), tmp_path / "test-00000-of-00002.parquet")
    pq.write_table(pa.table({"text": ["c"], "label": ["x"]}), tmp_path / "test-00001-of-00002.parquet")
    task = load_any(f"clustering:{tmp_path}")
    assert task.problems[0].labels == (("0",), ("1",), ("x",))  # type: ignore[union-attr]
    pq.write_table(pa.table({"text": ["c"], "label": [["x"]]}), tmp_path / "test-00001-of-00002.parquet")
    with pytest.raises(DataError):
        load_any(f"clustering:{tmp_path}")


def test_show_tells_all_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines(GOOD[0], pair(score=None), pair("", score=2)))
    assert main(["show", str(path), "--type", "sts", "--json"]) == 2
    (told,) = json.loads(capsys.readouterr().out)
    assert [(problem["kind"], problem["rows"]) for problem in told["problems"]] == [
        ("missing-score", [2]),
        ("empty-text", [3]),
    ]
    assert all(problem["remedy"] for problem in told["problems"]) and told["profile"]["pairs"] == 2


def test_good_data_gives_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines(*GOOD))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_any(path, type="sts")
    (checked,) = check(f"sts:{path}")
    assert checked.report.problems == []

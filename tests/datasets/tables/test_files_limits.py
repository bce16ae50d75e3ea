"""Bounds of readers: compressed files, unclosed tags, many tasks, and errors of the system that name their cause."""

from __future__ import annotations

import errno
import gzip
import json
import os
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from steelyard.datasets import check, load_any, task_names
from steelyard.datasets.formats import folder as folder_format
from steelyard.datasets.formats.folder import locate, scan
from steelyard.datasets.formats.trec.qrels_runs import read_qrels
from steelyard.datasets.problems import DataWarning
from steelyard.datasets.tables.files import Limited, os_error
from steelyard.engine import expand
from steelyard.errors import DataError

QUERIES = b'{"_id": "q", "text": "one?"}\n'
QRELS = b"query-id\tcorpus-id\tscore\nq\td0\t1\n"


def folder(path: Path, **files: bytes) -> Path:
    for name, content in {"queries.jsonl": QUERIES, "qrels.tsv": QRELS, **files}.items():
        (path / name).write_bytes(content)
    return path


def test_a_file_that_expands_too_far_is_an_error(tmp_path: Path) -> None:
    packed = gzip.compress(b'{"_id": "d", "text": "' + b" " * (2 * Limited.FREE) + b'"}\n', mtime=0)
    assert len(packed) * Limited.RATIO < 2 * Limited.FREE
    with pytest.raises(DataError) as caught:
        load_any(folder(tmp_path, **{"corpus.jsonl.gz": packed}))
    assert caught.value.path == "corpus.jsonl.gz" and caught.value.field == "unreadable"
    (tmp_path / "qrels.gz").write_bytes(packed)
    with pytest.raises(DataError):
        read_qrels(tmp_path / "qrels.gz")


def test_a_compressed_file_within_the_limits_is_read(tmp_path: Path) -> None:
    rows = b"".join(b'{"_id": "d%d", "text": "text %d"}\n' % (n, n) for n in range(20_000))
    task = load_any(folder(tmp_path, **{"corpus.jsonl.gz": gzip.compress(rows, mtime=0)}))
    assert len(task.corpus) == 20_000  # type: ignore[union-attr]


@pytest.mark.parametrize("tags", [b"<DOC><DOCNO>d0</DOCNO>", b"<DOC>", b"<TEXT>", b"<top>"])
def test_unclosed_tags_are_read_in_one_pass(tags: bytes, tmp_path: Path) -> None:
    """A million unclosed tags: quadratic parsing would take hours."""
    (checked,) = check(folder(tmp_path, **{"corpus.trec": b"<DOC><DOCNO>d0</DOCNO>x</DOC>\n" + tags * 200_000}))
    assert checked.report.problems or checked.task is not None


def nano_set(path: Path, tasks: int) -> Path:
    tables = {
        "corpus": {"_id": ["d0", "d1"], "text": ["zero", "one"]},
        "queries": {"_id": ["q"], "text": ["one?"]},
        "qrels": {"query-id": ["q"], "corpus-id": ["d1"]},
    }
    for name, columns in tables.items():
        (path / name).mkdir()
        for number in range(tasks):
            pq.write_table(pa.table(columns), path / name / f"t{number}.parquet")
    facts = {f"t{number}": {"name": f"X/t{number}", "language": "en"} for number in range(tasks)}
    (path / "manifest.json").write_text(json.dumps({"tasks": facts}))
    old = time.time() - 60
    for place in (path, *(path / name for name in tables), path / "manifest.json"):
        os.utime(place, (old, old))
    return path


def test_a_set_is_scanned_once_until_it_changes(tmp_path: Path) -> None:
    path = nano_set(tmp_path, 3)
    first = scan(path)
    assert scan(path) is first and len(locate(path)) == 3 == len(task_names([str(path)]))
    for name in ("corpus", "queries", "qrels"):
        (path / name / "t3.parquet").write_bytes((path / name / "t0.parquet").read_bytes())
    assert scan(path) is not first and len(locate(path)) == 4
    assert load_any(f"{path}::t3").name == f"{tmp_path.name}/t3"
    (path / "manifest.json").write_text(json.dumps({"tasks": {"t3": {"name": "Y/other"}}}))
    assert load_any(f"{path}::t3").name == "Y/other"


def test_a_task_of_a_set_is_found_without_looking_for_saved_datasets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, looked = nano_set(tmp_path, 3), []
    monkeypatch.setattr(folder_format, "locate_saved", lambda *found: looked.append(found) or [])
    assert [location.info.name for location in locate(f"{path}::t1")] == ["X/t1"] and not looked
    assert len(expand([str(path)], eval_splits=())) == 3 and len(looked) == 1


@pytest.mark.parametrize(
    ("number", "word"),
    [(errno.EACCES, "permission"), (errno.ENAMETOOLONG, "too long"), (errno.ENOENT, "exist"), (errno.EISDIR, "folder")],
)
def test_errors_of_the_system_name_their_cause(number: int, word: str) -> None:
    message, hint = os_error(OSError(number, os.strerror(number)))
    assert word in message and "damaged" not in message and hint


@pytest.mark.parametrize("reference", ["~nosuchuser/x", "sts:~nosuchuser/x.csv", "clicks:~nosuchuser/x.csv"])
def test_a_path_of_an_unknown_user_does_not_exist(reference: str) -> None:
    with pytest.raises(DataError) as caught:
        load_any(reference)
    assert Path(caught.value.path or "").parts[-2:] == ("~nosuchuser", "x.csv" if ":" in reference else "x")


def test_irregular_json_lines_keep_lists_of_ids_and_report_bytes(tmp_path: Path) -> None:
    """A blank line and mixed types make Arrow give up: the same content is read line by line."""
    corpus = b'{"_id": "d0", "text": "zero"}\n\n{"_id": "d1", "text": "caf\xe9"}\n'
    lists = b'{"query-id": "q", "corpus-ids": ["d1", "d0"]}\n{"query-id": "q9", "corpus-ids": [], "x": [1]}\n'
    folder(tmp_path, **{"corpus.jsonl": corpus, "candidates.jsonl": lists})
    (checked,) = check(tmp_path)
    assert {problem.kind: problem.rows for problem in checked.report.of("error")} == {
        "encoding": (2,),
        "unknown-candidate-query": (2,),
    }
    with pytest.warns(DataWarning):
        task = load_any(tmp_path, validate="report")
    ids = task.corpus.ids  # type: ignore[union-attr]
    assert [ids[row] for row in task.candidates["candidates"].rows_of(0)] == ["d1", "d0"]  # type: ignore[union-attr]
    assert task.corpus.texts[ids.index("d1")] == "caf\ufffd"  # type: ignore[union-attr]


def test_messages_have_no_control_characters(tmp_path: Path) -> None:
    rows = b'{"_id": "a\\u001b[31m", "text": "x"}\n{"_id": "a\\u001b[31m", "text": "y"}\n'
    with pytest.raises(DataError) as caught:
        load_any(folder(tmp_path, **{"corpus.jsonl": rows}))
    assert "\x1b" not in str(caught.value) and caught.value.row == 2

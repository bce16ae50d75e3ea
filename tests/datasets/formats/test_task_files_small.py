"""Small tables are parsed from memory, in one thread: the result is that of large ones."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from steelyard.datasets.formats import task_files
from steelyard.datasets.formats.folder import locate
from steelyard.datasets.problems import Report
from steelyard.datasets.tables import delimited, jsonlines

CORPORA = {
    "corpus.jsonl": b'{"_id": "a", "text": "zero"}\n{"_id": "b", "text": "one", "title": "late"}\n',
    "corpus.csv": b'id,title,text\na,,"zero, and\nmore"\nb,T,one\n',
    "corpus.tsv": b"id\ttext\na\tzero\nb\tone\n",
}
FAULTS = [b"", b"\xef\xbb\xbf", b"\xff", b'"', b"\r", b"\x00", b"d9\n", b"{}\n", b'{"_id": "d9", "text": null}\n']


@pytest.mark.parametrize("fault", FAULTS, ids=repr)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.parametrize("name", CORPORA)
def test_small_files_are_read_as_large_ones(
    name: str, packed: bool, fault: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small tables are parsed from memory in one thread, others from a stream beside a second thread."""
    content = fault + CORPORA[name] if fault.startswith(b"\xef") else CORPORA[name] + fault
    (tmp_path / name).write_bytes(gzip.compress(content) if packed else content)
    (tmp_path / "queries.tsv").write_bytes(b"id\ttext\n1\tfirst?\n2\tsecond?\n")
    (tmp_path / "qrels.tsv").write_bytes(b"query-id\tcorpus-id\tscore\n1\ta\t1\n2\tb\t2\n")

    def outcome() -> tuple[object, object]:
        report = Report()
        (location,) = locate(tmp_path)
        task = location.read(report)
        corpus = None if task is None else (task.corpus.ids, task.corpus.bodies, task.corpus.titles)
        return corpus, report.problems

    small = outcome()
    monkeypatch.setattr(task_files, "SMALL", 0)
    for module in (jsonlines, delimited):
        monkeypatch.setattr(module, "in_memory", lambda head: None)
    assert outcome() == small

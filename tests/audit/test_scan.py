"""A scan gives the same result with any number of threads, after an interruption, and next to a file that fails."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audit_parts import edited, label_task, made_texts

from steelyard.audit import Audit, audit
from steelyard.audit.scan import Checkpoint
from steelyard.audit.training_data import jsonlines

EVALUATION = made_texts(np.random.default_rng(1), 30)


@pytest.fixture
def training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two files of several blocks, with planted copies and edits."""
    monkeypatch.setattr(jsonlines, "BLOCK", 4096)
    rng = np.random.default_rng(2)
    folder = tmp_path / "training"
    folder.mkdir()
    for name in ("a.jsonl", "b.jsonl"):
        rows = made_texts(rng, 80) + [edited(rng, text, 0.03) for text in EVALUATION] + EVALUATION[:5]
        (folder / name).write_text("".join(json.dumps({"text": text}) + "\n" for text in rows), encoding="utf-8")
    return folder


def facts(result: Audit) -> dict[str, Any]:
    """Return everything but the time and the paths of what was written."""
    values = result.to_dict()
    return {name: value for name, value in values.items() if name not in ("created", "written")}


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_change_the_result(threads: int, training: Path) -> None:
    expected = audit(label_task(EVALUATION), training, threads=1)
    assert expected.tasks[0].rate.count > 20
    assert facts(audit(label_task(EVALUATION), training, threads=threads)) == facts(expected)


def test_an_interrupted_scan_continues_where_it_stopped(
    training: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = audit(label_task(EVALUATION), training)
    always = Checkpoint.__init__

    def without_pause(self: Checkpoint, folder: Path, key: str) -> None:
        always(self, folder, key, interval=0)

    monkeypatch.setattr(Checkpoint, "__init__", without_pause)
    rows_read: list[int] = []

    def interrupt(file: str, rows: int, size: int, matches: int) -> None:
        rows_read.append(rows)
        if len(rows_read) == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit(label_task(EVALUATION), training, output=tmp_path / "out", progress=interrupt)
    assert (tmp_path / "out" / ".state" / "state.json").exists()
    resumed: list[int] = []
    result = audit(
        label_task(EVALUATION), training, output=tmp_path / "out", progress=lambda file, rows, *_: resumed.append(rows)
    )
    assert resumed[0] > rows_read[5]
    assert facts(result) == facts(expected)
    assert not (tmp_path / "out" / ".state" / "state.json").exists()


def test_a_state_of_other_settings_is_not_used(training: Path, tmp_path: Path) -> None:
    state = tmp_path / "out" / ".state"
    state.mkdir(parents=True)
    (state / "state.json").write_text('{"key": "another", "files": []}', encoding="utf-8")
    result = audit(label_task(EVALUATION), training, output=tmp_path / "out")
    assert facts(result) == facts(audit(label_task(EVALUATION), training))


@pytest.mark.slow
def test_a_damaged_file_stops_only_itself(training: Path) -> None:
    content = (training / "a.jsonl").read_bytes()
    (training / "a.jsonl").unlink()
    (training / "a.jsonl.gz").write_bytes(gzip.compress(content * 60)[:-2000])
    (training / "c.parquet").write_bytes(b"PAR1 is not enough")
    result = audit(label_task(EVALUATION), training)
    errors = {Path(file["file"]).name: file["error"] for file in result.training["files"]}
    assert errors["a.jsonl.gz"] and errors["c.parquet"] and errors["b.jsonl"] is None
    rows = {Path(file["file"]).name: file["rows"] for file in result.training["files"]}
    assert rows["a.jsonl.gz"] > 0  # what comes before the damage is audited
    assert not result.complete
    assert {problem["kind"] for problem in result.training["problems"]} == {"damaged"}
    assert result.tasks[0].rate.count > 20


def test_bad_rows_are_counted_by_file(training: Path) -> None:
    with (training / "a.jsonl").open("a", encoding="utf-8") as file:
        file.write("{broken\n" * 30)
    result = audit(label_task(EVALUATION), training)
    (problem,) = result.training["problems"]
    assert (problem["kind"], problem["count"], problem["rows"][0][0]) == ("invalid-json", 30, 116)
    assert result.complete

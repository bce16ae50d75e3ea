"""A few faults of every kind on whole commands; `make faults` injects hundreds."""

from __future__ import annotations

from pathlib import Path

import pytest
from injection import can_mount, half_written, inject

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["run", "build", "import"])
def test_nothing_is_lost_and_the_rerun_equals_an_undisturbed_run(name: str, tmp_path: Path) -> None:
    table, bench = inject([name], kills=1, disks=1, root=tmp_path, few=True)
    assert bench.problems == []
    assert table[name]["kill -9"] == 1 and ("full disk" in table[name]) == can_mount(tmp_path)


def test_half_written_files_are_recognised(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": ', encoding="utf-8")
    (tmp_path / "b.parquet").write_bytes(b"PAR1")
    (tmp_path / "c.json").write_text("{}", encoding="utf-8")
    assert half_written(tmp_path) == ["a.json", "b.parquet"]

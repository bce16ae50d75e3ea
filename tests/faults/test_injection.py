"""A few faults of every kind on whole commands; `make faults` injects hundreds."""

from __future__ import annotations

from pathlib import Path

import pytest
from injection import can_mount, half_written, inject
from page import atheris_table, injection_table, load_record, mutant_table, reader_table, write_page

DOCS = Path(__file__).parents[2] / "docs" / "faults.md"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["run", "build", "import"])
def test_nothing_is_lost_and_the_rerun_equals_an_undisturbed_run(name: str, tmp_path: Path) -> None:
    table, bench = inject([name], kills=2, disks=1, root=tmp_path, few=True)
    assert bench.problems == []
    assert table[name]["kill -9 at a file operation"]["count"] == 1
    assert ("full disk" in table[name]) == can_mount(tmp_path)


def test_half_written_files_are_recognised(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": ', encoding="utf-8")
    (tmp_path / "b.parquet").write_bytes(b"PAR1")
    (tmp_path / "c.json").write_text("{}", encoding="utf-8")
    assert half_written(tmp_path) == ["a.json", "b.parquet"]


def test_the_page_shows_what_was_recorded(tmp_path: Path) -> None:
    page = tmp_path / "faults.md"
    page.write_text("a\n<!-- table -->\nold\n<!-- end of table -->\nb\n<!-- readers -->\n<!-- end of readers -->\n")
    with page.open("a") as file:
        file.write("<!-- atheris -->\n<!-- end of atheris -->\nc\n<!-- mutants -->\n<!-- end of mutants -->\n")
    fault = {"count": 3, "problems": 1, "seed": 7}
    reader = {"cases": 2000, "distinct": 1500, "seed": 5, "seconds": 4.0, "findings": 0}
    mutants = {"seed": 1, "mutants": 15, "equivalent": 1, "killed": 13, "survived": ["0 -> 1 in x = 0"]}
    record = {"injection": {"run": {"kill -9": fault}}, "readers": {"csv": reader}, "atheris": {}}
    write_page(page, {**record, "mutants": {"a/b.py": mutants}})
    lines = page.read_text().splitlines()
    assert "| run | 3 | 1 |" in lines and "| all | 3 | 1 |" in lines and "old" not in lines
    assert "| csv | 2,000 | 1,500 | 5 | 4 | 500 | 0 |" in lines
    assert "| a/b.py | 15 | 1 | 13 | `0 -> 1 in x = 0` |" in lines and any("13 of 14" in line for line in lines)
    assert [line for line in lines if line in ("a", "b", "c")] == ["a", "b", "c"]


def test_the_docs_show_the_record() -> None:
    text = DOCS.read_text(encoding="utf-8")
    record = load_record()
    assert all(line in text for line in injection_table(record["injection"]))
    assert all(line in text for line in reader_table(record["readers"]))
    assert all(line in text for line in atheris_table(record["atheris"]))
    assert all(line in text for line in mutant_table(record["mutants"]))

"""Files that Steelyard did not write: never replaced without consent, and hand-written text is kept with it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
from build_parts import write_lines

from steelyard.build import CandidatePlan, Recipe, build_candidates, sample_set
from steelyard.build.sample.journal import Journal
from steelyard.cli import main
from steelyard.datasets import load_task, write_nano_set
from steelyard.errors import UsageError

SMALL = Recipe(queries=5, documents=20)
FOREIGN = {"README.md": "# My notes\n", "manifest.json": '{"name": "my package"}\n', "eval.yaml": "mine: true\n"}
pytestmark = pytest.mark.usefixtures("shared_home")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    write_lines(folder / "corpus.jsonl", ({"_id": f"d{n}", "text": f"text number {n}"} for n in range(40)))
    write_lines(folder / "queries.jsonl", ({"_id": f"q{n}", "text": f"number {n}?"} for n in range(10)))
    rows = "".join(f"q{n}\td{n}\t1\n" for n in range(10))
    (folder / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}")
    return folder


@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_of_somebody_else_is_not_replaced(name: str, source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / name).write_text(FOREIGN[name])
    with pytest.raises(UsageError) as refused:
        sample_set(str(source), folder, SMALL)
    assert refused.value.path == str(folder / name)
    with pytest.raises(UsageError):
        build_candidates(str(source), CandidatePlan(("bm25",)), folder)
    with pytest.raises(UsageError):
        write_nano_set(folder, [load_task(str(source))])
    assert [path.name for path in folder.iterdir()] == [name] and (folder / name).read_text() == FOREIGN[name]
    assert main(["build", str(source), "-o", str(folder), "--queries", "5", "--docs", "20", "-q"]) == 2


def test_overwriting_keeps_the_text_of_a_foreign_card(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    for name, text in FOREIGN.items():
        (folder / name).write_text(text)
    sample_set(str(source), folder, SMALL, overwrite=True)
    card = (folder / "README.md").read_text()
    assert "# My notes\n" in card and "configs:" in card and "## How it was sampled" in card
    assert json.loads((folder / "manifest.json").read_text())["tasks"].keys() == {"source"}
    assert (folder / "eval.yaml").read_text() == FOREIGN["eval.yaml"]


def test_hand_written_text_survives_another_sample_and_new_candidates(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    sample_set(str(source), folder, SMALL)
    card = folder / "README.md"
    first = card.read_text()
    before, mark, rest = first.partition("<!-- steelyard: end description -->\n")
    card.write_text(f"{before}{mark}\nBy hand.\n{rest}\nAlso by hand.\n")
    sample_set(str(source), folder, Recipe(queries=4, documents=18), overwrite=True)
    build_candidates(str(folder), CandidatePlan(("bm25",)))
    text = card.read_text()
    assert "\nBy hand.\n" in text and "\nAlso by hand.\n" in text
    assert "at most 4 queries" in text and "at most 5 queries" not in text
    assert text.count("## How it was sampled") == 1 and "## Candidate subsets" in text


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut short", b"\x93NUMPY\x01\x00", b"not an archive"])
def test_a_damaged_step_of_a_journal_is_done_again(content: bytes, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", "key")
    journal.note("scan", done=np.int64(3))
    assert Journal.counts(journal.folder, "scan") == [3]
    (journal.folder / "scan.npz").write_bytes(content)
    assert journal.recall("scan") is None and Journal.counts(journal.folder, "scan") == []


def test_a_journal_with_odd_members_is_done_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", "key")
    with zipfile.ZipFile(journal.folder / "scan.npz", "w") as archive:
        archive.writestr("draws.npy", b"\x93NUMPY\x09\x09 nothing")
    assert journal.recall("scan") is None


def test_a_journal_removes_only_its_own_files(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    Journal(folder, "one").note("scan", done=np.int64(1))
    (folder / "notes.txt").write_text("mine")
    (folder / "key").write_bytes(b"\xff\xfe")
    assert Journal(folder, "two").recall("scan") is None
    Journal(folder, "two").close()
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]

"""The end of a cut: what is checked and told, what survives a kill, and that any source will do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from build_parts import big_set, read_lines, write_lines

from steelyard.build.candidates.adding import build_candidates
from steelyard.build.candidates.lists import CandidatePlan
from steelyard.build.sample.recipe import Recipe
from steelyard.build.sample.sampler import sample_set
from steelyard.cli import main
from steelyard.datasets import load_task
from steelyard.datasets.sources import SOURCES
from steelyard.errors import DataError, SteelyardError

SMALL = Recipe(queries=12, documents=150)


@pytest.fixture
def leaky(tmp_path: Path) -> Path:
    """Of all queries of the set the texts stand in a positive; the texts of two are documents themselves."""
    source = big_set(tmp_path / "source", documents=400, queries=12)
    asked = read_lines(source / "queries.jsonl")
    rows = read_lines(source / "corpus.jsonl")
    for number, place in enumerate((300, 310)):
        rows[place]["text"], rows[place]["title"] = asked[number]["text"], ""
    write_lines(source / "corpus.jsonl", rows)
    (source / "task.json").write_text(json.dumps({"language": "en", "category": "code", "licence": "MIT"}))
    return source


def test_tasks_in_memory_know_what_those_on_disk_know(leaky: Path, tmp_path: Path) -> None:
    made = sample_set(str(leaky), tmp_path / "NanoMine", SMALL)
    (part,) = made.tasks.values()
    stored = load_task(str(made.folder))
    assert (part.task.info.language, part.task.info.category, part.task.info.licence) == ("en", "code", "MIT")
    assert part.task.info == stored.info and part.task.content_hash == stored.content_hash
    again = sample_set(str(leaky), tmp_path / "NanoMine", SMALL)
    assert again.tasks["source"].task.info == stored.info


def test_checks_and_leakage_are_in_manifest_card_metadata_and_output(
    leaky: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "NanoMine"
    assert main(["build", str(leaky), "-o", str(folder), "--queries", "12", "--docs", "400", "--near", "0"]) == 0
    seen = capsys.readouterr().err
    assert "read again and checked" in seen
    assert "leakage: queries that are a document 2, queries inside a positive 12" in seen
    found = {"queries_that_are_a_document": 2, "queries_inside_a_positive": 12}
    assert json.loads((folder / "metadata" / "source.json").read_text())["leakage"] == found

    def manifest() -> dict[str, object]:
        told: dict[str, object] = json.loads((folder / "manifest.json").read_text())["tasks"]["source"]
        return told

    assert manifest()["leakage"] == found and manifest()["validation"] == {"errors": 0}
    card = (folder / "README.md").read_text()
    assert "| 2 | 12 |" in card and "queries inside a positive" in card and "read back and checked" in card
    build_candidates(str(folder), CandidatePlan(("bm25",), depth=20))
    assert manifest()["leakage"] == found, "lists do not make the set forget"


def test_a_cut_that_does_not_read_back_gets_no_manifest(
    leaky: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from steelyard.build.sample import sampler

    real = sampler.write_table

    def broken(folder: Path, config: str, task: str, table: object) -> Path:
        return real(folder, config, task, table.slice(1) if config == "corpus" else table)  # type: ignore[attr-defined]

    monkeypatch.setattr(sampler, "write_table", broken)
    with pytest.raises(DataError):
        sample_set(str(leaky), tmp_path / "out", replace(SMALL, documents=24, judged_negatives=False))
    assert not (tmp_path / "out" / "manifest.json").exists()


KILLED = """
import sys
from pathlib import Path
from steelyard.build.sample import hard_negatives
from steelyard.build.sample.sampler import sample_set
from steelyard.build.sample.recipe import Recipe
hard_negatives.PORTION = 300
sample_set(sys.argv[1], Path(sys.argv[2]), Recipe(queries=20, documents=300, mine=("bm25",)))
"""


@pytest.mark.slow
def test_a_cut_that_was_killed_goes_on_to_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real process and a real SIGKILL, as soon as the journal tells of mined portions."""
    from steelyard.build.sample import hard_negatives
    from steelyard.build.source import streams

    source = big_set(tmp_path / "source", documents=9000, queries=40)
    environment = {**os.environ, "STEELYARD_HOME": str(tmp_path / "home")}
    code = KILLED.replace(
        "hard_negatives.PORTION",
        "from steelyard.build.source import streams; streams.BLOCK = 50_000; hard_negatives.PORTION",
    )
    folder = tmp_path / "killed"
    process = subprocess.Popen([sys.executable, "-c", code, str(source), str(folder)], env=environment)
    journal = folder / ".cutting" / "source" / "mining-0.npz"
    until = time.monotonic() + 60
    while not journal.exists() and process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "it was at work when it was killed"
    assert not (folder / "manifest.json").exists()

    monkeypatch.setattr(hard_negatives, "PORTION", 300)
    monkeypatch.setattr(streams, "BLOCK", 50_000)
    stages: dict[str, int] = {}

    def watch(stage: str):  # type: ignore[no-untyped-def]
        stages.setdefault(stage, 0)
        return lambda done: None

    indexed: list[int] = []
    search = hard_negatives._search
    monkeypatch.setattr(hard_negatives, "_search", lambda *given: indexed.append(len(given[3])) or search(*given))
    recipe = Recipe(queries=20, documents=300, mine=("bm25",))
    sample_set(str(source), folder, recipe, progress=watch)
    assert "reading ids" not in stages, "that was done"
    resumed, indexed[:] = sum(indexed), []
    sample_set(str(source), tmp_path / "whole", recipe)
    assert 0 < resumed < sum(indexed), "portions that were mined are not mined again"
    for config in ("corpus", "queries", "qrels"):
        paths = [tmp_path / name / config / "source.parquet" for name in ("killed", "whole")]
        assert paths[0].read_bytes() == paths[1].read_bytes()


SOURCE = """
from steelyard.datasets import load_task
from dataclasses import replace

class Shelf:
    def __init__(self, options):
        self.options = options
    def accepts(self, reference):
        return reference.startswith("shelf:")
    def names(self, reference):
        return [reference] if "/" in reference else [f"{reference}/en", f"{reference}/de"]
    def load(self, name):
        task = load_task(f"NanoAlmanac/{name.rpartition('/')[2]}")
        return replace(task, info=replace(task.info, name=f"Shelf/{name.rpartition('/')[2]}"))
"""


def test_whatever_a_source_gives_can_be_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shelf_source.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(SOURCES, "_plugins", {"shelf": EntryPoint("shelf", "shelf_source:Shelf", "steelyard.sources")})
    made = sample_set("shelf:almanac", tmp_path / "out", Recipe(queries=5, documents=20))
    assert set(made.facts) == {"en", "de"}
    assert made.facts["de"]["source"]["name"] == "Shelf/de" and made.tasks["de"].task.info.language == "de"
    one = sample_set("shelf:almanac/de", tmp_path / "one", Recipe(queries=5, documents=20))
    assert one.tasks["de"].task.content_hash == made.tasks["de"].task.content_hash


def test_a_reranking_task_becomes_one_to_search(tmp_path: Path) -> None:
    source = big_set(tmp_path / "source", documents=300, queries=12)
    (source / "task.json").write_text(json.dumps({"type": "reranking", "language": "en", "main_metric": "map"}))
    write_lines(
        source / "candidates.jsonl", [{"query-id": f"q{n}", "corpus-ids": [f"d{n}", f"d{n + 12}"]} for n in range(12)]
    )
    made = sample_set(str(source), tmp_path / "NanoMine", SMALL)
    info = made.tasks["source"].task.info
    assert (info.type, info.main_metric) == ("retrieval", None) and "without its candidate lists" in info.description
    folder, out = str(made.folder), str(tmp_path / "results")
    assert main(["run", "bm25", "-t", folder, "-o", out, "--no-report", "-q"]) == 0
    build_candidates(folder, CandidatePlan(("bm25",), depth=20))
    assert main(["run", "bm25", "candidates:bm25", "-t", folder, "-o", out, "--no-report", "-q"]) == 0


def test_fidelity_searches_a_reranking_task_as_its_cuts_are_searched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = big_set(tmp_path / "source", documents=200, queries=12)
    models = ["-m", "bm25", "-m", "bm25?b=0", "-m", "bm25?k1=6"]
    command = ["build", "fidelity", str(source), *models, "--sizes", "6", "--cut-docs", "100", "--seeds", "1", "--json"]
    assert main([*command, "-q"]) == 0
    searched = json.loads(capsys.readouterr().out)
    (source / "task.json").write_text(json.dumps({"type": "reranking"}))
    write_lines(source / "candidates.jsonl", [{"query-id": f"q{n}", "corpus-ids": [f"d{n}"]} for n in range(12)])
    assert main([*command, "-q"]) == 0
    assert json.loads(capsys.readouterr().out) == searched
    assert main([*command, "-q", "--results", str(tmp_path)]) == 2
    assert "--results" in capsys.readouterr().err


def test_what_has_nothing_to_search_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "pairs"
    folder.mkdir()
    write_lines(folder / "pairs.jsonl", [{"sentence1": "a b", "sentence2": "b c", "score": 1.0 * n} for n in range(4)])
    with pytest.raises(SteelyardError, match=r"pairs\.jsonl") as raised:
        sample_set(str(folder), tmp_path / "out", SMALL)
    assert raised.value.exit_code == 2

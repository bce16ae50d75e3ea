"""Candidate lists of a set: made, written, read back and scored."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from build_parts import big_set

from steelyard.build.candidates.adding import build_candidates, candidate_coverage
from steelyard.build.candidates.lists import HYBRIDS, CandidatePlan, make_candidates, measure
from steelyard.build.sample.recipe import Recipe
from steelyard.build.sample.sampler import sample_set
from steelyard.cli import main
from steelyard.datasets import check, load_task
from steelyard.errors import UsageError
from steelyard.retrievers.candidates import safeguarded
from steelyard.types import Corpus, Guarded, Qrels, Queries, Ragged, Task, TaskInfo

PLAN = CandidatePlan(("bm25", "bm25?k1=0.4&b=0.1"), depth=50, hybrids=HYBRIDS)
NAMES = ("bm25", "bm25_b_0_1_k1_0_4", "reranking_hybrid", "hybrid")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("set")
    full = big_set(base / "source", documents=1500)
    # Every other query loses the positive that shares its words: no list will find the one that is left.
    lines = (full / "qrels.tsv").read_text().splitlines()
    kept = [line for line in lines if not (line.endswith("\t2") and int(line.split("\t")[0][1:]) % 2)]
    (full / "qrels.tsv").write_text("\n".join(kept) + "\n")
    return sample_set(str(full), base / "NanoMine", Recipe(queries=20, documents=500)).folder


@pytest.fixture(scope="module")
def made(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "NanoMine"
    build_candidates(str(source), PLAN, folder)
    return folder


def test_the_lists_are_written_and_the_set_still_loads(source: Path, made: Path) -> None:
    task = load_task(str(made))
    assert set(task.candidates) == set(NAMES)
    assert not (source / "bm25").exists(), "the set that was copied is as it was"
    assert not check(made)[0].report.problems
    manifest = json.loads((made / "manifest.json").read_text())
    assert manifest["tasks"]["source"]["content_hash"] == task.content_hash
    assert {f"{name}/source.parquet" for name in NAMES} <= set(manifest["files"])
    card = (made / "README.md").read_text()
    assert card.count("## Candidate subsets") == 1 and "## How it was sampled" in card
    assert '- config_name: "reranking_hybrid"' in card
    table = pq.read_table(str(made / "queries" / "source.parquet"))
    assert "language" in table.column_names, "further columns of the queries are still there"


def test_every_choice_is_on_record(made: Path) -> None:
    facts = json.loads((made / "metadata" / "source.candidates.json").read_text())
    assert facts["bm25"]["model"] == "bm25" and facts["bm25"]["settings"]["k1"] == 1.2 and facts["bm25"]["depth"] == 50
    assert facts["reranking_hybrid"]["rrf_k"] == 100 and facts["hybrid"]["rrf_k"] == 60
    assert facts["reranking_hybrid"]["lists"] == ["bm25", "bm25_b_0_1_k1_0_4"]
    assert facts["reranking_hybrid"]["safeguard_seed"] == 20260524
    task = load_task(str(made))
    lists = task.candidates["reranking_hybrid"]
    assert facts["reranking_hybrid"]["safeguards"], "some positives share no word with their query"
    for query, document in facts["reranking_hybrid"]["safeguards"].items():
        assert task.corpus.ids[lists.rows_of(task.queries.row_of[query])[-1]] == document


def test_made_again_in_place_the_set_stays_the_same(made: Path) -> None:
    before = {path: path.read_bytes() for path in made.rglob("*") if path.is_file()}
    build_candidates(str(made), PLAN)
    assert {path: path.read_bytes() for path in made.rglob("*") if path.is_file()} == before


def test_a_hybrid_of_stored_lists_is_the_hybrid_of_the_models(made: Path, tmp_path: Path) -> None:
    stored = load_task(str(made))
    again = make_candidates(stored, CandidatePlan(hybrids=HYBRIDS))
    for name in HYBRIDS:
        assert again.task.candidates[name].rows.tolist() == stored.candidates[name].rows.tolist()
    with pytest.raises(UsageError):
        make_candidates(load_task("NanoAlmanac/en"), CandidatePlan(hybrids=HYBRIDS))


def test_the_report_tells_what_the_lists_are_worth(made: Path) -> None:
    figures = candidate_coverage(str(made))["source"]
    assert set(figures) == set(NAMES)
    hybrid = figures["reranking_hybrid"]
    assert hybrid.covered_queries == 1.0 and hybrid.without_safeguards is not None
    assert hybrid.without_safeguards["covered_queries"] is not None
    assert hybrid.without_safeguards["covered_queries"] < 1.0
    assert hybrid.candidates_max <= 101 and hybrid.query_coverage == 1.0


def small_task(lists: list[list[int]]) -> Task:
    corpus = Corpus.of([f"d{i}" for i in range(9)], [str(i) for i in range(9)])
    offsets = np.concatenate(([0], np.cumsum([len(part) for part in lists]))).astype(np.int64)
    rows = np.array([row for part in lists for row in part], dtype=np.int32)
    qrels = Qrels.of([0, 0, 1, 2], [0, 1, 2, 3], [1, 1, 1, 1], queries=3)
    queries = Queries(("a", "b", "c"), ("a", "b", "c"))
    return Task(TaskInfo("x/y"), corpus, queries, qrels, {"mine": Ragged(offsets, rows)})


def test_the_figures_by_hand() -> None:
    task = small_task([[5, 0, 6], [7, 8, 2], []])
    plain = measure(task, "mine")
    discount = 1 / np.log2(3)
    assert plain.ndcg_at_10 == pytest.approx((discount / (1 + discount) + 0.5 + 0) / 3)
    assert plain.hit_rate_at_10 == pytest.approx(2 / 3)
    assert plain.recall_at_100 == pytest.approx((0.5 + 1 + 0) / 3) and plain.pooled_recall_at_100 == 0.5
    assert (plain.candidates_min, plain.candidates_max, plain.candidates_mean) == (0, 3, 2.0)
    assert plain.query_coverage == pytest.approx(2 / 3) and plain.covered_queries == pytest.approx(2 / 3)
    assert plain.relevant_coverage == 0.5 and plain.without_safeguards is None
    lists = task.candidates["mine"]
    marked = replace(task, candidates={"mine": Guarded(lists.offsets, lists.rows, np.array([1]))})
    guarded = measure(marked, "mine")
    assert guarded.safeguard_rows == 1 and guarded.label == "top-2"
    assert guarded.without_safeguards == {"covered_queries": pytest.approx(1 / 3), "relevant_coverage": 0.25}


def test_safeguards_of_published_lists_are_told_by_their_rank() -> None:
    lists = Ragged(np.array([0, 101, 201]), np.arange(201, dtype=np.int32))
    assert safeguarded(lists).tolist() == [0]
    assert not len(safeguarded(Ragged(np.array([0, 500]), np.arange(500, dtype=np.int32))))


def test_the_command_line(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path / "out")
    assert main(["build", "candidates", str(source), "--bm25", "-o", folder, "--depth", "30", "-q", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["source"]["bm25"]["candidates_max"] == 30
    assert main(["build", "candidates", folder, "--report"]) == 0
    assert "pooled recall@100" in capsys.readouterr().out
    assert main(["build", "candidates", folder]) == 2
    assert "--bm25" in capsys.readouterr().err
    assert main(["build", "candidates", folder, "--bm25", "--hybrid"]) == 2
    assert "--hybrid" in capsys.readouterr().err
    assert main(["build", "candidates", "NanoAlmanac/en", "--bm25"]) == 2
    assert "-o DIR" in capsys.readouterr().err
    assert main(["build", "candidates", "NanoAlmanac/en", "--bm25", "-o", str(tmp_path / "almanac"), "-q"]) == 0
    assert set(load_task(str(tmp_path / "almanac")).candidates) == {"bm25"}


def test_cutting_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = big_set(tmp_path / "source", documents=600)
    folder = str(tmp_path / "out")
    flags = ["--queries", "10", "--docs", "100", "--seed", "7", "--max-positives", "1", "--mine", "bm25"]
    assert main(["build", str(source), "-o", folder, *flags]) == 0
    seen = capsys.readouterr()
    assert "hard negatives" in seen.out and "positives omitted 10" in seen.err
    task = load_task(folder)
    assert len(task.queries) == 10 and len(task.corpus) == 100 and task.qrels.positives.max() == 1
    assert main(["build", str(source)]) == 2 and "-o DIR" in capsys.readouterr().err
    three = ",".join(str(source / name) for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv"))
    assert main(["build", three, "-o", str(tmp_path / "three"), "--docs", "300", "--json", "-q"]) == 0
    facts = json.loads(capsys.readouterr().out)["tasks"]["source"]
    assert facts["documents"]["kept"] == 300
    assert facts["source"]["from"] == "corpus.jsonl, queries.jsonl, qrels.tsv", "no folder of this machine"

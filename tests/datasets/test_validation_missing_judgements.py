"""Judgements of documents outside the corpus: counted as trec_eval and mteb count them, ignored, or an error."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import pytest

from steelyard.cli import main
from steelyard.config import Settings
from steelyard.datasets import DataWarning, check, load_task
from steelyard.engine import evaluate
from steelyard.errors import DataError, UsageError
from steelyard.types import Task

METRICS = {"ndcg_at_10": "ndcg_cut_10", "map_at_100": "map_cut_100", "recall_at_100": "recall_100"}
WORDS = ["river", "lake", "hill", "wood", "field", "stone", "cloud", "rain", "snow", "wind", "fire", "sand"]


def corpus_and_judgements() -> tuple[dict[str, str], dict[str, str], dict[str, dict[str, int]]]:
    """Return 60 documents, 12 queries and graded judgements, a third of them of documents that do not exist."""
    rng = random.Random(7)
    documents = {f"d{number}": " ".join(rng.choices(WORDS, k=12)) for number in range(60)}
    queries = {f"q{number}": " ".join(rng.choices(WORDS, k=3)) for number in range(12)}
    qrels = {}
    for query in queries:
        inside = rng.sample(list(documents), 4)
        outside = [f"gone{rng.randrange(50)}" for _ in range(rng.randrange(4))]
        qrels[query] = {document: rng.choice((0, 1, 1, 2)) for document in (*inside, *outside)} | {inside[0]: 1}
    return documents, queries, qrels


def write(folder: Path) -> Path:
    documents, queries, qrels = corpus_and_judgements()
    folder.mkdir()
    (folder / "corpus.tsv").write_text("_id\ttext\n" + "".join(f"{i}\t{t}\n" for i, t in documents.items()))
    (folder / "queries.tsv").write_text("_id\ttext\n" + "".join(f"{i}\t{t}\n" for i, t in queries.items()))
    rows = "".join(f"{q}\t{d}\t{grade}\n" for q, grades in qrels.items() for d, grade in grades.items())
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + rows)
    return folder


def outside() -> int:
    documents, _, qrels = corpus_and_judgements()
    return sum(document not in documents for grades in qrels.values() for document in grades)


def run_of(folder: Path, results: Path, **settings: Any) -> tuple[Any, dict[str, dict[str, float]]]:
    """Return the result of BM25 and its run as dictionaries."""
    options = Settings.load(**settings)
    result = evaluate("bm25", str(folder), metrics=list(METRICS), results=results, save_runs="trec", settings=options)[
        0
    ]
    assert result.path is not None
    run: dict[str, dict[str, float]] = {}
    for line in next(result.path.parent.glob("*.run.trec")).read_text().splitlines():
        query, _, document, _, score, _ = line.split()
        run.setdefault(query, {})[document] = float(score)
    return result, run


@pytest.mark.parametrize("choice", ["count", "ignore"])
def test_scores_equal_trec_eval(tmp_path: Path, choice: str) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    folder = write(tmp_path / "mine")
    result, run = run_of(folder, tmp_path / choice, missing_judgements=choice)
    documents, _, qrels = corpus_and_judgements()
    if choice == "ignore":
        qrels = {q: {d: grade for d, grade in grades.items() if d in documents} for q, grades in qrels.items()}
    scored = pytrec_eval.RelevanceEvaluator(qrels, set(METRICS.values())).evaluate(run)
    for ours, theirs in METRICS.items():
        expected = sum(one[theirs] for one in scored.values()) / len(qrels)
        assert result.metrics[ours] == pytest.approx(expected, rel=1e-6), ours


@pytest.mark.slow
def test_scores_equal_mteb(tmp_path: Path) -> None:
    retrieval = pytest.importorskip("mteb._evaluators.retrieval_metrics")
    result, run = run_of(write(tmp_path / "mine"), tmp_path / "results")
    _, _, qrels = corpus_and_judgements()
    scores = retrieval.calculate_retrieval_scores(run, qrels, [10, 100])
    assert result.metrics["ndcg_at_10"] == pytest.approx(scores.ndcg["NDCG@10"], abs=6e-6)
    assert result.metrics["map_at_100"] == pytest.approx(scores.map["MAP@100"], abs=6e-6)
    assert result.metrics["recall_at_100"] == pytest.approx(scores.recall["Recall@100"], abs=6e-6)


def test_the_choices_differ_in_scores_and_keys(tmp_path: Path) -> None:
    folder = write(tmp_path / "mine")
    counted, _ = run_of(folder, tmp_path / "a")
    ignored, _ = run_of(folder, tmp_path / "b", missing_judgements="ignore")
    assert counted.metrics["recall_at_100"] < ignored.metrics["recall_at_100"]
    assert counted.key != ignored.key


def test_python_warns_with_the_count(tmp_path: Path) -> None:
    folder = write(tmp_path / "mine")
    with pytest.warns(DataWarning, match=f"{outside()} of"):
        task = load_task(folder)
    assert int((task.qrels.rows < 0).sum()) == outside()
    with pytest.warns(DataWarning):
        assert not (load_task(folder, missing_judgements="ignore").qrels.rows < 0).any()
    with pytest.raises(DataError) as caught:
        load_task(folder, missing_judgements="error")
    assert (caught.value.field, caught.value.path) == ("unknown-document", "qrels.tsv")
    with pytest.raises(UsageError):
        load_task(folder, missing_judgements="maybe")  # type: ignore[arg-type]


def test_tasks_from_dictionaries_follow_the_same_rule(tmp_path: Path) -> None:
    documents, queries, qrels = corpus_and_judgements()
    with pytest.warns(DataWarning, match=f"{outside()} such"):
        counted = Task.of("Mine/own", documents, queries, qrels)
    with pytest.warns(DataWarning):
        ignored = Task.of("Mine/own", documents, queries, qrels, missing_judgements="ignore")
    with pytest.raises(DataError) as caught:
        Task.of("Mine/own", documents, queries, qrels, missing_judgements="error")
    assert str(caught.value.found).startswith("gone")
    with pytest.warns(DataWarning):
        loaded = load_task(write(tmp_path / "mine"))
    assert counted.content_hash == loaded.content_hash != ignored.content_hash


def test_show_and_run_treat_them_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(write(tmp_path / "mine"))
    assert main(["show", folder]) == 0
    assert "outside-document" in capsys.readouterr().out
    assert main(["show", folder, "--missing-judgements", "error"]) == 2
    assert "unknown-document" in capsys.readouterr().out
    arguments = ["run", "bm25", "-t", folder, "-o", str(tmp_path / "results")]
    assert main(arguments) == 0
    assert f"{outside()} of" in capsys.readouterr().err
    assert main([*arguments, "--missing-judgements", "error"]) == 2
    assert check(folder, "error")[0].good is False and check(folder, "ignore")[0].good


def test_a_corpus_without_any_relevant_document_is_an_error(tmp_path: Path) -> None:
    folder = write(tmp_path / "mine")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tgone\t1\n")
    for choice in ("count", "ignore", "error"):
        with pytest.raises(DataError):
            load_task(folder, missing_judgements=choice)  # type: ignore[arg-type]


def test_eval_follows_the_same_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import json

    folder = write(tmp_path / "mine")
    config = {
        "eval_backend": "RAGEval",
        "eval_config": {
            "tool": "MTEB",
            "model": [{"model_name_or_path": "bm25"}],
            "eval": {
                "tasks": ["CustomRetrieval"],
                "dataset_path": str(folder),
                "output_folder": str(tmp_path / "outputs"),
            },
        },
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    counted, _ = run_of(folder, tmp_path / "results")
    with warnings.catch_warnings():
        warnings.simplefilter("default", DataWarning)
        assert main(["eval", str(path), "--json"]) == 0
    captured = capsys.readouterr()
    assert f"{outside()} of" in captured.err
    (scores,) = json.loads(captured.out)[0]["scores"]["test"]
    assert scores["ndcg_at_10"] == pytest.approx(counted.metrics["ndcg_at_10"], abs=6e-6)
    assert main(["eval", str(path), "--missing-judgements", "error"]) == 2

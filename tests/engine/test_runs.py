"""`score_run`: the Python call of `steelyard score`."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard import score_run
from steelyard.errors import DataError, UsageError


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    qrels, run = tmp_path / "qrels.txt", tmp_path / "run.txt"
    qrels.write_text("1 0 a 1\n1 0 b 0\n2 0 c 1\n3 0 d 1\n")
    run.write_text("1 Q0 x 1 3.0 mine\n1 Q0 a 2 2.0 mine\n2 Q0 c 1 1.0 mine\n")
    return qrels, run


def test_scores_are_means_over_the_queries_of_the_run(files: tuple[Path, Path]) -> None:
    scored = score_run(*files, metrics=["nDCG@7"])
    assert (scored.tag, sorted(scored.queries)) == ("mine", ["1", "2"])
    by_query = dict(zip(scored.queries, scored.scores.per_query["mrr_at_10"].tolist(), strict=True))
    assert by_query == {"1": 0.5, "2": 1.0} and scored["mrr_at_10"] == 0.75
    assert "ndcg_at_7" in scored.scores.per_query


def test_judged_queries_and_documents(files: tuple[Path, Path]) -> None:
    assert score_run(*files, all_judged=True)["mrr_at_10"] == pytest.approx(0.5)
    assert score_run(*files, judged_only=True)["mrr_at_10"] == 1.0
    assert score_run(*files, top_k=1)["mrr_at_10"] == 0.5


def test_wrong_input(files: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        score_run(*files, top_k=0)
    assert (caught.value.option, caught.value.found) == ("top_k", 0)
    (tmp_path / "other.txt").write_text("9 Q0 a 1 1.0 mine\n")
    with pytest.raises(DataError) as wrong:
        score_run(files[0], tmp_path / "other.txt")
    assert wrong.value.path == str(tmp_path / "other.txt")

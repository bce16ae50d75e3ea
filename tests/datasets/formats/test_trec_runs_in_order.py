"""Lines that are ranked already give the same run as lines in any order."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.datasets.formats.trec import qrels_runs as trec_files


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_lines_changes_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(seed)
    query = np.repeat(np.arange(6), [3, 0, 9, 1, 9, 4]).astype(np.int32)
    row = np.concatenate([generator.permutation(9)[:n] for n in (3, 0, 9, 1, 9, 4)]).astype(np.int32)
    score = generator.integers(0, 4, len(row)) / 7  # many ties, which the lower row wins
    ranked = trec_files.build_run(query, row, score, queries=7)
    real = ranked.rows >= 0
    owners = np.nonzero(real)[0].astype(np.int32)
    sorts = []
    lexsort = np.lexsort
    monkeypatch.setattr(np, "lexsort", lambda keys: sorts.append(1) or lexsort(keys))
    again = trec_files.build_run(owners, ranked.rows[real], ranked.scores[real], queries=7)
    assert sorts == []
    assert np.array_equal(again.rows, ranked.rows)
    assert np.array_equal(again.scores, ranked.scores)
    assert ranked.rows.shape == (7, 9)
    swapped = np.arange(len(owners))
    swapped[[0, 1]] = [1, 0]
    other = trec_files.build_run(owners[swapped], ranked.rows[real][swapped], ranked.scores[real][swapped], queries=7)
    assert sorts == [1]
    assert np.array_equal(other.rows, ranked.rows)


def test_lines_of_no_query_are_left_out_in_any_order() -> None:
    query, row = np.array([0, -1, 1], dtype=np.int32), np.array([5, 6, 7], dtype=np.int32)
    run = trec_files.build_run(query, row, np.array([1.0, 2.0, 3.0]), queries=2)
    assert run.rows.tolist() == [[5], [7]]
    only = trec_files.build_run(query[1:2], row[1:2], np.array([2.0]), queries=2)
    assert only.rows.shape == (2, 0)

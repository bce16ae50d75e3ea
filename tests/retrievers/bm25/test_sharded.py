"""Postings in shards: rows, scores and sizes are those of one index, and no file is left."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from steelyard.retrievers.bm25.forms import FORMS
from steelyard.retrievers.bm25.postings import Occurrences, Portion, PostingsBuilder
from steelyard.retrievers.bm25.search import QueryTerms, search
from steelyard.retrievers.bm25.sharded import BYTES_PER_POSTING, ShardedBuilder, ShardedPostings

TERMS, DOCUMENTS = 7, 40
QUERIES = QueryTerms(np.array([0, 2, 3, 6]), np.array([0, 3, 5, 1, 2, 6], np.int32), np.array([1.0, 2, 1, 1, 1, 3]))


def portions(each: int = 10) -> list[Portion]:
    """Return the postings of all documents, so many documents in a portion; the first of each portion has a term."""
    generator, builder, found = np.random.default_rng(8), PostingsBuilder(DOCUMENTS), []
    for first in range(0, DOCUMENTS, each):
        rows = np.append(generator.integers(0, each, 3 * each), 0).astype(np.int32) + np.int32(first)
        terms = generator.integers(0, TERMS, len(rows)).astype(np.int32)
        found.append(builder.portion(Occurrences(terms, rows, each)))
    return found


def build(folder: Path, limit: int, each: int = 10) -> ShardedPostings:
    builder = ShardedBuilder(DOCUMENTS, folder, limit)
    for portion in portions(each):
        builder.append(portion)
    return builder.finish(TERMS, FORMS["lucene"], 1.2, 0.75, 0.0)


@pytest.mark.parametrize("top_k", [1, 5, DOCUMENTS])
def test_rows_and_scores_equal_those_of_one_index(top_k: int, tmp_path: Path) -> None:
    whole = PostingsBuilder(DOCUMENTS)
    for portion in portions():
        whole.append(portion)
    expected = search(whole.finish(TERMS, FORMS["lucene"], 1.2, 0.75, 0.0), DOCUMENTS, QUERIES, top_k)
    sharded = build(tmp_path, limit=1)
    assert [(shard.first, shard.documents) for shard in sharded.shards] == [(0, 10), (10, 10), (20, 10), (30, 10)]
    rows, scores = sharded.search(QUERIES, top_k)
    assert rows.tolist() == expected[0].tolist() and scores.tobytes() == expected[1].tobytes()
    assert scores.dtype == np.float32
    assert sharded.size_bytes == sum(
        array.nbytes for shard in sharded.shards for array in vars(shard.postings).values()
    )
    assert not list(tmp_path.iterdir()), "the files have no names"


def test_a_shard_is_written_when_its_postings_take_a_quarter_of_the_limit(tmp_path: Path) -> None:
    size = min(len(portion.rows) for portion in portions(each=10))
    limit = 4 * BYTES_PER_POSTING * size
    assert len(build(tmp_path, limit).shards) == 4
    assert len(build(tmp_path, 2 * limit + 4 * BYTES_PER_POSTING).shards) == 2
    assert len(build(tmp_path, 100 * limit).shards) == 1


def test_no_documents_are_no_shards_also_if_the_folder_is_gone(tmp_path: Path) -> None:
    builder = ShardedBuilder(0, tmp_path / "mapped", 1000)
    shutil.rmtree(tmp_path / "mapped")
    assert builder.finish(0, FORMS["lucene"], 1.2, 0.75, 0.0).shards == ()


def test_a_builder_that_is_dropped_leaves_no_files(tmp_path: Path) -> None:
    builder = ShardedBuilder(DOCUMENTS, tmp_path, 1)
    builder.append(portions()[0])
    assert list(tmp_path.rglob("*.npz"))
    del builder
    assert not list(tmp_path.iterdir())

"""Postings in shards: rows, scores and sizes are those of one index, and no file is left."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from steelyard.retrievers.bm25.forms import FORMS
from steelyard.retrievers.bm25.postings import Occurrences, Portion, PostingsBuilder
from steelyard.retrievers.bm25.search import QueryTerms, search
from steelyard.retrievers.bm25.sharded import ShardedBuilder, ShardedPostings

TERMS, DOCUMENTS = 7, 40
QUERIES = QueryTerms(np.array([0, 2, 3, 6]), np.array([0, 3, 5, 1, 2, 6], np.int32), np.array([1.0, 2, 1, 1, 1, 3]))


def portions() -> list[Portion]:
    """Return the postings of all documents, ten documents in a portion; the first of each portion has a term."""
    generator, builder, found = np.random.default_rng(8), PostingsBuilder(DOCUMENTS), []
    for first in range(0, DOCUMENTS, 10):
        rows = np.append(generator.integers(0, 10, 30), 0).astype(np.int32) + np.int32(first)
        terms = generator.integers(0, TERMS, len(rows)).astype(np.int32)
        found.append(builder.portion(Occurrences(terms, rows, 10)))
    return found


def build(folder: Path, limit: int) -> ShardedPostings:
    builder = ShardedBuilder(DOCUMENTS, folder, limit)
    for portion in portions():
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


@pytest.mark.parametrize(
    ("each", "limit", "documents"),
    [
        (20, 20, [10, 10, 10, 10]),
        (20, 21, [20, 20]),
        (20, 40, [20, 20]),
        (20, 41, [30, 10]),
        (20, 81, [40]),
        (1, 0, [10, 10, 10, 10]),
    ],
)
def test_a_shard_is_written_when_its_postings_take_a_quarter_of_the_limit(
    each: int, limit: int, documents: list[int], tmp_path: Path
) -> None:
    """Four portions with so many postings each, of 8 bytes; `limit` is that of a shard, in postings."""
    maker, builder = PostingsBuilder(DOCUMENTS), ShardedBuilder(DOCUMENTS, tmp_path, 4 * 8 * limit)
    for first in range(0, DOCUMENTS, 10):
        terms, rows = np.divmod(np.arange(each, dtype=np.int32), np.int32(10))
        builder.append(maker.portion(Occurrences(terms, rows + np.int32(first), 10)))
    found = builder.finish(TERMS, FORMS["lucene"], 1.2, 0.75, 0.0)
    assert [shard.documents for shard in found.shards] == documents


def test_no_documents_are_no_shards_also_if_the_folder_is_gone(tmp_path: Path) -> None:
    builder = ShardedBuilder(0, tmp_path / "home" / "mapped", 1000)
    shutil.rmtree(tmp_path / "home" / "mapped")
    assert builder.finish(0, FORMS["lucene"], 1.2, 0.75, 0.0).shards == ()


def test_a_builder_that_is_dropped_leaves_no_files(tmp_path: Path) -> None:
    builder = ShardedBuilder(DOCUMENTS, tmp_path, 1)
    builder.append(portions()[0])
    assert list(tmp_path.rglob("*.npz"))
    del builder
    assert not list(tmp_path.iterdir())

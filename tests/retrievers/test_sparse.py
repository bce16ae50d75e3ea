"""Learned sparse retrieval without torch: vectors, caps, exact search, encoders of files and functions."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from steelyard.encoders.backends.sparse_input import as_sparse, from_function
from steelyard.errors import DataError, ModelError, UsageError
from steelyard.retrievers import load_retriever
from steelyard.retrievers.bm25 import search as postings_search
from steelyard.retrievers.model_variants import variants
from steelyard.retrievers.sparse import SparseRetriever, SparseSearch
from steelyard.types import Corpus, Queries, TaskInfo
from steelyard.vectors.sparse import SparseVectors

INFO = TaskInfo("made/up")
WIDTH = 6


def matrices(low, high):
    """Dense matrices of small whole numbers, half of them zero: sums are exact and ties are common."""
    values = st.one_of(st.just(0.0), st.integers(low, high).map(float))
    return st.integers(1, 12).flatmap(lambda lines: arrays.arrays(np.float32, (lines, WIDTH), elements=values))


def by_hand(query, documents):
    shared = ((query != 0) & (documents != 0)).any(axis=1)
    scores = documents.astype(np.float64) @ query.astype(np.float64)
    return sorted(((row, scores[row]) for row in np.flatnonzero(shared)), key=lambda hit: (-hit[1], hit[0]))


def check(queries, documents, k):
    run = SparseSearch(SparseVectors.from_dense(documents)).search(SparseVectors.from_dense(queries), k)
    for place, query in enumerate(queries):
        found = [(row, score) for row, score in zip(run.rows[place], run.scores[place], strict=True) if row >= 0]
        assert found == by_hand(query, documents)[:k]


@given(matrices(0, 3), matrices(0, 3), st.integers(1, 8))
def test_search_equals_the_definition(queries, documents, k):
    check(queries, documents, k)


@given(matrices(-3, 3), matrices(-3, 3), st.integers(1, 8))
def test_weights_may_be_signed(queries, documents, k):
    """Then a document that is found may score zero or less."""
    check(queries, documents, k)


@settings(max_examples=30)
@given(matrices(0, 3), matrices(0, 3), st.integers(1, 3))
def test_the_pruned_search_of_large_corpora_finds_the_same(queries, documents, k):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings_search, "_SMALL", 0)
        patch.setattr(postings_search, "_RARE", 0)  # all are pruned
        check(queries, np.tile(documents, (3, 1)), k)


@given(matrices(-3, 3), st.integers(1, WIDTH))
def test_a_cap_keeps_the_largest_weights(matrix, most):
    capped = SparseVectors.from_dense(matrix).capped(most)
    for place, line in enumerate(matrix):
        active = np.flatnonzero(line).tolist()
        kept = sorted(sorted(active, key=lambda column: (-abs(line[column]), column))[:most])
        span = slice(capped.offsets[place], capped.offsets[place + 1])
        assert capped.columns[span].tolist() == kept
        assert capped.weights[span].tolist() == line[kept].tolist()


@given(matrices(-3, 3), st.permutations(range(WIDTH)))
def test_forms_of_one_matrix_are_one(matrix, order):
    """Dense, dictionaries in any order, a CSR in any order, and what a store brings back."""
    dense = SparseVectors.from_dense(matrix)
    texts = [{column: float(line[column]) for column in order if line[column]} for line in matrix]
    offsets = np.concatenate(([0], np.cumsum([len(text) for text in texts])))
    columns = [column for text in texts for column in text]
    csr = SparseVectors.of(offsets, columns, [w for text in texts for w in text.values()], dimension=WIDTH)
    for other in (as_sparse(texts), csr, SparseVectors.from_blobs(dense.blobs()), as_sparse(matrix)):
        assert (other.offsets == dense.offsets).all()
        assert other.columns.tolist() == dense.columns.tolist()
        assert other.weights.tolist() == dense.weights.tolist()


def test_length_one():
    vectors = SparseVectors.from_dense(np.array([[3, 4], [0, 0]])).normalised()
    np.testing.assert_allclose(vectors.weights, [0.6, 0.8], rtol=1e-6)


@pytest.mark.parametrize(("columns", "weights"), [([0, 9], [1, 1]), ([1, 1], [1, 2]), ([1], [1, 2])])
def test_invalid_vectors_are_refused(columns, weights):
    with pytest.raises(ModelError):
        SparseVectors.of([0, len(columns)], columns, weights, dimension=WIDTH)
    with pytest.raises(ModelError):
        as_sparse("text")


@pytest.mark.parametrize(("columns", "found"), [([0, 9], 9), ([0, WIDTH], WIDTH), ([-2, 0], -2), ([-1, 9], -1)])
def test_a_column_outside_the_dimensions_is_named(columns, found):
    with pytest.raises(ModelError) as caught:
        SparseVectors.of([0, 2], columns, [1, 1], dimension=WIDTH)
    assert caught.value.found == found and caught.value.expected == f"from 0 to {WIDTH - 1}"


def test_the_texts_with_weights_that_are_no_numbers_are_found():
    vectors = SparseVectors.of([0, 1, 3, 3, 4], [0, 1, 2, 3], [1, np.nan, 1, np.inf], dimension=WIDTH)
    assert vectors.finite.tolist() == [True, False, True, False]


def test_no_texts_have_no_dimensions():
    vectors = SparseVectors.from_blobs([])
    assert (len(vectors), vectors.dimension, vectors.offsets.tolist()) == (0, 0, [0])


def letters(texts, role):
    """A dimension for each letter, weighted by how often it stands there; queries count letters once."""
    return [{ord(c) - 97: float(text.count(c)) if role == "document" else 1.0 for c in set(text)} for text in texts]


CORPUS = Corpus.of(["a", "b", "c", "d"], ["cab", "dog", "", "abba"])
QUERIES = Queries(("one", "none", "two", "far"), ("ab", "", "gc", "z"))


def rows_of(run):
    return [[CORPUS.ids[row] for row in line if row >= 0] for line in run.rows]


def test_a_function_is_a_model():
    index = SparseRetriever("sparse:letters", from_function(letters, name="letters")).index(CORPUS, INFO)
    run = index.search(QUERIES, 10)
    assert rows_of(run) == [["d", "a"], [], ["b", "a"], []]
    assert run.scores[0, :2].tolist() == [4, 2]
    assert index.notes["active_dims"] == (3 + 3 + 0 + 2) / 4
    assert index.notes["bytes_per_document"] == 8 * 8 / 4
    assert index.size_bytes > 8 * 8


def test_caps_by_name():
    base = "sparse:tests.retrievers.test_sparse:letters?backend=python"
    retriever = load_retriever(f"{base}&document_max_active_dims=1&query_max_active_dims=1")
    assert retriever.settings["document_max_active_dims"] == retriever.settings["query_max_active_dims"] == 1
    index = retriever.index(CORPUS, INFO)
    assert rows_of(index.search(QUERIES, 10)) == [["d", "a"], [], [], []]
    assert index.notes["active_dims"] == 3 / 4
    assert index.notes["queries"]["active_dims"] == 3 / 4
    cosine = load_retriever(f"{base}&similarity_fn_name=cosine").index(CORPUS, INFO).search(QUERIES, 10)
    np.testing.assert_allclose(cosine.scores[0, :2], [1, 2 / np.sqrt(6)], rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("sparse", None),
        ("sparse:x:y?document_max_active_dims=0", "document_max_active_dims"),
        ("sparse:x:y?query_max_active_dims=few", "query_max_active_dims"),
        ("sparse:tests.retrievers.test_sparse:letters?top=2", "top"),
        ("sparse:tests.retrievers.test_sparse:letters?similarity_fn_name=euclidean", "similarity_fn_name"),
        ("sparse:no_such_module:f", None),
    ],
)
def test_invalid_names_report_the_option(name, option):
    with pytest.raises(UsageError) as caught:
        load_retriever(name)
    assert caught.value.option == option


def write_npz(folder, stem, ids, texts):
    """As `scipy.sparse.save_npz` writes it, with the ids beside it."""
    vectors = as_sparse(texts)
    shape = (len(vectors), 26)
    np.savez(
        folder / f"{stem}.npz",
        indices=vectors.columns,
        indptr=vectors.offsets,
        data=vectors.weights,
        shape=shape,
        format=np.array(b"csr"),
    )
    (folder / f"{stem}.ids.txt").write_text("\n".join(ids) + "\n", encoding="utf-8")


def write_jsonl(folder, stem, ids, texts):
    rows = [{"_id": id_, "vector": text} for id_, text in zip(ids, texts, strict=True)]
    (folder / f"{stem}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def write_parquet(folder, stem, ids, texts):
    import pyarrow as pa
    import pyarrow.parquet

    indices = pa.array([list(text) for text in texts], pa.list_(pa.int32()))
    values = pa.array([list(text.values()) for text in texts], pa.list_(pa.float32()))
    table = pa.table({"id": list(ids), "indices": indices, "values": values})
    pyarrow.parquet.write_table(table, folder / f"{stem}.parquet")


@pytest.mark.parametrize("write", [write_npz, write_jsonl, write_parquet])
def test_files_give_what_the_function_gives(tmp_path, write):
    write(tmp_path, "documents", CORPUS.ids[::-1], letters(CORPUS.texts[::-1], "document"))
    write(tmp_path, "queries", QUERIES.ids, letters(QUERIES.texts, "query"))
    run = load_retriever(f"sparse:{tmp_path}").index(CORPUS, INFO).search(QUERIES, 4)
    assert rows_of(run) == [["d", "a"], [], ["b", "a"], []]
    assert run.scores[0, :2].tolist() == [4, 2]


def test_words_may_replace_column_numbers(tmp_path):
    def spelt(texts, role):
        return [{f"##{chr(97 + column)}": weight for column, weight in text.items()} for text in letters(texts, role)]

    write_jsonl(tmp_path, "documents", CORPUS.ids, spelt(CORPUS.texts, "document"))
    write_jsonl(tmp_path, "queries", QUERIES.ids, spelt(QUERIES.texts, "query"))
    run = load_retriever(f"sparse:{tmp_path}").index(CORPUS, INFO).search(QUERIES, 4)
    assert rows_of(run) == [["d", "a"], [], ["b", "a"], []]
    write_jsonl(tmp_path, "documents", CORPUS.ids, letters(CORPUS.texts, "document"))
    with pytest.raises(DataError, match=r"queries\.jsonl"):
        load_retriever(f"sparse:{tmp_path}").index(CORPUS, INFO).search(QUERIES, 4)


def test_settings_follow_the_names_beside_a_matrix(tmp_path):
    write_npz(tmp_path, "documents", CORPUS.ids, letters(CORPUS.texts, "document"))
    write_npz(tmp_path, "queries", QUERIES.ids, letters(QUERIES.texts, "query"))
    before = load_retriever(f"sparse:{tmp_path}").settings
    (tmp_path / "documents.ids.txt").write_text("\n".join(CORPUS.ids[::-1]), encoding="utf-8")
    assert load_retriever(f"sparse:{tmp_path}").settings != before


def test_files_may_go_by_text(tmp_path):
    for stem, role, texts in (("documents", "document", CORPUS.texts), ("queries", "query", QUERIES.texts)):
        rows = [{"text": t, "vector": v} for t, v in zip(texts, letters(texts, role), strict=True)]
        (tmp_path / f"{stem}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    run = load_retriever(f"sparse:{tmp_path}").index(CORPUS, INFO).search(QUERIES, 4)
    assert rows_of(run) == [["d", "a"], [], ["b", "a"], []]


def test_files_that_do_not_fit_say_where(tmp_path):
    write_jsonl(tmp_path, "queries", QUERIES.ids, letters(QUERIES.texts, "query"))
    path = tmp_path / "documents.jsonl"
    for text in (
        '{"_id": "a", "vector": {"1": 2}}\n{"_id"',
        '{"_id": "a", "vector": {"1": 2}}\n{"_id": "b"}',
        '{"vector": {"1": 2}}',
        '{"_id": "a", "weights": [1]}',
        '{"_id": "a", "vector": {"1": 2}}',
        '{"_id": "a", "indices": [1, 1], "values": [1, 2]}',
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match=r"documents\.jsonl"):
            load_retriever(f"sparse:{tmp_path}").index(CORPUS, INFO)


def test_a_grid_of_caps_is_several_models():
    base = "sparse:tests.retrievers.test_sparse:letters"
    grid = variants(f"{base}?query_max_active_dims=all,1&document_max_active_dims=2,1")
    assert [str(spec).partition("?")[2] for spec in grid] == [
        "document_max_active_dims=2",
        "document_max_active_dims=1",
        "document_max_active_dims=2&query_max_active_dims=1",
        "document_max_active_dims=1&query_max_active_dims=1",
    ]
    indexes = [load_retriever(spec).index(CORPUS, INFO) for spec in grid]
    assert [index.notes["active_dims"] for index in indexes] == [6 / 4, 3 / 4, 6 / 4, 3 / 4]
    assert {index.notes["variant_of"] for index in indexes} == {base}
    assert all(index.search(QUERIES, 4).depth and index.notes["search_seconds"] > 0 for index in indexes)


def test_the_snippet_of_the_page_runs(capsys):
    page = Path(__file__).parents[2] / "docs" / "sparse.md"
    (snippet,) = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    exec(snippet, {})
    assert capsys.readouterr().out == "[[2. 1.]]\n"

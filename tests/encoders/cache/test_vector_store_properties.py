"""What holds of the store for any texts: a vector belongs to one text in one role, and comes back bit by bit."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from encoder_parts import Letters
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.config import Settings
from steelyard.encoders.cache import vector_store
from steelyard.encoders.cache.cached_encoder import encode_once
from steelyard.encoders.cache.vector_file import (
    ENTRY,
    HEADER,
    MARK,
    DamagedFile,
    NotAVectorFile,
    VectorFile,
    row_checksums,
    write_vector_file,
)
from steelyard.encoders.cache.vector_store import VectorStore, keys_of

ROLES = st.sampled_from(["query", "document"])
TEXTS = st.lists(st.text("ab\0é", max_size=3) | st.text(max_size=8), min_size=1, max_size=8)
ANY_FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(st.tuples(ROLES, TEXTS), max_size=8), st.booleans())
def test_a_query_is_never_taken_for_a_document(batches, symmetric):
    """Batches of texts in either role, some of them the same: each gets the vector of its own role.

    Asked again, nothing is encoded; and nothing is encoded twice in one role.
    """
    with tempfile.TemporaryDirectory() as folder:
        encoder = Letters(symmetric=symmetric)
        for role, texts in batches:
            vectors, _ = encode_once(encoder, texts, role, store=VectorStore(encoder, Settings.load(home=folder)))
            assert (vectors == Letters(symmetric=symmetric).encode(texts, role)).all()
        once = {("" if symmetric else role, text) for role, text in encoder.asked}
        assert len(once) == len(encoder.asked)
        again = Letters(symmetric=symmetric)
        for role, texts in batches:
            encode_once(again, texts, role, store=VectorStore(again, Settings.load(home=folder)))
        assert again.asked == []


@given(st.text(max_size=12), st.text(max_size=12))
def test_keys_tell_texts_and_roles_apart(one, other):
    keys = [keys_of([text], role).tobytes() for text in (one, other) for role in ("query", "document", "")]
    assert len(set(keys)) == (3 if one == other else 6)


@pytest.mark.slow
@settings(max_examples=60)
@given(st.data())
def test_the_store_agrees_with_a_dictionary(data):
    """Any puts, in any order and overlapping, merged or not: what comes back is what a dictionary would hold."""
    texts = [f"text {number}" for number in range(12)]
    encoder = Letters()
    held: dict[int, list[float]] = {}
    many, vector_store.MANY = vector_store.MANY, 2
    try:
        with tempfile.TemporaryDirectory() as folder:
            store = VectorStore(encoder, Settings.load(home=folder))
            keys = store.keys(texts, "document")
            row_values = {row: data.draw(st.lists(ANY_FLOATS, min_size=9, max_size=9)) for row in range(12)}
            for part in data.draw(st.lists(st.lists(st.integers(0, 11), unique=True), max_size=8)):
                store.put(keys[part], np.array([row_values[row] for row in part], np.float32).reshape(len(part), 9))
                held |= {row: row_values[row] for row in part}
                found, vectors = store.get(keys)
                assert np.flatnonzero(found).tolist() == sorted(held)
                for row, values in held.items():
                    assert vectors[row].tobytes() == np.array(values, np.float32).tobytes()
            assert store.problems == []
    finally:
        vector_store.MANY = many


@settings(max_examples=100)
@given(st.integers(0, 40 * (ENTRY.itemsize + 20) + HEADER.size - 1), st.integers(1, 255))
def test_any_changed_byte_is_noticed(place, change):
    with tempfile.TemporaryDirectory() as folder:
        vectors = np.arange(200, dtype=np.float32).reshape(40, 5) / 7
        path = write_vector_file(Path(folder), keys_of([f"{row}" for row in range(40)], "query"), vectors)
        data = bytearray(path.read_bytes())
        assert len(data) == 40 * (ENTRY.itemsize + 20) + HEADER.size
        data[place] ^= change
        path.write_bytes(data)
        with pytest.raises(NotAVectorFile if place < len(MARK) else DamagedFile):
            VectorFile.open(path).vectors()


@given(st.lists(ANY_FLOATS, min_size=3, max_size=3), st.integers(0, 2), st.integers(1, 2**32 - 1))
def test_a_sum_changes_with_any_number(values, place, change):
    row = np.array([values], np.float32)
    other = row.copy()
    other.view(np.uint32)[0, place] ^= np.uint32(change)
    assert row_checksums(row) != row_checksums(other)

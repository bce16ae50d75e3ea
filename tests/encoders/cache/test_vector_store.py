"""Stored vectors: by content, by role, whole or not at all, shared, bounded."""

import json
import os

import numpy as np
import pytest
from encoder_parts import Letters

from steelyard.config import Settings
from steelyard.encoders.cache import batch_plan, budget
from steelyard.encoders.cache import vector_file as segments_of
from steelyard.encoders.cache.cached_encoder import encode_once, open_store
from steelyard.encoders.cache.vector_file import HEADER, MARK
from steelyard.encoders.cache.vector_store import VectorStore, fingerprint, keys_of
from steelyard.errors import ModelError

TEXTS = ["abba", "cab", "", "abba", "deaf", "\ud800 broken"]


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path))
    monkeypatch.delenv(budget.VARIABLE, raising=False)
    return tmp_path


def segments(home):
    return sorted(home.glob("vectors/*/*.vectors"))


def test_a_second_run_encodes_nothing():
    first, second = Letters(), Letters()
    vectors, tally = encode_once(first, TEXTS, "document", store=VectorStore(first))
    assert (tally.texts, tally.encoded, tally.stored) == (6, 5, 0)
    assert [text for _, text in first.asked] == list(dict.fromkeys(TEXTS))
    again, tally = encode_once(second, TEXTS[::-1], "document", store=VectorStore(second))
    assert second.asked == []
    assert (tally.encoded, tally.stored) == (0, 5)
    assert (again == vectors[::-1]).all()
    assert (vectors == Letters().encode(TEXTS, "document")).all()


def test_only_what_is_new_is_encoded():
    encoder = Letters()
    store = VectorStore(encoder)
    encode_once(encoder, ["a", "b"], "document", store=store)
    vectors, tally = encode_once(encoder, ["b", "c", "a"], "document", store=store)
    assert [text for _, text in encoder.asked] == ["a", "b", "c"]
    assert (tally.encoded, tally.stored) == (1, 2)
    assert (vectors == Letters().encode(["b", "c", "a"], "document")).all()


def test_a_query_is_not_a_document_unless_the_encoder_says_so():
    encoder = Letters()
    store = VectorStore(encoder)
    document, _ = encode_once(encoder, ["a"], "document", store=store)
    query, tally = encode_once(encoder, ["a"], "query", store=store)
    assert tally.encoded == 1
    assert (query != document).any()
    encoder = Letters(symmetric=True)
    store = VectorStore(encoder)
    encode_once(encoder, ["a"], "document", store=store)
    _, tally = encode_once(encoder, ["a"], "query", store=store)
    assert tally.encoded == 0


def test_other_settings_have_another_folder(home):
    encode_once(Letters(), ["a"], "document", store=VectorStore(Letters()))
    other = Letters(symmetric=True)
    _, tally = encode_once(other, ["a"], "document", store=VectorStore(other))
    assert tally.encoded == 1
    folders = [file.parent for file in segments(home)]
    assert len(set(folders)) == 2
    assert all(folder.name.startswith("letters-small-") for folder in folders)
    described = json.loads((folders[0] / "encoder.json").read_text())
    assert described["name"] == "letters/small"
    assert fingerprint(described["settings"]) == folders[0].name.rpartition("-")[2]


def test_vectors_of_another_computation_are_kept_apart(home):
    before, now, later = Letters(), Letters(), Letters()
    now.computation, later.computation = 1, 2
    folders = {VectorStore(encoder).folder for encoder in (before, now, later)}
    assert len(folders) == 3 and before.settings == now.settings
    encode_once(before, ["a"], "document", store=VectorStore(before))
    _, tally = encode_once(now, ["a"], "document", store=VectorStore(now))
    assert (tally.encoded, tally.stored) == (1, 0)
    (described,) = VectorStore(now).folder.glob("encoder.json")
    assert fingerprint(json.loads(described.read_text())["settings"]) == described.parent.name.rpartition("-")[2]


@pytest.mark.parametrize("damage", ["cut", "grown", "table", "vector", "empty", "foreign", "older", "dimension"])
def test_a_damaged_file_is_noted_and_its_texts_are_encoded_again(home, damage):
    encode_once(Letters(), ["a", "b"], "document", store=VectorStore(Letters()))
    encode_once(Letters(), ["c"], "document", store=VectorStore(Letters()))
    victim = max(segments(home), key=lambda path: path.stat().st_size)
    whole = victim.read_bytes()
    narrow = segments_of.write_vector_file(home, keys_of(["a", "b"], "document"), np.ones((2, 4), np.float32))
    damaged = {
        "cut": whole[:-3],
        "grown": whole + b"x",
        "table": flipped(whole, HEADER.size),
        "vector": flipped(whole, len(whole) - 1),
        "empty": b"",
        "foreign": b"PAR1" + whole[4:],
        "older": b"SYVEC001" + whole[8:],
        "dimension": narrow.read_bytes(),
    }
    victim.write_bytes(damaged[damage])
    encoder = Letters()
    store = VectorStore(encoder)
    vectors, tally = encode_once(encoder, ["a", "b", "c"], "document", store=store)
    _, second = encode_once(encoder, ["a", "b", "c"], "document", store=store)
    assert second.encoded == 0, "the same run finds what it wrote in the damaged file's place"
    assert [text for _, text in encoder.asked] == ["a", "b"]
    assert (vectors == Letters().encode(["a", "b", "c"], "document")).all()
    assert len(tally.problems) == 1
    assert victim.name in tally.problems[0]
    assert tally.notes["cache_problems"] == list(tally.problems)
    ours = damage in ("cut", "grown", "table", "vector")
    assert ("has been removed" if ours else "skipped") in tally.problems[0]
    again = Letters()
    _, tally = encode_once(again, ["a", "b", "c"], "document", store=VectorStore(again))
    assert tally.encoded == 0
    assert len(tally.problems) == 0  # removed, or written anew under its name


def flipped(data, place):
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def test_a_file_in_the_making_is_not_read(home):
    encode_once(Letters(), ["a"], "document", store=VectorStore(Letters()))
    folder = segments(home)[0].parent
    (folder / ".half.vectors.123.abcd").write_bytes(MARK)
    _, tally = encode_once(Letters(), ["a"], "document", store=VectorStore(Letters()))
    assert (tally.encoded, tally.problems) == (0, ())


def test_a_folder_that_cannot_be_written_costs_a_note_not_the_run(home):
    (home / "vectors").write_text("a file where the folder should be")
    vectors, tally = encode_once(Letters(), ["a"], "document", store=VectorStore(Letters()))
    assert vectors.shape == (1, 9)
    assert "cannot be read" in tally.problems[0]
    assert "could not be stored" in tally.problems[1]


def test_the_store_keeps_within_its_limit_and_drops_the_longest_unused(home):
    encoder = Letters()
    store = VectorStore(encoder)
    for age, text in enumerate("abcd"):
        encode_once(encoder, [text], "document", store=store)
        newest = max(segments(home), key=lambda path: path.stat().st_mtime_ns)
        os.utime(newest, (1000 + age, 1000 + age))
    assert len(segments(home)) == 4
    encode_once(encoder, ["a"], "document", store=VectorStore(encoder))  # used again
    size = segments(home)[0].stat().st_size
    encode_once(encoder, ["e"], "document", store=VectorStore(encoder, Settings.load(cache_bytes=3 * size)))
    left = VectorStore(encoder)
    found, _ = left.get(left.keys(list("abcde"), "document"))
    assert found.tolist() == [True, False, False, True, True]


def test_the_store_can_be_switched_off(home):
    assert open_store(Letters(), Settings.load(cache_bytes=0)) is None
    encoder = Letters()
    _, tally = encode_once(encoder, ["a", "a"], "document", store=None)
    assert (tally.encoded, tally.stored) == (1, 0)
    assert segments(home) == []


def test_many_texts_go_to_the_store_part_by_part(home, monkeypatch):
    """An encoder that fails half-way keeps what it had done."""
    monkeypatch.setattr(batch_plan, "PART_TEXTS", 2)
    poisoned = Letters(poison="d")
    with pytest.raises(ModelError):
        encode_once(poisoned, list("abcd"), "document", store=VectorStore(poisoned))
    encoder = Letters()
    done: list[int] = []
    encode_once(encoder, list("abcd"), "document", store=VectorStore(encoder), tick=done.append)
    assert [text for _, text in encoder.asked] == ["c", "d"]
    assert sum(done) == 4


def test_a_nan_names_the_text():
    with pytest.raises(ModelError, match=r"letters/small .* 1 of 2 texts.*query of 3 characters: 'bad'"):
        encode_once(Letters(poison="bad"), ["good", "bad"], "query")


def test_a_wrong_shape_is_named():
    encoder = Letters()
    encoder.dimension = 8
    encoder.encode = lambda texts, role, tick: np.zeros((len(texts), 9), dtype=np.float32)
    with pytest.raises(ModelError) as error:
        encode_once(encoder, ["a"], "query")
    assert error.value.found == "(1, 9)" and error.value.expected.startswith("(1, 8)")


def test_keys_differ_by_text_and_role():
    texts = [f"text {number}" for number in range(2000)]
    keys = np.concatenate([keys_of(texts, role) for role in ("", "query", "document")])
    assert len(np.unique(keys)) == 6000
    assert (keys_of(texts, "") == keys[:2000]).all()

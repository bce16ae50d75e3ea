"""The store under strain: many processes, kill -9, a full disk, trimming and merging while others read."""

import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from encoder_parts import Letters

from steelyard.config import Settings
from steelyard.encoders.cache import budget, inventory, vector_store
from steelyard.encoders.cache.cached_encoder import encode_once
from steelyard.encoders.cache.vector_file import VectorFile
from steelyard.encoders.cache.vector_store import VectorStore
from steelyard.types.protocols import no_tick

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    ["encoder_parts", "steelyard.encoders.cache.cached_encoder", "steelyard.encoders.cache.vector_store"]
)
NOBODY = 65534
WORDS = [f"{'abcdefgh'[number % 8]} {number:x}" for number in range(3000)]


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path))
    monkeypatch.delenv(budget.VARIABLE, raising=False)
    return tmp_path


def segments(home):
    return sorted(home.glob("vectors/*/*.vectors"))


def six_files():
    """An encoder and its store, with six texts in a file each."""
    encoder = Letters()
    store = VectorStore(encoder)
    for text in "abcdef":
        encode_once(encoder, [text], "document", store=store)
    return encoder, store


class Wide(Letters):
    """Vectors long enough for a write to take a while."""

    name = "letters/wide"
    dimension = 9 * 200

    def encode(self, texts, role, tick=no_tick):
        counts = np.array([[text.count(letter) for letter in "abcdefgh"] + [len(role)] for text in texts], np.float32)
        return np.tile(counts, 200).reshape(len(texts), self.dimension)


def right(texts, vectors, role="document", encoder=Letters):
    return (vectors == encoder().encode(texts, role)).all()


def work(home, seed, started, rounds=10**6, limit=None):
    """Encode random handfuls of texts, in both roles, merging often; every vector that comes back is checked."""
    os.environ["STEELYARD_HOME"] = home
    if limit:
        os.environ[budget.VARIABLE] = limit
    vector_store.MANY, vector_store.LARGE = 4, 4 * 2**20
    chance, encoder = random.Random(seed), Wide()
    store = VectorStore(encoder)
    for _ in range(rounds):
        texts = chance.sample(WORDS, 40)
        role = chance.choice(["query", "document"])
        vectors, tally = encode_once(encoder, texts, role, store=store)
        assert right(texts, vectors, role, Wide), f"wrong vectors with the seed {seed}"
        assert not tally.problems, tally.problems
        started.set()


@pytest.mark.slow
def test_fifty_killed_writers_leave_nothing_half_written(home):
    """Writers are killed at random moments while others write, merge and read; what is there is whole and right."""
    chance = random.Random(20)
    companion_started = FORKS.Event()
    companion = FORKS.Process(target=work, args=(str(home), 0, companion_started))
    companion.start()
    for number in range(1, 51):
        started = FORKS.Event()
        writer = FORKS.Process(target=work, args=(str(home), number, started))
        writer.start()
        assert started.wait(60)
        time.sleep(chance.random() * 0.03)
        assert writer.pid is not None
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
        assert writer.exitcode == -signal.SIGKILL, "a writer ended by itself: it found a wrong vector"
        writer.close()
    assert companion.is_alive(), "the companion found a wrong vector"
    companion.kill()
    companion.join()
    for path in segments(home):
        segment = VectorFile.open(path)  # whole, or it would raise
        assert len(segment.vectors()) == len(segment.table)
    encoder = Wide()
    for role in ("query", "document"):
        vectors, tally = encode_once(encoder, WORDS, role, store=VectorStore(encoder))
        assert tally.stored > 1000
        assert tally.problems == ()
        assert right(WORDS, vectors, role, Wide)


@pytest.mark.slow
def test_processes_share_what_they_encode(home):
    """Six processes at a time, each with its own texts and all of them merging: nobody's vectors are lost."""
    events = [FORKS.Event() for _ in range(6)]
    workers = [FORKS.Process(target=work, args=(str(home), seed, events[seed], 12)) for seed in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    expected = {}
    for seed in range(6):
        chance = random.Random(seed)
        for _ in range(12):
            texts = chance.sample(WORDS, 40)
            expected.setdefault(chance.choice(["query", "document"]), set()).update(texts)
    for role, texts in expected.items():
        encoder = Wide()
        _, tally = encode_once(encoder, sorted(texts), role, store=VectorStore(encoder))
        assert (tally.encoded, tally.problems) == (0, ())


@pytest.mark.slow
def test_trimming_while_others_read_and_write(home):
    """A limit that makes everyone trim all the time: vectors get lost, wrong ones do not come back."""
    events = [FORKS.Event() for _ in range(3)]
    workers = [FORKS.Process(target=work, args=(str(home), seed, events[seed], 60, "2MB")) for seed in range(3)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        budget.trim(home / budget.FOLDER, 1_000_000)
        time.sleep(0.002)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert sum(path.stat().st_size for path in segments(home)) <= 2_000_000


def test_a_reader_survives_merging_and_trimming_between_its_looks(home, monkeypatch):
    encoder, store = six_files()
    reader = VectorStore(encoder)
    keys = reader.keys(list("abcdef"), "document")
    assert reader.get(keys)[0].all()
    monkeypatch.setattr(vector_store, "MANY", 3)
    assert vector_store.compact(store.folder) is not None
    assert len(segments(home)) == 1
    found, vectors = reader.get(keys)
    assert found.all() and right(list("abcdef"), vectors)
    budget.trim(home / budget.FOLDER, 0)
    assert not reader.get(keys)[0].any()
    assert reader.problems == []


def test_a_file_that_goes_between_listing_and_reading_is_looked_for_again(home, monkeypatch):
    """The moment that matters: the index knows a file, another process merges it away, then it is read."""
    encoder, store = six_files()
    reader = VectorStore(encoder)
    monkeypatch.setattr(vector_store, "MANY", 3)
    honest, merged = VectorFile.vectors, []

    def merge_first(segment, rows=None):
        if not merged:
            merged.append(None)
            merged.append(vector_store.compact(store.folder))
        return honest(segment, rows)

    monkeypatch.setattr(VectorFile, "vectors", merge_first)
    found, vectors = reader.get(reader.keys(list("abcdef"), "document"))
    assert merged[1] is not None
    assert found.all() and right(list("abcdef"), vectors)


def test_a_merged_file_that_another_process_merges_at_once_is_no_problem(home, monkeypatch):
    """Written, and merged away again before its date is set: its vectors are in the other's file."""
    encoder, store = six_files()
    monkeypatch.setattr(vector_store, "MANY", 3)
    honest, merged = vector_store.write_vector_file, []

    def merged_by_another(folder, keys, vectors):
        path = honest(folder, keys, vectors)
        if not merged:
            merged.append(path)
            honest(folder, store.keys(["g"], "document"), encoder.encode(["g"], "document"))
            merged.append(vector_store.compact(folder))
        return path

    monkeypatch.setattr(vector_store, "write_vector_file", merged_by_another)
    vector_store.compact(store.folder)
    assert segments(home) == merged[1:], "the first one is gone, and so are the parts"
    _, tally = encode_once(encoder, list("abcdefg"), "document", store=VectorStore(encoder))
    assert (tally.encoded, tally.problems) == (0, ())


def test_a_folder_that_is_removed_meanwhile_is_no_problem(home, monkeypatch):
    """`cache rm` in another process, at the worst moments: before merging, and right after the merged file is there."""
    _, store = six_files()
    monkeypatch.setattr(vector_store, "MANY", 3)
    honest = vector_store.write_vector_file

    def then_all_goes(folder, keys, vectors):
        path = honest(folder, keys, vectors)
        shutil.rmtree(folder)
        return path

    monkeypatch.setattr(vector_store, "write_vector_file", then_all_goes)
    vector_store.compact(store.folder)
    assert not store.folder.exists()
    assert vector_store.compact(store.folder) is None
    assert [inventory._read_folder(store.folder).files, *inventory.inventory(home)] == [0]


def test_many_small_files_become_few(home):
    encoder = Letters()
    store = VectorStore(encoder)
    texts = [f"a {number}" for number in range(3 * vector_store.MANY)]
    for text in texts:
        encode_once(encoder, [text], "document", store=store)
    assert len(segments(home)) <= vector_store.MANY
    other = Letters()
    vectors, tally = encode_once(other, texts, "document", store=VectorStore(other))
    assert (tally.encoded, tally.problems) == (0, ())
    assert right(texts, vectors)


def test_merging_keeps_one_of_vectors_that_are_there_twice(home, monkeypatch):
    """Also where the merged file has the very name of one of its parts."""
    encoder = Letters()
    store = VectorStore(encoder)
    keys, vectors = store.keys(["a", "b", "c"], "document"), encoder.encode(["a", "b", "c"], "document")
    for part in ([0, 1, 2], [0], [1], [2]):
        store.put(keys[part], vectors[part])
    monkeypatch.setattr(vector_store, "MANY", 3)
    merged = vector_store.compact(store.folder)
    assert segments(home) == [merged]
    assert len(VectorFile.open(merged).table) == 3
    assert store.get(keys)[0].all()


def test_merging_passes_over_what_is_not_ours_and_keeps_the_date(home, monkeypatch):
    encoder = Letters()
    store = VectorStore(encoder)
    for age, text in enumerate("abcd"):
        encode_once(encoder, [text], "document", store=store)
        newest = max(segments(home), key=lambda path: path.stat().st_mtime_ns)
        os.utime(newest, (1000 + age, 1000 + age))
    stranger = store.folder / "0123.vectors"
    stranger.write_bytes(b"not ours")
    monkeypatch.setattr(vector_store, "MANY", 3)
    merged = vector_store.compact(store.folder)
    assert merged is not None
    assert merged.stat().st_mtime == 1003
    assert sorted(segments(home)) == sorted([merged, stranger])


def test_merged_files_stay_small_beside_the_limit(home, monkeypatch):
    """Trimming removes whole files: a merged one must not take everything with it."""
    monkeypatch.setattr(vector_store, "MANY", 3)
    monkeypatch.setenv(budget.VARIABLE, "8kB")
    encoder = Letters()
    store = VectorStore(encoder)
    for number in range(200):
        encode_once(encoder, [f"a {number}"], "document", store=store)
    sizes = [path.stat().st_size for path in segments(home)]
    assert max(sizes) <= 1000
    assert 6000 < sum(sizes) <= 8000


FULL_DISK = """
import resource, sys
sys.path[:0] = [{tests!r}]
from encoder_parts import Letters
from steelyard.encoders.cache.cached_encoder import encode_once
from steelyard.encoders.cache.vector_store import VectorStore

encoder = Letters()
store = VectorStore(encoder)
encode_once(encoder, ["a"], "document", store=store)
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
many = [f"a {{number}}" for number in range(500)]
for _ in range(2):
    vectors, tally = encode_once(encoder, many, "document", store=store)
    assert (vectors == Letters().encode(many, "document")).all()
    assert tally.encoded == 500, tally
assert len(tally.problems) == 1 and "could not be stored" in tally.problems[0], tally.problems
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
encode_once(encoder, many, "document", store=store)
_, tally = encode_once(encoder, [*many, "a"], "document", store=store)
assert tally.encoded == 0, tally
print("went on")
"""


def test_a_full_disk_costs_a_note_not_the_run(home):
    """A process that may write no more than 1,000 bytes to a file; what was stored before is still found."""
    program = FULL_DISK.format(tests=str(Path(__file__).parents[2] / "support"))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "went on\n", done.stderr
    assert [path.name for path in home.rglob(".*") if path.is_file()] == [], "a half-written file stayed"


def test_trim_removes_old_temporary_files_of_its_own(home):
    encoder = Letters()
    encode_once(encoder, ["a"], "document", store=VectorStore(encoder))
    folder = segments(home)[0].parent
    old, new = folder / ".steelyard-x.vectors.0123456789ab.tmp", folder / ".steelyard-y.vectors.0123456789ac.tmp"
    for path in (old, new):
        path.write_bytes(b"x" * 50)
    os.utime(old, (time.time() - 2 * budget.ABANDONED_SECONDS,) * 2)
    encode_once(encoder, ["b"], "document", store=VectorStore(encoder))
    assert not old.exists()
    assert new.exists()


def test_trim_keeps_files_that_the_cache_did_not_write(home, tmp_path):
    encoder = Letters()
    encode_once(encoder, ["a"], "document", store=VectorStore(encoder))
    folder = segments(home)[0].parent
    elsewhere = tmp_path / "elsewhere-0123456789abcdef"
    elsewhere.mkdir()
    foreign = [folder / ".git", folder / ".x.tmp", folder / "notes.vectors", elsewhere / f"{'0' * 24}.vectors"]
    (folder.parent / "mine").mkdir()
    foreign.append(folder.parent / "mine" / f"{'1' * 24}.vectors")
    for path in foreign:
        path.write_bytes(b"x" * 50)
        os.utime(path, (time.time() - 2 * budget.ABANDONED_SECONDS,) * 2)
    (folder.parent / elsewhere.name).symlink_to(elsewhere)
    (folder / f"{'2' * 24}.vectors").symlink_to(foreign[0])
    budget.trim(folder.parent, 0)
    assert all(path.exists() for path in foreign)
    assert [
        path.name for path in folder.iterdir() if budget.CACHE_FILE.fullmatch(path.name) and not path.is_symlink()
    ] == []


def test_a_store_that_may_only_be_read_is_read():
    """As someone else's shared cache is: files cannot be marked as used, nor added."""
    encoder = Letters()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        home.chmod(0o755)
        encode_once(encoder, ["a"], "document", store=VectorStore(encoder, Settings.load(home=home)))
        store, user = VectorStore(encoder, Settings.load(home=home)), os.geteuid()
        for path in home.rglob("*"):
            path.chmod(0o555 if path.is_dir() else 0o444)
        if user == 0:
            os.seteuid(NOBODY)  # root may write anywhere
        try:
            _, tally = encode_once(encoder, ["a"], "document", store=store)
            _, added = encode_once(encoder, ["b"], "document", store=store)
        finally:
            os.seteuid(user)
            for path in home.rglob("*"):
                path.chmod(0o755)
    assert (tally.encoded, tally.problems) == (0, ())
    assert len(added.problems) == 1
    assert "could not be stored" in added.problems[0]


@pytest.mark.slow
def test_more_files_than_a_process_may_open(home, monkeypatch):
    """Looking texts up in many segments holds none of them open."""
    monkeypatch.setattr(vector_store, "MANY", 10**6)
    encoder = Letters()
    store = VectorStore(encoder)
    texts = [f"a {number}" for number in range(300)]
    keys, vectors = store.keys(texts, "document"), encoder.encode(texts, "document")
    for row in range(len(texts)):
        store.put(keys[row : row + 1], vectors[row : row + 1])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 120), hard))
    try:
        found, again = VectorStore(encoder).get(keys)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert found.all()
    assert np.array_equal(again, vectors)

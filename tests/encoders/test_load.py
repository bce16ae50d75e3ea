"""What an id stands for, and the encoders that need no model library: vectors in files, functions; batches, prompts."""

from __future__ import annotations

import os
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard import evaluate, files
from steelyard.config import Settings
from steelyard.encoders import load_encoder
from steelyard.encoders.backends.function import from_function
from steelyard.encoders.batching import BatchSize, ErrorContext, encode_in_batches
from steelyard.encoders.devices.worker_pool import LocalWorker, WorkerPool
from steelyard.encoders.load import detect_backend
from steelyard.encoders.model_folder import ModelFolder
from steelyard.errors import DataError, HubError, MissingPart, ModelError, UnknownName, UsageError
from steelyard.retrievers import load_retriever
from steelyard.retrievers.dense import DenseRetriever
from steelyard.types import Corpus, Qrels, Queries, Task, TaskInfo

INFO = TaskInfo("made/up", language="en")
CORPUS = Corpus.of(["d1", "d2", "d3"], ["a river", "a mountain", "a city"])
QUERIES = Queries(("d1", "q2"), ("which river", "which city"))  # an id that a document has, too
MATRIX = np.array([[1, 0, 0], [0, 1, 0], [0, 0.6, 0.8]], dtype=np.float32)
ASKED = np.array([[0.9, 0.1, 0], [0, 0, 2]], dtype=np.float32)
BEST = [["d1", "d2"], ["d3", "d2"]]
pytestmark = pytest.mark.usefixtures("own_home")


def best(name):
    run = load_retriever(name).index(CORPUS, INFO).search(QUERIES, 2)
    return [[CORPUS.ids[row] for row in rows] for rows in run.rows]


def parquet(path, **columns):
    lists = {
        name: list(map(list, value)) if isinstance(value, np.ndarray) else value for name, value in columns.items()
    }
    pq.write_table(pa.table(lists), path)


def by_id(folder):
    np.save(folder / "documents.npy", MATRIX)
    (folder / "documents.ids.txt").write_text("d1\nd2\nd3\n")
    np.savez(folder / "queries.npz", ids=np.array(["q2", "d1"]), vectors=ASKED[::-1])
    return str(folder)


def by_text(folder):
    texts = ["a city", "a mountain", "a river", "which river", "which city"]
    parquet(folder / "all.parquet", text=texts, embedding=np.concatenate([MATRIX[::-1], ASKED]))
    return str(folder / "all.parquet")


def by_role(folder):
    roles = ["document"] * 3 + ["query"] * 2
    vectors = np.concatenate([MATRIX, ASKED]).astype(np.float16)
    parquet(folder / "roles.parquet", _id=["d1", "d2", "d3", "d1", "q2"], vector=vectors, role=roles)
    return str(folder / "roles.parquet")


def two_files(folder):
    np.savez(folder / "d.npz", texts=np.array(["a river", "a mountain", "a city"]), embeddings=MATRIX)
    np.save(folder / "q.npy", ASKED)
    (folder / "names").write_text("d1\nq2\n")
    return f"{folder / 'd.npz'}?queries={folder / 'q.npy'}&ids={folder / 'names'}"


@pytest.mark.parametrize("write", [by_id, by_text, by_role, two_files])
def test_vectors_of_ones_own_are_found_by_id_or_text(tmp_path, write):
    name = f"dense:{write(tmp_path)}"
    assert best(name) == BEST
    index = load_retriever(name).index(CORPUS, INFO)
    assert {"texts": 3, "texts_encoded": 0, "texts_from_cache": 3}.items() <= index.notes["documents"].items()
    assert not (tmp_path / "home" / "vectors").exists()


@pytest.mark.parametrize(
    ("columns", "field", "value"),
    [
        (
            {"text": ["a", "b"], "vector": [[1.0, 2, 3], [1.0]]},
            "found",
            "the vectors have different lengths",
        ),  # 4 for 2 rows
        ({"text": ["a", "b"], "vector": [[1.0, 2], None]}, "found", "some vectors are null"),
        ({"id": ["a", "b"], "vector": [[1.0], [2.0]], "role": ["query", "passage"]}, "field", "role"),
        ({"_id": ["a"], "emb": [[1.0]]}, "found", "_id, emb"),
    ],
)
def test_an_invalid_table_is_an_error_with_its_path(tmp_path, columns, field, value):
    pq.write_table(pa.table(columns), tmp_path / "all.parquet")
    with pytest.raises(DataError) as error:
        load_encoder(str(tmp_path / "all.parquet"))
    assert error.value.path == str(tmp_path / "all.parquet")
    assert getattr(error.value, field) == value


def test_ids_that_are_named_count_before_those_beside_the_documents(tmp_path):
    by_id(tmp_path)
    (tmp_path / "names").write_text("\ufeffd3\nd2\nd1\n", encoding="utf-8")
    name = f"dense:{tmp_path / 'documents.npy'}?queries={tmp_path / 'queries.npz'}"
    assert best(name) == BEST
    assert best(f"{name}&ids={tmp_path / 'names'}") == [["d3", "d2"], ["d1", "d3"]]


def test_settings_of_files_are_their_contents(tmp_path):
    name = by_id(tmp_path)
    before = load_encoder(name).settings
    assert load_encoder(name).settings == before
    (tmp_path / "documents.ids.txt").write_text("d2\nd1\nd3\n")
    assert load_encoder(name).settings != before


@pytest.mark.parametrize(
    ("spoil", "kind", "found"),
    [
        (lambda f: np.save(f / "documents.npy", MATRIX[:2]), DataError, "shape (2, 3)"),
        (lambda f: (f / "documents.ids.txt").write_text("d1\nd1\nd3"), DataError, "d1"),
        (lambda f: (f / "documents.ids.txt").write_text("d1\nd2\nd4"), DataError, "d3"),
        (lambda f: (f / "documents.ids.txt").unlink(), MissingPart, None),
        (lambda f: (f / "documents.npy").write_bytes(b"?"), DataError, ...),
        (lambda f: (f / "queries.npz").unlink(), MissingPart, "none"),
        (lambda f: np.save(f / "queries.npy", ASKED), MissingPart, "queries.npy, queries.npz"),
        (lambda f: np.savez(f / "queries.npz", ids=["d1", "q2"], vectors=ASKED[:, :2]), DataError, 2),
        (lambda f: np.savez(f / "queries.npz", ids=["d1", "q2"], other=ASKED), DataError, "ids, other"),
        (lambda f: np.save(f / "documents.npy", MATRIX / 0), ModelError, "NaN or infinity"),
        (lambda f: np.save(f / "documents.npy", MATRIX * 1j), DataError, "complex64"),
        (lambda f: np.savez(f / "queries.npz", ids=["d1", "q2"], vectors=[["a"], ["b"]]), DataError, "<U1"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_an_invalid_file_is_an_error_with_what_was_found(tmp_path, spoil, kind, found):
    name = by_id(tmp_path)
    spoil(tmp_path)
    with pytest.raises(kind) as error:
        best(f"dense:{name}")
    assert found is ... or error.value.found == found
    assert kind is ModelError or str(tmp_path) in error.value.path


def test_a_file_by_id_needs_roles(tmp_path):
    parquet(tmp_path / "v.parquet", id=["d1", "d2", "d3", "q2"], vector=np.concatenate([MATRIX, ASKED[1:]]))
    with pytest.raises(UsageError, match="roles") as error:
        load_encoder(str(tmp_path / "v.parquet"))
    assert error.value.path == str(tmp_path / "v.parquet")
    parquet(tmp_path / "ragged.parquet", text=["a", "b"], vector=[[1.0], [1.0, 2.0]])
    with pytest.raises(DataError):
        load_encoder(str(tmp_path / "ragged.parquet"))


def test_a_function_by_name(tmp_path, monkeypatch):
    (tmp_path / "own_vectors.py").write_text(
        "import numpy as np\n"
        "def letters(texts):\n    return np.array([[t.count(c) for c in 'acimnortuvy'] for t in texts])\n"
        "def sided(texts, role):\n    return [[1.0, role == 'query'] for _ in texts]\n"
        "number = 3\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert best("dense:own_vectors:letters")[0][0] == "d1"
    sided = load_encoder("own_vectors:sided", None, {"backend": "python", "similarity_fn_name": "dot"})
    assert sided.encode(["x"], "query").tolist() == [[1, 1]]
    assert sided.encode(["x"], "document").tolist() == [[1, 0]]
    assert (sided.similarity, sided.settings["symmetric"]) == ("dot", False)
    with pytest.raises(UsageError) as error:
        load_encoder("own_vectors:number")
    assert (error.value.expected, error.value.found) == ("a function", "int")
    with pytest.raises(UsageError, match="nothing"):
        load_encoder("own_vectors:nothing")


def test_a_function_is_weighed_in_python():
    task = Task(INFO, CORPUS, QUERIES, Qrels.of([0, 1], [CORPUS.row_of["d1"], CORPUS.row_of["d3"]], [1, 1], queries=2))
    words = {"river": 0, "mountain": 1, "city": 2}
    calls: list[int] = []

    def known(texts):
        calls.append(len(texts))
        return np.array([[word in text for word in words] for text in texts], dtype=float)

    encoder = from_function(known, "known-words", batch_size=2)
    results = evaluate(DenseRetriever("dense:known-words", encoder), task)
    assert [result.score for result in results] == [1.0]
    assert max(calls) == 2


def test_a_function_is_a_model_and_a_number_is_not():
    task = Task(INFO, CORPUS, QUERIES, Qrels.of([0], [CORPUS.row_of["d1"]], [1], queries=2))
    (result,) = evaluate(lambda texts: np.ones((len(texts), 2)), task)
    assert result.done and result.model == "dense:function"
    with pytest.raises(UsageError) as caught:
        evaluate(7, task)
    assert caught.value.found == "int"


def test_a_function_that_fails_spoils_its_own_results_alone():
    task = Task(INFO, CORPUS, QUERIES, Qrels.of([0], [CORPUS.row_of["d1"]], [1], queries=2))
    broken = DenseRetriever("dense:broken", from_function(lambda texts: 1 / 0, "broken"))
    failed, done = evaluate([broken, "bm25"], task)
    assert (failed.status, failed.error.type, done.status) == ("failed", "ZeroDivisionError", "done")


def test_vectors_of_a_function_are_stored_if_it_has_a_version():
    calls: list[str] = []

    def counting(texts):
        calls.extend(texts)
        return [[1.0, len(text)] for text in texts]

    for version, expected in ((None, 2), ("1", 1)):
        calls.clear()
        for _ in range(2):
            from steelyard.encoders.cache.cached_encoder import encode_once, open_store

            encoder = from_function(counting, "counting", version=version)
            encode_once(encoder, ["some text"], "document", store=open_store(encoder))
        assert calls.count("some text") == expected


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (lambda texts: [1.0], "shape (1,)"),
        (lambda texts: np.ones((2, 3)), "shape (2, 3)"),
        (lambda texts: np.ones((1, 2 + (texts != ["steelyard"]))), "dimension 3"),
        (lambda texts: np.ones((1, 0)), "shape (1, 0)"),
        (lambda texts: None, "None"),
        (lambda texts: ([1.0] for _ in texts), "a generator"),
        (lambda texts: [["a", "b"] for _ in texts], "<U1 in an array of shape (1, 2)"),
        (lambda texts: [[1.0, 2j] for _ in texts], "complex128 in an array of shape (1, 2)"),
        (lambda texts: [[1.0, [2.0]] for _ in texts], "rows of different lengths"),
    ],
)
def test_the_result_of_a_function_is_checked(given, found):
    with pytest.raises(ModelError, match="odd") as error:
        from_function(given, "odd").encode(["text"], "query")
    assert error.value.found == found


class Tensor:
    """What a tensor of torch is to numpy: it gives its numbers only without gradients, on the CPU, as floats."""

    def __init__(self, values, done=()):
        self.values, self.done = values, done

    def detach(self):
        return Tensor(self.values, (*self.done, "detach"))

    def float(self):
        return Tensor(self.values, (*self.done, "float"))

    def cpu(self):
        return Tensor(self.values, (*self.done, "cpu"))

    def numpy(self):
        assert {*self.done} == {"detach", "float", "cpu"}
        return np.asarray(self.values, dtype=np.float32)


@pytest.mark.parametrize(
    "given", [lambda texts: Tensor([[1, 2]] * len(texts)), lambda texts: [Tensor([1, 2]) for _ in texts]]
)
def test_a_function_may_give_tensors(given):
    assert from_function(given, "tensors").encode(["a", "b"], "query").tolist() == [[1, 2], [1, 2]]


def test_a_function_may_ask_for_the_role_by_name():
    def asks(texts, *, role):
        return [[float(role == "query"), 1.0] for _ in texts]

    encoder = from_function(asks, "asks")
    assert encoder.encode(["a"], "query").tolist() == [[1, 1]]
    assert not encoder.settings["symmetric"]


def test_unknown_ids_are_errors_that_help(tmp_path):
    with pytest.raises(UnknownName) as error:
        load_encoder("use-multilingual-v2")
    assert error.value.near == ["use-multilingual-v3"]
    for name in ("nothing", "nothing.npy"):
        with pytest.raises(MissingPart) as missing:
            load_encoder(str(tmp_path / name))
        assert missing.value.path == str(tmp_path / name)
    with pytest.raises(UnknownName, match="hub") as error:
        load_encoder("owner/model", None, {"hub": "github"})
    assert error.value.name == "github"


def test_a_model_of_the_hub_that_is_not_here_is_named(monkeypatch):
    monkeypatch.setenv("STEELYARD_OFFLINE", "1")
    with pytest.raises(HubError, match="owner/model is not on this machine"):
        load_encoder("owner/model")


@pytest.mark.parametrize(
    ("package", "files", "extra"),
    [
        ("torch", {"model.safetensors": ""}, "torch"),
        ("onnxruntime", {"model.onnx": "", "tokenizer.json": "{}"}, "onnx"),
        ("model2vec", {"config.json": '{"model_type": "model2vec"}'}, "static"),
    ],
)
def test_a_library_that_is_missing_is_named_with_its_extra(tmp_path, monkeypatch, package, files, extra):
    monkeypatch.setitem(sys.modules, package, None)
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(MissingPart, match=rf"'{package}' is not installed .*steelyard\[{extra}\]"):
        load_encoder(str(tmp_path))


def test_kinds_of_folders(tmp_path):
    def kind(*files, config="{}"):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        for name in files:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(config if name == "config.json" else "")
        return detect_backend(ModelFolder(str(folder), folder))

    assert kind("config.json", "model.safetensors", "onnx/model.onnx") == "sentence-transformers"
    assert kind("config.json", "pytorch_model-00001-of-00002.bin") == "sentence-transformers"
    assert kind("modules.json", "0_StaticEmbedding/model.safetensors") == "sentence-transformers"
    assert kind("config.json", "model.onnx", "tokenizer.json") == kind("onnx/model.onnx") == "onnx"
    assert kind("config.json", "model.safetensors", config='{"model_type": "model2vec"}') == "static"
    assert kind("README.md") == "unknown"


def batches(lengths, encode, size):
    subject = ErrorContext("tiny", "text {}".format, "a larger machine")
    return encode_in_batches(lengths, WorkerPool([LocalWorker(encode)]), lambda rows: (rows,), size, subject)


@given(
    st.lists(st.integers(0, 50), max_size=60),
    st.integers(1, 9),
    st.integers(1, 120),
    st.integers(1, 9),
    st.integers(1, 99),
)
def test_every_text_is_encoded_once_in_batches_that_fit(lengths, texts, tokens, room_texts, room_tokens):
    """The memory has room for some texts or some tokens; the plan may hope for more, and finds out."""
    size, array = BatchSize(texts, tokens), np.array(lengths, dtype=np.int64)
    seen: list[int] = []

    def encode(rows):
        longest = int(array[rows].max())
        assert len(rows) == 1 or (len(rows) <= texts and len(rows) * longest <= tokens)
        if len(rows) > 1 and (len(rows) > room_texts or len(rows) * longest > room_tokens):
            raise MemoryError("out of memory")
        return array[rows, None].astype(np.float32)

    for rows, vectors in batches(array, encode, size):
        seen += rows.tolist()
        assert vectors[:, 0].tolist() == array[rows].tolist()
    assert sorted(seen) == list(range(len(lengths)))
    assert [lengths[row] for row in seen] == sorted(lengths, reverse=True)


def test_errors_name_the_text():
    def full(rows):
        raise MemoryError

    with pytest.raises(ModelError, match=r"tiny runs out of memory for one text 1 \(a larger machine\)"):
        list(batches(np.array([1, 9]), full, BatchSize(8, 99)))

    def broken(rows):
        raise RuntimeError("shapes differ")

    with pytest.raises(ModelError, match=r"tiny failed for a text 0: RuntimeError: shapes differ$") as error:
        list(batches(np.array([1]), broken, BatchSize(8, 99)))
    assert str(error.value.__cause__) == "shapes differ"
    with pytest.raises(ModelError, match=r"a batch of 2, the longest a text 1: .*batch_size=1"):
        list(batches(np.array([1, 9]), broken, BatchSize(8, 99)))


def test_the_hash_of_a_large_file_is_remembered_until_it_changes(tmp_path, monkeypatch):
    path = tmp_path / "weights.bin"
    path.write_bytes(b"a" * (files.SMALL + 1))
    first = files.file_hash(path, Settings.load().home)
    read: list[object] = []
    computed = files._digest
    monkeypatch.setattr(files, "_digest", lambda path: read.append(path) or computed(path))
    assert files.file_hash(path, Settings.load().home) == first
    assert not read
    path.write_bytes(b"b" * (files.SMALL + 2))
    assert files.file_hash(path, Settings.load().home) != first
    assert len(read) == 1
    for record in (tmp_path / "home" / "hashes").iterdir():
        record.write_text("{")
    assert files.file_hash(path, Settings.load().home) == computed(path)


@pytest.mark.parametrize("replaced", [False, True])
def test_other_weights_of_the_old_size_and_date_are_other_weights(replaced, tmp_path):
    """As an archive brings them, that was unpacked over the folder of a model or beside it."""
    path = tmp_path / "weights.bin"
    path.write_bytes(b"a" * (files.SMALL + 1))
    date = path.stat().st_mtime_ns
    first = files.file_hash(path, Settings.load().home)
    time.sleep(0.05)  # the clock of a file system ticks in steps of some milliseconds
    other = tmp_path / "unpacked" if replaced else path
    other.write_bytes(b"b" * (files.SMALL + 1))
    os.utime(other, ns=(date, date))
    other.replace(path)
    assert path.stat().st_mtime_ns == date
    assert files.file_hash(path, Settings.load().home) == files._digest(path) != first

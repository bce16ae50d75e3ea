"""Late interaction without torch: MaxSim, token pooling, encoders of files and functions, the store, the retriever."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from steelyard.encoders.backends.token_input import from_function
from steelyard.encoders.backends.transformers.multi_vector_encoder import declares_late_interaction
from steelyard.encoders.cache.cached_ragged import encode_ragged, open_blob_store
from steelyard.encoders.load import load_multi_vector_encoder
from steelyard.encoders.model_folder import ModelFolder
from steelyard.errors import DataError, MissingPart, ModelError, UsageError
from steelyard.retrievers import load_retriever
from steelyard.retrievers.late import LateRetriever
from steelyard.retrievers.model_variants import variants
from steelyard.types import Corpus, Queries, TaskInfo
from steelyard.vectors import maxsim
from steelyard.vectors.maxsim import MaxSim, TokenVectors, pool_tokens, ward_clusters

INFO = TaskInfo("made/up")


@st.composite
def token_lists(draw, least=1, most=8):
    """Texts of 0 to 6 tokens of small whole numbers, so that sums are exact and ties are common."""
    counts = draw(st.lists(st.integers(0, 6), min_size=least, max_size=most))
    numbers = draw(st.lists(st.integers(-3, 3), min_size=3 * sum(counts), max_size=3 * sum(counts)))
    flat = np.array(numbers, dtype=np.float32).reshape(-1, 3)
    return np.split(flat, np.cumsum(counts)[:-1])


def by_hand(query, documents):
    """The definition, one pair after the other; best first, then lowest row."""
    scores = {}
    for row, document in enumerate(documents):
        if len(query) and len(document):
            scores[row] = sum(max(float(q @ d) for d in document) for q in query)
    return sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))


def found(run, query):
    return [(int(r), float(s)) for r, s in zip(run.rows[query], run.scores[query], strict=True) if r >= 0]


@given(token_lists(), token_lists(), st.integers(1, 10))
def test_equals_the_definition(queries, documents, k):
    run = MaxSim(TokenVectors.of(documents, 3)).search(TokenVectors.of(queries, 3), k)
    assert run.rows.shape == (len(queries), min(k, len(documents)))
    for place, query in enumerate(queries):
        assert found(run, place) == by_hand(query, documents)[:k]


@given(token_lists(), token_lists(), st.randoms(use_true_random=False))
def test_the_order_of_documents_changes_no_score(queries, documents, random):
    order = list(range(len(documents)))
    random.shuffle(order)
    straight = MaxSim(TokenVectors.of(documents, 3)).search(TokenVectors.of(queries, 3), 8)
    shuffled = MaxSim(TokenVectors.of([documents[row] for row in order], 3)).search(TokenVectors.of(queries, 3), 8)
    for query in range(len(queries)):
        assert dict(found(straight, query)) == {order[row]: score for row, score in found(shuffled, query)}


@given(token_lists(), token_lists())
def test_small_blocks_give_the_same(queries, documents):
    """Blocks end within long documents and between queries; nothing may depend on where."""
    q, d = TokenVectors.of(queries, 3), TokenVectors.of(documents, 3)
    whole = MaxSim(d).search(q, 5)
    with pytest.MonkeyPatch.context() as patch:
        for name, size in (("QUERY_TOKENS", 3), ("DOCUMENT_TOKENS", 4), ("BOARD", 10)):
            patch.setattr(maxsim, name, size)
        parts = MaxSim(d).search(q, 5)
    assert (whole.rows == parts.rows).all() and (whole.scores == parts.scores).all()


def test_real_valued_vectors_and_mean():
    random = np.random.default_rng(5)
    documents = [random.standard_normal((n, 16)).astype(np.float32) for n in (1, 30, 7, 120, 2)]
    queries = [random.standard_normal((n, 16)).astype(np.float32) for n in (4, 1)]
    run = MaxSim(TokenVectors.of(documents)).search(TokenVectors.of(queries), 5)
    mean = MaxSim(TokenVectors.of(documents)).search(TokenVectors.of(queries), 5, similarity="meanmaxsim")
    for place, query in enumerate(queries):
        expected = by_hand(query, documents)
        assert run.rows[place].tolist() == [row for row, _ in expected]
        np.testing.assert_allclose(run.scores[place], [score for _, score in expected], rtol=1e-5)
        np.testing.assert_allclose(mean.scores[place], run.scores[place] / len(query), rtol=1e-6)


def test_any_number_of_threads_gives_the_same_bits():
    """The last bits of a product depend on how it is divided."""
    random = np.random.default_rng(7)
    documents = TokenVectors.of(
        [random.standard_normal((n, 128)).astype(np.float32) for n in random.integers(1, 90, 400)]
    )
    queries = TokenVectors.of([random.standard_normal((n, 128)).astype(np.float32) for n in random.integers(1, 40, 30)])
    assert documents.matrix.shape[0] > 3 * maxsim.DOCUMENT_TOKENS
    runs = set()
    for threads in (1, 2, 3):
        with threadpool_limits(threads, "blas"):
            run = MaxSim(documents).search(queries, 50)
            runs.add((run.rows.tobytes(), run.scores.tobytes()))
    assert len(runs) == 1


def test_copies_score_equally_wherever_they_stand():
    random = np.random.default_rng(0)
    documents = [random.standard_normal((n, 64)).astype(np.float32) for n in random.integers(1, 40, 300)]
    documents[299] = documents[17] = documents[3]
    run = MaxSim(TokenVectors.of(documents)).search(TokenVectors.of([documents[3]]), 300)
    assert run.rows[0, :3].tolist() == [3, 17, 299]
    assert len(set(run.scores[0, :3].tolist())) == 1


def test_what_cannot_be_compared_is_refused():
    documents = MaxSim(TokenVectors.of([np.ones((1, 3))]))
    with pytest.raises(UsageError, match=r"3.*2"):
        documents.search(TokenVectors.of([np.ones((1, 2))]), 1)
    with pytest.raises(UsageError):
        documents.search(TokenVectors.of([np.ones((1, 3))]), 1, similarity="cosine")
    with pytest.raises(ModelError):
        TokenVectors.of([np.ones((1, 3)), np.ones(2)])


@given(token_lists())
def test_blobs_bring_back_what_was_stored(texts):
    tokens = TokenVectors.of(texts, 3)
    again = TokenVectors.from_blobs(tokens.blobs())
    assert (again.counts == tokens.counts).all()
    assert again.matrix.tobytes() == tokens.matrix.tobytes()


def naive_ward(points, clusters):
    """Ward's method from scratch, each step over all pairs: the tree that `ward_clusters` has to cut."""
    square = {(a, b): points[a, b] ** 2 for a in range(len(points)) for b in range(a)}
    sizes, members = dict.fromkeys(range(len(points)), 1), {item: {item} for item in range(len(points))}
    while len(members) > clusters:
        (a, b), height = min(square.items(), key=lambda pair: pair[1])
        for other in [item for item in members if item not in (a, b)]:
            to_a, to_b = (square.pop((max(other, x), min(other, x))) for x in (a, b))
            total = sizes[a] + sizes[b] + sizes[other]
            new = ((sizes[a] + sizes[other]) * to_a + (sizes[b] + sizes[other]) * to_b - sizes[other] * height) / total
            square[max(other, a), min(other, a)] = new
        del square[a, b]
        members[a] |= members.pop(b)
        sizes[a] += sizes.pop(b)
    return sorted(sorted(group) for group in members.values())


@settings(max_examples=40)
@given(st.integers(2, 14), st.integers(1, 14), st.integers(0, 10_000))
def test_clusters_are_those_of_wards_method(items, clusters, seed):
    points = np.random.default_rng(seed).standard_normal((items, 4))
    distances = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    clusters = min(items, clusters)
    labels = ward_clusters(distances, clusters)
    groups = sorted(np.flatnonzero(labels == label).tolist() for label in set(labels.tolist()))
    assert groups == naive_ward(distances, clusters)
    assert [group[0] for group in groups] == sorted(group[0] for group in groups)


@given(token_lists(), st.sampled_from([1.5, 2, 3, 10]))
def test_pooling_keeps_a_factorth_and_the_first_token(texts, factor):
    tokens = TokenVectors.of(texts, 3)
    fewer = pool_tokens(tokens, factor)
    for place, text in enumerate(texts):
        rest = max(len(text) - 1, 0)
        kept = rest if rest <= 1 else max(int(rest // factor), 1)
        assert len(fewer.text(place)) == min(len(text), 1) + kept
        if len(text) and text[0].any():
            np.testing.assert_allclose(fewer.text(place)[0], text[0] / np.linalg.norm(text[0]), rtol=1e-5)
    assert pool_tokens(tokens, 1) is tokens


def test_equal_tokens_pool_without_loss():
    """Four tokens that are two, each twice: at factor 2 nothing is lost."""
    a, b, first = np.eye(3, dtype=np.float32)
    tokens = TokenVectors.of([[first, a, b, b, a]])
    assert pool_tokens(tokens, 2).text(0).tolist() == [first.tolist(), a.tolist(), b.tolist()]
    with pytest.raises(UsageError):
        pool_tokens(tokens, 0)


LETTERS = np.eye(26, dtype=np.float32)


def spell(texts, role):
    """Each letter is a token."""
    return [[LETTERS[ord(letter) - 97] for letter in text if letter.isalpha()] for text in texts]


CORPUS = Corpus.of(["a", "b", "c", "d", "e"], ["cab", "dog", "", "cab", "abracadabra"])
QUERIES = Queries(("one", "none", "two"), ("cb", "", "gz"))


def test_a_function_is_a_model():
    retriever = LateRetriever("late:spell", from_function(spell, name="spell"))
    index = retriever.index(CORPUS, INFO)
    run = index.search(QUERIES, 10)
    ids = [[CORPUS.ids[row] for row in line if row >= 0] for line in run.rows]
    assert ids == [["e", "d", "a", "b"], [], ["b", "e", "d", "a"]]
    assert run.scores[0, :4].tolist() == [2, 2, 2, 0]
    assert index.notes["vectors_per_document"] == (3 + 3 + 0 + 3 + 11) / 5
    assert index.notes["bytes_per_document"] == 20 * 26 * 4 / 5
    counts = {"texts": 5, "texts_encoded": 4, "texts_from_cache": 0, "tokens": 20}
    assert counts.items() <= index.notes["documents"].items()
    assert index.size_bytes >= 17 * 26 * 4  # the copy of "cab" takes no room


def test_by_name():
    retriever = load_retriever("late:tests.retrievers.test_late:spell?backend=python&pool_factor=2")
    assert retriever.settings["pool_factor"] == 2
    assert retriever.settings["similarity"] == "maxsim"
    index = retriever.index(CORPUS, INFO)
    assert index.search(QUERIES, 2).rows[0, 0] == CORPUS.row_of["e"]
    assert index.notes["vectors_per_document"] == (2 + 2 + 0 + 2 + 6) / 5


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("late", None),
        ("late:x:y?pool_factor=half", "pool_factor"),
        ("late:x:y?pool_factor=0.5", "pool_factor"),
        ("late:tests.retrievers.test_late:spell?pool=2", "pool"),
        ("late:no_such_module:f", None),
        ("late:tests.retrievers.test_late:no_such", None),
        ("late:tests.retrievers.test_late:spell?backend=rust", "backend"),
    ],
)
def test_invalid_names_report_the_option(name, option):
    with pytest.raises(UsageError) as caught:
        load_retriever(name)
    assert caught.value.option == option


def write_npz(folder, stem, ids, texts):
    tokens = TokenVectors.of([np.array(text, dtype=np.float32).reshape(-1, 26) for text in texts])
    np.savez(folder / f"{stem}.npz", ids=np.array(ids), offsets=tokens.offsets, vectors=tokens.matrix)


def write_jsonl(folder, stem, ids, texts):
    rows = [{"_id": id_, "vectors": np.array(text).tolist()} for id_, text in zip(ids, texts, strict=True)]
    (folder / f"{stem}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def write_parquet(folder, stem, ids, texts):
    import pyarrow as pa
    import pyarrow.parquet

    vectors = pa.array([np.array(text).tolist() for text in texts], pa.list_(pa.list_(pa.float32())))
    pyarrow.parquet.write_table(pa.table({"id": list(ids), "vectors": vectors}), folder / f"{stem}.parquet")


@pytest.mark.parametrize("write", [write_npz, write_jsonl, write_parquet])
def test_files_give_what_the_function_gives(tmp_path, write):
    write(tmp_path, "documents", CORPUS.ids[::-1], spell(CORPUS.texts[::-1], "document"))
    write(tmp_path, "queries", QUERIES.ids, spell(QUERIES.texts, "query"))
    run = load_retriever(f"late:{tmp_path}").index(CORPUS, INFO).search(QUERIES, 4)
    expected = LateRetriever("late:spell", from_function(spell, name="spell")).index(CORPUS, INFO).search(QUERIES, 4)
    assert (run.rows == expected.rows).all() and (run.scores == expected.scores).all()


def test_files_that_do_not_fit_say_where(tmp_path):
    write_npz(tmp_path, "documents", ["a", "b"], [[LETTERS[0]], [LETTERS[1]]])
    write_jsonl(tmp_path, "queries", QUERIES.ids, spell(QUERIES.texts, "query"))
    with pytest.raises(DataError, match=r"documents\.npz"):
        load_retriever(f"late:{tmp_path}").index(CORPUS, INFO)
    np.savez(tmp_path / "documents.npz", ids=["a", "a"], offsets=[0, 1, 2], vectors=LETTERS[:2])
    with pytest.raises(DataError, match=r"documents\.npz"):
        load_retriever(f"late:{tmp_path}").index(CORPUS, INFO)
    np.savez(tmp_path / "documents.npz", ids=["a", "b"], offsets=[0, 1, 3], vectors=LETTERS[:2])
    with pytest.raises(DataError, match=r"documents\.npz"):
        load_retriever(f"late:{tmp_path}").index(CORPUS, INFO)
    spoilt = [np.array(text) for text in spell(CORPUS.texts, "document")]
    spoilt[0][0] = np.nan
    write_npz(tmp_path, "documents", CORPUS.ids, spoilt)
    with pytest.raises(ModelError):
        load_retriever(f"late:{tmp_path}").index(CORPUS, INFO)


class Counting:
    """An encoder that may be stored and counts what it is asked."""

    name, similarity, storable = "counting", "maxsim", True

    def __init__(self):
        self.settings = {"encoder": "counting", "version": 1}
        self.seen = []

    def encode(self, texts, role, tick=lambda done: None):
        self.seen += [(role, text) for text in texts]
        tick(len(texts))
        return TokenVectors.of([np.array(text).reshape(-1, 26) for text in spell(texts, role)], 26)


def test_a_second_run_encodes_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path))
    first, second = Counting(), Counting()
    done = []
    store = open_blob_store(first)
    vectors, _ = encode_ragged(TokenVectors, first, CORPUS.ids, CORPUS.texts, "document", store=store, tick=done.append)
    assert len(first.seen) == 4 and sum(done) == 5
    again, tally = encode_ragged(
        TokenVectors, second, CORPUS.ids, CORPUS.texts, "document", store=open_blob_store(second)
    )
    assert second.seen == [] and tally.stored == 4
    assert (again.offsets == vectors.offsets).all() and (again.matrix == vectors.matrix).all()
    encode_ragged(TokenVectors, second, CORPUS.ids, CORPUS.texts, "query", store=open_blob_store(second))
    assert len(second.seen) == 4, "a query's vectors are never taken for a document's"


def encoded_now(texts):
    """What a fresh process has to encode of these texts, and what it notes."""
    encoder = Counting()
    found, tally = encode_ragged(TokenVectors, encoder, texts, texts, "document", store=open_blob_store(encoder))
    assert found.matrix.tolist() == Counting().encode(texts, "document").matrix.tolist()
    return [text for _, text in encoder.seen], list(tally.problems)


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[:-3],
        lambda whole: whole[:-3] + b"abc",
        lambda whole: whole[:30] + b"?" + whole[31:],
        lambda whole: whole[:14] + b"\x7f" + whole[15:],  # a count of 2**54
        lambda whole: b"x" + whole[1:],
        lambda whole: b"",
    ],
    ids=["short", "changed encoding", "changed table", "changed count", "other file", "empty"],
)
def test_a_damaged_file_is_reported_once_and_replaced(damage, tmp_path, monkeypatch):
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path))
    assert encoded_now(["dog", "cat"]) == (["dog", "cat"], [])
    (segment,) = Path(tmp_path).rglob("*.vectors")
    assert encoded_now(["eel"]) == (["eel"], [])
    segment.write_bytes(damage(segment.read_bytes()))
    # Other texts beside them, so that nothing is written under the old name by chance.
    again, problems = encoded_now(["dog", "ant", "cat", "eel"])
    assert sorted(again) == ["ant", "cat", "dog"]
    assert len(problems) == 1 and segment.name in problems[0]
    again, problems = encoded_now(["dog", "ant", "cat", "eel"])
    assert again == []
    assert problems == [] or "skipped" in problems[0]  # what is not ours stays where it is


def test_an_open_store_serves_what_was_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path))
    encoded_now(["dog"])
    (segment,) = Path(tmp_path).rglob("*.vectors")
    whole = segment.read_bytes()
    segment.write_bytes(whole[:-1] + b"?")
    store = open_blob_store(Counting())
    assert store is not None
    keys = store.keys(["dog"], "document")
    assert store.get(keys) == [None]
    segment.write_bytes(whole)
    assert store.get(keys) != [None]
    assert len(store.problems) == 1


def test_numbers_that_are_none_name_the_text():
    def broken(texts, role):
        return [[[float("nan") if text == "dog" else 1.0]] for text in texts]

    with pytest.raises(ModelError, match="'dog'"):
        LateRetriever("late:broken", from_function(broken, name="broken")).index(CORPUS, INFO)
    short = from_function(lambda texts, role: [[[1.0]]], name="short")
    with pytest.raises(ModelError):
        LateRetriever("late:short", short).index(CORPUS, INFO)


def test_a_missing_folder_says_so(tmp_path):
    with pytest.raises(MissingPart):
        load_multi_vector_encoder(str(tmp_path / "nothing"))


def test_a_grid_is_several_models():
    names = [str(spec) for spec in variants("[bm25, late:tests.retrievers.test_late:spell?pool_factor=1%2C2]")]
    assert names == [
        "[bm25, late:tests.retrievers.test_late:spell]",
        "[bm25, late:tests.retrievers.test_late:spell?pool_factor=2]",
    ]
    (whole, half) = (load_retriever(spec) for spec in variants("late:tests.retrievers.test_late:spell?pool_factor=1,2"))
    assert whole.index(CORPUS, INFO).notes["variant_of"] is None
    index = half.index(CORPUS, INFO)
    assert index.notes["variant_of"] == whole.name
    index.search(QUERIES, 3)
    assert index.notes["search_seconds"] > 0
    with pytest.raises(UsageError):
        variants("late:x?pool_factor=1,all")


def test_the_snippet_of_the_page_runs(capsys):
    page = Path(__file__).parents[2] / "docs" / "late-interaction.md"
    (snippet,) = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    exec(snippet, {})
    assert capsys.readouterr().out == "[[2. 1.]]\n"


@pytest.mark.parametrize(
    ("name", "content", "declared"),
    [
        ("config_sentence_transformers.json", {"model_type": "MultiVectorEncoder"}, True),
        ("config_sentence_transformers.json", {"model_type": "ColBERT"}, True),
        ("config_sentence_transformers.json", {"model_type": "SentenceTransformer"}, False),
        ("config.json", {"architectures": ["HF_ColBERT"]}, True),
        ("config.json", {"architectures": ["ColPaliForRetrieval"]}, True),
        ("config.json", {"architectures": ["BertModel"]}, False),
        ("modules.json", [{"type": "pylate.models.Dense.Dense"}], True),
        ("modules.json", [{"type": "sentence_transformers.models.Dense"}], False),
    ],
)
def test_which_checkpoints_are_for_late_interaction(tmp_path, name, content, declared):
    (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    assert declares_late_interaction(ModelFolder(str(tmp_path), tmp_path)) is declared

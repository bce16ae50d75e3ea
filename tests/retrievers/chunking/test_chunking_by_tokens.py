"""Passages of so many tokens of a model: transformers, ONNX-free tokenizers, cross-encoders, the default encoder."""

from __future__ import annotations

import numpy as np
import pytest
from torch_models import WORDS

from steelyard.encoders import load_encoder
from steelyard.retrievers import load_retriever
from steelyard.retrievers.chunking.chunking import Chunking, passages_of
from steelyard.types import Corpus, Queries, TaskInfo

DRAW = np.random.default_rng(3)
OWN = (*WORDS, "zymurgy", "quixotic", "xylophone")
CORPUS = Corpus.of([f"d{n}" for n in range(20)], [" ".join(DRAW.choice(OWN, DRAW.integers(1, 200))) for _ in range(20)])
INFO = TaskInfo("made/up", language="en")
QUERIES = Queries(("q",), ("river of salt",))


def test_passages_have_at_most_so_many_tokens(bert, own_home):
    encoder = load_encoder(str(bert))
    passages = passages_of(CORPUS, Chunking(20, 5, "tokens"), encoder)
    lengths = [len(starts) for starts in encoder.token_starts(passages.corpus.bodies)]
    assert max(lengths) <= 20
    for row, body in enumerate(CORPUS.bodies):
        own = passages.spans[passages.offsets[row] : passages.offsets[row + 1]]
        covered = np.zeros(len(body), dtype=bool)
        for first, last in own:
            covered[first:last] = True
        assert not body[:0].join(c for c, done in zip(body, covered, strict=True) if not done).strip()
        assert len(own) == 1 or len(encoder.token_starts([body])[0]) > 20


def test_a_word_longer_than_a_passage_is_divided(bert, own_home):
    encoder = load_encoder(str(bert))
    passages = passages_of(Corpus.of(["a"], ["river abcdefghij"]), Chunking(4, 0, "tokens"), encoder)
    assert passages.corpus.bodies == ("river abc", "defg", "hij")


@pytest.mark.parametrize("family", ["dense", "late"])
def test_all_of_a_document_is_read(family, bert, own_home):
    """The tiny model reads 64 tokens, and the longest documents have more."""
    whole = load_retriever(f"{family}:{bert}").index(CORPUS, INFO)
    index = load_retriever(f"{family}:{bert}?chunk=32&overlap=4").index(CORPUS, INFO)
    assert whole.notes["documents"]["texts_cut"] > 0
    assert index.notes["documents"]["texts_cut"] == 0
    assert index.notes["passages"]["by"] == "tokens"
    assert len(set(index.search(QUERIES, 20).rows[0].tolist())) == 20


def test_tokens_of_the_default_encoder():
    encoder = load_encoder("use-multilingual-v3")
    texts = ["The cat sleeps on the mat.", "東京都に住んでいます", ""]
    starts = encoder.token_starts(texts)
    assert starts[0].tolist() == [0, 4, 8, 8, 15, 18, 22, 22]  # sleep+s, mat+.
    assert starts[1].tolist() == list(range(10))
    assert starts[2].tolist() == []

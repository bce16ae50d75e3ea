"""Late chunking: vectors of passages equal means of the states that transformers computes for the whole document."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import torch
from onnx_export import export
from torch_models import WORDS
from transformers import AutoModel, AutoTokenizer

from steelyard.errors import UsageError
from steelyard.retrievers import load_retriever
from steelyard.retrievers.chunking.chunking import Chunking, passages_of
from steelyard.retrievers.chunking.late_chunking import windows_of
from steelyard.retrievers.chunking.retriever import ChunkedRetriever
from steelyard.types import Corpus, Queries, TaskInfo

DRAW = np.random.default_rng(5)
INFO = TaskInfo("made/up", language="en")
QUERIES = Queries(("a", "b"), ("river of salt", "old king"))


def corpus(longest: int, titles: bool = False) -> Corpus:
    texts = [" ".join(DRAW.choice(WORDS, DRAW.integers(1, longest))) for _ in range(12)]
    return Corpus.of([f"d{n:02}" for n in range(12)], texts, ["The king"] * 12 if titles else None)


def states(bert, text: str) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """The states of the last layer and the place of each token, by transformers alone."""
    tokenizer, model = AutoTokenizer.from_pretrained(bert), AutoModel.from_pretrained(bert).eval()
    read = tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
    places = read.pop("offset_mapping")[0].tolist()
    with torch.no_grad():
        return model(**read).last_hidden_state[0].numpy(), [tuple(place) for place in places]


def vectors_of(retriever, documents: Corpus) -> np.ndarray:
    assert isinstance(retriever, ChunkedRetriever)
    return retriever.index(documents, INFO).inner.matrix


@pytest.mark.parametrize("titles", [False, True])
def test_vectors_are_means_of_the_states_of_the_whole_document(titles, bert, own_home):
    documents = corpus(50, titles)
    retriever = load_retriever(f"dense:{bert}?chunk=8&overlap=2&late_chunking=yes")
    vectors = vectors_of(retriever, documents)
    passages = passages_of(documents, retriever.chunking, retriever.inner.encoder)
    assert (passages.counts > 2).any()
    for row, text in enumerate(documents.texts):
        hidden, places = states(bert, text)
        shift = len(text) - len(documents.bodies[row])
        own = passages.spans[passages.offsets[row] : passages.offsets[row + 1]] + shift
        for number, (first, last) in enumerate(own):
            chosen = [first <= a < last and b > a for a, b in places]
            if number == 0:  # [CLS] and the title
                chosen = [inside or b <= first for inside, (_, b) in zip(chosen, places, strict=True)]
                chosen[-1] = len(own) == 1
            if number == len(own) - 1:  # [SEP]
                chosen[-1] = True
            wanted = hidden[np.array(chosen)].mean(axis=0)
            wanted /= np.linalg.norm(wanted)
            np.testing.assert_allclose(vectors[passages.offsets[row] + number], wanted, atol=2e-5)


@pytest.mark.parametrize("prompt", ["", "&document_prompt=king of the "])
def test_packed_and_padded_models_agree(prompt, bert, own_home):
    """Models in half precision are computed by the library, with padding."""
    documents = corpus(50)
    packed = load_retriever(f"dense:{bert}?chunk=8&late_chunking=yes{prompt}")
    padded = load_retriever(f"dense:{bert}?chunk=8&late_chunking=yes&dtype=bfloat16{prompt}")
    assert packed.inner.encoder._packed is not None
    assert padded.inner.encoder._packed is None
    assert (vectors_of(packed, documents) * vectors_of(padded, documents)).sum(axis=1).min() > 0.98


def test_a_document_of_one_passage_has_its_usual_vector(bert, own_home):
    documents = corpus(40, titles=True)
    whole = load_retriever(f"dense:{bert}").index(documents, INFO)
    late = load_retriever(f"dense:{bert}?chunk=999&late_chunking=yes").index(documents, INFO)
    np.testing.assert_allclose(late.inner.matrix, whole.matrix, atol=2e-5)
    np.testing.assert_array_equal(late.search(QUERIES, 3).rows, whole.search(QUERIES, 3).rows)


def test_long_documents_are_read_in_windows_of_whole_passages(bert, own_home):
    documents = corpus(300)
    name = f"dense:{bert}?chunk=16&late_chunking=yes"
    retriever = load_retriever(name)
    encoder = retriever.inner.encoder
    passages = passages_of(documents, Chunking(16, unit="tokens", late=True), encoder)
    windows = windows_of(documents, passages, encoder)
    assert sum(len(window.spans) for window in windows) == len(passages.corpus)
    assert max(len(starts) for starts in encoder.token_starts([window.text for window in windows])) <= 62
    assert len(windows) > len(documents)
    rows = [window.text[first:last] for window in windows for first, last in window.spans]
    assert [row.strip() for row in rows] == [text.strip() for text in passages.corpus.bodies]
    first, again = retriever.index(documents, INFO), load_retriever(name).index(documents, INFO)
    assert first.notes["documents"]["texts_encoded"] > 0
    assert again.notes["documents"]["texts_encoded"] == 0
    np.testing.assert_array_equal(first.inner.matrix, again.inner.matrix)


def test_the_context_changes_vectors(bert, own_home):
    documents = corpus(50)
    late = vectors_of(load_retriever(f"dense:{bert}?chunk=8&late_chunking=yes"), documents)
    alone = vectors_of(load_retriever(f"dense:{bert}?chunk=8"), documents)
    assert late.shape == alone.shape
    assert np.abs(late - alone).max() > 1e-3


@pytest.mark.parametrize("prompt", ["", "&document_prompt=king of the "])
def test_onnx_runtime_gives_the_vectors_of_torch(prompt, bert, tmp_path, own_home):
    shutil.copytree(bert, tmp_path / "exported", ignore=shutil.ignore_patterns("*.safetensors"))
    export(bert, tmp_path / "exported" / "model.onnx")
    documents = corpus(300, titles=True)
    name = "{}?chunk=8&overlap=2&late_chunking=yes&max_seq_length=64" + prompt
    ours, theirs = (
        vectors_of(load_retriever(f"dense:{name.format(f)}"), documents) for f in (tmp_path / "exported", bert)
    )
    np.testing.assert_allclose(ours, theirs, atol=5e-5)
    with pytest.raises(UsageError) as raised:
        load_retriever(f"dense:{tmp_path / 'exported'}?chunk=8&late_chunking=yes&pooling_mode=lasttoken")
    assert (raised.value.option, raised.value.found) == ("late_chunking", "pooling lasttoken")


REFUSED = (
    *("bm25?chunk=8", "dense?chunk=8", "late:{bert}?chunk=8", "dense:{bert}?chunk=8&pooling_mode=cls"),
    "dense:{bert}?chunk=8&pooling_mode=lasttoken",
)


@pytest.mark.parametrize("name", REFUSED)
def test_models_without_states_are_refused(name, bert, own_home):
    with pytest.raises(UsageError) as raised:
        load_retriever(f"{name.format(bert=bert)}&late_chunking=yes")
    assert raised.value.option == "late_chunking"

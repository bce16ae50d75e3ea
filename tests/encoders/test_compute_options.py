"""Device, dtype, threads and instructions by task: the same options for every family, or an error with the reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cross_encoders
import numpy as np
import pytest
import torch_models
from api_server import serve
from chat_server import serve_chat
from model2vec import StaticModel
from onnx_export import export, export_classifier
from sentence_transformers import SentenceTransformer, SparseEncoder
from sentence_transformers.sparse_encoder.modules import MLMTransformer, SpladePooling
from tokenizers import Tokenizer

from steelyard import load_retriever
from steelyard.encoders.compute_options import COMPUTE, NOT_FOR, Compute
from steelyard.encoders.instructions import TEMPLATE
from steelyard.encoders.load import load_encoder
from steelyard.errors import UsageError
from steelyard.options import Options
from steelyard.retrievers.composite import for_task
from steelyard.retrievers.rerank.load import load_reranker
from steelyard.spec import parse
from steelyard.types import Corpus, Queries, TaskInfo

CORPUS = Corpus.of(["a", "b", "c"], ["the old bridge of the city", "a great king", "salt and iron"])
QUERIES = Queries(("q", "r"), ("where is the red bridge", "what is bread"))
RIVERS, OTHER = TaskInfo("Rivers/en"), TaskInfo("Other/en")
pytestmark = pytest.mark.usefixtures("own_home")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A local model of each family, as a model name."""
    root = tmp_path_factory.mktemp("models")
    bert = torch_models.save_bert(root / "bert")
    SentenceTransformer(str(bert), device="cpu").save(str(root / "dense"))
    masked = torch_models.save_bert(root / "masked", masked=True)
    SparseEncoder(modules=[MLMTransformer(str(masked)), SpladePooling("max")], device="cpu").save_pretrained(
        str(root / "sparse")
    )
    torch_models.save_bert(root / "onnx")
    (root / "onnx" / "model.safetensors").unlink()
    export(bert, root / "onnx" / "model.onnx")
    tokenizer = Tokenizer.from_file(str(bert / "tokenizer.json"))
    table = np.random.default_rng(0).normal(size=(tokenizer.get_vocab_size(), 16)).astype(np.float32)
    StaticModel(table, tokenizer, config={"normalize": True}).save_pretrained(root / "static")
    cross = cross_encoders.build(root / "cross")
    export_classifier(cross, cross_encoders.build(root / "cross-onnx") / "model.onnx")
    return {
        "dense": f"dense:{root / 'dense'}",
        "sparse": f"sparse:{root / 'sparse'}",
        "late": f"late:{root / 'bert'}",
        "onnx": f"dense:{root / 'onnx'}",
        "static": f"dense:{root / 'static'}",
        "rerank": f"rerank:{cross}",
        "rerank onnx": f"rerank:{root / 'cross-onnx'}?backend=onnx&",
    }


def named(folders: dict[str, str], kind: str, options: str) -> str:
    model = folders[kind]
    return model + options if model.endswith("&") else f"{model}?{options}"


def scores(model: str, info: TaskInfo) -> np.ndarray:
    """The scores of all documents for all queries, with the prompts of a task."""
    if model.startswith("rerank:"):
        reranker: Any = load_reranker(parse(model))
        return np.stack(reranker.for_task(info).rerank(QUERIES.texts, [CORPUS.texts] * len(QUERIES)))
    run = for_task(load_retriever(model), info).index(CORPUS, info).search(QUERIES, len(CORPUS))
    board = np.zeros((len(QUERIES), len(CORPUS)))
    lines, places = np.nonzero(run.rows >= 0)
    board[lines, run.rows[lines, places]] = run.scores[lines, places]
    return board


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["dense", "sparse", "late", "onnx", "static", "rerank", "rerank onnx"])
def test_instructions_by_task_are_prompts_of_queries(folders: dict[str, str], kind: str, tmp_path: Path) -> None:
    (tmp_path / "i.json").write_text(json.dumps({"Rivers": "find salt", "default": "where"}), encoding="utf-8")
    given = f"instructions={tmp_path / 'i.json'}"
    for info, instruction in ((RIVERS, "find salt"), (OTHER, "where")):
        prompt = TEMPLATE.replace("{instruction}", instruction)
        expected = scores(named(folders, kind, f"query_prompt={prompt}"), info)
        np.testing.assert_allclose(scores(named(folders, kind, given), info), expected, rtol=1e-4, atol=1e-5)
    own = scores(named(folders, kind, given + "&instruction_template={instruction} king "), RIVERS)
    expected = scores(named(folders, kind, "query_prompt=find salt king "), RIVERS)
    np.testing.assert_allclose(own, expected, rtol=1e-4, atol=1e-5)
    assert not np.allclose(expected, scores(named(folders, kind, ""), RIVERS), rtol=1e-3)


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["dense", "sparse", "late", "onnx", "rerank", "rerank onnx"])
def test_threads_change_no_score(folders: dict[str, str], kind: str) -> None:
    usual = scores(named(folders, kind, "device=cpu"), OTHER)
    np.testing.assert_allclose(scores(named(folders, kind, "threads=1"), OTHER), usual, rtol=1e-4, atol=1e-5)
    with pytest.raises(UsageError) as error:
        scores(named(folders, kind, "threads=0"), OTHER)
    assert (error.value.option, error.value.found) == ("threads", "0")


@pytest.mark.torch
def test_threads_of_an_onnx_model_are_those_of_its_sessions(folders: dict[str, str]) -> None:
    folder = folders["onnx"].removeprefix("dense:")

    def threads(**options: str) -> list[int]:
        encoder: Any = load_encoder(folder, None, options)
        encoder = getattr(encoder, "opened", encoder)
        sessions = [worker._compute.args[0]._session for worker in encoder._pool._workers]
        return [session.get_session_options().intra_op_num_threads for session in sessions]

    assert threads(threads="3") == [3]
    assert threads(threads="4", device="cpu,cpu") == [2, 2]


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["dense", "sparse", "late", "static", "rerank"])
def test_dtype_changes_what_is_computed(folders: dict[str, str], kind: str) -> None:
    whole, half = (scores(named(folders, kind, f"dtype={dtype}"), OTHER) for dtype in ("float32", "float16"))
    assert (whole != half).any()
    np.testing.assert_allclose(half, whole, rtol=0.1, atol=0.1)


@pytest.mark.torch
@pytest.mark.parametrize(
    ("model", "option", "accepted"),
    [
        ("onnx", "dtype=float16", "dtype=float32"),
        ("rerank onnx", "dtype=bfloat16", "dtype=float32"),
        ("static", "device=cuda", "device=cpu"),
        ("static", "threads=2", None),
    ],
)
def test_an_option_that_does_not_apply_is_an_error(
    folders: dict[str, str], model: str, option: str, accepted: str | None
) -> None:
    name, _, value = option.partition("=")
    with pytest.raises(UsageError) as error:
        scores(named(folders, model, option), OTHER)
    assert (error.value.option, error.value.found) == (name, value)
    if accepted:
        assert scores(named(folders, model, accepted), OTHER).shape == (2, 3)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("bm25", ["device=cuda", "dtype=float16", "instructions=find"]),
        ("dense", ["device=cuda", "dtype=float16", "instructions=find"]),
        ("dense:builtins:list", ["device=cpu", "dtype=float16", "threads=1", "instructions=find"]),
        ("rerank:builtins:list", ["device=cpu", "threads=1"]),
        ("rerank:api/x", ["device=cpu", "dtype=float16", "threads=1"]),
        ("rerank:chat/x", ["device=cpu", "threads=1"]),
        ("qdrant:http://127.0.0.1:1", ["device=cpu", "instructions=find"]),
    ],
)
def test_models_that_are_not_loaded_here_name_the_reason(model: str, options: list[str]) -> None:
    for option in options:
        name, _, value = option.partition("=")
        with pytest.raises(UsageError) as error:
            load_retriever(f"{model}?{option}")
        assert (error.value.option, error.value.found) == (name, value)
        assert any(reasons[name].reason in str(error.value) for reasons in NOT_FOR.values() if name in reasons)


def test_threads_of_bm25_and_of_the_default_model_change_nothing() -> None:
    for model in ("bm25", "dense"):
        assert load_retriever(f"{model}?threads=1").name == load_retriever(model).name
        assert (scores(f"{model}?threads=1", OTHER) == scores(model, OTHER)).all()
    assert load_retriever("bm25?threads=1").threads == 1  # type: ignore[attr-defined]


def test_services_get_the_instruction_of_the_task(tmp_path: Path) -> None:
    (tmp_path / "i.toml").write_text('Rivers = "find rivers"\n', encoding="utf-8")
    with serve() as api:
        given = f"url={api.url}&instructions={tmp_path / 'i.toml'}"
        dense = for_task(load_retriever(f"dense:api/x?{given}"), RIVERS)
        dense.index(CORPUS, RIVERS).search(QUERIES, 3)
        sent = [text for request in api.requests for text in request["input"]]
        prompt = "Instruct: find rivers\nQuery: "
        assert {prompt + text for text in QUERIES.texts} <= set(sent) and set(CORPUS.texts) <= set(sent)
        assert dense.settings["prompts"]["query"] == prompt
        assert for_task(load_retriever(f"dense:api/x?{given}"), OTHER).settings["prompts"]["query"] is None
        reranker: Any = load_reranker(parse(f"rerank:api/x?{given}&shape=tei")).for_task(RIVERS)  # type: ignore[attr-defined]
        assert reranker.settings["prompts"]["query"] == prompt
    with serve_chat(lambda text: "[1] > [2] > [3]") as chat:
        judge: Any = load_reranker(parse(f"rerank:chat/x?url={chat.url}&instructions={tmp_path / 'i.toml'}"))
        judge.for_task(RIVERS).rerank(QUERIES.texts[:1], [CORPUS.texts])
        judge.for_task(OTHER).rerank(QUERIES.texts[:1], [CORPUS.texts])
        first, second = (request["messages"][-1]["content"] for request in chat.requests)
        assert first.startswith("find rivers") and not second.startswith("find rivers")


def test_the_device_of_the_run_is_the_default() -> None:
    assert Compute.of(Options("x", {}, COMPUTE), "cpu").devices == ["cpu"]
    assert Compute.of(Options("x", {"device": "cpu,cpu"}, COMPUTE), "auto").devices == ["cpu", "cpu"]

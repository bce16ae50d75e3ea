"""`steelyard list models` and `steelyard show model`, as typed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from encoder_parts import Letters

from steelyard.cli import main
from steelyard.encoders.cache.blob_store import BlobStore
from steelyard.encoders.cache.cached_encoder import encode_once
from steelyard.encoders.cache.inventory import inventory
from steelyard.encoders.cache.vector_store import VectorStore
from steelyard.errors import SteelyardError, UnknownName, UsageError
from steelyard.models import cards
from steelyard.models.availability import MODULES
from steelyard.results import Result, ResultStore
from steelyard.retrievers import RETRIEVERS


@pytest.fixture
def data(capsys: pytest.CaptureFixture[str]) -> Any:
    def run(*words: str) -> Any:
        assert main([*words, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run


@pytest.fixture(autouse=True)
def own_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("STEELYARD_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MODELSCOPE_CACHE", str(tmp_path / "modelscope"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path


def put_in_the_hub_cache(folder: Path, id: str) -> None:
    snapshot = folder / "hub" / f"models--{id.replace('/', '--')}" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (snapshot / "model.safetensors").write_bytes(b"x" * 2_000_000)


def test_the_list_has_every_card_and_every_family(data: Any) -> None:
    rows = data("list", "models")
    assert {known.name for known in cards().values()} <= {row["model"] for row in rows}
    assert {*RETRIEVERS, "fusion"} == {row["family"] for row in rows}
    defaults = [row["model"] for row in rows if row["default"]]
    assert defaults == ["bm25", "dense:use-multilingual-v3", "[bm25, dense:use-multilingual-v3]"]
    e5 = next(row for row in rows if row["model"] == "dense:intfloat/multilingual-e5-small")
    assert (e5["dimension"], e5["parameters"], e5["licence"], e5["needs"]) == (384, 118_000_000, "mit", "torch")
    assert e5["prompts"] == {"query": "query: ", "document": "passage: "}


def test_the_list_by_family_and_language(data: Any) -> None:
    rows = data("list", "models", "--family", "dense", "-l", "zho")
    names = {row["model"] for row in rows}
    assert {"dense:BAAI/bge-small-zh-v1.5", "dense:BAAI/bge-m3", "dense:use-multilingual-v3"} <= names
    assert "dense:BAAI/bge-small-en-v1.5" not in names and "bm25" not in names
    both = {row["model"] for row in data("list", "models", "-l", "zh,ja")}
    assert "dense:BAAI/bge-m3" in both and "dense:BAAI/bge-small-zh-v1.5" not in both
    assert {row["family"] for row in data("list", "models", "--family", "rerank")} == {"rerank"}


def test_the_list_of_what_is_installed(data: Any, own_folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODULES, "torch", ("numpy",))
    names = {row["model"] for row in data("list", "models", "--installed")}
    assert {"bm25", "dense:use-multilingual-v3"} <= names
    assert "dense:intfloat/e5-small-v2" not in names and "dense:api/text-embedding-3-small" not in names
    put_in_the_hub_cache(own_folders, "intfloat/e5-small-v2")
    assert "dense:intfloat/e5-small-v2" in {row["model"] for row in data("list", "models", "--installed")}


def test_the_list_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "models", "--family", "dense"]) == 0
    said = capsys.readouterr()
    row = next(line for line in said.out.splitlines() if "multilingual-e5-small" in line)
    assert row.split()[1:4] == ["384", "118M", "93"]
    assert "service" in next(line for line in said.out.splitlines() if "text-embedding-3-small" in line)


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (("list", "models", "--type", "sts"), "--type"),
        (("list", "tasks", "--family", "dense"), "--family"),
        (("list", "tasks", "--installed"), "--installed"),
    ],
)
def test_an_option_of_another_list_is_refused(
    words: tuple[str, ...], option: str, error_of: Callable[..., SteelyardError]
) -> None:
    error = error_of(*words)
    assert isinstance(error, UsageError) and error.option == option


@pytest.mark.parametrize(
    ("words", "name", "near"),
    [
        (("list", "models", "--family", "dens"), "dens", "dense"),
        (("show", "model", "BAAI/bge-m33"), "BAAI/bge-m33", "BAAI/bge-m3"),
        (("show", "BAAI/bge-m33"), "BAAI/bge-m33", "BAAI/bge-m3"),
        (("show", "model", "dens:BAAI/bge-m3"), "dens:BAAI/bge-m3", None),
        (("show", "model", "bm25 > dens:x"), None, None),
    ],
)
def test_an_unknown_model_has_near_ones(
    words: tuple[str, ...], name: str | None, near: str | None, error_of: Callable[..., SteelyardError]
) -> None:
    error = error_of(*words)
    assert isinstance(error, UnknownName) and name in (None, error.name)
    assert near is None or near in error.near


def test_show_takes_one_name(error_of: Callable[..., SteelyardError]) -> None:
    error = error_of("show", "bm25", "dense")
    assert isinstance(error, UsageError) and error.found == "dense"


@pytest.mark.parametrize("name", ["BAAI/bge-m3", "baai/BGE-M3", "dense:BAAI/bge-m3"])
def test_a_model_is_found_by_its_id_and_by_its_name(data: Any, name: str) -> None:
    told = data("show", "model", name)
    assert (told["model"], told["dimension"], told["card"]) == ("dense:BAAI/bge-m3", 1024, True)
    assert told["settings"] is None, "showing a model fetches nothing"
    assert data("show", name) == told


def test_a_model_with_options_and_one_without_a_card(data: Any) -> None:
    assert data("show", "model", "dense:BAAI/bge-m3@main?truncate_dim=256")["dimension"] == 1024
    told = data("show", "model", "dense:nobody/nothing")
    assert told["card"] is False and told["machine"]["needs"] == "torch" and told["machine"]["files"] is None


def test_what_is_on_this_machine(data: Any, own_folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODULES, "torch", ("numpy", "no_such_module_here"))
    machine = data("show", "model", "intfloat/e5-small-v2")["machine"]
    assert (machine["installed"], machine["files"], machine["stored"]) == (False, None, [])
    assert machine["lacks"] == ["no_such_module_here"]
    assert machine["remedy"] == "pip install 'steelyard[torch]'"
    put_in_the_hub_cache(own_folders, "intfloat/e5-small-v2")
    encoder = Letters()
    encoder.name = "intfloat/e5-small-v2"
    encode_once(encoder, ["a", "b"], "document", store=VectorStore(encoder))
    monkeypatch.setitem(MODULES, "torch", ("numpy",))
    machine = data("show", "model", "intfloat/e5-small-v2")["machine"]
    assert (machine["installed"], machine["files"]["bytes"], machine["files"]["hub"]) == (
        True,
        2_000_000,
        "huggingface",
    )
    assert [kept["encodings"] for kept in machine["stored"]] == [2]


@pytest.mark.parametrize(
    ("files", "needs"),
    [
        ({"model.safetensors": "x", "config.json": "{}"}, "torch"),
        ({"onnx/model.onnx": "x", "tokenizer.json": "{}"}, "onnx"),
        ({"model.safetensors": "x", "config.json": '{"model_type": "model2vec"}'}, "static"),
        ({"documents.npy": "x", "queries.npy": "x"}, None),
    ],
)
def test_what_a_folder_needs(data: Any, tmp_path: Path, files: dict[str, str], needs: str | None) -> None:
    folder = tmp_path / "my-model"
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    machine = data("show", "model", f"dense:{folder}")["machine"]
    assert machine["needs"] == needs
    assert machine["files"]["path"] == str(folder)


def test_what_was_weighed_with_it(data: Any, own_folders: Path) -> None:
    store = ResultStore(own_folders / "results")
    for model in ("bm25", "bm25?k1=0.9", "dense:use-multilingual-v3", "[bm25, dense:use-multilingual-v3]"):
        store.put(Result("NanoX/en", model, {"top_k": 10, "model": model}, f"k-{model}", status="failed"))
    assert data("show", "model", "bm25")["results"] == []
    assert len(data("run", "bm25?k1=0.9", "bm25", "-t", "NanoAlmanac/en", "--limit", "3")) == 2
    found = data("show", "model", "bm25")["results"]
    assert [row["model"] for row in found] == ["bm25", "bm25?k1=0.9"]
    assert all(0 <= row["score"] <= 1 and row["task"] == "NanoAlmanac/en" for row in found)
    assert data("show", "model", "dense")["results"] == []


def test_a_pipeline_tells_of_its_parts(data: Any, capsys: pytest.CaptureFixture[str]) -> None:
    name = "[bm25, dense] > rerank:BAAI/bge-reranker-v2-m3"
    told = data("show", "model", name)
    assert (told["family"], told["settings"]) == ("pipeline", None)
    assert [part["model"] for part in told["machine"]["parts"]] == [
        "[bm25, dense:use-multilingual-v3]",
        "rerank:BAAI/bge-reranker-v2-m3",
    ]
    assert main(["show", name]) == 0
    said = capsys.readouterr()
    assert "rerank:BAAI/bge-reranker-v2-m3:" in said.out and "--load" in said.err
    assert data("show", "[bm25, dense]")["settings"]["fusion"]["method"] == "adaptive"


def test_shown_to_people_in_full_and_in_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "model", "nomic-ai/nomic-embed-text-v1.5"]) == 0
    said = capsys.readouterr().out
    assert "can be truncated to   768, 512, 256, 128, 64" in said
    assert "query 'search_query: '; document 'search_document: '" in said
    assert "trust_remote_code=true" in said and "mteb 2.26.24" in said
    assert main(["show", "model", "BAAI/bge-m3", "-q"]) == 0
    quiet = capsys.readouterr()
    assert "dense:BAAI/bge-m3" in quiet.out and quiet.err == "", "what was asked for, and nothing beside it"


def test_the_inventory_counts_both_kinds_of_store(own_folders: Path) -> None:
    home = own_folders / "home"
    assert inventory(home) == []
    encoder = Letters()
    store = VectorStore(encoder)
    encode_once(encoder, ["a", "b"], "document", store=store)
    encode_once(encoder, ["c"], "query", store=store)
    blobs = BlobStore("tokens/small", {"x": 1})
    blobs.put(blobs.keys(["a", "b", "c", "d"], "document"), [b"1", b"", b"333", b"4"])
    (blobs.folder / "stranger.vectors").write_bytes(b"?")
    (home / "vectors" / "bare").mkdir()
    told = {kept.encoder: (kept.files, kept.encodings) for kept in inventory(home)}
    assert told == {"letters/small": (2, 3), "tokens/small": (2, 4), "": (0, 0)}
    assert inventory(home)[1].settings == {"encoder": "letters/small", "symmetric": False}


def test_the_cache_lists_encodings(data: Any, capsys: pytest.CaptureFixture[str]) -> None:
    encoder = Letters()
    encode_once(encoder, ["a", "b"], "document", store=VectorStore(encoder))
    (row,) = data("cache", "ls")["stored"]
    assert (row["encoder"], row["encodings"]) == ("letters/small", 2)
    assert main(["cache"]) == 0
    assert "encodings" in capsys.readouterr().out


def test_whatever_is_listed_can_be_shown(data: Any) -> None:
    names = [row["model"] for row in data("list", "models")]
    assert len(names) > 120 and any(name.startswith("rerank:") for name in names)
    for name in names:
        told = data("show", name)
        assert name.startswith("[") or told["family"] == name.partition(":")[0]


def test_a_reranker_is_loaded_and_weighed_without_a_first_stage(data: Any, own_folders: Path) -> None:
    name = "rerank:tests.cli.test_show_model:by_length?version=1"
    store = ResultStore(own_folders / "results")
    store.put(Result("NanoX/en", f"bm25 > {name}&depth=10", {}, "k1", metrics={"ndcg_at_10": 0.5}))
    store.put(Result("NanoX/en", "bm25", {}, "k2", metrics={"ndcg_at_10": 0.4}))
    told = data("show", "model", name, "--load")
    assert told["settings"]["version"] == "1" and told["settings"]["reranker"] == name
    assert [row["key"] for row in told["results"]] == ["k1"]


def by_length(query: str, texts: list[str]) -> list[float]:
    return [float(len(text)) for text in texts]


def test_a_reranker_alone_learns_what_it_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "rerank:tests.cli.test_show_model:by_length", "-t", "NanoAlmanac/en"]) == 2
    said = capsys.readouterr().err
    assert "candidates" in said
    assert "'bm25 > rerank:tests.cli.test_show_model:by_length'" in said and "--candidates NAME" in said


def test_lists_that_a_task_lacks_are_named_as_lacking(capsys: pytest.CaptureFixture[str]) -> None:
    words = (
        "run",
        "rerank:tests.cli.test_show_model:by_length",
        "--candidates",
        "hybrid",
        "-t",
        "NanoAlmanac/en",
        "--no-report",
    )
    assert main([*words]) == 2
    said = capsys.readouterr().err
    assert "NanoAlmanac/en has no candidate lists" in said
    assert "steelyard build candidates" in said and "'bm25 > rerank:ID'" in said


def write_folder(folder: Path) -> Path:
    """What sentence-transformers saves, but for the numbers; a projection makes 24 dimensions of 32."""
    modules = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Dense", "2_Dense"), ("Normalize", "3_Normalize")]
    files: dict[str, Any] = {
        "modules.json": [{"type": f"sentence_transformers.models.{kind}", "path": path} for kind, path in modules],
        "config.json": {"hidden_size": 32, "max_position_embeddings": 64},
        "1_Pooling/config.json": {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True},
        "2_Dense/config.json": {"in_features": 32, "out_features": 24},
        "config_sentence_transformers.json": {
            "prompts": {"query": "ask: ", "document": ""},
            "similarity_fn_name": "dot",
        },
    }
    for name, value in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(value), encoding="utf-8")
    header = json.dumps({"__metadata__": {"format": "pt"}, "a": {"shape": [10, 32]}, "b": {"shape": [7]}}).encode()
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    head = (
        "---\nlanguage:\n- pt\n- 'en'\nlicense: mit\ntags: [a, b]\nmodel-index:\n- name: x\n  license: no\n---\n# It\n"
    )
    loss = '```json\n{"loss": "MultipleNegativesRankingLoss", "matryoshka_dims": [\n  24,\n  12,\n  6\n]}\n```\n'
    (folder / "README.md").write_text(head + loss, encoding="utf-8")
    return folder


def test_a_folder_without_a_card_is_shown_by_its_files(data: Any, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "mine")
    told = data("show", "model", f"dense:{folder}")
    expected = {
        "dimension": 24,
        "matryoshka": [24, 12, 6],
        "parameters": 327,
        "max_length": 64,
        "languages": ["pt", "en"],
        "licence": "mit",
        "similarity": "dot",
        "prompts": {"query": "ask: "},
    }
    assert {name: told[name] for name in expected} == expected
    assert not told["card"] and told["source"] == "its own files" and told["machine"]["installed"]


def test_files_that_say_nothing_are_no_trouble(data: Any, tmp_path: Path) -> None:
    (tmp_path / "odd").mkdir()
    for text in ("", "---", "no head\n", "---\nlicense:\n  name: x\n"):
        (tmp_path / "odd" / "README.md").write_text(text, encoding="utf-8")
        assert "licence" not in data("show", "model", f"dense:{tmp_path / 'odd'}")


def test_a_function_needs_no_package(data: Any) -> None:
    here = data("show", "model", "rerank:tests.cli.test_show_model:by_length")["machine"]
    assert (here["needs"], here["function"], here["installed"]) == (None, True, True)
    away = data("show", "model", "rerank:no_such.module:by_length")["machine"]
    assert (away["needs"], away["function"], away["installed"]) == (None, True, False)

"""Where models come from and where they compute: as their name says, else as `run --device` does, else the best."""

from __future__ import annotations

import json

import pytest
import torch
from torch_models import save_bert

from steelyard.cli import main
from steelyard.encoders.backends.transformers.loading import LoadOptions
from steelyard.encoders.compute_options import Compute
from steelyard.encoders.devices.choice import choose_devices
from steelyard.encoders.model_folder import ModelFolder
from steelyard.encoders.model_metadata import ModelConfig
from steelyard.errors import HubError, UsageError
from steelyard.options import Options
from steelyard.retrievers import load_retriever
from steelyard.retrievers.model_variants import with_shared_options
from steelyard.retrievers.rerank.load import load_reranker
from steelyard.spec import parse

BEST = f"cuda:{torch.cuda.device_count()}"
"""One more than there are."""


@pytest.fixture(autouse=True)
def own_folders(monkeypatch, tmp_path):
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("STEELYARD_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("STEELYARD_DEVICE", "")


def test_the_name_counts_before_the_run_and_the_run_before_the_machine():
    assert choose_devices(None, "cpu,cpu,cpu") == ["cpu", "cpu", "cpu"]
    assert choose_devices("cpu", "cpu,cpu,cpu") == ["cpu"]
    several = LoadOptions(Compute(device="cpu,cpu,cpu"))
    assert several.devices == ["cpu", "cpu", "cpu"]
    assert several.arguments["device"] == LoadOptions(Compute(device="cpu")).arguments["device"] == "cpu"


def test_a_device_that_is_not_there_is_told_before_anything_is_computed():
    for devices, found in (
        (f"cpu,{BEST}", BEST),
        ("cpu,auto", "cpu,auto"),
        ("gpu", "gpu"),
        ("cpu,gpu:1", "gpu:1"),
        ("cuda:one", "cuda:one"),
    ):
        with pytest.raises(UsageError) as error:
            choose_devices(devices)
        assert (error.value.option, error.value.found) == ("device", found)


def test_the_flag_reaches_every_model_and_stays_out_of_its_name(tmp_path, capsys):
    folder = save_bert(tmp_path / "bert")
    line = ["run", f"late:{folder}", f"dense:{folder}", "-t", "NanoAlmanac/en", "--limit", "2", "--no-report", "--json"]
    assert main([*line, "--device", BEST]) == 2
    assert capsys.readouterr().err.count(f"steelyard: the device {BEST}") == 1  # one reason for all models
    assert main([*line, "--device", "cpu"]) == 0
    names = [result["steelyard"]["model"] for result in json.loads(capsys.readouterr().out)]
    assert names == [f"late:{folder.name}", f"dense:{folder.name}"]
    assert main([*line[:1], f"late:{folder}?device=cpu", f"dense:{folder}?device=cpu", *line[3:]]) == 0
    out, err = capsys.readouterr()
    assert [result["steelyard"]["model"] for result in json.loads(out)] == names
    assert "2 of 2 already stored" in err


def test_flags_are_options_of_every_model_that_does_not_say_otherwise(tmp_path, capsys):
    folder = save_bert(tmp_path / "bert")
    said = f"dense:{folder}?dtype=float32&query_prompt=who "
    line = ["run", "bm25", f"late:{folder}", said, "-t", "NanoAlmanac/en", "--limit", "2", "--no-report", "--json"]
    flags = ["--dtype", "bfloat16", "--batch-size", "3", "--query-prompt", "what ", "--document-prompt", ""]
    assert main([*line, *flags]) == 0
    results = [result["steelyard"] for result in json.loads(capsys.readouterr().out)]
    late = f"late:{folder.name}?document_prompt=&dtype="
    assert results[0]["model"] == "bm25" and results[1]["model"].startswith(late)
    assert "batch_size" not in str(results), "a batch of another size gives the same result"
    flags[3] = "1"
    assert main([*line, *flags]) == 0
    out, err = capsys.readouterr()
    assert "3 of 3 already stored" in err and [result["steelyard"]["key"] for result in json.loads(out)] == [
        result["key"] for result in results
    ]
    late, dense = (result["settings"]["model_settings"] for result in results[1:])
    assert (late["dtype"], late["prompts"]) == ("bfloat16", {"query": "what ", "document": ""})
    assert (dense["dtype"], dense["prompts"]) == ("float32", {"query": "who ", "document": ""})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bm25", "dense", "--dtype", "float16"], "dtype must be used with a model"),
        (["dense:a/b", "late:a/c", "--revision", "v1"], "the revision v1 must be used with one model, got 2"),
        (["dense:.", "--batch-size", "none"], "batch_size of dense:. must be a whole number of at least 1, got 'none'"),
        (["dense:.", "--dtype", "float8"], "unknown dtype of dense:. 'float8'"),
    ],
)
def test_a_flag_that_no_model_can_take_is_told(words, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(save_bert(tmp_path / "bert"))
    assert main(["run", *words, "-t", "NanoAlmanac/en", "--no-report"]) == 2
    assert message in capsys.readouterr().err


def test_a_revision_is_that_of_the_one_model_that_has_some():
    models = with_shared_options(["bm25", "[bm25, dense:a/b] > rerank:c/d@v2", "dense:a/b?dtype=float16"], {}, None)
    with pytest.raises(UsageError, match="revision v1"):
        with_shared_options(models, {}, "v1")
    assert [str(one) for one in with_shared_options([models[0], models[2]], {}, "v1")][
        1
    ] == "dense:a/b@v1?dtype=float16"


def test_a_word_that_is_no_choice_is_answered_with_those_that_are():
    options = Options("dense:X", {"pooling_mode": "rms"}, ("pooling_mode",))
    with pytest.raises(UsageError) as error:
        options.choice("pooling_mode", ("", "cls", "lasttoken"))
    assert "cls, lasttoken" in error.value.hint


def test_texts_that_are_cut_are_told(tmp_path, capsys):
    folder = save_bert(tmp_path / "bert")
    line = ["run", f"dense:{folder}?device=cpu&max_seq_length=8", "-t", "NanoAlmanac/en", "--limit", "2", "--no-report"]
    assert main(line) == 0
    said = capsys.readouterr().err
    assert f"dense:{folder.name}?max_seq_length=8" in said
    assert "32 of 32 documents and 2 of 2 queries" in said


@pytest.mark.parametrize("family", ["late", "sparse", "dense", "rerank"])
def test_every_family_takes_models_of_either_hub(family, monkeypatch, tmp_path):
    monkeypatch.setenv("STEELYARD_OFFLINE", "1")
    monkeypatch.setenv("MODELSCOPE_CACHE", str(tmp_path))
    load = (lambda name: load_reranker(parse(name))) if family == "rerank" else load_retriever
    with pytest.raises(HubError, match="someone/thing"):
        load(f"{family}:someone/thing?hub=modelscope")
    with pytest.raises(UsageError, match=f"unknown hub of {family}:someone/thing 'nowhere'"):
        load(f"{family}:someone/thing?hub=nowhere")


def test_the_length_that_a_model_reads_is_found_beside_its_onnx_file(tmp_path):
    for name, value in {
        "onnx/config": {"max_position_embeddings": 512},
        "words/tokenizer_config": {"model_max_length": 9},
    }.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")
    folder = ModelFolder("mine", tmp_path)
    assert ModelConfig(folder).limit == 512
    assert ModelConfig(folder, "words").limit == 9
    (tmp_path / "config.json").write_text('{"max_position_embeddings": 64}', encoding="utf-8")
    assert ModelConfig(folder).limit == 64

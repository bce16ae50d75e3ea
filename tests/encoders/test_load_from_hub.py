"""Models by their names in a hub, through the real client, from a small hub on loopback."""

from __future__ import annotations

from pathlib import Path

import pytest
from hub_server import COMMIT, Repository, serve
from loopback import told_by
from onnx_export import export
from torch_models import save_bert

LOAD = """
import json, sys
from steelyard.encoders import load_encoder
from steelyard.errors import SteelyardError
for id_, revision, options in json.loads(sys.argv[1]):
    try:
        encoder = load_encoder(id_, revision, options)
        vector = encoder.encode(["the old bridge"], "document")[0].astype(float).round(4).tolist()
        kind = type(getattr(encoder, "opened", encoder)).__name__
        found = {"kind": kind, "settings": dict(encoder.settings), "vector": vector}
    except SteelyardError as error:
        found = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(found))
"""


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model for torch and, beside it, for ONNX."""
    folder = save_bert(tmp_path_factory.mktemp("tiny"))
    export(folder, folder / "onnx" / "model.onnx")
    return folder


def loaded(home: Path, *models: object, **environment: str) -> list[dict[str, object]]:
    return told_by(LOAD, home, models, **environment)


def test_models_are_fetched_once_at_a_commit_and_only_as_far_as_needed(tiny: Path, tmp_path: Path) -> None:
    copies = {"onnx/model_fp16.onnx": b"?", "flax_model.msgpack": b"?", "README.md": b"?"}
    whole = {**files_of(tiny), **copies}
    onnx_alone = {name: content for name, content in whole.items() if not name.endswith(".safetensors")}
    models = [
        ["some/model", None, {}],
        ["some/onnx", None, {}],
        ["some/model", COMMIT, {"backend": "onnx"}],
        ["some/model", "v9", {}],
        ["some/nothing", None, {}],
    ]
    with serve({"some/model": Repository(whole), "some/onnx": Repository(onnx_alone)}) as hub:
        torch_model, *others = loaded(tmp_path, *models, HF_ENDPOINT=hub.url)
        assert hub.count("GET", "model.safetensors") == 1
        assert hub.count("GET", "onnx/model.onnx") == 2
        assert not any(hub.count("GET", name) for name in copies)
    assert torch_model["kind"] == "DenseTransformer"
    assert torch_model["settings"]["encoder"] == "some/model"
    assert [found.get("kind") for found in others] == ["DenseOnnx", "DenseOnnx", None, None]
    assert [found["settings"]["revision"] for found in (torch_model, *others[:2])] == [COMMIT] * 3
    assert others[0]["vector"] == others[1]["vector"] == pytest.approx(torch_model["vector"], abs=2e-4)
    assert "HubError" in others[2]["error"]
    assert "v9" in others[2]["error"]
    assert "some/nothing" in others[3]["error"]
    offline = loaded(tmp_path, models[2], ["some/other", None, {}], STEELYARD_OFFLINE="1", HF_HUB_OFFLINE="1")
    assert offline[0] == others[1]
    assert "not on this machine" in offline[1]["error"]

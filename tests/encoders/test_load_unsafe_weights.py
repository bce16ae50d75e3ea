"""Weights that are pickled code: no loader of models runs it."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_parts import small_task
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling

from steelyard import evaluate
from steelyard.encoders import load_encoder
from steelyard.errors import SteelyardError

pytestmark = pytest.mark.usefixtures("own_home")


class Bomb:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """The file that the code would create; it does so where pickles are loaded."""
    path = tmp_path / "ran"
    pickle.loads(pickle.dumps(Bomb(path)))
    assert path.exists()
    path.unlink()
    return path


def replace_weights(folder: Path, trace: Path) -> None:
    """Replace all weights of a folder by the pickle."""
    for weights in [*folder.rglob("*.safetensors")]:
        weights.with_name("pytorch_model.bin").write_bytes(pickle.dumps({"weight": Bomb(trace)}, protocol=2))
        weights.unlink()


@pytest.mark.parametrize("name", ["dense:{}", "late:{}", "sparse:{}", "rerank:{}"])
def test_pickled_weights_are_an_error(name: str, bert: Path, trace: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(bert, folder)
    replace_weights(folder, trace)
    (result,) = evaluate(name.format(folder), small_task(), warn=False)
    assert result.error is not None and result.error.type == "ModelError"
    assert not trace.exists()


def test_a_pickled_module_is_an_error(bert: Path, trace: Path, tmp_path: Path) -> None:
    modules = [Transformer(str(bert)), Pooling(32, "mean"), Dense(32, 8)]
    folder = tmp_path / "model"
    SentenceTransformer(modules=modules, device="cpu").save_pretrained(str(folder))
    assert load_encoder(str(folder)).encode(["tower"], "query").shape == (1, 8)
    (dense,) = (
        module["path"] for module in json.loads((folder / "modules.json").read_text()) if "Dense" in module["type"]
    )
    replace_weights(folder / dense, trace)
    with pytest.raises(SteelyardError):
        load_encoder(str(folder)).encode(["tower"], "query")
    assert not trace.exists()


def test_pickled_arrays_are_an_error(trace: Path, tmp_path: Path) -> None:
    folder = tmp_path / "vectors"
    folder.mkdir()
    np.save(folder / "documents.npy", np.array([Bomb(trace)], dtype=object), allow_pickle=True)
    (folder / "documents.ids").write_text("a\n")
    with pytest.raises(SteelyardError):
        load_encoder(str(folder)).encode(["a"], "document")
    assert not trace.exists()

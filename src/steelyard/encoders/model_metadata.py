"""What the files of a model declare about it, in the fields of a model card; nothing is loaded."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from steelyard.encoders.model_folder import ModelFolder
from steelyard.encoders.pooling import POOLING_MODES
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


SUPPORTED_MODULES = {"Transformer", "Pooling", "Normalize"}
"""Modules that are computed here around an ONNX file of the transformer."""
ROBERTA_OFFSET = 2
"""Positions that RoBERTa models do not use."""


class ModelConfig:
    """Pooling, normalisation, prompts, similarity and maximum length of a model.

    Files are read from the top of the folder, then from the folder of the tokenizer, which is `onnx` by default.
    """

    def __init__(self, folder: ModelFolder, tokenizer_folder: str | None = None) -> None:
        self._folder = folder
        self._tokenizer_folder = tokenizer_folder or "onnx"
        declared = self._object("config_sentence_transformers.json")
        prompts = declared.get("prompts")
        self.prompts: dict[str, str | None] = prompts if isinstance(prompts, dict) else {}
        self.default_prompt: str | None = declared.get("default_prompt_name")
        self.similarity: str = declared.get("similarity_fn_name") or "cosine"
        kinds = {str(module.get("type")).rpartition(".")[2]: module for module in self._list("modules.json")}
        self.normalises = "Normalize" in kinds
        self.unknown_modules = ", ".join(kind for kind in kinds if kind not in SUPPORTED_MODULES)
        self.pooling = self._pooling(kinds.get("Pooling", {}).get("path", "1_Pooling"))

    def _object(self, name: str) -> dict[str, Any]:
        return self._folder.json_object(name) or self._folder.json_object(f"{self._tokenizer_folder}/{name}")

    def _list(self, name: str) -> list[dict[str, Any]]:
        return self._folder.json_list(name) or self._folder.json_list(f"{self._tokenizer_folder}/{name}")

    def _pooling(self, path: str) -> str:
        """Return the mode of the Pooling module; `mean`, the library's default, where none is declared."""
        config = self._object(f"{path}/config.json")
        declared = config.get("pooling_mode", [mode for mode in POOLING_MODES if config.get(_old_name(mode))] or "mean")
        modes = [declared] if isinstance(declared, str) else list(declared)
        if len(modes) != 1 or modes[0] not in POOLING_MODES:
            raise UsageError.invalid(
                f"the pooling of {self._folder.id}",
                expected=f"one of {', '.join(POOLING_MODES)}",
                found=", ".join(map(str, modes)),
                option="pooling_mode",
                hint=f"add pooling_mode={POOLING_MODES[0]} to the model's options",
            )
        return str(modes[0])

    @cached_property
    def limit(self) -> int | None:
        """The most tokens that a text may have: declared by the model, else what tokenizer and network allow."""
        declared = self._object("sentence_bert_config.json").get("max_seq_length")
        if isinstance(declared, int):
            return declared
        positions = max_positions(self._object("config.json"))
        tokenizer = self._object("tokenizer_config.json").get("model_max_length")
        numbers = [number for number in (positions, tokenizer) if isinstance(number, int | float)]
        limits = [int(number) for number in numbers if number and number < 1e9]
        truncation = self._object("tokenizer.json").get("truncation") or {}
        return min(limits) if limits else truncation.get("max_length")


def max_positions(config: Mapping[str, Any]) -> int | None:
    """Return the positions of a network by its `config.json`: the most tokens that it reads; None if not declared.

    >>> max_positions({"max_position_embeddings": 514, "model_type": "xlm-roberta"})
    512
    """
    positions = config.get("max_position_embeddings")
    if not isinstance(positions, int):
        return None
    return positions - ROBERTA_OFFSET if "roberta" in str(config.get("model_type")) else positions


def _old_name(mode: str) -> str:
    """Return the name of a mode in files written before sentence-transformers 6."""
    tokens = {"cls": "cls_token", "max": "max_tokens", "mean": "mean_tokens", "weightedmean": "weightedmean_tokens"}
    return f"pooling_mode_{tokens.get(mode, mode)}"

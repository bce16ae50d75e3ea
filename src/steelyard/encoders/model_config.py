"""What the JSON files of a sentence-transformers model declare: pooling, prompts, similarity, length."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from steelyard.encoders.model_folder import ModelFolder
from steelyard.encoders.pooling import POOLING_MODES
from steelyard.errors import UsageError

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

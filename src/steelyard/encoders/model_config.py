"""What the JSON files beside an ONNX file say of the model, in the words of sentence-transformers."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from steelyard.encoders.model_folder import ModelFolder
from steelyard.encoders.pooling import POOLING_MODES
from steelyard.errors import UsageError

KNOWN = {"Transformer", "Pooling", "Normalize"}
"""Modules that are computed here, around an ONNX file of the transformer."""
BEFORE = 2
"""Positions that models with the rules of RoBERTa leave out."""


class Declared:
    """Pooling, normalising, prompts, similarity and length of a model.

    Files lie at the top of the folder, or where the tokenizer does: `beside`, else beside an ONNX file in `onnx/`.
    """

    def __init__(self, folder: ModelFolder, beside: str | None = None) -> None:
        self._folder = folder
        self._beside = beside or "onnx"
        declared = self._json("config_sentence_transformers.json") or {}
        self.prompts: dict[str, str | None] = declared.get("prompts") or {}
        self.default_prompt: str | None = declared.get("default_prompt_name")
        self.similarity: str = declared.get("similarity_fn_name") or "cosine"
        modules = self._json("modules.json") or []
        kinds = {str(module["type"]).rpartition(".")[2]: module for module in modules}
        self.normalises = "Normalize" in kinds
        self.unknown_modules = ", ".join(kind for kind in kinds if kind not in KNOWN)
        self.pooling = self._pooling(kinds.get("Pooling", {}).get("path", "1_Pooling"))

    def _json(self, name: str) -> Any:
        return self._folder.json(name) or self._folder.json(f"{self._beside}/{name}")

    def _pooling(self, path: str) -> str:
        """The mode of the Pooling module; `mean`, the library's default, where none is declared."""
        config = self._json(f"{path}/config.json") or {}
        found = config.get("pooling_mode", [mode for mode in POOLING_MODES if config.get(_old_name(mode))] or "mean")
        modes = [found] if isinstance(found, str) else list(found)
        if len(modes) != 1 or modes[0] not in POOLING_MODES:
            raise UsageError(f"{self._folder.id} pools by {modes}", hint=f"pooling_mode={' or '.join(POOLING_MODES)}")
        return str(modes[0])

    @cached_property
    def limit(self) -> int | None:
        """The most tokens that a text may have: declared by the model, else what tokenizer and network allow."""
        own = (self._json("sentence_bert_config.json") or {}).get("max_seq_length")
        if isinstance(own, int):
            return own
        config = self._json("config.json") or {}
        positions = config.get("max_position_embeddings")
        if isinstance(positions, int) and "roberta" in str(config.get("model_type")):
            positions -= BEFORE
        tokenizer = (self._json("tokenizer_config.json") or {}).get("model_max_length")
        limits = [int(limit) for limit in (positions, tokenizer) if limit and limit < 1e9]
        cut = (self._json("tokenizer.json") or {}).get("truncation") or {}
        return min(limits) if limits else cut.get("max_length")


def _old_name(mode: str) -> str:
    """What files before sentence-transformers 6 call a mode."""
    tokens = {"cls": "cls_token", "max": "max_tokens", "mean": "mean_tokens", "weightedmean": "weightedmean_tokens"}
    return f"pooling_mode_{tokens.get(mode, mode)}"

"""Transformers of a folder as ONNX files."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModel, AutoModelForSequenceClassification

INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class States(torch.nn.Module):
    """The last states of a transformer; with `pooled`, their mean beside them."""

    def __init__(self, folder: Path, pooled: bool) -> None:
        super().__init__()
        self.model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
        self.pooled = pooled

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
        states = self.model(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state
        if not self.pooled:
            return states
        mask = attention_mask.unsqueeze(-1).to(states.dtype)
        return states, (states * mask).sum(1) / mask.sum(1)


class Logits(torch.nn.Module):
    """The scores of a model that classifies pairs."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.model = AutoModelForSequenceClassification.from_pretrained(folder, attn_implementation="eager").eval()

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
        return self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids).logits


def export(folder: Path, path: Path, *, pooled: bool = False, shape: tuple[int, int] | None = None) -> None:
    """Write the transformer of a folder as ONNX; `shape` fixes batch and length."""
    outputs = ["last_hidden_state", *(["sentence_embedding"] if pooled else [])]
    axes = {"last_hidden_state": {0: "batch", 1: "tokens"}, "sentence_embedding": {0: "batch"}}
    _write(States(folder, pooled), path, outputs, {name: axes[name] for name in outputs}, shape)


def export_classifier(folder: Path, path: Path, *, shape: tuple[int, int] | None = None) -> None:
    """Write a cross-encoder of a folder as ONNX."""
    _write(Logits(folder), path, ["logits"], {"logits": {0: "batch"}}, shape)


def _write(
    model: torch.nn.Module, path: Path, outputs: list[str], axes: dict[str, Any], shape: tuple[int, int] | None
) -> None:
    ids = torch.ones(shape or (2, 5), dtype=torch.long)
    path.parent.mkdir(exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's own, about itself
        torch.onnx.export(
            model,
            (ids, ids, ids),
            str(path),
            input_names=list(INPUTS),
            output_names=outputs,
            dynamic_axes=None if shape else {name: {0: "batch", 1: "tokens"} for name in INPUTS} | axes,
            opset_version=17,
            dynamo=False,
        )

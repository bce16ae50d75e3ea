"""Vectors of parts of a text from one reading of the whole: means of the states of their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from steelyard.encoders.backends.transformers.packed_bert import Ids, PackedBert, divided_threads, workers
from steelyard.encoders.batching import replace_surrogates
from steelyard.encoders.pooling import pool_spans
from steelyard.errors import ModelError, UsageError
from steelyard.types import Float32

BATCH = 8
"""Texts that are read at a time; documents are long."""
KNOWN = ("Transformer", "Pooling", "Normalize")


def check_pooling(model: Any, name: str, prompt: str) -> None:
    """Raise a UsageError if vectors are not means over all tokens of the text."""
    modules = [type(module).__name__ for module in model]
    modes = [module.pooling_mode for module in model if hasattr(module, "pooling_mode")]
    unknown = [module for module in modules if module not in KNOWN]
    without_prompt = prompt and not all(getattr(module, "include_prompt", True) for module in model)
    fast = getattr(getattr(model, "tokenizer", None), "is_fast", False)
    if unknown or modes not in ([], ["mean"], [("mean",)], [["mean"]]) or without_prompt or not fast:
        raise UsageError(
            f"{name} must have mean pooling of all tokens and a fast tokenizer for late chunking, got the modules "
            f"{', '.join(modules)} with pooling {modes}",
            hint="remove late_chunking, or set pooling_mode=mean",
            option="late_chunking",
            found=modes,
        )


def span_vectors(
    model: Any,
    packed: PackedBert | None,
    texts: Sequence[str],
    spans: Sequence[Sequence[tuple[int, int]]],
    prompt: str,
    limit: int | None,
    threads: int | None = None,
) -> list[Float32]:
    """Return a vector for each span of each text, computed by the packed model if there is one."""
    clean = [replace_surrogates(text) for text in texts]
    read = model.tokenizer(
        [prompt + text for text in clean],
        return_offsets_mapping=True,
        return_special_tokens_mask=True,
        truncation=limit is not None,
        max_length=limit,
        padding=False,
        verbose=False,
    )
    if packed is not None:
        states = _packed_states(packed, [np.array(ids, dtype=np.int32) for ids in read["input_ids"]], threads)
    else:
        arguments = {"prompt": prompt, "batch_size": BATCH, "show_progress_bar": False}
        embeddings = model.encode_document(clean, output_value="token_embeddings", **arguments)
        states = [np.asarray(state.float().cpu().numpy(), dtype=np.float32) for state in embeddings]
    normalises = any(type(module).__name__ == "Normalize" for module in model)
    vectors = []
    places = zip(read["offset_mapping"], read["special_tokens_mask"], strict=True)
    for own, (offsets, marks), tokens in zip(spans, places, states, strict=True):
        starts = np.array([-1 if mark else first for (first, _), mark in zip(offsets, marks, strict=True)], np.int64)
        if len(tokens) != len(starts):
            raise ModelError.invalid("the states of a text", expected=f"{len(starts)} tokens", found=len(tokens))
        vectors.append(pool_spans(tokens, starts, own, len(prompt), normalises))
    return vectors


def _packed_states(packed: PackedBert, ids: Sequence[Ids], threads: int | None) -> list[Float32]:
    """Return the states of each text, in the order of the texts; batches have the longest texts first.

    Several batches are computed at a time, each by one thread.
    """
    order = sorted(range(len(ids)), key=lambda row: -len(ids[row]))
    batches = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
    count = workers(threads)
    with divided_threads(count, threads), ThreadPoolExecutor(count) as pool:
        parts = pool.map(lambda rows: packed.token_states([ids[row] for row in rows]), batches)
        states = {
            row: state for rows, part in zip(batches, parts, strict=True) for row, state in zip(rows, part, strict=True)
        }
    return [states[row] for row in range(len(ids))]

"""Models of the BERT family on a CPU: texts of different lengths in one batch, without padding.

All tokens of a batch are rows of one matrix, so each layer is a few large products; only attention is computed by
texts of one length. Products use oneDNN with weights in its own layout and GELU fused, where torch has them. The bytes
of a text's vector do not depend on the other texts of its batch, nor on the number of threads.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.types import Float32

Ids = npt.NDArray[np.int32]
Tensor = Any
Product = Callable[[Tensor], Tensor]

ARCHITECTURES = ("BertModel", "RobertaModel", "XLMRobertaModel", "CamembertModel")
COMPUTATION = 1
"""Increased when vectors get other bytes: the store keeps those of earlier computations apart."""
TOLERANCE = 1e-5
"""The largest difference to the library, relative to the largest component, at which vectors count as equal."""
PROBES = ("", "river", "A bridge of stone over the river, built in 1348.", "Ärger über Öl; 東京都の川 " * 30)
ROWS = 128
"""The rows of a batch are a multiple of this."""
MAX_WORKERS = 16
"""The most batches at a time: their Python code takes turns."""
LINEAR = ("query", "key", "value", "dense")
_THREADS_LOCK = threading.Lock()
_THREADS: list[int] = []
"""The numbers of threads to restore, one for each caller of `divided_threads` in progress."""


class PackedBert:
    """The layers of a model of sentence-transformers; call it with the token ids of a batch, longest texts first."""

    def __init__(self, model: Any, *, normalise: bool = False) -> None:
        self._torch = importlib.import_module("torch")
        bert = model[0].model
        self._embeddings = bert.embeddings
        self._offset = _first_position(bert)
        self._heads = bert.config.num_attention_heads
        self._layers = [_Layer(layer) for layer in bert.encoder.layer]
        self._pooling, *self._others = list(model)[1:]
        self._dimension: int | None = model.truncate_dim
        self._normalise = normalise

    def __call__(self, ids: Sequence[Ids]) -> Float32:
        """Return the vectors of a batch."""
        torch = self._torch
        with torch.inference_mode():
            pooled = torch.cat([self._pooled(part) for part in self._states(ids)])
            features = {"sentence_embedding": pooled}
            for module in self._others:
                features = module(features)
            vectors = features["sentence_embedding"][:, : self._dimension]
            if self._normalise:
                vectors = torch.nn.functional.normalize(vectors, p=2, dim=1)
            return np.asarray(vectors.numpy(), dtype=np.float32)

    def token_states(self, ids: Sequence[Ids]) -> list[Float32]:
        """Return the states of the last layer, (tokens, dimension), of each text of a batch."""
        with self._torch.inference_mode():
            return [np.asarray(text.numpy(), dtype=np.float32) for part in self._states(ids) for text in part]

    def _states(self, ids: Sequence[Ids]) -> Iterator[Tensor]:
        """Return the states of the last layer, (texts, tokens, dimension), by groups of texts of one length."""
        torch, counts = self._torch, _groups([len(text) for text in ids])
        positions = np.concatenate([np.tile(np.arange(length), count) for count, length in counts])
        states = self._embeddings(
            input_ids=torch.from_numpy(np.concatenate(ids).astype(np.int64))[None],
            position_ids=torch.from_numpy(positions + self._offset)[None],
        )[0]
        # Rows of zeros: oneDNN compiles and keeps a product for every number of rows, so there are few of them.
        states = torch.nn.functional.pad(states, (0, 0, 0, -len(states) % ROWS))
        for layer in self._layers:
            states = layer(states, lambda joined: self._attention(joined, counts))
        return _split(states, counts)

    def _attention(self, joined: Tensor, counts: Sequence[tuple[int, int]]) -> Tensor:
        """Return the attention of every text to itself; `joined` has query, key and value of each token."""
        result = joined.new_zeros((len(joined), joined.shape[1] // 3))
        attend = self._torch.nn.functional.scaled_dot_product_attention
        for part, target in zip(_split(joined, counts), _split(result, counts), strict=True):
            texts, length = part.shape[:2]
            query, key, value = part.view(texts, length, 3, self._heads, -1).permute(2, 0, 3, 1, 4)
            target.view(texts, length, self._heads, -1).copy_(attend(query, key, value).transpose(1, 2))
        return result

    def _pooled(self, states: Tensor) -> Tensor:
        """Return the pooled states of texts of one length."""
        mask = self._torch.ones(states.shape[:2], dtype=self._torch.int64)
        return self._pooling({"token_embeddings": states, "attention_mask": mask})["sentence_embedding"]


class _Layer:
    """One layer; its products own their weights."""

    def __init__(self, layer: Any) -> None:
        attention = layer.attention
        self._joined = _product(attention.self.query, attention.self.key, attention.self.value)
        self._attended, self._first_norm = _product(attention.output.dense), attention.output.LayerNorm
        self._wide = _product(layer.intermediate.dense, gelu=True)
        self._narrow, self._second_norm = _product(layer.output.dense), layer.output.LayerNorm

    def __call__(self, states: Tensor, attention: Product) -> Tensor:
        states = self._first_norm(self._attended(attention(self._joined(states))).add_(states))
        return self._second_norm(self._narrow(self._wide(states)).add_(states))


def _product(*layers: Any, gelu: bool = False) -> Product:
    """Return the joined linear layers as one function; weights in the layout of oneDNN, where torch has it."""
    torch = importlib.import_module("torch")
    weight = torch.cat([layer.weight.detach() for layer in layers]).contiguous()
    bias = torch.cat([layer.bias.detach() for layer in layers]).contiguous()
    try:
        packed, product = torch.ops.mkldnn._reorder_linear_weight(weight, None), torch.ops.mkldnn._linear_pointwise
        product(weight.new_zeros((2, weight.shape[1])), packed, bias, "none", [], "")
    except (AttributeError, RuntimeError, NotImplementedError):
        linear, activation = torch.nn.functional.linear, torch.nn.functional.gelu
        return lambda rows: activation(linear(rows, weight, bias)) if gelu else linear(rows, weight, bias)
    after: tuple[Any, ...] = ("gelu", [], "none") if gelu else ("none", [], "")
    return lambda rows: product(rows, packed, bias, *after)


def packed_bert(
    model: Any, tokenise: Callable[[list[str]], tuple[list[Ids], int]], arguments: dict[str, Any]
) -> PackedBert | None:
    """Return the model without padding; None if its parts are not supported, or its vectors are not equal to 1e-5."""
    if not _supported(model, arguments):
        return None
    packed = PackedBert(model, normalise=bool(arguments.get("normalize_embeddings")))
    ids, _ = tokenise(list(PROBES))
    order = sorted(range(len(ids)), key=lambda row: -len(ids[row]))
    try:
        expected = model.encode(list(PROBES), prompt="", batch_size=1, show_progress_bar=False, **arguments)[order]
        actual = packed([ids[row] for row in order])
    except (IndexError, RuntimeError):  # more tokens than the model has positions, for example
        return None
    same = actual.shape == expected.shape and np.abs(actual - expected).max() <= TOLERANCE * np.abs(expected).max()
    return packed if same else None


def computation_of(model: Any) -> int:
    """Return the version of the computation for the store of vectors: that of the architecture, on any device.

    The store does not separate devices, so vectors of earlier releases are separated for all of them.
    """
    return COMPUTATION if type(getattr(next(iter(model)), "model", None)).__name__ in ARCHITECTURES else 0


def release_weights(model: Any) -> None:
    """Drop the weights of the linear layers, which a `PackedBert` has in its own layout."""
    for layer in model[0].model.encoder.layer:
        for name, module in layer.named_modules():
            if name.rpartition(".")[2] in LINEAR:
                module.weight = None


def compute_packed(model: Any, ids: Sequence[Ids], normalise: bool) -> Float32:
    """Return the vectors of a batch in the process of a device, which packs the model for its first batch."""
    packed: PackedBert | None = vars(model).get("_steelyard_packed")
    if packed is None:
        packed = vars(model)["_steelyard_packed"] = PackedBert(model, normalise=normalise)
    return packed(ids)


def _supported(model: Any, arguments: dict[str, Any]) -> bool:
    """Return whether all modules are known: BERT in single precision, one pooling, then modules of vectors."""
    modules = list(model)
    bert: Any = getattr(modules[0], "model", None)
    if type(bert).__name__ not in ARCHITECTURES or len(modules) < 2 or not set(arguments) <= {"normalize_embeddings"}:
        return False
    config, torch = bert.config, importlib.import_module("torch")
    plain = getattr(config, "position_embedding_type", "absolute") in (None, "absolute") and not config.is_decoder
    single = all(weight.dtype == torch.float32 and weight.device.type == "cpu" for weight in bert.parameters())
    biased = all(module.bias is not None for module in bert.encoder.modules() if isinstance(module, torch.nn.Linear))
    return (
        plain
        and single
        and biased
        and config.hidden_act == "gelu"
        and type(modules[1]).__name__ == "Pooling"
        and modules[1].include_prompt
        and all(type(module).__name__ in ("Normalize", "Dense", "LayerNorm") for module in modules[2:])
    )


def _first_position(bert: Any) -> int:
    """Return the position of the first token: models of the RoBERTa family count from the padding id on."""
    padding = getattr(bert.embeddings, "padding_idx", None)
    return 0 if padding is None else int(padding) + 1


def _groups(lengths: Sequence[int]) -> list[tuple[int, int]]:
    """Return runs of equal lengths as (number of texts, length).

    >>> _groups([5, 5, 3])
    [(2, 5), (1, 3)]
    """
    bounds = np.flatnonzero(np.diff(lengths, prepend=-1, append=-1))
    return [(end - start, int(lengths[start])) for start, end in pairwise(bounds.tolist())]


def _split(states: Tensor, counts: Sequence[tuple[int, int]]) -> Iterator[Tensor]:
    """Yield the rows of each group of texts of one length as (texts, length, columns)."""
    start = 0
    for texts, length in counts:
        yield states[start : start + texts * length].view(texts, length, -1)
        start += texts * length


def workers(threads: int | None = None) -> int:
    """Return how many batches are computed at a time: one for each of the threads, by default those of torch."""
    return min(MAX_WORKERS, threads or int(importlib.import_module("torch").get_num_threads()))


@contextmanager
def divided_threads(workers: int, threads: int | None = None) -> Iterator[None]:
    """Divide the threads of torch among so many workers: threads of one product wait for each other, workers do not."""
    torch = importlib.import_module("torch")
    with _THREADS_LOCK:
        _THREADS.append(_THREADS[0] if _THREADS else torch.get_num_threads())
        torch.set_num_threads(max(1, (threads or _THREADS[0]) // workers))
    try:
        yield
    finally:
        with _THREADS_LOCK:
            before = _THREADS.pop()
            if not _THREADS:
                torch.set_num_threads(before)

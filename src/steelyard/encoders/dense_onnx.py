"""Vectors from ONNX Runtime: a folder with `model.onnx` and `tokenizer.json`, without torch."""

from __future__ import annotations

import importlib
from collections.abc import Generator, Mapping, Sequence
from functools import cached_property
from importlib import metadata
from typing import Any

import numpy as np

from steelyard.encoders import prompts
from steelyard.encoders.batching import BatchSize, check_finite, encode_in_batches, shown, whole, windows
from steelyard.encoders.dense_encoders import PLACES
from steelyard.encoders.devices import ran_out_of_memory
from steelyard.encoders.model_folder import ModelFolder
from steelyard.encoders.onnx_declared import Declared
from steelyard.encoders.onnx_session import OnnxSession, depends_on_batch
from steelyard.encoders.pooling import POOLING_MODES, pool
from steelyard.errors import MissingPart, ModelError, UsageError
from steelyard.protocols import Settings, Tick, no_tick
from steelyard.services.options import Options
from steelyard.types import Float32, Int64, Role
from steelyard.vectors.similarity import similarity

OPTIONS = (
    *("batch_size", "batch_tokens", "device", "file_name", "max_seq_length", "pooling_mode", "similarity_fn_name"),
    *prompts.OPTIONS,
)
BATCH_TEXTS, BATCH_TOKENS = 64, 4_096


class DenseOnnx:
    """An ONNX file and its tokenizer. What the folder declares of pooling, prompts, length and similarity holds.

    Where activations are quantised over the batch, a text's vector would depend on its neighbours: such a model gets
    one text at a time, unless `batch_size` says otherwise; then that is part of the settings.
    """

    def __init__(self, folder: ModelFolder, options: Options) -> None:
        self.name = folder.name
        self._folder = folder
        self._declared = Declared(folder)
        wanted = options.choice("pooling_mode", ("", *POOLING_MODES))
        self._file = _model_file(folder, options.text("file_name"))
        self._session = OnnxSession(self._file, options.text("device"), pooled=not wanted)
        self._pooling = (wanted or self._declared.pooling) if self._session.gives_states else None
        if wanted and not self._session.gives_states:
            raise UsageError(f"{self._file} gives vectors that are pooled already", hint="leave out pooling_mode")
        if self._pooling and self._declared.unknown_modules:
            raise UsageError(
                f"the model {self.name} has modules that its ONNX file lacks: {self._declared.unknown_modules}",
                hint="backend=sentence-transformers",
            )
        declared = options.text("similarity_fn_name") or self._declared.similarity
        self.similarity = similarity(declared, self.name).name
        self._prompts = prompts.role_prompts(self._declared.prompts, options)
        self._by_batch = depends_on_batch(self._file)
        texts: int = options.whole("batch_size", 1 if self._by_batch else BATCH_TEXTS)
        self._size = BatchSize(self._session.batch or texts, options.whole("batch_tokens", BATCH_TOKENS))
        self._limit = options.whole("max_seq_length", self._declared.limit)
        if self._session.length is not None:
            self._limit = min(self._limit or self._session.length, self._session.length)
        self._tokenizer, self._pad = _tokenizer(folder, self._limit)
        self._seen = self._cut = 0

    @cached_property
    def settings(self) -> Settings:
        """Everything that could change a vector."""
        beside = self._file.parent.glob(f"{self._file.name}*")  # large files keep their weights in another
        described = [path for path in self._folder.path.rglob("*.json") if path.is_file()]
        return {
            "encoder": self.name,
            "weights": self._folder.hash_of([*beside, *described]),
            "file": self._file.relative_to(self._folder.path).as_posix(),
            "revision": self._folder.revision,
            "prompts": self._prompts,
            "max_seq_length": self._limit,
            "pooling_mode": self._pooling,
            "batch_size": self._size.texts if self._by_batch else None,
            "dtype": "float32",
            "library": f"onnxruntime {metadata.version('onnxruntime')}",
            "symmetric": self._prompts["query"] == self._prompts["document"],
        }

    @cached_property
    def dimension(self) -> int:
        """Length of a vector: that of one for an empty text."""
        return int(self._vectors([self._tokenizer.encode("").ids]).shape[1])

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> Float32:
        """Vectors in the order of the texts."""
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for rows, part in self.encode_parts(texts, role):
            vectors[rows] = part
            tick(len(rows))
        return vectors

    def encode_parts(self, texts: Sequence[str], role: Role) -> Generator[tuple[Int64, Float32], None, None]:
        """The vectors as they are ready, longest texts first: which texts, and theirs."""
        for window in windows(len(texts)):
            ids = self._ids([self._prompts[role] + texts[row] for row in window])
            lengths = np.array([len(text) for text in ids], dtype=np.int64)

            def encode(rows: Int64, ids: list[list[int]] = ids) -> Float32:
                return self._vectors([ids[row] for row in rows])

            def too_long(row: int, start: int = window.start) -> ModelError:
                text = texts[start + row]
                return ModelError(
                    f"{self.name} runs out of memory over one {role} of {len(text)} characters: {shown(text)}",
                    hint="a smaller max_seq_length",
                )

            for rows, vectors in encode_in_batches(lengths, encode, self._size, ran_out_of_memory, too_long):
                check_finite(vectors, [texts[window.start + row] for row in rows], role, self.name)
                yield rows + window.start, vectors

    def _ids(self, texts: list[str]) -> list[list[int]]:
        """Token ids, cut to the limit; counts those that had more."""
        found = self._tokenizer.encode_batch([whole(text) for text in texts])
        self._seen += len(texts)
        self._cut += sum(bool(encoding.overflowing) for encoding in found)
        return [encoding.ids for encoding in found]

    def _vectors(self, ids: list[list[int]]) -> Float32:
        """Pad, run, pool. Where the file is fixed to a size, the batch is filled up to it."""
        texts = max(len(ids), self._session.batch or 0)
        length = self._session.length or max(1, *map(len, ids))
        padded = np.full((texts, length), self._pad, dtype=np.int64)
        mask = np.zeros((texts, length), dtype=np.int64)
        for row, text in enumerate(ids):
            padded[row, : len(text)] = text
            mask[row, : len(text)] = 1
        found = self._session.run(padded, mask)[: len(ids)]
        return found if self._pooling is None else pool(found, mask[: len(ids)], self._pooling)

    def account(self) -> Settings:
        """Of the texts encoded since the last call: how many were longer than the model reads, and batches halved."""
        seen, cut, halved = self._seen, self._cut, self._size.halved
        self._seen = self._cut = self._size.halved = 0
        if not seen:
            return {}
        return {"texts_cut": cut, "batches_halved": halved} if halved else {"texts_cut": cut}


def _tokenizer(folder: ModelFolder, limit: int | None) -> tuple[Any, int]:
    """The tokenizer, cutting at the limit, and the id that fills up a batch."""
    try:
        library: Any = importlib.import_module("tokenizers")
    except ImportError as error:
        raise MissingPart.extra("tokenizers", "onnx") from error
    path = next((place for place in (folder.path, folder.path / "onnx") if (place / "tokenizer.json").is_file()), None)
    if path is None:
        raise MissingPart(f"the model folder {folder.path} has no tokenizer.json", hint="save it beside the ONNX file")
    tokenizer = library.Tokenizer.from_file(str(path / "tokenizer.json"))
    padding = tokenizer.padding or {}
    tokenizer.no_padding()
    if limit is None:
        tokenizer.no_truncation()
    else:
        tokenizer.enable_truncation(limit)
    return tokenizer, int(padding.get("pad_id") or 0)


def _model_file(folder: ModelFolder, name: str | None) -> Any:
    for place in (name,) if name else PLACES:
        if (folder.path / place).is_file():
            return folder.path / place
    looked = name or " or ".join(PLACES)
    found = sorted(path.relative_to(folder.path).as_posix() for path in folder.path.rglob("*.onnx"))
    hint = f"file_name={found[0]}" if found else "backend=sentence-transformers, if it has weights for torch"
    raise MissingPart(f"the model folder {folder.path} has no {looked}", hint=hint)


def from_folder(folder: ModelFolder, given: Mapping[str, str]) -> DenseOnnx:
    """The encoder of a folder."""
    return DenseOnnx(folder, Options(f"dense:{folder.id}", given, OPTIONS))

"""Dense vectors from ONNX Runtime: a folder with `model.onnx` and `tokenizer.json`; torch is not needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from importlib import metadata

import numpy as np

from steelyard.encoders import prompts
from steelyard.encoders.backends.onnx_session import (
    OnnxSession,
    depends_on_batch,
    load_tokenizer,
    model_file,
    open_sessions,
    pad,
    weights_hash,
)
from steelyard.encoders.batching import BatchedEncoder, BatchSize, replace_surrogates
from steelyard.encoders.compute_options import NOT_FOR, Compute
from steelyard.encoders.deferred import deferred
from steelyard.encoders.devices.worker_pool import Job, LocalWorker, WorkerPool
from steelyard.encoders.model_folder import ModelFolder
from steelyard.encoders.model_metadata import ModelConfig
from steelyard.encoders.pooling import POOLING_MODES, pool, pool_spans
from steelyard.encoders.token_starts import starts_of_tokenizer
from steelyard.errors import UsageError
from steelyard.options import Options
from steelyard.types import Float32, Int64, Role
from steelyard.types.protocols import ModelSettings
from steelyard.vectors.similarity import similarity
from steelyard.vectors.topk import normalised

OPTIONS = (
    *("batch_size", "batch_tokens", "device", "file_name", "max_seq_length", "pooling_mode", "similarity_fn_name"),
    *("threads", "tokenizer", *prompts.ALL_OPTIONS),
)
BATCH_TEXTS, BATCH_TOKENS = 64, 4_096


class DenseOnnx(prompts.PromptsByTask, BatchedEncoder):
    """An ONNX file and its tokenizer, with the pooling, prompts, length and similarity that the folder declares.

    If activations are quantised over the batch, a text's vector depends on the other texts: such a model gets one text
    at a time, unless `batch_size` is set; then it is part of the settings.
    """

    _memory_hint = "use a smaller max_seq_length"

    def __init__(self, folder: ModelFolder, options: Options) -> None:
        self.name = folder.name
        self._folder = folder
        self._config = ModelConfig(folder, options.text("tokenizer"))
        pooling_option = options.choice("pooling_mode", ("", *POOLING_MODES))
        self._file = model_file(folder, options.text("file_name"))
        compute = Compute.of(options, folder.settings.device)
        sessions = open_sessions(self._file, compute, pooled=not pooling_option)
        self._session = sessions[0]
        self._pooling = (pooling_option or self._config.pooling) if self._session.gives_states else None
        if pooling_option and not self._session.gives_states:
            raise UsageError(
                f"{self._file} returns pooled vectors, so the pooling cannot be changed",
                option="pooling_mode",
                hint="remove pooling_mode",
            )
        if self._pooling and self._config.unknown_modules:
            raise UsageError(
                f"the ONNX file of {self.name} does not contain its modules {self._config.unknown_modules}",
                option="backend",
                found=self._config.unknown_modules,
                hint="set backend=sentence-transformers",
            )
        declared = options.text("similarity_fn_name") or self._config.similarity
        self.similarity = similarity(declared, self.name).name
        self._choose = partial(prompts.all_prompts, self._config.prompts, options, self._config.default_prompt)
        self._prompts = self._choose()
        self._batch_dependent = depends_on_batch(self._file)
        texts: int = options.whole("batch_size", 1 if self._batch_dependent else BATCH_TEXTS)
        size = BatchSize(
            self._session.batch or texts,
            options.whole("batch_tokens", BATCH_TOKENS),
            equal_lengths=self._session.provider.startswith("CPU") and not self._session.batch,
        )
        super().__init__(WorkerPool([LocalWorker(partial(self._vectors, session)) for session in sessions]), size)
        self._limit = options.whole("max_seq_length", self._config.limit)
        if self._session.length is not None:
            self._limit = min(self._limit or self._session.length, self._session.length)
        self._tokenizer_folder = options.text("tokenizer")
        self._tokenizer, self._pad = load_tokenizer(folder, self._tokenizer_folder, self._limit)

    @cached_property
    def settings(self) -> ModelSettings:
        """Everything that could change a vector."""
        return {
            "encoder": self.name,
            "weights": weights_hash(self._folder, self._file),
            "file": self._file.relative_to(self._folder.path).as_posix(),
            **({"tokenizer": self._tokenizer_folder} if self._tokenizer_folder else {}),
            "revision": self._folder.revision,
            "prompts": self._prompts,
            "max_seq_length": self._limit,
            "pooling_mode": self._pooling,
            "normalised": self._config.normalises,
            "batch_size": self._size.texts if self._batch_dependent else None,
            "dtype": "float32",
            "library": f"onnxruntime {metadata.version('onnxruntime')}",
            "symmetric": True,
        }

    @cached_property
    def dimension(self) -> int:
        """Length of a vector, found by encoding an empty text."""
        return int(self._vectors(self._session, [self._tokenizer.encode("").ids]).shape[1])

    def token_starts(self, texts: Sequence[str]) -> list[Int64]:
        """Return where the tokens of each text start."""
        return starts_of_tokenizer(self._tokenizer, texts, self.name)

    def check_spans(self) -> None:
        """Raise a UsageError if vectors are not means of the states of tokens that the file returns."""
        if self._pooling != "mean":
            output = f"pooling {self._pooling}" if self._pooling else "pooled vectors"
            raise UsageError(
                f"{self._file} must return the states of tokens, with mean pooling, for late chunking, got {output}",
                hint="set pooling_mode=mean if the model was trained with it, or remove late_chunking",
                option="late_chunking",
                found=output,
            )

    def span_tokens(self, title: str) -> int | None:
        """Return how many tokens the model reads after the prompt and a title; None without a limit."""
        before = self._prompts.get("document", "") + (f"{title} " if title else "")
        return None if self._limit is None else max(1, self._limit - len(self._tokenizer.encode(before).ids))

    def encode_spans(self, texts: Sequence[str], spans: Sequence[Sequence[tuple[int, int]]]) -> list[Float32]:
        """Return a vector for each span of each document, from one reading of its text."""
        prompt = self._prompts.get("document", "")
        read = self._tokenizer.encode_batch([prompt + replace_surrogates(text) for text in texts])
        vectors: list[Float32] = []
        for encoding, own in zip(read, spans, strict=True):  # one at a time: documents are long
            states, _ = self._states(self._session, [encoding.ids])
            marks = zip(encoding.offsets, encoding.special_tokens_mask, strict=True)
            starts = np.array([-1 if mark else first for (first, _), mark in marks], dtype=np.int64)
            vectors.append(pool_spans(states[0, : len(starts)], starts, own, len(prompt), self._config.normalises))
        return vectors

    def _prepare(self, texts: list[str], role: Role) -> tuple[Int64, Callable[[Int64], Job]]:
        ids = self._ids([self._prompts.get(role, "") + text for text in texts])
        lengths = np.array([len(text) for text in ids], dtype=np.int64)
        return lengths, lambda rows: ([ids[row] for row in rows],)

    def _ids(self, texts: list[str]) -> list[list[int]]:
        """Return token ids, truncated to the limit; count truncated texts."""
        encodings = self._tokenizer.encode_batch(texts)
        self._texts_seen += len(texts)
        self._texts_truncated += sum(bool(encoding.overflowing) for encoding in encodings)
        return [encoding.ids for encoding in encodings]

    def _vectors(self, session: OnnxSession, ids: list[list[int]]) -> Float32:
        """Run and pool a batch."""
        output, mask = self._states(session, ids)
        if self._pooling is not None:
            output = pool(output, mask, self._pooling)
        return normalised(output) if self._config.normalises else output

    def _states(self, session: OnnxSession, ids: list[list[int]]) -> tuple[Float32, Int64]:
        """Pad and run a batch; a file with a fixed size gets a batch padded to it. Return its output and the mask."""
        texts = max(len(ids), session.batch or 0)
        length = session.length or max(1, *map(len, ids))
        mask = pad([[1] * len(text) for text in ids], texts, length, 0)
        return session.run(pad(ids, texts, length, self._pad), mask)[: len(ids)], mask[: len(ids)]


def from_folder(folder: ModelFolder, raw_options: Mapping[str, str]) -> DenseOnnx:
    """Return the encoder of a folder, opened when it encodes."""
    options = Options(f"dense:{folder.id}", raw_options, OPTIONS, NOT_FOR["onnx"])
    weights = weights_hash(folder, model_file(folder, options.text("file_name")))
    encoder: DenseOnnx = deferred(
        DenseOnnx, folder, raw_options, lambda: DenseOnnx(folder, options), weights=weights, related=("batch_size",)
    )
    return encoder

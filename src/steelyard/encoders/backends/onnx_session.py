"""A model of ONNX Runtime: token ids in, states of tokens or vectors out."""

from __future__ import annotations

import importlib
import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.encoders.devices.choice import ran_out_of_memory
from steelyard.errors import MissingPart, ModelError, UsageError

Ids = npt.NDArray[np.int64]
VECTOR = "sentence_embedding"
"""What an export with pooling calls its output."""
KNOWN_INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
BY_BATCH = b"DynamicQuantizeLinear"
"""The operation that scales activations by the largest of the whole batch."""


def runtime() -> Any:
    """The package; where it is not installed, a MissingPart that says what to install."""
    try:
        return importlib.import_module("onnxruntime")
    except ImportError as error:
        raise MissingPart.extra("onnxruntime", "onnx") from error


class OnnxSession:
    """A loaded file. `batch` and `length` are the sizes that it is fixed to, None where any will do."""

    def __init__(self, path: Path, device: str, *, pooled: bool, threads: int = 0) -> None:
        self.path = path
        library = runtime()
        options = library.SessionOptions()
        options.log_severity_level = 4  # errors are raised, and told once
        options.intra_op_num_threads = threads  # 0: as many as there are cores
        # Threads that wait by spinning take twice the processor, and many times the time where others work, too.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # Of the errors that the runtime raises each is a class of its own.
        state = vars(library.capi.onnxruntime_pybind11_state).values()
        self._errors: tuple[type[Exception], ...] = tuple(
            kind for kind in state if isinstance(kind, type) and issubclass(kind, Exception)
        )
        not_loaded: tuple[type[Exception], ...] = (*self._errors, ValueError)
        try:
            self._session = library.InferenceSession(path, options, providers=_providers(library, device))
        except not_loaded as error:
            hint = "is the file whole, and exported for this version of onnxruntime?"
            raise ModelError(f"onnxruntime cannot load {path}: {error}", hint=hint) from error
        inputs = {node.name: node for node in self._session.get_inputs()}
        if "input_ids" not in inputs or not inputs.keys() <= set(KNOWN_INPUTS):
            raise ModelError(f"{path} wants the inputs {', '.join(inputs)}", hint=f"known: {', '.join(KNOWN_INPUTS)}")
        self._inputs = {name: node.type for name, node in inputs.items()}
        self.batch, self.length = (
            size if isinstance(size, int) and size > 0 else None for size in inputs["input_ids"].shape
        )
        self.output, self.gives_states = self._choose(pooled)
        self.provider = str(self._session.get_providers()[0])

    def _choose(self, pooled: bool) -> tuple[str, bool]:
        """The output to read, and whether it has a state for each token: vectors if they are there and wished for."""
        outputs = {node.name: len(node.shape) for node in self._session.get_outputs()}
        if pooled and outputs.get(VECTOR) == 2:
            return VECTOR, False
        states = [name for name, axes in outputs.items() if axes == 3]
        vectors = [name for name, axes in outputs.items() if axes == 2]
        if states or vectors:
            return (states or vectors)[0], bool(states)
        raise ModelError(f"{self.path} gives {', '.join(outputs)}", hint="expected states of tokens, or vectors")

    def run(self, ids: Ids, mask: Ids, types: Ids | None = None) -> npt.NDArray[np.float32]:
        """The chosen output for a batch of padded ids; `types` tells the texts of a pair apart."""
        known = {"input_ids": ids, "attention_mask": mask}
        known["token_type_ids"] = np.zeros_like(ids) if types is None else types
        if "position_ids" in self._inputs:
            known["position_ids"] = np.maximum(np.cumsum(mask, axis=1) - 1, 0)
        feed = {
            name: known[name].astype(np.int32 if "int32" in type_ else np.int64) for name, type_ in self._inputs.items()
        }
        try:
            (found,) = self._session.run([self.output], feed)
        except self._errors as error:
            if ran_out_of_memory(error):
                raise MemoryError(str(error)) from error
            raise ModelError(
                f"onnxruntime failed over token ids of shape {ids.shape}: {error}",
                hint="are texts longer than the model reads? max_seq_length=512, or max_length=512 of a reranker",
            ) from error
        return np.asarray(found, dtype=np.float32)


def depends_on_batch(path: Path) -> bool:
    """Whether a vector depends on the texts that share its batch, as it does where activations are quantised."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(BY_BATCH) >= 0


def open_sessions(path: Path, wanted: str, *, pooled: bool) -> list[OnnxSession]:
    """The file on each of the devices wanted, with commas between them; what is not said, `run --device` does.

    Several on the CPU share its cores.
    """
    devices = [device.strip() for device in wanted.split(",")]
    on_cpu = sum(device.startswith("cpu") for device in devices)
    threads = max(1, (os.cpu_count() or 1) // on_cpu) if on_cpu > 1 else 0
    return [OnnxSession(path, device, pooled=pooled, threads=threads) for device in devices]


def _providers(library: Any, device: str) -> list[Any]:
    """Where to compute: `auto` is the first GPU if the runtime has been built for it, else the CPU."""
    available = library.get_available_providers()
    cpu = "CPUExecutionProvider"
    if device == "auto":
        return [name for name in ("CUDAExecutionProvider", cpu) if name in available]
    kind, _, number = device.partition(":")
    if kind == "cpu":
        return [cpu]
    if kind == "cuda" and "CUDAExecutionProvider" in available and (not number or number.isdecimal()):
        return [("CUDAExecutionProvider", {"device_id": int(number or 0)}), cpu]
    raise UsageError(f"onnxruntime has no device {device!r} here", hint="auto, cpu, cuda, cuda:1 or cuda:0,cuda:1")

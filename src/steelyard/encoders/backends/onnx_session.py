"""An ONNX Runtime session: token ids in, token states or vectors out; and the files of an ONNX model."""

from __future__ import annotations

import importlib
import mmap
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.encoders.compute_options import Compute
from steelyard.encoders.devices.choice import ran_out_of_memory
from steelyard.encoders.model_folder import ModelFolder
from steelyard.errors import MissingPart, ModelError, UsageError

Ids = npt.NDArray[np.int64]
VECTOR = "sentence_embedding"
"""The output name of an export with pooling."""
KNOWN_INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
BY_BATCH = b"DynamicQuantizeLinear"
"""The operator that scales activations by the largest value of the whole batch."""


def runtime() -> Any:
    """Import onnxruntime; raise a MissingPart with the install command if it is not installed."""
    try:
        return importlib.import_module("onnxruntime")
    except ImportError as error:
        raise MissingPart.extra("onnxruntime", "onnx") from error


class OnnxSession:
    """A loaded file. `batch` and `length` are the sizes that it is fixed to, None where any size works."""

    def __init__(self, path: Path, device: str, *, pooled: bool, threads: int = 0) -> None:
        self.path = path
        library = runtime()
        options = library.SessionOptions()
        options.log_severity_level = 4  # errors are raised, not logged
        options.intra_op_num_threads = threads  # 0: as many as there are cores
        # Spinning threads use twice the CPU time, and slow down every other process.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # Every error of the runtime is a class of its own.
        state = vars(library.capi.onnxruntime_pybind11_state).values()
        self._errors: tuple[type[Exception], ...] = tuple(
            kind for kind in state if isinstance(kind, type) and issubclass(kind, Exception)
        )
        not_loaded: tuple[type[Exception], ...] = (*self._errors, ValueError)
        try:
            self._session = library.InferenceSession(path, options, providers=_providers(library, device))
        except not_loaded as error:
            hint = "check that the file is complete and exported for this version of onnxruntime"
            raise ModelError(f"onnxruntime cannot load {path}: {error}", hint=hint) from error
        inputs = {node.name: node for node in self._session.get_inputs()}
        if "input_ids" not in inputs or not inputs.keys() <= set(KNOWN_INPUTS):
            raise ModelError.invalid(
                f"the inputs of {path}",
                expected=f"input_ids and others of {', '.join(KNOWN_INPUTS)}",
                found=", ".join(inputs),
                path=path,
            )
        self._inputs = {name: node.type for name, node in inputs.items()}
        self.batch, self.length = (
            size if isinstance(size, int) and size > 0 else None for size in inputs["input_ids"].shape
        )
        self.output, self.gives_states = self._choose(pooled)
        self.provider = str(self._session.get_providers()[0])

    def _choose(self, pooled: bool) -> tuple[str, bool]:
        """Return the output to read, and whether it has a state for each token; vectors if `pooled` and available."""
        outputs = {node.name: len(node.shape) for node in self._session.get_outputs()}
        if pooled and outputs.get(VECTOR) == 2:
            return VECTOR, False
        states = [name for name, axes in outputs.items() if axes == 3]
        vectors = [name for name, axes in outputs.items() if axes == 2]
        if states or vectors:
            return (states or vectors)[0], bool(states)
        raise ModelError.invalid(
            f"the outputs of {self.path}",
            expected="token states (3 axes) or vectors (2 axes)",
            found=", ".join(outputs),
            path=self.path,
        )

    def run(self, ids: Ids, mask: Ids, types: Ids | None = None) -> npt.NDArray[np.float32]:
        """Return the chosen output for a batch of padded ids; `types` separates the texts of a pair."""
        known = {"input_ids": ids, "attention_mask": mask}
        known["token_type_ids"] = np.zeros_like(ids) if types is None else types
        if "position_ids" in self._inputs:
            known["position_ids"] = np.maximum(np.cumsum(mask, axis=1) - 1, 0)
        feed = {
            name: known[name].astype(np.int32 if "int32" in type_ else np.int64) for name, type_ in self._inputs.items()
        }
        try:
            (output,) = self._session.run([self.output], feed)
        except self._errors as error:
            if ran_out_of_memory(error):
                raise MemoryError(str(error)) from error
            raise ModelError(
                f"onnxruntime failed for token ids of shape {ids.shape}: {error}",
                hint="set max_seq_length=512 (max_length=512 for a reranker) if texts are longer than the model allows",
            ) from error
        return np.asarray(output, dtype=np.float32)


def depends_on_batch(path: Path) -> bool:
    """Return whether a vector depends on the other texts of its batch, as with dynamically quantised activations."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(BY_BATCH) >= 0


def open_sessions(path: Path, compute: Compute, *, pooled: bool) -> list[OnnxSession]:
    """Open the file on each of the devices; several on the CPU share its threads."""
    devices = [name.strip() for name in compute.device.split(",")]
    on_cpu = sum(name.startswith("cpu") for name in devices)
    threads = compute.threads or 0
    if on_cpu > 1:
        threads = max(1, (threads or os.cpu_count() or 1) // on_cpu)
    return [OnnxSession(path, name, pooled=pooled, threads=threads) for name in devices]


def _providers(library: Any, device: str) -> list[Any]:
    """Return the providers of a device: `auto` is the first GPU if the runtime supports it, else the CPU."""
    available = library.get_available_providers()
    cpu = "CPUExecutionProvider"
    if device == "auto":
        return [name for name in ("CUDAExecutionProvider", cpu) if name in available]
    kind, _, number = device.partition(":")
    if kind == "cpu":
        return [cpu]
    if kind == "cuda" and "CUDAExecutionProvider" in available and (not number or number.isdecimal()):
        return [("CUDAExecutionProvider", {"device_id": int(number or 0)}), cpu]
    raise UsageError.invalid(
        "device",
        expected="auto, cpu, cuda, cuda:1 or cuda:0,cuda:1, and supported by the installed onnxruntime",
        found=device,
        option="device",
        hint="set device=cpu",
    )


MODEL_PATHS = ("model.onnx", "onnx/model.onnx")
"""The usual paths of an ONNX file in a model folder."""
CONFIG_PATTERNS = ("*.json", "*.txt")
"""The files of a repository that an ONNX file needs; large weights are in files whose names start with its name."""


def download_patterns(file_name: str | None) -> tuple[str, ...]:
    """Return the patterns of the files to download from a repository.

    >>> download_patterns("onnx/model_int8.onnx")
    ('*.json', '*.txt', 'onnx/model_int8.onnx*')
    """
    return (*CONFIG_PATTERNS, *(f"{name}*" for name in ((file_name,) if file_name else MODEL_PATHS)))


def model_file(folder: ModelFolder, name: str | None) -> Path:
    """Return the ONNX file of a folder: the one named, else the first of `MODEL_PATHS`."""
    for path in (name,) if name else MODEL_PATHS:
        if (folder.path / path).is_file():
            return folder.path / path
    expected = name or " or ".join(MODEL_PATHS)
    files = sorted(file.relative_to(folder.path).as_posix() for file in folder.path.rglob("*.onnx"))
    hint = f"set file_name={files[0]}" if files else "set backend=sentence-transformers if it has weights for torch"
    raise MissingPart(f"{expected} does not exist in {folder.path}", path=folder.path, hint=hint)


def weights_hash(folder: ModelFolder, file: Path) -> str:
    """Return a hash of the ONNX file, of its external weights and of all JSON files."""
    json_files = [path for path in folder.path.rglob("*.json") if path.is_file()]
    return folder.hash_of([*file.parent.glob(f"{file.name}*"), *json_files])


def load_tokenizer(folder: ModelFolder, subfolder: str | None, limit: int | None) -> tuple[Any, int]:
    """Return the tokenizer in that subfolder, truncating at the limit, and the id that pads a batch."""
    try:
        library: Any = importlib.import_module("tokenizers")
    except ImportError as error:
        raise MissingPart.extra("tokenizers", "onnx") from error
    folders = [folder.path / name for name in ((subfolder,) if subfolder else (".", "onnx"))]
    path = next((path for path in folders if (path / "tokenizer.json").is_file()), None)
    if path is None:
        others = sorted(path.parent.relative_to(folder.path).as_posix() for path in folder.path.rglob("tokenizer.json"))
        hint = f"set tokenizer={others[0]}" if others else "save it next to the ONNX file"
        raise MissingPart(f"tokenizer.json does not exist in {folders[0]}", path=folders[0], hint=hint)
    folder.json_object((path / "tokenizer.json").relative_to(folder.path).as_posix())  # an error of ours if damaged
    loaded = library.Tokenizer.from_file(str(path / "tokenizer.json"))
    padding = loaded.padding or {}
    loaded.no_padding()
    if limit is None:
        loaded.no_truncation()
    else:
        loaded.enable_truncation(limit)
    return loaded, int(padding.get("pad_id") or 0)


def pad(rows: list[list[int]], texts: int, length: int, filler: int) -> Ids:
    """Return rows of different lengths as a matrix with `texts` rows, padded.

    >>> pad([[5, 6], [7]], 3, 2, 0).tolist()
    [[5, 6], [7, 0], [0, 0]]
    """
    matrix = np.full((texts, length), filler, dtype=np.int64)
    for line, row in zip(matrix, rows, strict=False):
        line[: len(row)] = row
    return matrix

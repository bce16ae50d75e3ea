"""What of a folder ONNX Runtime works with: the file of the model, and its tokenizer."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.encoders.backends.onnx_session import Ids
from steelyard.encoders.model_folder import ModelFolder
from steelyard.errors import MissingPart

PLACES = ("model.onnx", "onnx/model.onnx")
"""Where an ONNX file lies in a folder."""
BESIDE = ("*.json", "*.txt")
"""What of a repository an ONNX file needs; the weights of a large one are in files with longer names."""


def wanted_files(file_name: str | None) -> tuple[str, ...]:
    """The patterns of what to fetch of a repository.

    >>> wanted_files("onnx/model_int8.onnx")
    ('*.json', '*.txt', 'onnx/model_int8.onnx*')
    """
    return (*BESIDE, *(f"{name}*" for name in ((file_name,) if file_name else PLACES)))


def model_file(folder: ModelFolder, name: str | None) -> Path:
    """The ONNX file of a folder: the one named, else that in the usual place."""
    for place in (name,) if name else PLACES:
        if (folder.path / place).is_file():
            return folder.path / place
    looked = name or " or ".join(PLACES)
    found = sorted(path.relative_to(folder.path).as_posix() for path in folder.path.rglob("*.onnx"))
    hint = f"file_name={found[0]}" if found else "backend=sentence-transformers, if it has weights for torch"
    raise MissingPart(f"the model folder {folder.path} has no {looked}", hint=hint)


def weights(folder: ModelFolder, file: Path) -> str:
    """A hash of the ONNX file, of what large ones keep beside them, and of all that describes the model."""
    described = [path for path in folder.path.rglob("*.json") if path.is_file()]
    return folder.hash_of([*file.parent.glob(f"{file.name}*"), *described])


def tokenizer(folder: ModelFolder, place: str | None, limit: int | None) -> tuple[Any, int]:
    """The tokenizer in that place of the folder, cutting at the limit, and the id that fills up a batch."""
    try:
        library: Any = importlib.import_module("tokenizers")
    except ImportError as error:
        raise MissingPart.extra("tokenizers", "onnx") from error
    places = [folder.path / name for name in ((place,) if place else (".", "onnx"))]
    path = next((path for path in places if (path / "tokenizer.json").is_file()), None)
    if path is None:
        found = sorted(path.parent.relative_to(folder.path).as_posix() for path in folder.path.rglob("tokenizer.json"))
        hint = f"tokenizer={found[0]}" if found else "save it beside the ONNX file"
        raise MissingPart(f"the model folder {places[0]} has no tokenizer.json", hint=hint)
    loaded = library.Tokenizer.from_file(str(path / "tokenizer.json"))
    padding = loaded.padding or {}
    loaded.no_padding()
    if limit is None:
        loaded.no_truncation()
    else:
        loaded.enable_truncation(limit)
    return loaded, int(padding.get("pad_id") or 0)


def padded(rows: list[list[int]], texts: int, length: int, filler: int) -> Ids:
    """Rows of unequal length as a matrix of `texts` lines, filled up.

    >>> padded([[5, 6], [7]], 3, 2, 0).tolist()
    [[5, 6], [7, 0], [0, 0]]
    """
    matrix = np.full((texts, length), filler, dtype=np.int64)
    for line, row in zip(matrix, rows, strict=False):
        line[: len(row)] = row
    return matrix

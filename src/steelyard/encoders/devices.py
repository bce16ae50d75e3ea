"""Where torch computes: one device, or several of them; and how to know that its memory has run out."""

from __future__ import annotations

import importlib
from typing import Any

from steelyard.errors import MissingPart, UsageError

AUTO = "auto"
SIGNS = (
    "out of memory",
    "can't allocate memory",
    "not enough memory",
    "failed to allocate",
    "bad allocation",
    "bad_alloc",
    "could not create a primitive",  # what oneDNN says when it finds no memory for its scratchpad
)
"""What the messages of torch and onnxruntime say, on any device."""


def choose(wanted: str | None) -> list[str]:
    """The devices to compute on: those named, with commas between them; for `auto` all accelerators, else the CPU.

    A CPU named twice is two processes.

    >>> choose("cpu"), choose("cpu, cpu")
    (['cpu'], ['cpu', 'cpu'])
    """
    named = [device.strip() for device in (wanted or AUTO).split(",")]
    if named != [AUTO]:
        if AUTO in named or not all(named):
            raise UsageError(f"the option device is {wanted!r}", hint="auto, cpu, cuda, cuda:0,cuda:1, mps ...")
        return named
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError as error:
        raise MissingPart.extra("torch", "torch") from error
    if torch.cuda.is_available():
        return [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    util: Any = importlib.import_module("sentence_transformers.util")
    return [str(util.get_device_name())]


def ran_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory has run out, on whichever device.

    >>> ran_out_of_memory(RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")), ran_out_of_memory(ValueError())
    (True, False)
    """
    return isinstance(error, MemoryError) or any(sign in str(error).lower() for sign in SIGNS)

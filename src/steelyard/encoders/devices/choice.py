"""Where torch computes: one device, or several of them; and how to know that its memory has run out."""

from __future__ import annotations

import importlib
from typing import Any

from steelyard.errors import MissingPart, UsageError

AUTO = "auto"
CHOICES = "auto, cpu, cuda, cuda:0,cuda:1, mps ..."
MEMORY_MESSAGES = (
    "out of memory",
    "can't allocate memory",
    "not enough memory",
    "failed to allocate",
    "bad allocation",
    "bad_alloc",
    "could not create a primitive",  # what oneDNN says when it finds no memory for its scratchpad
)
"""What the messages of torch and onnxruntime say, on any device."""


def choose_devices(wanted: str | None, default: str = AUTO) -> list[str]:
    """The devices to compute on: those named, with commas between them; for `auto` all accelerators, else the CPU.

    What a model's name does not say, `run --device` does. A CPU named twice is two processes; an accelerator that is
    not there is a UsageError.

    >>> choose("cpu"), choose_devices("cpu, cpu")
    (['cpu'], ['cpu', 'cpu'])
    """
    asked = wanted or default
    named = [device.strip() for device in asked.split(",")]
    if named != [AUTO]:
        if AUTO in named or not all(named):
            raise UsageError(f"the option device is {asked!r}", hint=CHOICES)
        for device in named:
            _check(device)
        return named
    torch = _torch()
    if torch.cuda.is_available():
        return [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    util: Any = importlib.import_module("sentence_transformers.util")
    return [str(util.get_device_name())]


def _check(device: str) -> None:
    """A UsageError where torch has no such device; whether one of another kind is there is left to torch."""
    kind, _, number = device.partition(":")
    if kind == "cpu" and not number:
        return
    torch = _torch()
    try:
        torch.device(device)
    except RuntimeError as error:
        raise UsageError(f"torch knows no device {device!r}", hint=CHOICES) from error
    if kind not in ("cuda", "mps"):
        return
    there = torch.cuda.device_count() if kind == "cuda" else int(torch.backends.mps.is_available())
    if there <= (int(number) if number.isdecimal() else 0):
        found = f"cuda:0 to cuda:{there - 1}" if there else f"no {kind}"
        raise UsageError(f"there is no device {device}: torch {torch.__version__} finds {found}", hint="device=auto")


def _torch() -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise MissingPart.extra("torch", "torch") from error


def ran_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory has run out, on whichever device.

    >>> ran_out_of_memory(RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")), ran_out_of_memory(ValueError())
    (True, False)
    """
    return isinstance(error, MemoryError) or any(sign in str(error).lower() for sign in MEMORY_MESSAGES)

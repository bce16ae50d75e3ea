"""The devices that torch computes on, and whether an error means that memory ran out."""

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
    "could not create a primitive",  # of oneDNN, without memory for its scratchpad
)
"""Parts of the messages of torch and onnxruntime on any device."""


def choose_devices(requested: str | None, default: str = AUTO) -> list[str]:
    """Return the devices to compute on: those requested, separated by commas; for `auto` all accelerators, or the CPU.

    `default` is used if nothing is requested. A CPU named twice means two processes; an accelerator that does not
    exist is a UsageError.

    >>> choose_devices("cpu"), choose_devices("cpu, cpu")
    (['cpu'], ['cpu', 'cpu'])
    """
    value = requested or default
    devices = [device.strip() for device in value.split(",")]
    if devices != [AUTO]:
        if AUTO in devices or not all(devices):
            raise UsageError.invalid("device", expected=CHOICES, found=value, option="device")
        for device in devices:
            _check(device)
        return devices
    torch = _torch()
    if torch.cuda.is_available():
        return [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    util: Any = importlib.import_module("sentence_transformers.util")
    return [str(util.get_device_name())]


def _check(device: str) -> None:
    """Raise a UsageError if torch does not have the device; other kinds of devices are checked by torch."""
    kind, _, number = device.partition(":")
    if kind == "cpu" and not number:
        return
    torch = _torch()
    try:
        torch.device(device)
    except RuntimeError as error:
        raise UsageError.invalid("device", expected=CHOICES, found=device, option="device") from error
    if kind not in ("cuda", "mps"):
        return
    count = torch.cuda.device_count() if kind == "cuda" else int(torch.backends.mps.is_available())
    if count <= (int(number) if number.isdecimal() else 0):
        available = f"cuda:0 to cuda:{count - 1}" if count else f"no {kind} device"
        raise UsageError(
            f"the device {device} does not exist: torch {torch.__version__} has {available}",
            option="device",
            found=device,
            expected=available,
            hint="set device=auto",
        )


def _torch() -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise MissingPart.extra("torch", "torch") from error


def ran_out_of_memory(error: BaseException) -> bool:
    """Return whether an error means that memory ran out, on any device.

    >>> ran_out_of_memory(RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")), ran_out_of_memory(ValueError())
    (True, False)
    """
    return isinstance(error, MemoryError) or any(sign in str(error).lower() for sign in MEMORY_MESSAGES)

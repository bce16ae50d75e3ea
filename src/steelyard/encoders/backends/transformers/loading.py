"""What loading a model with sentence-transformers takes, whatever comes out of it."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from steelyard.config import Settings
from steelyard.encoders.batching import BatchSize
from steelyard.encoders.devices.choice import choose
from steelyard.errors import MissingPart, ModelError
from steelyard.options import Options

OPTIONS = (
    *("batch_size", "config_kwargs", "device", "document_prompt", "dtype", "max_seq_length", "model_kwargs"),
    *("hub", "query_prompt", "trust_remote_code"),
)
DTYPES = ("float32", "float16", "bfloat16")
BATCH_TEXTS, BATCH_TOKENS, ACCELERATED = 256, 8_192, 4
"""The most texts, or pairs, and the most tokens of a batch; an accelerator gets so many times as much."""
SPEAKER = "sentence_transformers.base.model"
"""The logger that tells how a model is loaded: converted, with which default prompt; the settings have it all."""


@dataclass(frozen=True)
class Loading:
    """The options that every model of sentence-transformers has."""

    device: str | None = None
    """One, or several with commas between them; None: as the run says, else the best that there is."""
    dtype: str = "float32"
    max_seq_length: int | None = None
    """None: the model's own."""
    trust_remote_code: bool = False
    model_kwargs: tuple[tuple[str, Any], ...] = ()
    config_kwargs: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, options: Options) -> Loading:
        """As the options ask."""
        return cls(
            device=options.text("device"),
            dtype=options.choice("dtype", DTYPES),
            max_seq_length=options.whole("max_seq_length", None),
            trust_remote_code=options.choice("trust_remote_code", ("false", "true")) == "true",
            model_kwargs=tuple(options.json_object("model_kwargs").items()),
            config_kwargs=tuple(options.json_object("config_kwargs").items()),
        )

    @property
    def devices(self) -> list[str]:
        """Where the model computes."""
        return choose(self.device)

    @property
    def arguments(self) -> dict[str, Any]:
        """For a constructor of sentence-transformers; a model for several devices goes to them from the CPU."""
        devices = self.devices
        return {
            "device": devices[0] if len(devices) == 1 else "cpu",
            "trust_remote_code": self.trust_remote_code,
            "model_kwargs": {"dtype": self.dtype, **dict(self.model_kwargs)},
            "config_kwargs": dict(self.config_kwargs),
        }

    @property
    def settings(self) -> dict[str, Any]:
        """What of it could change an encoding."""
        return {
            "dtype": self.dtype,
            "model_kwargs": dict(self.model_kwargs),
            "config_kwargs": dict(self.config_kwargs),
            "library": f"sentence-transformers {metadata.version('sentence-transformers')}",
        }


def batch_size(options: Options, devices: Sequence[str], tokens: int = BATCH_TOKENS) -> BatchSize:
    """How large a batch is: as the options ask, else as the devices can take; `tokens` is what a CPU gets.

    >>> batch_size(Options("late:x", {"batch_size": "8"}, OPTIONS), ["cuda:0"])
    BatchSize(texts=8, tokens=32768, halved=0)
    """
    scale = 1 if devices[0].startswith("cpu") else ACCELERATED
    return BatchSize(options.whole("batch_size", BATCH_TEXTS * scale), options.whole("batch_tokens", tokens * scale))


def known(given: Mapping[str, str], settings: Settings) -> tuple[tuple[str, str], ...]:
    """What a model that is loaded is known by: its options, and the device that the run names if they do not."""
    return tuple(sorted({"device": settings.device, **given}.items()))


def library(name: str, module: str = "sentence_transformers") -> Any:
    """A class of sentence-transformers by name; where it is not there, a MissingPart that says what to install."""
    for package, wheel in (("torch", "torch"), ("sentence_transformers", "sentence-transformers")):
        try:  # torch before what needs it: without it, transformers is imported in part and stays so
            importlib.import_module(package)
        except ImportError as error:
            raise MissingPart.extra(wheel, "torch") from error
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        found = metadata.version("sentence-transformers")
        raise MissingPart(
            f"sentence-transformers {found} has no {name}", hint="pip install --upgrade 'sentence-transformers>=6'"
        ) from error


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the libraries' progress bars and what they tell of loading off the terminal."""
    transformers = importlib.import_module("transformers.utils.logging")
    level, bars = transformers.get_verbosity(), transformers.is_progress_bar_enabled()
    speaker = logging.getLogger(SPEAKER)
    loudness = speaker.level
    transformers.set_verbosity_error()
    transformers.disable_progress_bar()
    speaker.setLevel(logging.ERROR)
    try:
        yield
    finally:
        transformers.set_verbosity(level)
        if bars:
            transformers.enable_progress_bar()
        speaker.setLevel(loudness)


def failed_to_load(id: str, error: Exception) -> ModelError:
    """The error for a folder that the library cannot read."""
    own_code = "trust_remote_code" in str(error)
    hint = "?trust_remote_code=true runs code that comes with it" if own_code else "is it a model of this family?"
    return ModelError(f"sentence-transformers cannot load {id}: {error}", hint=hint)

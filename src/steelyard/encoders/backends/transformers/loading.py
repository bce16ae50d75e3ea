"""Load a model with sentence-transformers: common options, and an error for a folder that is not complete."""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from steelyard.config import Settings
from steelyard.encoders.batching import BatchSize
from steelyard.encoders.compute_options import COMPUTE, Compute
from steelyard.encoders.devices.choice import AUTO
from steelyard.encoders.model_folder import ModelFolder
from steelyard.errors import MissingPart, ModelError
from steelyard.options import Options

OPTIONS = (
    *("batch_size", "config_kwargs", "document_prompt", "max_seq_length", "model_kwargs", *COMPUTE),
    *("hub", "query_prompt", "trust_remote_code"),
)
BATCH_TEXTS, BATCH_TOKENS, ACCELERATED = 256, 8_192, 4
"""The most texts (or pairs) and tokens of a batch; the last number is the factor for an accelerator."""
MODEL_LOGGER = "sentence_transformers.base.model"
"""The logger that reports how a model is loaded; the settings of an encoder contain the same facts."""


@dataclass(frozen=True)
class LoadOptions:
    """The options that every model of sentence-transformers has."""

    compute: Compute
    max_seq_length: int | None = None
    """None: that of the model."""
    trust_remote_code: bool = False
    model_kwargs: tuple[tuple[str, Any], ...] = ()
    config_kwargs: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, options: Options, default_device: str = AUTO) -> LoadOptions:
        """Read the options of a model; `default_device` is that of the run."""
        return cls(
            Compute.of(options, default_device),
            max_seq_length=options.whole("max_seq_length", None),
            trust_remote_code=options.choice("trust_remote_code", ("false", "true")) == "true",
            model_kwargs=tuple(options.json_object("model_kwargs").items()),
            config_kwargs=tuple(options.json_object("config_kwargs").items()),
        )

    @property
    def devices(self) -> list[str]:
        """The devices that the model runs on."""
        return self.compute.devices

    @property
    def threads(self) -> int | None:
        """Threads of torch on the CPU; None: all cores."""
        return self.compute.threads

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of a constructor of sentence-transformers; a model for several devices is loaded on the CPU."""
        devices = self.devices
        return {
            "device": devices[0] if len(devices) == 1 else "cpu",
            "trust_remote_code": self.trust_remote_code,
            "model_kwargs": {"dtype": self.compute.dtype, **dict(self.model_kwargs)},
            "config_kwargs": dict(self.config_kwargs),
        }

    @property
    def settings(self) -> dict[str, Any]:
        """The options that could change an encoding."""
        return {
            "dtype": self.compute.dtype,
            "model_kwargs": dict(self.model_kwargs),
            "config_kwargs": dict(self.config_kwargs),
            "library": f"sentence-transformers {metadata.version('sentence-transformers')}",
        }


def batch_size(
    options: Options, devices: Sequence[str], tokens: int = BATCH_TOKENS, *, reproducible: bool = False
) -> BatchSize:
    """Return the batch size of the options, else the default of the devices; `tokens` is the default on a CPU.

    With `reproducible`, batches on a CPU contain texts of one length: bytes do not depend on the other texts.

    >>> size = batch_size(Options("late:x", {"batch_size": "8"}, OPTIONS), ["cuda:0"])
    >>> size.texts, size.tokens, size.equal_lengths
    (8, 32768, False)
    """
    on_cpu = devices[0].startswith("cpu")
    scale = 1 if on_cpu else ACCELERATED
    return BatchSize(
        options.whole("batch_size", BATCH_TEXTS * scale),
        options.whole("batch_tokens", tokens if on_cpu else BATCH_TOKENS * scale),
        equal_lengths=on_cpu and reproducible,
    )


def cache_key(raw_options: Mapping[str, str], settings: Settings) -> tuple[tuple[str, str], ...]:
    """Return the key of a loaded model: its options, with the device of the run if they have none."""
    return tuple(sorted({"device": settings.device, **raw_options}.items()))


def import_class(name: str, module: str = "sentence_transformers") -> Any:
    """Import a class of sentence-transformers; raise a MissingPart with the install command if that fails."""
    for package, wheel in (("torch", "torch"), ("sentence_transformers", "sentence-transformers")):
        try:  # torch first: without it, transformers is imported partially and stays so
            importlib.import_module(package)
        except ImportError as error:
            raise MissingPart.extra(wheel, "torch") from error
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        version = metadata.version("sentence-transformers")
        raise MissingPart(
            f"sentence-transformers {version} does not have {name}",
            hint="pip install --upgrade 'sentence-transformers>=6'",
        ) from error


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress the libraries' progress bars and log messages while a model is loaded."""
    transformers = importlib.import_module("transformers.utils.logging")
    level, bars = transformers.get_verbosity(), transformers.is_progress_bar_enabled()
    logger = logging.getLogger(MODEL_LOGGER)
    logger_level = logger.level
    transformers.set_verbosity_error()
    transformers.disable_progress_bar()
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        transformers.set_verbosity(level)
        if bars:
            transformers.enable_progress_bar()
        logger.setLevel(logger_level)


def load_error(id: str, error: Exception) -> ModelError:
    """Return the error for a folder that the library cannot load."""
    needs_code = "trust_remote_code" in str(error)
    hint = "add ?trust_remote_code=true to run the code of its repository" if needs_code else "check the model's family"
    return ModelError(f"sentence-transformers cannot load {id}: {error}", hint=hint)


WEIGHTS_LOGGER = "transformers.modeling_utils"
"""The logger that reports which weights were not in the files."""
COLOUR = re.compile(r"\x1b\[[\d;]*m")
UNUSED = re.compile(r"(^|\.)pooler\.")
"""Weights that are not used: sentence-transformers has its own pooling."""


def load_complete(folder: ModelFolder, load: Callable[[], Any]) -> Any:
    """Return what `load` loads from the folder; raise a ModelError if weights or the tokenizer are missing."""
    reports = _Reports()
    logger = logging.getLogger(WEIGHTS_LOGGER)
    level, propagate = logger.level, logger.propagate
    with quiet():
        logger.setLevel(logging.WARNING)
        logger.propagate = False
        logger.addHandler(reports)
        try:
            model = load()
        except importlib.import_module("safetensors").SafetensorError as error:
            hint = "download or copy the file again"
            raise ModelError(f"the weights of {folder.id} cannot be read: {error}", hint=hint) from error
        except importlib.import_module("pickle").UnpicklingError as error:  # torch would explain how to run the code
            raise ModelError(
                f"the weights of {folder.id} must contain tensors only, got pickled code or a damaged file",
                hint="use a model with safetensors; do not load this one unless you know its origin",
            ) from error
        finally:
            logger.removeHandler(reports)
            logger.setLevel(level)
            logger.propagate = propagate
    if missing := [name for name in missing_weights(reports.texts) if not UNUSED.search(name)]:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ModelError(
            f"weights of {folder.id} are missing: {missing[0]}{more}",
            hint="check that the model belongs to this family; the library would use random weights",
        )
    _check_tokenizer(getattr(model, "tokenizer", None), folder)
    return model


def saved_class(folder: ModelFolder) -> str | None:
    """Return the class of sentence-transformers that saved the folder; None for a plain transformers model.

    The library loads a model of one class as another, with random weights for what is missing.
    """
    if folder.json("modules.json") is None:
        return None
    declared = folder.json_object("config_sentence_transformers.json")
    return str(declared.get("model_type", "SentenceTransformer"))  # older files do not name it


def _check_tokenizer(tokenizer: Any, folder: ModelFolder) -> None:
    """Raise a ModelError for a tokenizer without vocabulary, which the library makes if its files are missing."""
    marks = getattr(tokenizer, "all_special_tokens", None)
    if marks is not None and hasattr(tokenizer, "get_vocab") and set(tokenizer.get_vocab()) <= set(marks):
        raise ModelError(
            f"{folder.id} does not have a tokenizer",
            hint="copy tokenizer.json and tokenizer_config.json from its base model",
        )


def missing_weights(reports: Sequence[str]) -> list[str]:
    r"""Return the weights that the library's reports list as missing; those of several layers are one entry.

    >>> missing_weights(["LOAD REPORT\nKey | Status |\na.{0, 1}.b | \x1b[31mMISSING\x1b[0m |\nc | UNEXPECTED |"])
    ['a.{0, 1}.b']
    """
    rows = [COLOUR.sub("", line).split("|") for report in reports for line in report.splitlines()]
    return [row[0].strip() for row in rows if len(row) > 1 and row[1].strip() == "MISSING"]


class _Reports(logging.Handler):
    """Collects log messages."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Collect the message."""
        self.texts.append(record.getMessage())

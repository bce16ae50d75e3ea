"""Load a model whole or not at all: what a folder lacks, the library makes up, with random weights and no words."""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Callable, Sequence
from typing import Any

from steelyard.encoders.backends.transformers.loading import quiet
from steelyard.encoders.model_folder import ModelFolder
from steelyard.errors import ModelError

REPORTS = "transformers.modeling_utils"
"""The logger that tells which weights were not in the files."""
COLOUR = re.compile(r"\x1b\[[\d;]*m")
UNUSED = re.compile(r"(^|\.)pooler\.")
"""Weights that nothing reads: sentence-transformers pools by itself."""


def load_whole(folder: ModelFolder, load: Callable[[], Any]) -> Any:
    """What `load` makes of the folder, without a word on the terminal; a ModelError where the folder lacks a part."""
    reports = _Reports()
    logger = logging.getLogger(REPORTS)
    level, passes_on = logger.level, logger.propagate
    with quiet():
        logger.setLevel(logging.WARNING)
        logger.propagate = False
        logger.addHandler(reports)
        try:
            model = load()
        except importlib.import_module("safetensors").SafetensorError as error:
            hint = "is a file still being written, or was it copied in part?"
            raise ModelError(f"the weights of {folder.id} cannot be read: {error}", hint=hint) from error
        finally:
            logger.removeHandler(reports)
            logger.setLevel(level)
            logger.propagate = passes_on
    if missing := [name for name in missing_weights(reports.texts) if not UNUSED.search(name)]:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ModelError(
            f"the files of {folder.id} lack weights that the model needs: {missing[0]}{more}",
            hint="the library would make them up at random; is it a model of another kind, or saved under other names?",
        )
    _check_words(getattr(model, "tokenizer", None), folder)
    return model


def saved_as(folder: ModelFolder) -> str | None:
    """The class of sentence-transformers whose model the folder holds; None where it has files of transformers alone.

    What one class has saved, another loads: it says so in its log, and makes up what it lacks.
    """
    if folder.json("modules.json") is None:
        return None
    declared = folder.json("config_sentence_transformers.json") or {}
    return str(declared.get("model_type", "SentenceTransformer"))  # older files do not say


def _check_words(tokenizer: Any, folder: ModelFolder) -> None:
    """A ModelError where a tokenizer knows no words: where its files are missing, one is made that does not."""
    marks = getattr(tokenizer, "all_special_tokens", None)
    if marks is not None and hasattr(tokenizer, "get_vocab") and set(tokenizer.get_vocab()) <= set(marks):
        raise ModelError(
            f"{folder.id} has no tokenizer: every word would be unknown to it",
            hint="copy tokenizer.json and tokenizer_config.json of the model that it was trained from",
        )


def missing_weights(reports: Sequence[str]) -> list[str]:
    r"""The weights that the library's reports call missing; like ones of several layers are one.

    >>> missing_weights(["LOAD REPORT\nKey | Status |\na.{0, 1}.b | \x1b[31mMISSING\x1b[0m |\nc | UNEXPECTED |"])
    ['a.{0, 1}.b']
    """
    rows = [COLOUR.sub("", line).split("|") for report in reports for line in report.splitlines()]
    return [row[0].strip() for row in rows if len(row) > 1 and row[1].strip() == "MISSING"]


class _Reports(logging.Handler):
    """Keeps what is said."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it."""
        self.texts.append(record.getMessage())

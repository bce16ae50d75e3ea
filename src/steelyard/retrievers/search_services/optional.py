"""Packages that only search services need."""

from __future__ import annotations

import importlib
from typing import Any

from steelyard.errors import MissingPart


def need(module: str, package: str) -> Any:
    """The module, imported now; without it a MissingPart that says which extra brings the package."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPart.extra(package, "search") from error

"""scikit-learn, which fits classifiers and clusters, so that scores are those of other tools."""

from __future__ import annotations

from typing import Any

from steelyard.errors import MissingPart

SEED = 42
"""The seed of mteb for every fit and every sample."""


def sklearn() -> Any:
    """Return scikit-learn; a MissingPart if it is not installed."""
    try:
        import sklearn
    except ImportError as error:
        raise MissingPart.extra("scikit-learn", "tasks") from error
    return sklearn


def fitted_by() -> dict[str, str]:
    """Return the version of scikit-learn for the notes of a result: fits differ between versions."""
    return {"scikit-learn": str(sklearn().__version__)}

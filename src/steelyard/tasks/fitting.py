"""What is fitted is scikit-learn's, so that figures are those of everyone who uses it."""

from __future__ import annotations

from typing import Any

from steelyard.errors import MissingPart

SEED = 42
"""mteb's: of every fit, and of every draw of training texts and samples."""


def sklearn() -> Any:
    """scikit-learn, or what to install."""
    try:
        import sklearn
    except ImportError as error:
        raise MissingPart.extra("scikit-learn", "tasks") from error
    return sklearn


def fitted_by() -> dict[str, str]:
    """For the notes of a result: fits differ between versions."""
    return {"scikit-learn": str(sklearn().__version__)}

"""scikit-learn, which fits classifiers and clusters, so that scores are those of other tools."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from steelyard.errors import MissingPart
from steelyard.vectors.threads import single_threaded_blas

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


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit scikit-learn to the calling thread, so that a fit does not depend on the number of threads.

    It is faster, too: batches are so small that threads mostly wait for each other. On a busy machine of two cores,
    k-means of 1,000 vectors takes 40 times less processor time.
    """
    openmp = _openmp()
    with openmp.limit(limits=1), single_threaded_blas():
        yield


@cache
def _openmp() -> Any:
    """Return the controller of OpenMP, listed after scikit-learn has loaded it."""
    from sklearn.cluster import MiniBatchKMeans
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    assert MiniBatchKMeans is not None
    return ThreadpoolController().select(user_api="openmp")

"""Where a condition holds, for the many short arrays that reading a small corpus takes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from steelyard.types import Int64


def places_of(holds: npt.NDArray[np.bool_]) -> Int64:
    """The places at which it holds, ascending: `np.flatnonzero` without the four calls that it takes to get there.

    >>> places_of(np.array([False, True, True])).tolist()
    [1, 2]
    """
    return holds.nonzero()[0]

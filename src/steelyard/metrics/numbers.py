"""The numbers that some metrics take after their name, as trec_eval writes them: `utility.1,-1,0,0`, `G.1=3,2=9`."""

from __future__ import annotations

from steelyard.errors import UsageError


def numbers(text: str, *, count: int | None, metric: str, example: str) -> tuple[float, ...]:
    """The comma-separated numbers of the text; as many as `count` says.

    >>> numbers("1,-1,0,.5", count=4, metric="utility", example="utility.1,-1,0,0")
    (1.0, -1.0, 0.0, 0.5)
    """
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise UsageError(f"{metric} cannot take {text!r}", hint=f"write {example}") from error
    if count is not None and len(found) != count:
        raise UsageError(f"{metric} takes {count} numbers, not {text!r}", hint=f"write {example}")
    return found


def pairs(text: str, *, metric: str) -> dict[int, float]:
    """Gains by grade.

    >>> pairs("1=3.5,2=9", metric="G")
    {1: 3.5, 2: 9.0}
    """
    try:
        split = [part.split("=") for part in text.split(",")]
        found = {int(grade): float(gain) for grade, gain in split}
    except ValueError as error:
        raise UsageError(
            f"{metric} cannot take {text!r}", hint=f"write grade=gain, such as {metric}.1=3,2=9"
        ) from error
    if len(found) < len(split) or min(found) < 0:
        raise UsageError(f"{metric} cannot take {text!r}", hint="name every grade once, from 0 upwards")
    return found

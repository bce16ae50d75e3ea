"""Which errors of a service may be temporary, and how long to wait before the next attempt."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime

LONGEST = 30.0
PERMANENT = {501, 505, 508, 511}


def is_temporary(status: int) -> bool:
    """Return whether a request with this status is worth repeating.

    >>> [status for status in (400, 401, 404, 408, 413, 425, 429, 500, 501, 503, 529) if is_temporary(status)]
    [408, 425, 429, 500, 503, 529]
    """
    return status in (408, 425, 429) or (status >= 500 and status not in PERMANENT)


def backoff(retries: int, first: float) -> float:
    """Return the seconds before the next attempt: doubled each time, at most `LONGEST`, minus up to half at random.

    The random part keeps clients that failed together from coming back together.
    """
    longest = min(LONGEST, first * 2.0 ** min(retries, 32))
    return longest * random.uniform(0.5, 1.0)


def retry_after(headers: Message, now: datetime | None = None) -> float | None:
    """Return the seconds that the service asks for: `Retry-After` as a number or a date, or `retry-after-ms`.

    None without a readable value; never below 0.

    >>> message = Message()
    >>> message["Retry-After"] = "Fri, 31 Dec 1999 23:59:59 GMT"
    >>> retry_after(message, datetime(1999, 12, 31, 23, 59, 49, tzinfo=UTC))
    10.0
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        seconds = _number(headers.get(name, "").strip())
        if seconds is not None:
            return max(0.0, seconds * unit)
    try:
        date = parsedate_to_datetime(headers.get("retry-after", "").strip())
    except (ValueError, TypeError, OverflowError):
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None

"""Which failures may heal, and how long to wait for it."""

from __future__ import annotations

import math
import random
from datetime import UTC, datetime
from email.message import Message
from email.utils import parsedate_to_datetime

LONGEST = 30.0
HOPELESS = {501, 505, 508, 511}


def may_heal(status: int) -> bool:
    """Whether a request that got this status is worth repeating.

    >>> [status for status in (400, 401, 404, 408, 413, 425, 429, 500, 501, 503, 529) if may_heal(status)]
    [408, 425, 429, 500, 503, 529]
    """
    return status in (408, 425, 429) or (status >= 500 and status not in HOPELESS)


def backoff(retries: int, first: float) -> float:
    """Seconds before the next try: twice as long each time, at most `LONGEST`, less up to half by chance.

    The chance keeps clients that failed together from coming back together.
    """
    longest = min(LONGEST, first * 2.0 ** min(retries, 32))
    return longest * random.uniform(0.5, 1.0)


def retry_after(headers: Message, now: datetime | None = None) -> float | None:
    """The seconds that the service asks for: `Retry-After` as a number or a date, or `retry-after-ms`.

    None where it says nothing that can be read; never below 0.

    >>> message = Message()
    >>> message["Retry-After"] = "Fri, 31 Dec 1999 23:59:59 GMT"
    >>> retry_after(message, datetime(1999, 12, 31, 23, 59, 49, tzinfo=UTC))
    10.0
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        seconds = _number(value)
        if seconds is not None:
            return max(0.0, seconds * unit)
    try:
        date = parsedate_to_datetime(value)
    except ValueError:
        return None
    date = date if date.tzinfo else date.replace(tzinfo=UTC)
    return max(0.0, (date - (now or datetime.now(UTC))).total_seconds())


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None

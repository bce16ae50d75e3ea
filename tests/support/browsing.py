"""Wait for a condition in a page whose content security policy forbids `eval`, which `wait_for_function` needs."""

from __future__ import annotations

import time
from typing import Any

PATIENCE = 20.0


def wait_until(page: Any, condition: str, argument: Any = None) -> None:
    """Return once the JavaScript condition is true; fail if it does not become true."""
    end = time.monotonic() + PATIENCE
    while not page.evaluate(condition, argument):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(20)

"""Wait for a condition in a page whose content security policy forbids `eval`, which `wait_for_function` needs."""

from __future__ import annotations

import time
from typing import Any

PATIENCE = 20.0
SHOWN = "[undefined, location.hash].includes(document.getElementById('main')?.dataset.address)"
"""The view of the board is that of the address, which changes first. Other pages have no such mark."""


def wait_until(page: Any, condition: str, argument: Any = None) -> None:
    """Return once the JavaScript condition is true and the view is drawn; fail if it does not become true."""
    end = time.monotonic() + PATIENCE
    while not (page.evaluate(condition, argument) and page.evaluate(SHOWN)):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(20)

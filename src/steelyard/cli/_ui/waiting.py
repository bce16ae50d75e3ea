"""A word about what takes long: one line on stderr, and none where it does not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from steelyard.cli._ui.progress import SOON

if TYPE_CHECKING:
    from steelyard.cli._ui.output import Output


@contextmanager
def patiently(output: Output, doing: str) -> Iterator[None]:
    """Say in a plain line what is being done, if it is not done after some seconds."""
    waiting = threading.Timer(SOON, output.note, (f"{doing} ...",))
    waiting.daemon = True
    waiting.start()
    try:
        yield
    finally:
        waiting.cancel()

"""Seconds by phase and peak memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_CLEAR_REFS, _STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


@dataclass
class Clock:
    """Seconds by phase.

    >>> clock = Clock()
    >>> with clock.phase("search"):
    ...     pass
    >>> list(clock.seconds)
    ['search']
    """

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the time of the block to the phase, also when the block fails."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


def reset_peak_memory() -> None:
    """Count the peak from now on, on Linux; elsewhere it counts from the start of the process."""
    try:
        _CLEAR_REFS.write_text("5")
    except OSError:
        return


def peak_memory_bytes() -> int | None:
    """Return the peak memory of the process since the last reset; None if the system does not report it."""
    try:
        lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return _peak_of_process()
    kilobytes = (int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    return next((value * 1024 for value in kilobytes), None)


def resident_memory_bytes() -> int | None:
    """Return the memory that the process holds now; None if the system does not report it."""
    try:
        lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS")), None)


def _peak_of_process() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024

"""What an evaluation costs: seconds by phase, peak memory, emissions."""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.config import Settings
from steelyard.errors import MissingPart, UsageError

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


EMISSIONS = "kg_co2_emissions"
"""The name of the value in the notes of a result, as in mteb's files."""


class EmissionsMeter:
    """Measures evaluations in kg of CO2 with the package codecarbon: one tracker, which takes some seconds to start."""

    def __init__(self, settings: Settings) -> None:
        if settings.offline:
            raise UsageError(
                "--co2-tracker cannot be used with --offline: codecarbon requests the country of this machine",
                hint="remove one of the two",
                option="--co2-tracker",
            )
        try:
            codecarbon: Any = importlib.import_module("codecarbon")
        except ImportError as error:
            raise MissingPart(
                "--co2-tracker needs the package 'codecarbon'", hint="pip install codecarbon", option="--co2-tracker"
            ) from error
        self._tracker: Any = codecarbon.EmissionsTracker(
            save_to_file=False, save_to_api=False, log_level="error", allow_multiple_runs=True
        )

    @contextmanager
    def measure(self, name: str) -> Iterator[dict[str, float]]:
        """Yield a dictionary that has the emissions after the work is done; a failed evaluation has none."""
        self._tracker.start_task(name)
        measured: dict[str, float] = {}
        try:
            yield measured
        finally:
            emissions = getattr(self._tracker.stop_task(name), "emissions", None)
            if isinstance(emissions, int | float):
                measured[EMISSIONS] = float(emissions)


@contextmanager
def measured_emissions(meter: EmissionsMeter | None, name: str) -> Iterator[dict[str, float]]:
    """Yield what `EmissionsMeter.measure` does; nothing without a meter."""
    if meter is None:
        yield {}
        return
    with meter.measure(name) as emitted:
        yield emitted

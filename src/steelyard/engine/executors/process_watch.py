"""Find worker processes that hang or hold too much memory, from what `/proc` reports; nothing without `/proc`."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from steelyard.config import machine_memory

LOOK_SECONDS = 1.0
"""How often processes are looked at, at most."""
LOOKS = 30
"""How often the CPU time is looked up before a process counts as hanging, at least."""
SHARE = 0.9
"""The share of the machine's memory that all processes may hold together."""


@dataclass(frozen=True)
class Use:
    """What a process and the processes that it has started use."""

    cpu_seconds: float = 0.0
    memory_bytes: int = 0
    """Memory that belongs to them alone: pages of files, as those of a mapped index, do not count."""

    def __add__(self, other: Use) -> Use:
        return Use(self.cpu_seconds + other.cpu_seconds, self.memory_bytes + other.memory_bytes)


class ProcessWatch:
    """Looks at worker processes.

    `stalled` is the number of seconds without CPU time after which one counts as hanging (0: never), `memory` the bytes
    that one may hold (None: no limit of its own). All of them together may hold nine tenths of the machine's memory.
    """

    def __init__(self, stalled: float, memory: int | None) -> None:
        self._stalled, self._memory = stalled, memory
        self._machine = int(SHARE * (machine_memory() or 0))
        self._interval = min(LOOK_SECONDS, stalled / LOOKS) if stalled else LOOK_SECONDS
        self._next = 0.0
        self._seen: dict[int, tuple[float, float]] = {}
        """CPU seconds of a process, and when it was last seen with others."""

    def problems(self, pids: Collection[int], *, waiting: Collection[int]) -> dict[int, str]:
        """Return the processes to stop, and why. Only those that somebody is `waiting` for can hang."""
        now = time.monotonic()
        if now < self._next:
            return {}
        self._next = now + self._interval
        uses = uses_of(pids)
        return dict(
            [*self._hanging({pid: use for pid, use in uses.items() if pid in waiting}, now), *self._too_large(uses)]
        )

    def _hanging(self, uses: dict[int, Use], now: float) -> Iterator[tuple[int, str]]:
        """Yield the processes that have used no CPU time for long: they wait for something that will not come."""
        self._seen = {pid: seen for pid, seen in self._seen.items() if pid in uses}
        for pid, use in uses.items():
            seconds, since = self._seen.get(pid, (-1.0, now))
            if use.cpu_seconds != seconds:
                self._seen[pid] = use.cpu_seconds, now
            elif self._stalled and now - since > self._stalled:
                yield pid, f"the process used no CPU time for {self._stalled:g} seconds"

    def _too_large(self, uses: dict[int, Use]) -> Iterator[tuple[int, str]]:
        for pid, use in uses.items():
            if self._memory is not None and use.memory_bytes > self._memory:
                yield (
                    pid,
                    f"the process held {_gigabytes(use.memory_bytes)}, more than {_gigabytes(self._memory)} (memory=)",
                )
        total = sum(use.memory_bytes for use in uses.values())
        if self._machine and total > self._machine:
            largest = max(uses, key=lambda pid: uses[pid].memory_bytes)
            held = f"the workers held {_gigabytes(total)}, more than {SHARE:.0%} of the machine's memory"
            yield largest, f"{held}, and this one most: {_gigabytes(uses[largest].memory_bytes)}"


def uses_of(pids: Collection[int]) -> dict[int, Use]:
    """Return what processes use, each together with the processes that it has started.

    >>> import os
    >>> all(use.cpu_seconds > 0 and use.memory_bytes > 0 for use in uses_of([os.getpid()]).values())
    True
    """
    parents: dict[int, int] = {}
    own: dict[int, Use] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            pid = int(path.parent.name)
            parents[pid], own[pid] = int(fields[1]), Use(sum(map(float, fields[11:15])) / os.sysconf("SC_CLK_TCK"))
    used = {pid: Use() for pid in pids if pid in own}
    for pid, use in own.items():
        ancestor: int | None = pid
        while ancestor is not None and ancestor not in used:
            ancestor = parents.get(ancestor)
        if ancestor is not None:
            used[ancestor] += use + Use(memory_bytes=_memory_bytes(pid))
    return used


def _memory_bytes(pid: int) -> int:
    with suppress(OSError, ValueError, IndexError):
        _, resident, shared = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[:3]
        return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
    return 0


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.2f} GB"

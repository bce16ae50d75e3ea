"""Give shards to workers until each is finished or given up. The same for processes, Ray and Slurm.

A worker that ends, a shard that a worker cannot store and a shard that takes much longer than the others are given to
another worker, at most `ATTEMPTS` times in all. A shard that needs one that was given up is given up, too: its worker
would compute the same texts, and end again. Encodings are stored by content, so a shard that is computed twice does
no harm. The executor itself repeats nothing: all attempts are counted here.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Protocol

from steelyard.engine.executors.shards import EncodeShard, Group, Outcome, Shard
from steelyard.results import Failure

ATTEMPTS = 3
"""How often a shard is given to a worker at most."""
FAILED_STARTS = 3
"""How many workers of a group in a row may end before they are ready."""
BACKLOG = 4
"""Shards that are planned ahead for each worker."""
POLL_SECONDS = 0.5
SLOW = 4.0
"""A shard that takes so many times the median of its kind is also given to an idle worker."""
SLOW_SECONDS = 5.0
"""The least time before that happens."""


@dataclass(frozen=True)
class Ready:
    """A worker can be given shards."""

    worker: int
    loaded: bool = True
    """Whether it has loaded its models; if not, it does so with its first shards."""


@dataclass(frozen=True, eq=False)
class Returned:
    """A worker has finished its shards."""

    worker: int
    outcomes: Sequence[Outcome]


@dataclass(frozen=True)
class Ended:
    """A worker has ended: killed, lost with its machine, or unable to load a model."""

    worker: int
    reason: str
    loaded: bool = True
    """Whether it could load its models, as far as it was ready."""


WorkerEvent = Ready | Returned | Ended


class Executor(Protocol):
    """Starts workers somewhere. A plug-in registers a factory under the entry point `steelyard.executors`."""

    name: str
    shards_per_call: int
    """Shards that a worker gets at once."""
    timeout: float | None
    """Seconds that a worker may take for a shard, None for no limit; then it is stopped and the shard is given up."""

    def capacity(self, group: Group) -> int:
        """Return how many workers of a group may run at a time."""
        ...

    def start(self, group: Group) -> int:
        """Start a worker, without waiting for it, and return its number."""
        ...

    def submit(self, worker: int, shards: Sequence[Shard]) -> None:
        """Give shards to a worker that is ready and idle."""
        ...

    def wait(self, seconds: float) -> Sequence[WorkerEvent]:
        """Return what has happened, after that time at the latest."""
        ...

    def stop(self, worker: int) -> None:
        """End a worker at once."""
        ...

    def close(self) -> None:
        """End all workers."""
        ...


@dataclass(eq=False)
class _Work:
    """A shard that is not finished."""

    shard: Shard
    attempts: int = 0


@dataclass(eq=False)
class _Worker:
    group: int
    ready: bool = False
    works: list[_Work] = field(default_factory=list)
    since: float = 0.0
    cannot_store: bool = False
    """Whether it could not store encodings, for example because its disk is full; others then encode."""


class Dispatcher:
    """Shards, workers and attempts of one batch."""

    def __init__(self, executor: Executor, groups: Sequence[Group], shards: Iterator[Shard]) -> None:
        self._executor = executor
        self._groups = groups
        self._shards: Iterator[Shard] | None = shards
        self._waiting: deque[_Work] = deque()
        self._unfinished: set[str] = set()
        self._given_up: dict[str, Failure] = {}
        self._workers: dict[int, _Worker] = {}
        self._failed_starts: Counter[int] = Counter()
        self._seconds: dict[type, list[float]] = {}
        self.retries = 0

    @property
    def workers(self) -> int:
        """Workers that are ready or computing."""
        return sum(worker.ready for worker in self._workers.values())

    def run(self) -> Iterator[Outcome | None]:
        """Yield each outcome, and None from time to time so that the caller can react; the shards may come slowly."""
        while True:
            self._plan_ahead()
            yield from self._hopeless()
            self._start_workers()
            self._submit()
            if not self._unfinished and self._shards is None:
                return
            yield None
            for event in self._executor.wait(POLL_SECONDS):
                yield from self._handle(event)
            yield from self._overdue()

    def _plan_ahead(self) -> None:
        capacity = max((self._executor.capacity(group) for group in self._groups), default=1)
        while self._shards is not None and len(self._waiting) < BACKLOG * capacity * self._executor.shards_per_call:
            shard = next(self._shards, None)
            if shard is None:
                self._shards = None
            else:
                self._waiting.append(_Work(shard))
                self._unfinished.add(shard.id)

    def _hopeless(self) -> Iterator[Outcome]:
        """Give up the shards that need one that was given up."""
        for work in list(self._waiting):
            failure = next((self._given_up[id] for id in work.shard.needs if id in self._given_up), None)
            if failure is not None:
                self._waiting.remove(work)
                yield self._finish(work, Outcome(work.shard.id, failure=failure))

    def _ready_works(self, worker: _Worker) -> Iterator[_Work]:
        """Yield the shards that wait for a worker and need no unfinished one."""
        for work in self._waiting:
            ready = work.shard.group == worker.group and self._unfinished.isdisjoint(work.shard.needs)
            if ready and self._may_have(worker, work):
                yield work

    def _may_have(self, worker: _Worker, work: _Work) -> bool:
        """Return whether a worker can store what it computes, or no other worker can."""
        if not worker.cannot_store or not isinstance(work.shard, EncodeShard):
            return True
        return all(other.cannot_store for other in self._workers.values() if other.group == worker.group)

    def _start_workers(self) -> None:
        """Stop the workers of groups without shards, and start some for the first groups with shards that wait."""
        demand = Counter(work.shard.group for work in self._waiting)
        for number, worker in list(self._workers.items()):
            wanted = demand[worker.group] or self._busy(worker.group)
            if worker.ready and not wanted and (demand or self._shards is None):
                self._remove(number)
        for group in self._groups:
            per_call = self._executor.shards_per_call
            own = sum(worker.group == group.number for worker in self._workers.values())
            wanted = -(-(demand[group.number] + self._busy(group.number)) // per_call)
            while own < wanted and len(self._workers) < self._executor.capacity(group):
                self._workers[self._executor.start(group)] = _Worker(group.number)
                own += 1

    def _busy(self, group: int) -> int:
        """Return how many shards the workers of a group compute that no other has finished."""
        workers = (worker for worker in self._workers.values() if worker.group == group)
        return len({work.shard.id for worker in workers for work in worker.works} & self._unfinished)

    def _submit(self) -> None:
        for number, worker in self._workers.items():
            if not worker.ready or worker.works:
                continue
            works = list(islice(self._ready_works(worker), self._executor.shards_per_call))
            works = [work for work in works if work.attempts][:1] or works  # alone, to see which of them ends a worker
            for work in works:
                self._waiting.remove(work)
            works = works or self._slow_works(worker)
            if works:
                self._give(number, worker, works)

    def _holders(self, work: _Work) -> int:
        """Return how many workers compute a shard now."""
        return sum(work in worker.works for worker in self._workers.values())

    def _give(self, number: int, worker: _Worker, works: list[_Work]) -> None:
        for work in works:
            self.retries += work.attempts > 0
            work.attempts += 1
        worker.works, worker.since = works, time.monotonic()
        self._executor.submit(number, [work.shard for work in works])

    def _slow_works(self, idle: _Worker) -> list[_Work]:
        """Return the shards of the slowest worker of a group, if it takes much longer than others did."""
        now = time.monotonic()
        for worker in sorted(self._workers.values(), key=lambda worker: worker.since):
            if worker.group != idle.group or not worker.works:
                continue
            known = self._seconds.get(type(worker.works[0].shard), [])
            limit = max(SLOW_SECONDS, SLOW * statistics.median(known) * len(worker.works)) if known else None
            if limit is None or now - worker.since <= limit:
                continue
            open_works = [work for work in worker.works if work.shard.id in self._unfinished]
            works = [work for work in open_works if work.attempts < ATTEMPTS and self._holders(work) == 1]
            works = [work for work in works if self._may_have(idle, work)]
            if works:
                return works
        return []

    def _handle(self, event: WorkerEvent) -> Iterator[Outcome]:
        worker = self._workers.get(event.worker)
        if worker is None:  # stopped meanwhile
            return
        match event:
            case Ready(_, loaded):
                worker.ready = True
                if loaded:
                    self._failed_starts[worker.group] = 0
            case Returned(_, outcomes):
                self._failed_starts[worker.group] = 0
                yield from self._returned(worker, outcomes)
            case Ended(number, reason, loaded):
                self._failed_starts[worker.group] += not (worker.ready and loaded)
                yield from self._ended(number, worker, reason)

    def _returned(self, worker: _Worker, outcomes: Sequence[Outcome]) -> Iterator[Outcome]:
        works, worker.works = worker.works, []
        seconds = (time.monotonic() - worker.since) / max(1, len(works))
        for work, outcome in zip(works, outcomes, strict=True):
            if work.shard.id not in self._unfinished:  # another worker was faster
                continue
            if outcome.problem is not None:
                worker.cannot_store = True
                if work.attempts < ATTEMPTS:
                    self._waiting.appendleft(work)
                    continue
            self._seconds.setdefault(type(work.shard), []).append(seconds)
            yield self._finish(work, outcome)

    def _ended(self, number: int, worker: _Worker, reason: str) -> Iterator[Outcome]:
        self._remove(number)
        for work in worker.works:
            if work.shard.id not in self._unfinished or self._holders(work):
                continue
            if work.attempts < ATTEMPTS:
                self._waiting.appendleft(work)
            else:
                yield self._give_up(work, f"its worker ended {work.attempts} times, the last time: {reason}")
        if self._failed_starts[worker.group] >= FAILED_STARTS:
            for work in [work for work in self._waiting if work.shard.group == worker.group]:
                self._waiting.remove(work)
                yield self._give_up(work, f"no worker could be started: {reason}")

    def _overdue(self) -> Iterator[Outcome]:
        """Stop the workers that have exceeded the time limit, and give up the shards that nobody else computes."""
        limit = self._executor.timeout
        if limit is None:
            return
        now = time.monotonic()
        for number, worker in list(self._workers.items()):
            if not worker.works or now - worker.since <= limit * len(worker.works):
                continue
            self._remove(number)
            for work in worker.works:
                if work.shard.id in self._unfinished and not self._holders(work):
                    reason = f"it took longer than the time limit of {limit:g} seconds, and its worker was stopped"
                    yield self._give_up(work, reason)

    def _remove(self, number: int) -> None:
        self._workers.pop(number)
        self._executor.stop(number)

    def _give_up(self, work: _Work, reason: str) -> Outcome:
        hint = f"evaluate it alone with --executor local to see why; results of {self._executor.name} so far are stored"
        failure = self._given_up[work.shard.id] = Failure("WorkerError", reason, hint)
        return self._finish(work, Outcome(work.shard.id, failure=failure))

    def _finish(self, work: _Work, outcome: Outcome) -> Outcome:
        self._unfinished.discard(work.shard.id)
        return outcome

"""Configs of EvalScope, unchanged: `run_task(task_cfg=...)` and `steelyard eval CONFIG`.

>>> from steelyard import run_task                                                       # doctest: +SKIP
>>> results = run_task(task_cfg=one_stage_task_cfg)                                      # doctest: +SKIP
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from steelyard.compat.evalscope.config_file import read
from steelyard.compat.evalscope.config_schema import Config, parse
from steelyard.compat.evalscope.run_config import output_folder, run_config
from steelyard.config import Settings
from steelyard.engine.events import Advanced, Event, Finished, Planned, Started
from steelyard.results import Result, Results
from steelyard.results.schema import with_interval

__all__ = ["run_task"]

LOG = logging.getLogger("steelyard.evalscope")
TABLE = 25
"""The level of the table of results, between those of notes and of each result."""
LEVELS = (logging.ERROR, TABLE, logging.INFO, logging.DEBUG)
"""By `verbosity`: failures; also notes and the table; also progress and each result; also each step."""
PATIENCE, INTERVAL = 2.0, 15.0
"""Seconds before the first line about the progress of an evaluation, and between two of them."""


def run_task(
    task_cfg: object, *, mteb_version: str | None = None, settings: Settings | None = None
) -> Results | list[Results]:
    """Run a config of EvalScope (backend RAGEval, tool MTEB) and return its results; a list of them for a list.

    `task_cfg` is a dictionary, the path of a YAML, JSON or TOML file, JSON in a string, or a list of these. Files are
    written as EvalScope writes them (`outputs/<model>/<revision>/<Task>.json`, with two models `outputs/stage1/...`
    and `outputs/stage2/...`), in the layout of mteb 1.14 or, with `mteb_version="2"`, of mteb 2. A
    failure is one of the results; a wrong config is a UsageError with the field.
    """
    table = read(task_cfg)
    if isinstance(table, list):
        return [_results(config, mteb_version, settings) for config in [parse(one) for one in table]]
    return _results(parse(table), mteb_version, settings)


def _results(config: Config, version: str | None, settings: Settings | None) -> Results:
    folder = output_folder(config)
    with _logging(config) as log:
        work = run_config(config, folder, version=version, listen=_Progress(), note=log.warning, settings=settings)
        results = Results(work)
        log.log(TABLE, "files: %s\n%s", folder, results)
    return results


class _Progress:
    """Logs each result, and while an evaluation takes long how far it is."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._total = self._finished = self._steps = self._step = 0
        self._activity, self._next = "", 0.0

    def __call__(self, event: Event) -> None:
        """Log one event."""
        match event:
            case Planned():
                self._total = event.evaluations
            case Started(model, task, steps):
                self._activity, self._steps, self._step = f"{model} on {task}", steps, 0
                self._next = self._clock() + PATIENCE
                LOG.debug("%s: started", self._activity)
            case Advanced(steps):
                self._advance(steps)
            case Finished(result, stored):
                self._finished += 1
                _log_result(result, f"{self._finished}/{self._total}" + (" stored" if stored else ""))
            case _:
                LOG.debug("%s", event)

    def _advance(self, steps: int) -> None:
        self._step += steps
        if self._steps and self._clock() >= self._next:
            self._next = self._clock() + INTERVAL
            place = f"{self._finished + 1}/{self._total}"
            LOG.info("%s %s: %s of %s", place, self._activity, f"{self._step:,}", f"{self._steps:,}")


def _log_result(result: Result, count: str) -> None:
    where = f"{count} {result.model} on {result.task}{' (partial)' if result.partial else ''}"
    if result.error is not None:
        LOG.error("%s failed: %s", where, result.error)
    else:
        LOG.info("%s: %s %s", where, result.main_metric, with_interval(result.score, result.interval))


@contextmanager
def _logging(config: Config) -> Iterator[logging.Logger]:
    """Log at the level of `verbosity`, on standard error unless the program has its own handlers."""
    before, handler = LOG.level, None
    LOG.setLevel(LEVELS[3 if config.debug else config.verbosity])
    if not LOG.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(message)s"))
        LOG.addHandler(handler)
    try:
        yield LOG
    finally:
        LOG.setLevel(before)
        if handler is not None:
            LOG.removeHandler(handler)


def read_configs(sources: list[str | Path]) -> list[Config]:
    """Return the configs of several files, each checked."""
    tables = [table for source in sources for table in _listed(read(source))]
    return [parse(table) for table in tables]


def _listed(table: object) -> list[object]:
    return list(table) if isinstance(table, list) else [table]

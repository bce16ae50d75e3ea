"""The time left of a long run: the estimate after every evaluation against the time that it took in the end.

    python benchmarks/studies/time_left.py -m dense bm25 dense:./minilm -t TASK TASK ...

Starts with an empty cache, so that every text is encoded. An estimate is held against the truth from the moment at
which every model has finished its first task; before it, models that were not measured are assumed to be like the
others. Prints estimate, truth and their ratio after each evaluation, and the worst ratio. With `--processor`, the clock
of everything is the processor time of this process, so that other programs do not disturb the estimate or the truth.
"""

from __future__ import annotations

import argparse
import io
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from steelyard import evaluate
from steelyard.cli._ui.progress import Progress
from steelyard.config import Settings
from steelyard.engine import events

SHORT = 5.0
"""Seconds left below which a ratio says nothing."""


class Logged(Progress):
    """Progress that keeps the estimate after every evaluation."""

    def __init__(self) -> None:
        super().__init__(io.StringIO(), terminal=True, clock=time.perf_counter)
        self.log: list[tuple[float, float | None, str, str]] = []
        self.models: set[str] = set()

    def __call__(self, event: events.Event) -> None:
        """Take an event, and note the estimate where it ends an evaluation."""
        super().__call__(event)
        if isinstance(event, events.Finished):
            self.log.append((time.perf_counter(), self.seconds_left, event.result.model, event.result.task))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("-m", "--models", nargs="+", required=True)
    parser.add_argument("-t", "--tasks", nargs="+", required=True)
    parser.add_argument("--processor", action="store_true")
    arguments = parser.parse_args()
    if arguments.processor:
        time.perf_counter = time.monotonic = time.process_time  # type: ignore[assignment]
    progress = Logged()
    with tempfile.TemporaryDirectory() as place:
        settings = replace(Settings.load(), home=Path(place))
        results = evaluate(arguments.models, arguments.tasks, progress=progress, settings=settings)
    end = time.perf_counter()
    for failed in (result for result in results if not result.done):
        print(f"failed: {failed.model} on {failed.task}: {failed.error}")
    seen: set[str] = set()
    worst = 1.0
    for moment, estimate, model, task in progress.log:
        seen.add(model)
        truth, ready = end - moment, len(seen) == len(results.models)
        ratio = estimate / truth if estimate and truth > SHORT else None
        if ready and ratio:
            worst = max(worst, ratio, 1 / ratio)
        shown = "      -" if estimate is None else f"{estimate:7.1f}"
        mark = f"{ratio:5.2f}" if ratio else "    -"
        print(f"{shown} s estimated {truth:7.1f} s in truth {mark} {' ' if ready else '*'} {model} on {task}")
    print(f"worst ratio once every model has finished a task: {worst:.2f} (*: before that)")


if __name__ == "__main__":
    main()

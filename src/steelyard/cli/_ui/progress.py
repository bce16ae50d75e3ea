"""Progress on standard error: a bar with the time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from steelyard.cli._ui.output import CLEAR, can_redraw, printable
from steelyard.cli._ui.time_left import TimeLeft, opening_seconds, spent_on
from steelyard.text.display import fit

if TYPE_CHECKING:
    from steelyard.cli._ui.output import Output
    from steelyard.datasets.problems import Problem
    from steelyard.engine.events import Distributed, Event, Planned
    from steelyard.results import Result

BAR = 24
REDRAW = 0.1
"""Seconds between two drawings of the bar."""
MAX_PROBLEMS = 3
"""Problems of the data of one task, and of the cache, that are printed."""
PATIENCE = 2.0
"""Seconds after which work is shown that has no other sign of progress."""
LINE_INTERVAL = 15.0
"""Seconds between two plain lines about the same work."""
WORTH_A_LINE = 10.0
"""Seconds left from which on the assumptions of the estimate are printed."""


class Progress:
    r"""Shows how far the work is, not more often than a person can read.

    It takes the events of an evaluation (`progress(event)`), or a share and a text (`show`), or stages that count
    items (`stage`). Stored results are counted, not listed.

    >>> import io
    >>> ticks = iter([0.0, 1.0, 3.0])
    >>> progress = Progress(io.StringIO(), terminal=True, clock=lambda: next(ticks))
    >>> progress.show(0.0, "1/2  NanoX/a: reading"), progress.show(0.125, "1/2  NanoX/a: languages")
    (None, None)
    >>> progress.stream.getvalue()
    '\r\x1b[K[###.....................] 1/2  NanoX/a: languages'
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        terminal: bool,
        silent: bool = False,
        clock: Callable[[], float] = time.monotonic,
        patience: float | None = None,
    ) -> None:
        self.stream, self.terminal, self.silent, self._clock = stream, terminal, silent, clock
        self.total = self.finished = self.stored = self.evaluated = self._expected = 0
        self._steps = self._step = 0
        self._rate_start: tuple[float, int] | None = None
        self._cluster_start: tuple[float, int] | None = None
        self._activity = self._model = ""
        self._began = self._drawn = self._last = clock()
        self._planned: Planned | None = None
        self._time_left = TimeLeft([])
        self._ticks: list[tuple[float, int]] = []
        self._loading = False
        self._assumed: set[str] = set()
        self._cache_problems: set[str] = set()
        self._patience = PATIENCE if patience is None else patience
        self._timer: threading.Timer | None = None
        self._visible = False

    @classmethod
    def for_output(cls, output: Output, *, silent: bool = False) -> Progress:
        """Return the progress of a command on standard error."""
        return cls(sys.stderr, terminal=can_redraw(sys.stderr), silent=silent or output.quiet)

    def __call__(self, event: Event) -> None:
        """Take one event of an evaluation."""
        from steelyard.engine import events

        self._start_timer(None)
        match event:
            case events.Opening(model):
                self._activity = f"opening {model}"
            case events.Planned():
                self._plan(event)
            case events.Loading(task):
                self._activity, self._steps, self._step = f"reading {task}", 0, 0
                self._last, self._loading = self._clock(), True
            case events.Noticed(task, problems):
                self._print_problems(task, problems)
            case events.Started(model, task, steps):
                self._end_loading()
                self._model, self._ticks, self._last = model, [], self._clock()
                self._activity, self._steps, self._step, self._rate_start = f"{model} on {task}", steps, 0, None
            case events.Advanced(steps):
                self._step += steps
                self._ticks += [(self._clock(), steps)] * bool(steps)
                # Stored vectors come first and take no time: the rate is that of the texts after them.
                self._rate_start = self._rate_start or (self._clock(), self._step)
            case events.Finished(result, stored):
                self._finish(result, stored)
            case events.Distributed():
                self._activity = self._cluster(event)
        self._draw(at_once=isinstance(event, events.Opening | events.Loading | events.Started))
        if isinstance(event, events.Opening | events.Loading):
            self._start_timer(self._activity)

    def _cluster(self, state: Distributed) -> str:
        """Return the state of all workers: how many there are, how many texts they have encoded, how fast."""
        now = self._clock()
        self._cluster_start = self._cluster_start or (now, state.texts)
        began, before = self._cluster_start
        rate = f" ({(state.texts - before) / (now - began):,.0f}/s)" if state.texts > before and now > began else ""
        texts = f", {counted(state.texts, 'text')} encoded{rate}" if state.texts else ""
        retries = f", {state.retries} retried" if state.retries else ""
        return f"{state.executor}: {counted(state.workers, 'worker')}, {counted(state.shards, 'shard')}{texts}{retries}"

    def show(self, share: float | None, text: str) -> None:
        """Show the share of the work that is done (None: unknown) and what is being done, after two seconds of work."""
        self._activity = text
        now = self._clock()
        waited = now - (self._drawn if self._visible else self._began)
        interval = (REDRAW if self.terminal else LINE_INTERVAL) if self._visible else self._patience
        if waited >= interval:
            self._drawn, self._visible = now, True
            self._write(self._clear + self._line(share, text) if self.terminal else f"{printable(text)}\n")

    @staticmethod
    def _line(share: float | None, text: str) -> str:
        if share is not None:
            return bar(share, text)
        return fit(printable(text, one_line=True), shutil.get_terminal_size().columns - 1)

    def stage(self, name: str, total: int = 0) -> Callable[[int], None]:
        """Begin a stage; call the returned function with the number of items that were done since the last call."""
        done = 0
        self._activity = name

        def advance(count: int) -> None:
            nonlocal done
            done = min(done + count, total) if total else done + count
            of = f" of {total:,}" if total else ""
            self.show(done / total if total else None, f"{name}: {done:,}{of} documents")

        return advance

    @property
    def activity(self) -> str:
        """What is being done now."""
        return self._activity

    def close(self) -> None:
        """Clear the bar."""
        self._start_timer(None)
        self._write(self._clear)
        self._visible = False

    def _start_timer(self, activity: str | None) -> None:
        """Print a plain line if the activity takes long: no other event arrives until it is finished."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if activity and not self.terminal and not self.silent:
            self._timer = threading.Timer(self._patience, self._write, (f"{printable(activity)} ...\n",))
            self._timer.daemon = True
            self._timer.start()

    @property
    def _clear(self) -> str:
        return CLEAR if self.terminal else ""

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._began

    @property
    def seconds_left(self) -> float | None:
        """Estimate the seconds left from what was measured of each model and from the rate of the current evaluation.

        None before the first evaluation is finished, unless it is the only one.
        """
        return self._estimate()[0]

    def _estimate(self) -> tuple[float | None, list[str]]:
        """Return the seconds left, and what was assumed."""
        current, waiting, plan = self._current_seconds_left, self.total - self.finished, self._planned
        if plan is None or not self._time_left.paces:
            return (current if waiting == 1 else None), []
        if plan.runs is not None:  # a model may have several runs of one task, or none
            paces = self._time_left.paces.values()
            return waiting * sum(pace.seconds(None) for pace in paces) / len(paces), []
        seen = self._time_left.places
        names = plan.names or [*seen, *(f"\0{number}" for number in range(plan.models - len(seen)))]
        left, assumed = self._time_left.left(names)
        if self._expected and not plan.stored_at and waiting:  # it is not known which are stored
            left *= max(0, waiting - max(0, self._expected - self.stored)) / waiting
        if self._steps:
            expected = self._time_left.of(self._model, seen.get(self._model, 0))
            rest = max(0.0, expected - (self._clock() - self._last)) if current is None else current
            left = rest + max(0.0, left - expected)
        return left, assumed

    @property
    def _current_seconds_left(self) -> float | None:
        """Seconds left of the current evaluation at its rate."""
        began, done = self._rate_start or (self._clock(), self._step)
        fresh, seconds = self._step - done, self._clock() - began
        return (self._steps - self._step) * seconds / fresh if self._steps > self._step and fresh else None

    def _plan(self, plan: Planned) -> None:
        self.total, self._expected, self._planned = plan.evaluations, plan.stored, plan
        sizes = list(plan.sizes) or [None] * plan.tasks
        self._time_left = TimeLeft(sizes, plan.stored_at, plan.encoded_at, list(plan.lengths))
        self._last = self._drawn = self._clock()  # do not count the loading of models in the first evaluation
        self._activity = ""
        stored = f", {plan.stored} of {plan.evaluations} may be stored already" if plan.stored else ""
        of = " x " if plan.runs is None else " on "
        size = f"{counted(plan.models, 'model')}{of}{counted(plan.tasks, 'task')}"
        what = "evaluation" if plan.runs is None else "saved run"
        self._write(f"{self._clear}{counted(plan.evaluations, what)}: {size}{stored}\n")

    def _print_problems(self, task: str, problems: Sequence[Problem]) -> None:
        """Print the first problems of a task's data; `steelyard show` lists all."""
        lines = [f"{problem.where}: {problem.found} ({problem.done})" for problem in problems[:MAX_PROBLEMS]]
        if len(problems) > MAX_PROBLEMS:
            lines.append(f"{len(problems) - MAX_PROBLEMS} more: steelyard show lists them")
        named = [line if line.startswith(task) else f"{task}: {line}" for line in lines]
        self._write("".join(f"{self._clear}{printable(line)}\n" for line in named))

    def _finish(self, result: Result, stored: bool) -> None:
        self.finished += 1
        self.stored += stored
        self.evaluated += result.done and not stored
        self._steps = 0
        self._end_loading()
        elapsed, began, self._last = self._clock() - self._last, self._last, self._clock()
        facts = result.facts
        documents = facts.samples if facts.documents is None else facts.documents
        size = None if documents is None else (documents, facts.queries or 0)
        if stored:
            self._time_left.add(result.model, None, size)
            return
        opening = opening_seconds(self._ticks, began)
        spent = spent_on(result.timings if result.done else {}, result.notes, size, elapsed, opening)
        self._time_left.add(result.model, spent, size)
        self._ticks = []
        fresh = [problem for problem in dict.fromkeys(cache_problems(result)) if problem not in self._cache_problems]
        self._cache_problems.update(fresh)
        hidden = len(fresh) - MAX_PROBLEMS
        more = [f"{hidden} more: see cache_problems in the notes of the result"] if hidden > 0 else []
        self._write("".join(f"{self._clear}{printable(line)}\n" for line in [*fresh[:MAX_PROBLEMS], *more]))
        if not self.terminal:
            self._write(f"{self.finished}/{self.total}  {printable(_summary(result))}{self._left()}\n")
            self._drawn = self._clock()

    def _end_loading(self) -> None:
        """Count the time since the loading of a task began as that of loading."""
        if self._loading:
            now = self._clock()
            self._time_left.add_reading(now - self._last)
            self._last, self._loading = now, False

    def _draw(self, *, at_once: bool = False) -> None:
        """Draw the bar; on a terminal the start of an activity is drawn at once."""
        now = self._clock()
        if now - self._drawn < (REDRAW if self.terminal else LINE_INTERVAL) and not (at_once and self.terminal):
            return
        self._drawn = now
        share = f"  {min(1.0, self._step / self._steps):.0%}{self._rate(now)}" if self._steps else ""
        activity = printable(self._activity, one_line=True)
        if not self.total:  # before the plan
            width = shutil.get_terminal_size().columns - 1
            self._write(f"{self._clear}{fit(activity, width)}" if self.terminal else f"{activity}\n")
            return
        place = f"{self.finished}/{self.total}{self._left()}  {activity}{share}"
        self._write(self._clear + bar(self.finished / self.total, place) if self.terminal else f"{place}\n")

    def _rate(self, now: float) -> str:
        """Return the texts per second of the current model."""
        began, done = self._rate_start or (now, self._step)
        rate = (self._step - done) / (now - began) if now > began else 0.0
        return f"  {rate:,.0f} texts/s" if rate >= 10 else f"  {rate:.1f} texts/s" if rate else ""

    def _left(self) -> str:
        if self.silent:
            return ""
        left, assumed = self._estimate()
        fresh = [line for line in assumed if line not in self._assumed]
        if fresh and left and left >= WORTH_A_LINE and self._planned and self._planned.sizes:
            self._assumed.update(fresh)
            self._write(f"{self._clear}time left assumes that {'; '.join(fresh)}\n")
        return f"  {duration(left)} left" if left else ""

    def _write(self, text: str) -> None:
        if not self.silent:
            self.stream.write(text)
            self.stream.flush()


@contextmanager
def waiting(output: Output, activity: str) -> Iterator[None]:
    """Print a note about the activity if it takes longer than two seconds."""
    timer = threading.Timer(PATIENCE, output.note, (f"{activity} ...",))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def bar(share: float, text: str) -> str:
    """Return a bar and a text, at most as wide as the terminal; on a narrow terminal the bar is shorter.

    >>> bar(0.5, "1/2  NanoX/a")
    '[############............] 1/2  NanoX/a'
    """
    columns = shutil.get_terminal_size().columns
    cells = BAR if columns >= 80 else BAR // 3
    full = round(cells * share)
    return fit(f"[{'#' * full}{'.' * (cells - full)}] {printable(text, one_line=True)}", columns - 1)


def cache_problems(result: Result) -> list[str]:
    """Return what could not be stored in the cache, or read from it, while a result was made.

    >>> from steelyard.results import Result
    >>> cache_problems(Result("T/a", "dense:X", {}, "1", notes={"documents": {"cache_problems": ["no space"]}}))
    ['no space']
    """
    parts = [note for note in result.notes.values() if isinstance(note, Mapping)]
    return [problem for part in (result.notes, *parts) for problem in part.get("cache_problems", ())]


def _summary(result: Result) -> str:
    head = f"{result.model} on {result.task}"
    if result.error is not None:
        return f"{head}: failed, {result.error.type}"
    from steelyard.results import TITLES

    score = "undefined" if result.score is None else f"{result.score:.4f}"
    title = TITLES.get(result.main_metric, result.main_metric)
    return f"{head}: {title} {score}  {duration(result.timings.get('total', 0.0))}"


def duration(seconds: float) -> str:
    """Return seconds as a person writes them.

    >>> duration(0.25), duration(75), duration(7300)
    ('0.2 s', '1:15', '2:01:40')
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def counted(number: int, noun: str) -> str:
    """Return a number and its noun.

    >>> counted(1, "task"), counted(23, "task")
    ('1 task', '23 tasks')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

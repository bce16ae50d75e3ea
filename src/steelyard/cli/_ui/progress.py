"""Progress for people: a bar with the time left on a terminal, plain lines elsewhere."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TextIO

from steelyard.cli._ui.output import CLEAR, cut

if TYPE_CHECKING:
    from steelyard.datasets.problems import Problem
    from steelyard.engine.events import Event, Planned
    from steelyard.results import Result

BAR = 24
REDRAW = 0.1
"""Seconds between two drawings of the bar."""
NOTICED = 3
"""Remarks on the data of one task, and on the store, that are shown."""
SOON = 2.0
"""Seconds after which a plain line says what is being opened or read, if that is not done by then."""
STILL_ALIVE = 15.0
"""Seconds after which a plain line says how far a long evaluation is."""


def bar(share: float, place: str) -> str:
    """The bar and where it stands, as wide as the terminal at most; on a narrow one the bar gives way.

    >>> bar(0.5, "1/2  NanoX/a")
    '[############............] 1/2  NanoX/a'
    """
    columns = shutil.get_terminal_size().columns
    cells = BAR if columns >= 80 else BAR // 3
    full = round(cells * share)
    return cut(f"[{'#' * full}{'.' * (cells - full)}] {place}", columns - 1)


class Progress:
    """Listens to a batch and shows how far it is. Nothing is drawn oftener than a person can read.

    Stored results are counted, not listed; the summary names their number.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        terminal: bool,
        silent: bool = False,
        clock: Callable[[], float] = time.monotonic,
        soon: float = SOON,
    ) -> None:
        self.stream, self.terminal, self.silent, self._clock = stream, terminal, silent, clock
        self.total = self.finished = self.stored = self.evaluated = self._expected = 0
        self._steps = self._step = 0
        self._since: tuple[float, int] | None = None
        self._now_at = self._model = ""
        self._began = self._drawn = self._last = clock()
        self._tasks = 0
        self._made: dict[str, list[float]] = {}
        self._seen: dict[str, int] = {}
        self._troubles: set[str] = set()
        self._soon = soon
        self._waiting: threading.Timer | None = None

    def __call__(self, event: Event) -> None:
        """Take note of one event."""
        from steelyard.engine import events

        self._wait(None)
        match event:
            case events.Opening(model):
                self._now_at = f"opening {model}"
            case events.Planned():
                self._plan(event)
            case events.Loading(task):
                self._now_at, self._steps, self._step = f"reading {task}", 0, 0
            case events.Noticed(task, problems):
                self._notice(task, problems)
            case events.Started(model, task, steps):
                self._model = model
                self._now_at, self._steps, self._step, self._since = f"{model} on {task}", steps, 0, None
            case events.Advanced(steps):
                self._step += steps
                # What is stored comes first and at once: the rate is that of what comes after it.
                self._since = self._since or (self._clock(), self._step)
            case events.Finished(result, stored):
                self._finish(result, stored)
        self._draw(at_once=isinstance(event, events.Opening | events.Loading | events.Started))
        if isinstance(event, events.Opening | events.Loading):
            self._wait(self._now_at)

    def close(self) -> None:
        """Take the bar away."""
        self._wait(None)
        self._write(self._clear)

    def _wait(self, doing: str | None) -> None:
        """Say in a plain line what is done, should it take long: until it is done, no other event will."""
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
        if doing and not self.terminal and not self.silent:
            self._waiting = threading.Timer(self._soon, self._write, (f"{doing} ...\n",))
            self._waiting.daemon = True
            self._waiting.start()

    @property
    def _clear(self) -> str:
        return CLEAR if self.terminal else ""

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return self._clock() - self._began

    @property
    def seconds_left(self) -> float | None:
        """An estimate from what each model took so far, and from the rate of the one at work.

        None where nobody can know: before the first is done, unless it is the only one.
        """
        rest = self._rest
        if not self._made:
            return rest if self.total - self.finished == 1 else None
        means = {model: sum(seconds) / len(seconds) for model, seconds in self._made.items()}
        # Of saved runs, a model may have several of one task, or none.
        to_come = {model: max(0, self._tasks - self._seen[model]) for model in self._seen}
        unseen = max(0, self.total - self.finished - sum(to_come.values()))
        overall = sum(means.values()) / len(means)
        everything = sum(means.get(model, overall) * count for model, count in to_come.items()) + unseen * overall
        # Of what is to come, some is stored: nobody knows of which model, so all shrink alike.
        waiting = self.total - self.finished
        fresh = max(0, waiting - max(0, self._expected - self.stored))
        left = everything * fresh / waiting if waiting else 0.0
        return left if rest is None else rest + max(0.0, left - means.get(self._model, overall))

    @property
    def _rest(self) -> float | None:
        """The seconds that the evaluation at work still takes at the rate it goes."""
        began, done = self._since or (self._clock(), self._step)
        fresh, seconds = self._step - done, self._clock() - began
        return (self._steps - self._step) * seconds / fresh if self._steps > self._step and fresh else None

    def _plan(self, plan: Planned) -> None:
        self.total, self._expected, self._tasks = plan.evaluations, plan.stored, plan.tasks
        self._last = self._drawn = self._clock()  # models were opened before: the first evaluation took none of that
        self._now_at = ""
        # By the names of files; whether they are of the same data is known when that is read.
        there = f", {plan.stored} of {plan.evaluations} seem to be there" if plan.stored else ""
        of = " x " if plan.runs is None else " on "
        size = f"{counted(plan.models, 'model')}{of}{counted(plan.tasks, 'task')}"
        what = "evaluation" if plan.runs is None else "saved run"
        self._write(f"{self._clear}{counted(plan.evaluations, what)}: {size}{there}\n")

    def _notice(self, task: str, problems: Sequence[Problem]) -> None:
        """Tell what is to be known of the data; a few lines, as `show` tells everything."""
        lines = [f"{problem.where}: {problem.found} ({problem.done})" for problem in problems[:NOTICED]]
        if len(problems) > NOTICED:
            lines.append(f"{len(problems) - NOTICED} more: steelyard show lists them")
        self._write("".join(f"{self._clear}{task}: {line}\n" for line in lines))

    def _finish(self, result: Result, stored: bool) -> None:
        self.finished += 1
        self.stored += stored
        self.evaluated += result.done and not stored
        self._steps = 0
        self._seen[result.model] = self._seen.get(result.model, 0) + 1
        took, self._last = self._clock() - self._last, self._clock()
        if stored:
            return
        self._made.setdefault(result.model, []).append(took)
        fresh = [trouble for trouble in dict.fromkeys(store_troubles(result)) if trouble not in self._troubles]
        self._troubles.update(fresh)
        more = [f"{len(fresh) - NOTICED} more: the notes of the result list them"] if len(fresh) > NOTICED else []
        self._write("".join(f"{self._clear}{line}\n" for line in [*fresh[:NOTICED], *more]))
        if not self.terminal:
            self._write(f"{self.finished}/{self.total}  {_told(result)}{self._left()}\n")
            self._drawn = self._clock()

    def _draw(self, *, at_once: bool = False) -> None:
        """What begins is shown at once on a terminal: nobody knows how long there is nothing else to show."""
        now = self._clock()
        if now - self._drawn < (REDRAW if self.terminal else STILL_ALIVE) and not (at_once and self.terminal):
            return
        self._drawn = now
        share = f"  {min(1.0, self._step / self._steps):.0%}{self._rate(now)}" if self._steps else ""
        if not self.total:  # nobody has counted yet
            self._write(
                f"{self._clear}{cut(self._now_at, shutil.get_terminal_size().columns - 1)}"
                if self.terminal
                else f"{self._now_at}\n"
            )
            return
        place = f"{self.finished}/{self.total}{self._left()}  {self._now_at}{share}"
        self._write(self._clear + bar(self.finished / self.total, place) if self.terminal else f"{place}\n")

    def _rate(self, now: float) -> str:
        """Texts a second, of the model at work."""
        began, done = self._since or (now, self._step)
        rate = (self._step - done) / (now - began) if now > began else 0.0
        return f"  {rate:,.0f} texts/s" if rate >= 10 else f"  {rate:.1f} texts/s" if rate else ""

    def _left(self) -> str:
        left = self.seconds_left
        return f"  {duration(left)} left" if left else ""

    def _write(self, text: str) -> None:
        if not self.silent:
            self.stream.write(text)
            self.stream.flush()


def store_troubles(result: Result) -> list[str]:
    """What could not be stored, or read again, while a result was made: the next run has to do it once more.

    >>> from steelyard.results import Result
    >>> store_troubles(Result("T/a", "dense:X", {}, "1", notes={"documents": {"cache_problems": ["no space"]}}))
    ['no space']
    """
    parts = [note for note in result.notes.values() if isinstance(note, Mapping)]
    return [problem for part in (result.notes, *parts) for problem in part.get("cache_problems", ())]


def _told(result: Result) -> str:
    head = f"{result.model} on {result.task}"
    if result.error is not None:
        return f"{head}: failed, {result.error.type}"
    from steelyard.results import TITLES

    figure = "undefined" if result.score is None else f"{result.score:.4f}"
    title = TITLES.get(result.main_metric, result.main_metric)
    return f"{head}: {title} {figure}  {duration(result.timings.get('total', 0.0))}"


def duration(seconds: float) -> str:
    """Seconds as people say them.

    >>> duration(0.25), duration(75), duration(7300)
    ('0.2 s', '1:15', '2:01:40')
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def counted(number: int, noun: str) -> str:
    """A number and its noun.

    >>> counted(1, "task"), counted(23, "task")
    ('1 task', '23 tasks')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

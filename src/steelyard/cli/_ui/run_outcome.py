"""The end of an evaluation: counts, the report, failures and the exit code."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.errors import ResultError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from steelyard.cli._ui.output import Output
    from steelyard.cli._ui.progress import Progress
    from steelyard.config import Settings
    from steelyard.engine import TaskLike
    from steelyard.results import Result, Results

REPORT = "report.html"


@dataclass
class Collected:
    """The results that were ready at the end, at an interrupt, or when no more could be stored."""

    ready: list[Result] = field(default_factory=list)
    interrupted: bool = False
    store_error: ResultError | None = None
    """Why no more results could be stored, such as a full disk."""

    @property
    def results(self) -> Results:
        """The results as one view."""
        from steelyard.results import Results

        return Results(self.ready)


@contextmanager
def collecting(progress: Progress) -> Iterator[Collected]:
    """Collect results until the end, an interrupt, or an error of the store after the first result."""
    collected = Collected()
    try:
        yield collected
    except KeyboardInterrupt:
        collected.interrupted = True
    except ResultError as error:
        if not collected.ready:
            raise
        collected.store_error = error
    finally:
        progress.close()


def count(results: Results, progress: Progress) -> str:
    """Return how many results were evaluated, were stored already and failed."""
    failed = len(results.failures)
    stored = len(results) - failed - progress.evaluated
    parts = [f"{progress.evaluated} evaluated"]
    if stored:
        parts.append(f"{stored} of {progress.total} already stored")
    return ", ".join([*parts, f"{failed} failed"] if failed else parts)


def write_report(
    results: Results, folder: Path, *, tasks: Sequence[TaskLike] = (), settings: Settings | None = None
) -> Path:
    """Write the report of the results into the folder and return its path; `tasks` are those that were evaluated."""
    from steelyard.web.report import write_report

    try:
        return write_report(results, folder / REPORT, tasks=tasks, settings=settings)
    except ResultError as error:
        raise ResultError(error.message, hint=f"{error.hint}; or add --no-report") from error


def print_failures(results: Results, output: Output) -> None:
    """Print each error once, with the evaluations that it ended."""
    from steelyard.results.display.text_table import failure_lines

    for line in failure_lines(results):
        output.failure(line)


def exit_code(results: Results) -> int:
    """Return 0 if nothing failed, else 1; if everything failed for one reason, the exit code of that error."""
    from steelyard import errors

    if not results.failures:
        return 0
    kinds = (getattr(errors, failed.error.type, None) for failed in results.failures if failed.error)
    codes = {kind.exit_code if kind else 1 for kind in kinds}
    return codes.pop() if len(codes) == 1 and len(results.failures) == len(results) else 1

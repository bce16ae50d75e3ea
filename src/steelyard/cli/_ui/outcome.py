"""What the verbs that evaluate say at the end: how much was done, where the report is, what failed."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.errors import ResultError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steelyard.cli._ui.output import Output
    from steelyard.cli._ui.progress import Progress
    from steelyard.results import Result, Results

REPORT = "report.html"


@dataclass
class Gathered:
    """The results that were ready at the end, or when someone interrupted, or when no more could be kept."""

    ready: list[Result] = field(default_factory=list)
    interrupted: bool = False
    broken: ResultError | None = None
    """Why no more could be kept, such as a full disk."""

    @property
    def results(self) -> Results:
        """As the engine gives them."""
        from steelyard.results import Results

        return Results(self.ready)


@contextmanager
def gathering(progress: Progress) -> Iterator[Gathered]:
    """Within it results are gathered; an interrupt ends it in peace, and takes the progress bar away.

    So does a folder that takes no more, once there is something to show.
    """
    gathered = Gathered()
    try:
        yield gathered
    except KeyboardInterrupt:
        gathered.interrupted = True
    except ResultError as error:
        if not gathered.ready:
            raise
        gathered.broken = error
    finally:
        progress.close()


def count(results: Results, progress: Progress) -> str:
    """How much was done, how much was there, how much failed; a failure that was there has failed."""
    failed = len(results.failures)
    there = len(results) - failed - progress.evaluated
    parts = [f"{progress.evaluated} evaluated"]
    if there:
        parts.append(f"{there} of {progress.total} already there")
    return ", ".join([*parts, f"{failed} failed"] if failed else parts)


def write_report(results: Results, folder: Path) -> Path:
    """The report of the results, in that folder."""
    from steelyard.reports import write_report

    try:
        return write_report(results.distinct_names(), folder / REPORT)
    except ResultError as error:
        raise ResultError(error.message, hint=f"{error.hint}; --no-report leaves the report out") from error


def tell_failures(results: Results, output: Output) -> None:
    """Each failure once, with all the evaluations that it spoilt."""
    spoilt: dict[str, list[str]] = {}
    for result in results.failures:
        spoilt.setdefault(str(result.error), []).append(f"{result.model} on {result.task}")
    for error, places in spoilt.items():
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        output.complain(f"failed: {places[0]}{more}\n  {error}")


def exit_code(results: Results) -> int:
    """0 if all went well, else 1; where nothing went well for one reason, that reason's code (bad input, missing)."""
    from steelyard import errors

    if not results.failures:
        return 0
    kinds = (getattr(errors, failed.error.type, None) for failed in results.failures if failed.error)
    codes = {kind.exit_code if kind else 1 for kind in kinds}
    return codes.pop() if len(codes) == 1 and len(results.failures) == len(results) else 1

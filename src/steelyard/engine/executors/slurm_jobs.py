"""What becomes of jobs of a Slurm cluster: which have ended, and why; what `squeue` reports, and files of results.

submitit looks states up with `sacct`, which needs an accounting database that many clusters do not have. Without one it
never notices that a job was cancelled, or that its machine failed.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from steelyard.errors import MissingPart

LOOK_SECONDS = 5.0
"""How often the states of jobs are looked up, at most."""
FILE_SECONDS = 15.0
"""How long the result of a job that has ended may take to appear in the folder, as on a network disk."""
COMMAND_SECONDS = 60.0
"""How long `squeue` and `scancel` may take."""
OUTAGE_SECONDS = 600.0
"""How long Slurm may be out of reach, or refuse jobs, before the batch ends."""
ACTIVE = {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT"}
ACTIVE |= {"REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "RESIZING", "RESV_DEL_HOLD", "SPECIAL_EXIT"}
"""States of jobs that may still write a result."""


class SlurmJobs:
    """The jobs of this user on a Slurm cluster, and since when they have been without a result after their end."""

    def __init__(self) -> None:
        self._states: dict[str, str] = {}
        self._listed = self._looked = float("-inf")
        """When the states were found out, and when that was tried."""
        self._ended: dict[str, float] = {}
        self._outage: float | None = None

    def has_result(self, job: Any) -> bool:
        """Return whether the result of a job is there, complete: submitit renames it when it is written."""
        return bool(job.paths.result_pickle.exists())

    def loss(self, job: Any, submitted: float) -> str | None:
        """Return why a job will not have a result, None while it may; `submitted` is its time by `time.monotonic`."""
        now = time.monotonic()
        if now - self._looked > LOOK_SECONDS:
            self._look(now)
            _refresh(job.paths.folder)
        state = self._states.get(job.job_id, "not in the queue")
        if self._listed <= submitted or state in ACTIVE:
            self._ended.pop(job.job_id, None)
            return None
        since = self._ended.setdefault(job.job_id, now)
        if now - since < FILE_SECONDS:
            return None
        return ", ".join(filter(None, [state, last_line(job.stderr())]))

    def _look(self, now: float) -> None:
        command = ["squeue", "--noheader", "--states=all", f"--user={os.getuid()}", "--format=%A %T"]
        self._looked = now
        try:
            listed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=COMMAND_SECONDS).stdout
        except (OSError, subprocess.SubprocessError) as error:
            self._outage = now if self._outage is None else self._outage
            check_outage(self._outage, getattr(error, "stderr", None) or str(error))
            return
        self._states = dict(line.split(maxsplit=1) for line in listed.splitlines() if " " in line)
        self._listed, self._outage = now, None


def cancel(jobs: Sequence[Any]) -> None:
    """Cancel jobs, as far as Slurm can be reached; one command for all, because it waits for Slurm."""
    if jobs:
        with suppress(OSError, subprocess.SubprocessError):
            words = ["scancel", *(job.job_id for job in jobs)]
            subprocess.run(words, capture_output=True, check=False, timeout=COMMAND_SECONDS)


def check_outage(since: float, problem: str) -> None:
    """Raise an error if Slurm has not done its part for too long, since a time by `time.monotonic`."""
    if time.monotonic() - since > OUTAGE_SECONDS:
        raise MissingPart(
            f"Slurm takes no jobs, or does not answer, for {OUTAGE_SECONDS:g} seconds: {last_line(problem)}",
            hint="run the same command again when it does: it does only the rest",
        )


def _refresh(folder: Any) -> None:
    """Change a folder without changing it, so that clients of a network disk read again what is in it."""
    with suppress(OSError):
        folder.chmod(folder.stat().st_mode)


def last_line(text: str | None) -> str:
    r"""Return the last line that has characters, at most 300 of them.

    >>> last_line("a\n b \n\n"), last_line(None)
    ('b', '')
    """
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    return lines[-1][:300] if lines else ""

"""The measured process: make the input, prepare, do the work once, print what it took as JSON.

    python worker.py MODULE FUNCTION ARGUMENTS

Only the standard library is imported here: the process runs in the environment of a peer.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import time
from pathlib import Path

HERE = Path(__file__).parents[1]


def peak_megabytes() -> float:
    """Return the highest resident memory since `reset_peak`, or since the start where that is not possible."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.split("VmHWM:")[1].split()[0]) / 1024
    except (OSError, IndexError, ValueError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def reset_peak() -> None:
    """Let the highest memory be counted from now on; only Linux can."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return


def cpu_seconds() -> float:
    """Return the processor time of this process and of the processes that it has waited for."""
    both = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def main() -> None:
    module_name, function, arguments = sys.argv[1:4]
    sys.path[0] = str(HERE.parent / "src")
    sys.path.append(str(HERE))  # last: no file of this folder hides a package
    module = importlib.import_module(f"cases.{module_name}")
    data = module.make(**json.loads(arguments))
    work = getattr(module, function)(data)
    before = peak_megabytes()
    reset_peak()
    before = min(before, peak_megabytes())
    start, cpu = time.perf_counter(), cpu_seconds()
    checks = work()
    seconds, cpu = time.perf_counter() - start, cpu_seconds() - cpu
    facts = {"seconds": seconds, "cpu": cpu, "peak_mb": peak_megabytes(), "before_mb": before, "checks": checks or {}}
    if isinstance(checks, dict) and "measured_seconds" in checks:  # the work measured an inner part by itself
        facts["seconds"] = facts["cpu"] = checks.pop("measured_seconds")
    sys.stdout.flush()
    os.write(1, b"\n" + json.dumps(facts).encode() + b"\n")


if __name__ == "__main__":
    main()

"""Count the files that a command executes; `python tests/support/walk.py run bm25 -t NanoAlmanac/en` prints them.

Only functions count, not what a file executes when it is imported. A switch is a call from a function of one file to a
function of another file of the package, each pair of functions once: what a reader who follows the command has to open.
"""

from __future__ import annotations

import inspect
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import steelyard
from steelyard.cli import main

PACKAGE = str(Path(steelyard.__file__).parent) + "/"


class Walk:
    """The files of the package with executed functions, and the calls between them."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.pairs_of_files: set[tuple[str, str]] = set()
        self.switches: set[tuple[Any, Any]] = set()

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        """Record a call; the caller is the nearest function of the package."""
        code = frame.f_code
        if event != "call" or not _is_function(frame):
            return
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(PACKAGE):
            caller = caller.f_back
        if caller is not None and not _is_function(caller):
            return  # called while a module is imported
        self.files.add(code.co_filename)
        if caller is not None and caller.f_code.co_filename != code.co_filename:
            self.pairs_of_files.add((caller.f_code.co_filename, code.co_filename))
            self.switches.add((caller.f_code, code))


def _is_function(frame: FrameType) -> bool:
    """Return whether a frame is of a function of the package, not the body of a module or of a class."""
    return frame.f_code.co_filename.startswith(PACKAGE) and bool(frame.f_code.co_flags & inspect.CO_OPTIMIZED)


if __name__ == "__main__":
    walk = Walk()
    threading.setprofile(walk)
    sys.setprofile(walk)
    status = main(sys.argv[1:])
    sys.setprofile(None)
    print(f"files {len(walk.files)}, pairs of files {len(walk.pairs_of_files)}, switches {len(walk.switches)}")
    raise SystemExit(status)

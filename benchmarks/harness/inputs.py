"""Large inputs, made once and kept in build/bench/inputs: a process reads in seconds what took minutes to make."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "build" / "bench" / "inputs"


def kept(name: str, fill: Callable[[Path], object]) -> Path:
    """Return the folder of an input; `fill` writes its files into a new folder if there is none of this name yet.

    The name contains everything that the input depends on. A folder appears complete or not at all.
    """
    folder = FOLDER / name
    if not folder.exists():
        part = FOLDER / f".{name}.{os.getpid()}"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        fill(part)
        part.rename(folder)
    return folder

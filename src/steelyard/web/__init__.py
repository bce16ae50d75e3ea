"""The leaderboard in the browser: a static site, one file, or a server on loopback, from the same data and script.

    write_site(folder, boards)     files that work from disk, without a server
    write_report(results, path)    one file, as `run` writes it
    serve(load, port=8321)         the same pages with live data (extra `web`)

`board` is the data model; `own_results` and `published` fill it; `task_details`, `pairs` and `contamination` add what
its pages show; `sources` finds everything by name; `assets` holds the page, its style and scripts.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steelyard.web.board import Board
    from steelyard.web.report import write_report
    from steelyard.web.site import write_site

__all__ = ["Board", "write_report", "write_site"]
_PLACES = {"Board": "board", "write_report": "report", "write_site": "site"}


def __getattr__(name: str) -> Any:
    """Import a public name at its first use: a run needs nothing of this package before its end."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)

"""The leaderboard in the browser: a static site, one file, or a server on loopback, from the same data and script.

    write_site(folder, boards)     files that work from disk, without a server
    write_report(results, path)    one file, as `run` writes it
    serve(load, port=8321)         the same pages with live data (extra `web`)

`board` is the data model; `own_results` and `published` fill it; `task_details`, `pairs` and `contamination` add what
its pages show; `sources` finds everything by name; `assets` holds the page, its style and scripts.
"""

from __future__ import annotations

from steelyard.web.board import Board
from steelyard.web.report import write_report
from steelyard.web.site import write_site

__all__ = ["Board", "write_report", "write_site"]

"""The leaderboard in the browser: a static site, or a server on loopback, from the same data and scripts.

    write_site(folder, boards)     files that work from disk, without a server
    serve(library, port)           the same pages with live data (extra `web`)

`board` is the data model, `sources` fills it from results or a warehouse, `assets` holds the page, its style and
scripts.
"""

from __future__ import annotations

from steelyard.web.board import Board
from steelyard.web.site import write_site

__all__ = ["Board", "write_site"]

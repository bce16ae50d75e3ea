"""Write the leaderboard as a static site: one page, its scripts, and one data file per board.

The site works from disk. Browsers do not load modules or JSON from `file://`, so scripts are classic ones and data
files are scripts that hand their content to `Steelyard.receive`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from steelyard.errors import UsageError
from steelyard.files import write_output
from steelyard.web.board import Board

SCRIPTS = ("dom.js", "state.js", "data.js", "ranking.js", "table.js", "filters.js", "charts.js", "pages.js", "main.js")
"""The scripts of the page, in the order in which they are loaded."""
ASSETS = ("board.css", *SCRIPTS)
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'"
)
"""The content security policy: nothing from other hosts, no inline scripts."""


def asset(name: str) -> bytes:
    """Return the content of an asset."""
    return resources.files("steelyard.web").joinpath("assets", name).read_bytes()


def page(*, live: bool) -> str:
    """Return the page; `live` makes its scripts ask the server for data."""
    html = asset("index.html").decode("utf-8")
    scripts = "\n".join(f'<script src="assets/{name}" defer></script>' for name in SCRIPTS)
    policy = "" if live else f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    html = html.replace("<!-- policy -->", policy)  # the server sends it as a header
    return html.replace("<!-- scripts -->", scripts).replace('data-live=""', f'data-live="{str(live).lower()}"')


def write_site(folder: str | Path, boards: Sequence[Board], extra: Mapping[str, Any] | None = None) -> Path:
    """Write the site and return its first page; `extra` are further data files by name.

    Files that the site does not write are left alone.
    """
    if not boards:
        raise UsageError("no results to show", hint="steelyard run, or steelyard results import DIR")
    target = Path(folder).expanduser()
    index = [{"name": board.name, "title": board.title, "slug": board.slug} for board in boards]
    counts = [{"tasks": len(board.tasks), "models": len(board.models)} for board in boards]
    listed = [{**entry, **count} for entry, count in zip(index, counts, strict=True)]
    write_output(target / "data" / "index.js", _script("index", {"boards": listed}))
    for board in boards:
        write_output(target / "data" / f"board-{board.slug}.js", _script(f"board-{board.slug}", board.payload()))
    for name, content in (extra or {}).items():
        write_output(target / "data" / f"{name}.js", _script(name, content))
    for name in ASSETS:
        write_output(target / "assets" / name, asset(name))
    write_output(target / "index.html", page(live=False).encode("utf-8"))
    return target / "index.html"


def _script(name: str, content: Any) -> bytes:
    """Return a script that hands data over; `<` is escaped, so that no text can end the script."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f"Steelyard.receive({json.dumps(name)}, {text});\n".encode()

"""Write the leaderboard as files: a static site, or one page with everything inside.

Both work from disk. Browsers do not load modules or JSON from `file://`, so the script is a classic one, and the data
files of a site are scripts that hand their content to `Steelyard.receive`. One page has its data in elements of type
`application/json`, which are not scripts.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from steelyard.errors import UsageError
from steelyard.files import with_home, write_output
from steelyard.web.board import Board

PARTS = (
    "dom.js",
    "state.js",
    "data.js",
    "ranking.js",
    "parquet.js",
    "table.js",
    "filters.js",
    "charts.js",
    "pages.js",
    "explorer.js",
    "compare.js",
    "main.js",
)
"""The parts of the script, in order."""
SCRIPT, STYLE = "board.js", "board.css"
ASSETS = (SCRIPT, STYLE)
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'"
)
"""The content security policy: nothing from other hosts, no inline scripts."""


def asset(name: str) -> bytes:
    """Return the content of an asset; the script is its parts, one after another."""
    if name == SCRIPT:
        return b"\n".join(asset(part) for part in PARTS)
    return resources.files("steelyard.web").joinpath("assets", name).read_bytes()


def page(*, live: bool) -> str:
    """Return the page of a site; `live` makes its script ask the server for data."""
    policy = "" if live else _meta(POLICY)  # the server sends it as a header
    style = f'<link rel="stylesheet" href="assets/{STYLE}">'
    return _filled(policy, style, f'<script src="assets/{SCRIPT}" defer></script>', live=live)


def one_page(data: Iterable[tuple[str, Any]]) -> str:
    """Return a page with style, script and data inside; its policy permits exactly these."""
    style, script = (asset(name).decode("utf-8").replace("</", "<\\/") for name in (STYLE, SCRIPT))
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; base-uri 'none'"
    )
    blocks = "\n".join(
        f'<script type="application/json" id="data-{name}">{_json(content)}</script>' for name, content in data
    )
    return _filled(_meta(policy), f"<style>{style}</style>", "", live=False, end=f"{blocks}\n<script>{script}</script>")


def _filled(policy: str, style: str, script: str, *, live: bool, end: str = "") -> str:
    html = asset("index.html").decode("utf-8")
    parts = {"policy": policy, "style": style, "scripts": script, "end": end}
    head, *rest = html.replace('data-live=""', f'data-live="{str(live).lower()}"').split("<!-- ")
    return head + "".join(parts[name] + text for name, text in (part.split(" -->", 1) for part in rest))


def _meta(policy: str) -> str:
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}">'


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def write_site(folder: str | Path, boards: Sequence[Board], details: Iterable[tuple[str, Any]] = ()) -> Path:
    """Write the site and return its first page; `details` are further data files by name.

    Files that the site does not write are left alone.
    """
    if not boards:
        raise UsageError("no results to show", hint="steelyard run, or steelyard results import DIR")
    target = with_home(folder)
    names = []
    for name, content in details:
        write_output(target / "data" / f"{name}.js", _script(name, content))
        names.append(name)
    for board in boards:
        write_output(target / "data" / f"board-{board.slug}.js", _script(f"board-{board.slug}", board.payload()))
    write_output(target / "data" / "index.js", _script("index", index_of(boards, names)))
    for name in ASSETS:
        write_output(target / "assets" / name, asset(name))
    write_output(target / "index.html", page(live=False).encode("utf-8"))
    return target / "index.html"


def index_of(boards: Sequence[Board], details: Sequence[str]) -> dict[str, Any]:
    """Return the list of boards and of the details that exist as files."""
    entries = [
        {
            "name": board.name,
            "title": board.title,
            "slug": board.slug,
            "tasks": len(board.tasks),
            "models": len(board.models),
        }
        for board in boards
    ]
    return {"boards": entries, "details": list(details)}


def _json(content: Any) -> str:
    """Return JSON in which no text can end a script; a lone surrogate from a path becomes a question mark."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    text = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return text.encode("utf-8", "replace").decode("utf-8")


def _script(name: str, content: Any) -> bytes:
    """Return a script that hands data over."""
    return f"Steelyard.receive({json.dumps(name)}, {_json(content)});\n".encode()

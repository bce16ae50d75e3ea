"""Text is written in plain technical English: words of the private dialect that the project once had are rejected."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DIALECT = re.compile(
    r"\b(?:told|tells?|telling|heed(?:s|ed)?|weigh(?:s|ed|ing)?|stands? (?:in|behind|beside)|may be luck)\b",
    re.IGNORECASE,
)
ALLOWED = {"README.md": 1}
"""The tagline may use the metaphor of the balance."""
DATA = ("datasets/builtin/almanac/", "datasets/catalogue/", "text/")
"""Folders whose files contain texts and word lists of others."""


def test_no_words_of_the_dialect() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    sources = [
        path
        for path in (ROOT / "src" / "steelyard").rglob("*.py")
        if not path.relative_to(ROOT / "src" / "steelyard").as_posix().startswith(DATA)
    ]
    places = []
    for path in [*pages, *sources]:
        name = path.relative_to(ROOT).as_posix()
        matches = [
            f"{name}:{number}: {match.group()}"
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
            for match in DIALECT.finditer(line)
        ]
        places += matches[ALLOWED.get(name, 0) :]
    assert not places, "\n".join(places)

"""The frame of an HTML report: style inside, no script, nothing fetched."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources

from steelyard.reports.components.markup import Markup, tag

STYLES = (("steelyard.reports", "page.css"), ("steelyard.audit.report", "audit.css"))


def document(title: str, intro: str, sections: Mapping[str, Markup]) -> str:
    """Return a whole page; sections without content are left out."""
    style = "".join(resources.files(package).joinpath(name).read_text(encoding="utf-8") for package, name in STYLES)
    head = tag(
        "head",
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        tag("title", title),
        tag("style", Markup(style)),
    )
    bodies = (tag("section", tag("h2", name), body) for name, body in sections.items() if body)
    body = tag("body", tag("main", tag("h1", title), tag("p", intro, class_="soft"), *bodies))
    return f'<!doctype html>\n<html lang="en">{head}{body}</html>\n'

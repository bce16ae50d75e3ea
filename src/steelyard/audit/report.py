"""The HTML reports of audits, each one self-contained file: style inside, no script, nothing fetched.

The report of a leakage audit has verdicts, rates, matches side by side with what differs marked, scores, and what was
not read; the report on the overlap of evaluation sets has findings and two matrices.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from steelyard.audit.audit_file import Audit
from steelyard.audit.between import BetweenAudit
from steelyard.audit.findings import Match, TaskFindings
from steelyard.audit.kept_apart import REASONS
from steelyard.audit.verdict import VERDICTS, Rate
from steelyard.audit.within import MEANINGS, WithinAudit
from steelyard.files import write_atomic
from steelyard.reports.components.markup import Markup, join, table, tag, th

SHOWN = 40
"""Matches of each task that are shown."""


def write_report(audit: Audit, path: Path) -> Path:
    """Write the report, whole or not at all, and return the path."""
    write_atomic(path, page(audit).encode(errors="replace"))
    return path


def page(audit: Audit) -> str:
    """Return the report as HTML: style inside, no script, nothing fetched."""
    sections = {
        "Verdicts": _verdicts(audit),
        "Rates": _rates(audit),
        "Matches": _matches(audit),
        "Scores without contaminated queries": _scores(audit.scores),
        "Training data": _training(audit.training),
        "How to read this": _legend(audit),
    }
    return document("Leakage audit", f"{audit.created}, Steelyard {audit.version}", sections)


def _verdicts(audit: Audit) -> Markup:
    rows = [
        tag(
            "tr",
            tag("th", task.task, scope="row"),
            tag("td", task.verdict, class_=f"verdict {task.verdict}"),
            tag("td", task.reason),
        )
        for task in audit.tasks
    ]
    return table("Verdicts", [tag("tr", th("Task"), th("Verdict"), th("Reason"))], rows)


def _rates(audit: Audit) -> Markup:
    levels = [*audit.settings["levels"], "any"]
    rows = []
    for task in audit.tasks:
        for part in task.parts:
            cells = [tag("td", _rate(part.rates[level]) if level in part.rates else "-") for level in levels]
            apart = ", ".join(f"{count:,} {reason}" for reason, count in part.kept_apart.items()) or "-"
            items = tag("td", f"{part.items:,}", class_="number")
            rows.append(tag("tr", _name(task), tag("td", part.part), items, *cells, tag("td", apart)))
        if task.pairs.total:
            blank = [tag("td", "-") for _ in levels[1:]]
            total = tag("td", f"{task.pairs.total:,}", class_="number")
            rows.append(
                tag("tr", _name(task), tag("td", "pairs"), total, *blank, tag("td", _rate(task.pairs)), tag("td", "-"))
            )
    heads = [th("Task"), th("Part"), th("Items"), *map(th, levels), th("Kept apart")]
    return table("Rates by task, part and level", [tag("tr", *heads)], rows)


def _name(task: TaskFindings) -> Markup:
    return tag("th", task.task, scope="row")


def _rate(rate: Rate) -> Markup:
    interval = rate.interval
    if interval is None or rate.share is None:
        return join("-")
    return join(f"{rate.count:,} ({rate.share:.1%}) ", tag("small", f"[{interval.low:.1%}, {interval.high:.1%}]"))


def _matches(audit: Audit) -> Markup:
    parts = []
    for task in audit.tasks:
        matches = audit.matches_of(task.task)
        if not matches:
            continue
        shown = [_match(match) for match in _varied(matches)[:SHOWN]]
        rest = f"{len(matches) - SHOWN:,} more are in matches.jsonl" if len(matches) > SHOWN else None
        parts.append(join(tag("h3", task.task), *shown, tag("p", rest, class_="soft") if rest else None))
    return join(*parts)


def _varied(matches: Sequence[Match]) -> list[Match]:
    """Return the matches with the levels in turn, so that the first ones show each; those kept apart come last."""
    place: Counter[tuple[str, str | None]] = Counter()
    ranked = []
    for match in matches:
        kind = (match.level, match.kept_apart)
        ranked.append((match.kept_apart is not None, place[kind], match))
        place[kind] += 1
    return [match for _, _, match in sorted(ranked, key=lambda one: one[:2])]


def _match(match: Match) -> Markup:
    left, right = side_by_side(match.text, match.training_text)
    apart = f", kept apart: {match.kept_apart}" if match.kept_apart else ""
    title = f"{match.part} {match.id}: {match.level} {match.score:.3f}{apart}"
    place = f"{match.file} row {match.row:,}, {match.field}"
    columns = (
        tag("div", tag("b", "Evaluation"), "\n", left, dir="auto"),
        tag("div", tag("b", place), "\n", right, dir="auto"),
    )
    return tag(
        "details", tag("summary", title), tag("div", *columns, class_="pair"), open="open" if not apart else None
    )


def _scores(scores: Sequence[Mapping[str, Any]]) -> Markup:
    parts = []
    for score in scores:
        counts = f"{score['contaminated']:,} of {score['queries']:,} queries are contaminated"
        caption = f"{score['task']}: {score['metric']}, {counts}"
        rows = [
            tag(
                "tr",
                tag("th", model["model"], scope="row"),
                *(
                    tag("td", f"{model[name]:.4f}", class_="number")
                    for name in ("all", "clean", "contaminated", "effect")
                ),
                tag("td", f"{model['effect_p']:.4f}", class_="number"),
            )
            for model in score["models"]
        ]
        heads = tag("tr", *map(th, ("Model", "All", "Clean", "Contaminated", "Contaminated - clean", "p")))
        leads = [tag("li", lead_sentence(lead)) for lead in score["leads"]]
        parts.append(join(tag("h3", caption), table(caption, [heads], rows), tag("ul", *leads)))
    return join(*parts)


def lead_sentence(lead: Mapping[str, Any]) -> str:
    """Return a comparison of two models with and without the contaminated queries, as one sentence."""
    whole, clean = lead["all"], lead["clean"]
    return (
        f"{lead['leader']} over {lead['other']}: "
        f"{whole['difference']:+.4f} [{whole['low']:+.4f}, {whole['high']:+.4f}] (p {whole['p_value']:.4f}) with all "
        f"queries, {clean['difference']:+.4f} [{clean['low']:+.4f}, {clean['high']:+.4f}] (p {clean['p_value']:.4f}) "
        f"without contaminated ones: {lead['meaning']}"
    )


def _training(training: Mapping[str, Any]) -> Markup:
    rows = [
        tag(
            "tr",
            tag("th", file["file"], scope="row"),
            tag("td", f"{file['rows']:,}", class_="number"),
            tag("td", f"{file['texts']:,}", class_="number"),
            tag("td", ", ".join(file["columns"])),
            tag("td", file["error"] or "-", class_="bad" if file["error"] else None),
        )
        for file in training["files"]
    ]
    files = table("Files", [tag("tr", *map(th, ("File", "Rows", "Texts", "Columns", "Error")))], rows)
    if not training["problems"]:
        return files
    problems = [
        tag(
            "tr",
            tag("th", problem["file"], scope="row"),
            tag("td", problem["kind"]),
            tag("td", f"{problem['count']:,}", class_="number"),
            tag("td", ", ".join(f"{row} ({detail})" if detail else str(row) for row, detail in problem["rows"])),
        )
        for problem in training["problems"]
    ]
    heads = tag("tr", *map(th, ("File", "Problem", "Count", "First rows")))
    return join(files, tag("h3", "Rows that were not, or not fully, audited"), table("Problems", [heads], problems))


def _legend(audit: Audit) -> Markup:
    settings = ", ".join(f"{name}: {value}" for name, value in audit.settings.items() if name != "semantic")
    words = [join(tag("dt", word), tag("dd", meaning)) for word, meaning in {**VERDICTS, **REASONS}.items()]
    semantic = audit.settings.get("semantic")
    line = (
        f"Semantic level: {semantic['encoder']}, margin of at least {semantic['threshold']:.3f}; "
        f"about {semantic['false_positive_rate']:.1%} of the texts pass by chance."
        if semantic
        else None
    )
    return join(tag("p", settings, class_="soft"), tag("p", line) if line else None, tag("dl", *words))


STYLES = (("steelyard.reports", "page.css"), ("steelyard.audit", "audit.css"))


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


TOKEN = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]|\w+|[^\w\s]+|\s+")
"""A character of a script without spaces, a word, punctuation, or space."""
LONGEST = 1_500
"""Characters of a text that are shown."""


def side_by_side(one: str, other: str) -> tuple[Markup, Markup]:
    """Return both texts as HTML; what one of them lacks is in `<del>` on the left and in `<ins>` on the right.

    >>> side_by_side("The Nile is long.", "The nile was long")
    ('The Nile <del>is</del> long<del>.</del>', 'The nile <ins>was</ins> long')
    """
    left, right = TOKEN.findall(one[:LONGEST]), TOKEN.findall(other[:LONGEST])
    matcher = difflib.SequenceMatcher(
        None, list(map(str.casefold, left)), list(map(str.casefold, right)), autojunk=False
    )
    first: list[Markup | str] = []
    second: list[Markup | str] = []
    for kind, start, stop, other_start, other_stop in matcher.get_opcodes():
        ours, theirs = "".join(left[start:stop]), "".join(right[other_start:other_stop])
        first.append(ours if kind == "equal" or not ours else tag("del", ours))
        second.append(theirs if kind == "equal" or not theirs else tag("ins", theirs))
    first += ["…"] if len(one) > LONGEST else []
    second += ["…"] if len(other) > LONGEST else []
    return join(*first), join(*second)


TITLES = {"queries": "Shared queries and samples", "documents": "Shared documents"}


def write_overlap_report(created: str, within: Sequence[WithinAudit], between: BetweenAudit | None, path: Path) -> Path:
    """Write the report, whole or not at all, and return the path."""
    sections = {"Within each set": _within(within)}
    if between is not None:
        sections |= {title: _matrix(between, side) for side, title in TITLES.items()}
    write_atomic(path, document("Overlap of evaluation sets", created, sections).encode(errors="replace"))
    return path


def _within(audits: Sequence[WithinAudit]) -> Markup:
    rows = [
        tag(
            "tr",
            tag("th", one.task, scope="row"),
            tag("td", MEANINGS[finding.kind]),
            tag("td", f"{finding.count:,}", class_="number"),
            tag("td", f"{finding.total:,}", class_="number"),
            tag(
                "td",
                "; ".join(
                    ", ".join(f"{key} {value}" for key, value in example.items()) for example in finding.examples[:3]
                ),
            ),
        )
        for one in audits
        for finding in one.overlaps
        if finding.count
    ]
    if not rows:
        return tag("p", "No set repeats anything of itself.")
    heads = tag("tr", *map(th, ("Task", "Finding", "Count", "Of", "First ones")))
    return table("Findings within each set", [heads], rows)


def _matrix(between: BetweenAudit, side: str) -> Markup:
    """Return the share of each row's texts that are in each column's task."""
    shares = between.near[side]
    rows = []
    for row, name in enumerate(between.tasks):
        cells = (
            tag("td", "-" if row == column else _percent(float(shares[row, column])), class_="number")
            for column in range(len(between.tasks))
        )
        rows.append(tag("tr", tag("th", f"{row + 1}. {name}", scope="row"), *cells))
    heads = tag("tr", th("Of these, equal or near-duplicate in"), *(th(str(row + 1)) for row in range(len(rows))))
    return join(table(TITLES[side], [heads], rows))


def _percent(share: float) -> str:
    """Return a share for a cell; nothing at all is left blank.

    >>> _percent(0.0), _percent(0.004), _percent(1.0)
    ('', '0.4%', '100.0%')
    """
    return f"{share:.1%}" if share else ""

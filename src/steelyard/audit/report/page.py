"""The report as one self-contained HTML file: verdicts, rates, matches side by side, scores, what was not read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard.audit.audit_file import Audit
from steelyard.audit.findings import Match, TaskFindings
from steelyard.audit.kept_apart import REASONS
from steelyard.audit.report.differences import side_by_side
from steelyard.audit.report.document import document
from steelyard.audit.verdict import VERDICTS, Rate
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

"""The card of a set: what is generated from its manifest and metadata, and what contradicts them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from steelyard import __version__
from steelyard.datasets.cards import parse_card
from steelyard.datasets.formats.nano import card as nano_card
from steelyard.datasets.formats.nano.manifest import CARD
from steelyard.datasets.formats.sidecar import MANIFEST, task_info
from steelyard.errors import DataError
from steelyard.types import TaskInfo
from steelyard.types.task_metadata import bibtex

SAMPLED = "How it was sampled"
SOURCES = "Sources and licences"
CITATION = "Citation"
OLD_HEADINGS = {"How it was cut": SAMPLED}
"""Headings of older cards, and what they are now."""
DESCRIPTION = "description"
UNKNOWN = "not recorded"
CHECK = (
    "The finished set was read back and checked; `manifest.json` has the result. The last two columns count queries "
    "that reveal their answer: their text is a document, or is contained in a positive."
)


def description(facts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the first paragraph of the card, from how each task was sampled."""
    recipes = _recipes(facts)
    count = f"{len(facts)} task{'s' if len(facts) > 1 else ''}"
    if len(recipes) > 1:
        return (
            f"A Nano-set of {count}, sampled by Steelyard {__version__} with {len(recipes)} recipes, which are listed "
            "below. Documents are stored in an order that does not depend on relevance."
        )
    recipe = next(iter(recipes.values()))
    drawn = f"drawn with seed {recipe['seed']}" if recipe["order"] == "random" else "in the order of the source"
    mined = f" Hard negatives were mined with {' and '.join(recipe['mine'])}." if recipe["mine"] else ""
    size = f"at most {recipe['queries']:,} queries and {recipe['documents']:,} documents per task"
    return (
        f"A Nano-set of {count}, sampled by Steelyard {__version__}: {size}, {drawn}.{mined} "
        "Documents are stored in an order that does not depend on relevance."
    )


def _recipes(facts: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the distinct recipes by name: `recipe`, or `recipe 1`, `recipe 2` ..."""
    distinct = {json.dumps(own["recipe"], sort_keys=True): own["recipe"] for own in facts.values()}
    if len(distinct) == 1:
        return {"recipe": next(iter(distinct.values()))}
    return {f"recipe {number}": recipe for number, recipe in enumerate(distinct.values(), 1)}


def sampled_section(facts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the section on sampling: counts by task, then every choice of every recipe."""
    columns = ("task", "queries", "of", "documents", "of", "relevant pairs", "hard negatives", "judged negatives")
    leakage = ("queries that are a document", "queries inside a positive")
    rows = []
    for name, own in facts.items():
        roles = own["documents"]["roles"]
        counts = (own["queries"]["kept"], own["source"]["queries"], own["documents"]["kept"])
        more = (own["source"]["documents"], own["judgements"]["positive"], roles.get("hard negative", 0))
        rows.append((name, *counts, *more, roles.get("judged negative", 0), *own["leakage"].values()))
    recipes = _recipes(facts)
    choices = dict.fromkeys(choice for recipe in recipes.values() for choice in recipe)
    if len(recipes) == 1:
        head: Sequence[str] = ("choice", "value")
        use = ""
    else:
        head = ("choice", *recipes)
        use = "; ".join(
            f"{name}: {', '.join(task for task, own in facts.items() if own['recipe'] == recipe)}"
            for name, recipe in recipes.items()
        )
    values = [(choice, *(f"`{json.dumps(one.get(choice))}`" for one in recipes.values())) for choice in choices]
    parts = [_table((*columns, *leakage), rows), f"Tasks of each recipe. {use}." if use else "", _table(head, values)]
    parts += [CHECK, "`metadata/` lists what was excluded and why, for each task."]
    return "\n\n".join(part for part in parts if part)


def sources_section(infos: Mapping[str, TaskInfo], facts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the section on sources: origin, revision and licence of every task, and whether the licences differ."""
    rows = []
    for name, info in infos.items():
        own = facts.get(name, {}).get("source", {})
        origin, revision = own.get("from") or info.source, own.get("revision") or info.revision
        rows.append((name, _linked(str(origin)), (revision or UNKNOWN)[:12], info.licence or UNKNOWN))
    return "\n\n".join([_table(("task", "source", "revision", "licence"), rows), licence_sentence(infos)])


def licence_sentence(infos: Mapping[str, TaskInfo]) -> str:
    """Return which licence the tasks have."""
    groups: dict[str, list[str]] = {}
    for name, info in infos.items():
        groups.setdefault((info.licence or UNKNOWN).lower(), []).append(name)
    names = {(info.licence or UNKNOWN).lower(): info.licence or UNKNOWN for info in infos.values()}
    if len(groups) == 1:
        (licence,) = names.values()
        return f"The licence of {'the task' if len(infos) == 1 else 'all tasks'} is {licence}."
    listed = "; ".join(f"{names[key]}: {', '.join(tasks)}" for key, tasks in groups.items())
    return f"The tasks have different licences, each that of its source. {listed}."


def _linked(origin: str) -> str:
    from steelyard.datasets.cards import is_hub_name

    return (
        f"[{origin}](https://huggingface.co/datasets/{origin})" if is_hub_name(origin) else origin.replace("|", "\\|")
    )


def citation_section(infos: Mapping[str, TaskInfo]) -> str:
    """Return the BibTeX of all references; empty if there are none."""
    text = bibtex(reference for info in infos.values() for reference in info.metadata.references)
    return f"```bibtex\n{text}\n```" if text else ""


def _table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    for row in rows:
        lines.append("| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in row) + " |")
    return "\n".join(lines)


def region_hashes(card: str) -> dict[str, str]:
    """Return the hash of each generated region, for the manifest."""
    return {name: _digest(body) for name, body in nano_card.regions(card).items()}


def _digest(text: str) -> str:
    return hashlib.sha256(text.strip().encode()).hexdigest()


def refuse_contradictions(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Raise a DataError if the card of a set contradicts its manifest; the hint repairs it."""
    path = folder / CARD
    if not path.is_file():
        raise DataError(f"{CARD} does not exist", path=path, hint="run `steelyard build sample` again: it is kept")
    text = path.read_text(encoding="utf-8", errors="replace")
    for field, message, hint in _contradictions(text, manifest):
        raise DataError(f"the card contradicts {MANIFEST}: {message}", path=path, field=field, hint=hint)


def _contradictions(text: str, manifest: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield field, message and hint of each contradiction."""
    card, tasks = parse_card(text, "card"), manifest.get("tasks", {})
    infos = {name: task_info(facts, name=name, source="") for name, facts in tasks.items()}
    again = "build the set again with the licence (--licence, or `licence` in set.yaml), or correct the card"
    licences = {(info.licence or UNKNOWN).lower() for info in infos.values()}
    declared = card.licence.lower()
    if declared and declared != nano_card.MIXED and licences not in ({declared}, {UNKNOWN}):
        names = ", ".join(sorted(licences))
        yield "license", f"its licence is {card.licence}, those of the tasks are {names}", again
    if declared == nano_card.MIXED and len(licences) == 1:
        yield "license", f"its licence is mixed, that of the tasks is {next(iter(licences))}", again
    languages = {code for info in infos.values() for code in info.languages}
    if card.languages and (missing := sorted(languages - set(card.languages))):
        yield "language", f"it does not list the languages {', '.join(missing)}", "add them under `language:`"
    tables = {name for name in manifest.get("files", {}) if name.endswith(".parquet")}
    listed = {
        str(path)
        for config in card.front.get("configs") or ()
        for files in config.get("data_files") or ()
        for path in ([files["path"]] if isinstance(files["path"], str) else files["path"])
    }
    if different := sorted(tables ^ listed):
        yield "configs", f"its list of tables differs, such as {different[0]}", "build the set again"
    recorded = manifest.get("card_regions")
    regions = region_hashes(text)
    for name, digest in (recorded or {}).items():
        if name in regions and regions[name] != digest:
            hint = "move your text out of the generated region, and build the set again"
            yield name, f"the generated region {name!r} was changed", hint

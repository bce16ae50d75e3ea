"""Write the outcome of an audit next to the evaluation sets, where their pages and cards read it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from steelyard.audit.audit_file import Audit
from steelyard.datasets.formats.folder import locate
from steelyard.datasets.formats.nano.card import with_section
from steelyard.datasets.options import LoadOptions
from steelyard.datasets.sources import FolderSource, source_of
from steelyard.files import write_atomic

CARD = "README.md"
SECTION = "Leakage audit"
HEADER = "| task | verdict | queries found | documents found | pairs found | training data | date |"


def record(audit: Audit, references: Mapping[str, str]) -> dict[str, str]:
    """Write `metadata/<task>.audit.json` into the folder of every task that is on this machine; return the paths.

    `references` maps the names of tasks to what they were loaded by. Built-in sets and sets of hubs have no folder.
    The card of a set, if it has one, lists all its recorded audits in a generated section.
    """
    written, folders = {}, set()
    for name, reference in references.items():
        if "," in reference or not isinstance(source_of(reference, LoadOptions()), FolderSource):
            continue
        place = locate(reference)[0]
        path = Path(place.folder) / "metadata" / f"{place.task or 'task'}.audit.json"
        write_atomic(path, json.dumps(audit.page_record(name), ensure_ascii=False, indent=2).encode() + b"\n")
        written[name] = str(path)
        folders.add(path.parents[1])
    for folder in folders:
        _update_card(folder)
    return written


def _update_card(folder: Path) -> None:
    """Write the section of audits into the card; text outside of it stays as it is."""
    path = folder / CARD
    if not path.is_file():
        return
    card = path.read_text(encoding="utf-8")
    rows = [HEADER, "|---|" + "---|" * (HEADER.count("|") - 2)]
    for file in sorted((folder / "metadata").glob("*.audit.json")):
        facts = json.loads(file.read_text(encoding="utf-8"))
        found = f"{facts['queries_found']} | {facts['documents_found']} | {facts['pairs_found']}"
        task = file.name.removesuffix(".audit.json")
        rows.append(f"| {task} | {facts['verdict']} | {found} | {facts['training_data']} | {facts['date']} |")
    updated = with_section(card, SECTION, "\n".join(rows))
    if updated != card:
        write_atomic(path, updated.encode())

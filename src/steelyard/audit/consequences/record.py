"""Write the outcome of an audit next to the evaluation sets, where their pages and cards read it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from steelyard.audit.audit_file import Audit
from steelyard.datasets.formats.folder import locate
from steelyard.datasets.options import LoadOptions
from steelyard.datasets.sources import FolderSource, source_of
from steelyard.files import write_atomic


def record(audit: Audit, references: Mapping[str, str]) -> dict[str, str]:
    """Write `metadata/<task>.audit.json` into the folder of every task that is on this machine; return the paths.

    `references` maps the names of tasks to what they were loaded by. Built-in sets and sets of hubs have no folder.
    """
    written = {}
    for name, reference in references.items():
        if "," in reference or not isinstance(source_of(reference, LoadOptions()), FolderSource):
            continue
        place = locate(reference)[0]
        path = Path(place.folder) / "metadata" / f"{place.task or 'task'}.audit.json"
        write_atomic(path, json.dumps(audit.page_record(name), ensure_ascii=False, indent=2).encode() + b"\n")
        written[name] = str(path)
    return written

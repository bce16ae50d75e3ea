"""What an audit left beside a set: how much of it stood in the data that a model was trained on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.errors import DataError

if TYPE_CHECKING:
    from steelyard.reports.pages import Audit


def audit_of(name: str) -> Audit | None:
    """The record of an audit beside a set on this machine, `metadata/<task>.audit.json`; None where there is none."""
    from steelyard.datasets.formats.folder import locate
    from steelyard.datasets.formats.sidecar import read_json_object
    from steelyard.datasets.options import LoadOptions
    from steelyard.datasets.sources import FolderSource, source_of
    from steelyard.reports.pages import Audit

    if not isinstance(source_of(name, LoadOptions()), FolderSource) or "," in name:
        return None
    place = locate(name)[0]
    path = place.folder / "metadata" / f"{place.task or 'task'}.audit.json"
    facts = read_json_object(path)
    if not facts:
        return None
    try:
        return Audit(
            training_data=str(facts["training_data"]),
            queries_found=int(facts["queries_found"]),
            documents_found=int(facts["documents_found"]),
            method=str(facts.get("method", "")),
            date=str(facts.get("date", "")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"not the record of an audit ({type(error).__name__}: {error})",
            where=str(path),
            hint="training_data is a text, queries_found and documents_found are numbers",
        ) from error

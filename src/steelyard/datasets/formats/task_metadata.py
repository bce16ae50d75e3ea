"""Read and write the metadata of a task: the keys of `task.json`, of a manifest, and of the tasks in `set.yaml`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from steelyard.errors import DataError, printable
from steelyard.types.task_metadata import CONFIDENCES, SYNTHETIC_PARTS, Reference, TaskMetadata

METADATA_KEYS = tuple(field.name for field in fields(TaskMetadata))
"""The keys of `TaskMetadata`, which are also those of the files."""
REFERENCE_KEYS = tuple(field.name for field in fields(Reference))
FIRST_YEAR, LAST_YEAR = 1000, 2999


def parse_metadata(facts: Mapping[str, Any], where: str, path: str | Path | None = None) -> TaskMetadata:
    """Return the metadata among the facts of a task; an invalid value is a DataError with its key.

    >>> parse_metadata({"references": [{"title": "A paper", "year": 2020}]}, "x").references[0].year
    2020
    """
    reader = _Reader(where, path)
    texts = {
        key: reader.text(key, facts[key])
        for key in METADATA_KEYS
        if key not in ("references", "useful_training_data", "synthetic_data") and facts.get(key) is not None
    }
    return TaskMetadata(
        references=reader.references(facts.get("references")),
        useful_training_data=reader.texts("useful_training_data", facts.get("useful_training_data")),
        synthetic_data=reader.synthetic(facts.get("synthetic_data")),
        **texts,
    )


def metadata_facts(metadata: TaskMetadata) -> dict[str, Any]:
    """Return what is recorded, JSON-ready; `parse_metadata` reads it back."""
    facts: dict[str, Any] = {key: getattr(metadata, key) for key in METADATA_KEYS}
    facts["references"] = [
        {key: value for key in REFERENCE_KEYS if (value := _plain(getattr(one, key))) not in (None, "", [])}
        for one in metadata.references
    ]
    facts["useful_training_data"] = list(metadata.useful_training_data)
    facts["synthetic_data"] = dict(metadata.synthetic_data)
    return {key: value for key, value in facts.items() if value not in ("", [], {})}


def refuse_unknown_keys(facts: Iterable[str], known: Iterable[str], what: str, path: str | Path | None) -> None:
    """Raise a DataError for the first key that is not known, with the nearest known one."""
    names = list(known)
    for key in facts:
        if key not in names:
            import difflib  # only for errors

            near = difflib.get_close_matches(str(key).casefold(), names, n=1, cutoff=0.6)
            guess = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(sorted(names))}"
            raise DataError(
                f"{what} has the unknown key {key!r}",
                path=path,
                field=str(key),
                found=str(key),
                expected=near[0] if near else "a known key",
                hint=guess,
            )


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


class _Reader:
    """Reads values of metadata; errors name the place."""

    def __init__(self, where: str, path: str | Path | None) -> None:
        self._where, self._path = where, path

    def text(self, key: str, value: Any) -> str:
        if not isinstance(value, str):
            raise self._invalid(key, "a text", value)
        return printable(value.encode("utf-8", "replace").decode()).strip()

    def texts(self, key: str, value: Any) -> tuple[str, ...]:
        if value is None:
            return ()
        if isinstance(value, str):
            return (self.text(key, value),) if value.strip() else ()
        if not isinstance(value, list | tuple):
            raise self._invalid(key, "a text or a list of texts", value)
        return tuple(self.text(key, item) for item in value)

    def synthetic(self, value: Any) -> dict[str, str]:
        if value is None or value == "":
            return {}
        if isinstance(value, str):
            return {"guidance": self.text("synthetic_data", value)}
        if not isinstance(value, Mapping):
            raise self._invalid("synthetic_data", "a text or an object of texts", value)
        refuse_unknown_keys(value, SYNTHETIC_PARTS, f"synthetic_data of {self._where}", self._path)
        return {key: self.text(f"synthetic_data.{key}", text) for key, text in value.items()}

    def references(self, value: Any) -> tuple[Reference, ...]:
        if value is None:
            return ()
        if not isinstance(value, list | tuple) or not all(isinstance(item, Mapping) for item in value):
            raise self._invalid("references", "a list of objects with a title", value)
        return tuple(self._reference(item) for item in value)

    def _reference(self, facts: Mapping[str, Any]) -> Reference:
        refuse_unknown_keys(facts, REFERENCE_KEYS, f"a reference of {self._where}", self._path)
        texts = {
            key: self.text(f"references.{key}", facts[key])
            for key in ("title", "type", "url", "doi", "confidence")
            if facts.get(key) is not None
        }
        if not texts.get("title"):
            raise self._invalid("references.title", "a text", facts.get("title"))
        year = facts.get("year")
        if year is not None and (
            isinstance(year, bool) or not isinstance(year, int) or not FIRST_YEAR <= year <= LAST_YEAR
        ):
            raise self._invalid("references.year", "a year such as 2024", year)
        if texts.get("confidence") and texts["confidence"] not in CONFIDENCES:
            raise self._invalid("references.confidence", f"one of {', '.join(CONFIDENCES)}", texts["confidence"])
        if texts.get("url") and not texts["url"].startswith(("http://", "https://")):
            raise self._invalid("references.url", "an address that begins with https://", texts["url"])
        return Reference(year=year, authors=self.texts("references.authors", facts.get("authors")), **texts)

    def _invalid(self, key: str, expected: str, found: Any) -> DataError:
        return DataError.invalid(
            key,
            expected=expected,
            found=found,
            where=None if self._path is not None else self._where,
            path=self._path,
            field=key,
        )

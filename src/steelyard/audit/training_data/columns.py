"""Which columns of training data hold texts, and the texts of one record.

A column holds texts when it is named so or when most of its values look like prose: strings of at least two words or
in a script without spaces, lists of them, or lists of messages (`{"role": ..., "content": ...}`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from steelyard.audit.training_data.batches import Batch, RowProblem

TEXT_NAMES = frozenset(
    re.findall(
        r"\w+",
        """
        text texts sentence sentence1 sentence2 sentences query queries question questions anchor document documents doc
        passage passages positive positives pos negative negatives neg answer answers response responses context
        contexts content body title abstract summary prompt completion instruction input output messages conversation
        conversations dialog dialogue turns premise hypothesis source_text target_text claim chosen rejected code
        docstring
        """,
    )
)
"""Names that are taken for texts whatever their values look like."""
OTHER_NAMES = re.compile(
    r"^_?(id|ids|idx|index|uuid|guid|hash|url|uri|link|label|labels|score|scores|split|source|language|lang|date|"
    r"time|timestamp|license|licence|meta|metadata|type|category|domain|role|model|file|path|.*[_-](id|ids|url|score))$",
    re.IGNORECASE,
)
"""Names that are never taken for texts unless they are asked for."""
MESSAGE_KEYS = ("content", "value", "text")
"""Where a message, or a nested document, has its text."""
BODY_NAMES = ("text", "body", "passage", "content", "document", "abstract", "context")
TITLE = "title"
USUAL = 0.9
"""The share of the first rows that have a column which every row must have."""
PROSE = re.compile(r"\w\W+\w|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]{2}")


@dataclass(frozen=True)
class TextColumns:
    """The columns that are audited."""

    names: tuple[str, ...]
    required: frozenset[str] = frozenset()
    """Columns that every row must have: those that were asked for, and those that most first rows have."""

    @property
    def body(self) -> str | None:
        """The column that a title belongs to; evaluation sets join the two as models read them."""
        if TITLE not in self.names:
            return None
        return next((name for name in BODY_NAMES if name in self.names), None)


def detect(records: Sequence[Mapping[str, Any]], asked: Sequence[str] = ()) -> TextColumns:
    """Return the text columns of the first records of a file.

    >>> detect([{"id": "7f", "query": "rivers", "pos": ["The Nile."], "score": 0.3, "note": "seen by two"}]).names
    ('query', 'pos', 'note')
    """
    if asked:
        return TextColumns(tuple(asked), frozenset(asked))
    names = tuple(dict.fromkeys(name for record in records for name in record))
    chosen = tuple(name for name in names if _holds_text(name, [record.get(name) for record in records]))
    counts = {name: sum(record.get(name) is not None for record in records) for name in chosen}
    return TextColumns(chosen, frozenset(name for name in chosen if counts[name] >= USUAL * len(records)))


def _holds_text(name: str, values: Sequence[Any]) -> bool:
    texts = [text for value in values for text in texts_of(value)]
    if not texts or (OTHER_NAMES.match(name) and name.lower() not in TEXT_NAMES):
        return False
    return name.lower() in TEXT_NAMES or 2 * sum(bool(PROSE.search(text)) for text in texts) > len(texts)


def texts_of(value: Any) -> Iterator[str]:
    """Yield the texts of one value: a string, a list of strings, messages, nested lists.

    >>> list(texts_of([{"role": "user", "content": "Hello"}, {"from": "gpt", "value": "Hi"}])), list(texts_of(3))
    (['Hello', 'Hi'], [])
    """
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key in MESSAGE_KEYS:
            if isinstance(value.get(key), str | list):
                yield from texts_of(value[key])
                break
    elif isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        for item in value:
            yield from texts_of(item)


def add_record(batch: Batch, row: int, record: Any, columns: TextColumns) -> None:
    """Add the texts of a record to a batch, or the reason why it has none."""
    if not isinstance(record, Mapping):
        batch.problems.append(RowProblem(row, "not-an-object", type(record).__name__))
        return
    absent = [name for name in columns.names if record.get(name) is None]
    missing = [name for name in absent if name in columns.required or len(absent) == len(columns.names)]
    if missing:
        batch.problems.append(RowProblem(row, "missing-column", ", ".join(missing)))
    for name in columns.names:
        value = record.get(name)
        if value is None:
            continue
        texts = list(texts_of(value))
        if not texts and value not in ([], {}, ()):
            batch.problems.append(RowProblem(row, "wrong-type", f"{name}: {type(value).__name__}"))
        for text in texts:
            batch.add(row, name, text)
    body = columns.body
    if body is not None and isinstance(record.get(TITLE), str) and isinstance(record.get(body), str):
        batch.add(row, f"{TITLE}+{body}", f"{record[TITLE]} {record[body]}")

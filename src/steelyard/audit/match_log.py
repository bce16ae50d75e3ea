"""All matches of an audit as one table, and for each evaluation text the best of them with their texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.audit.lexical.near_duplicates import Hits
from steelyard.audit.training_data.batches import Batch

MATCH = np.dtype(
    [("file", "<i4"), ("row", "<i8"), ("field", "<i2"), ("text", "<i4"), ("level", "i1"), ("score", "<f4")]
)
"""One match: where the training text is, which evaluation text it repeats, at which level and how closely."""
Matches = npt.NDArray[np.void]
BEST = 3
"""Training texts that are stored for each evaluation text and level."""
MOST_STORED = 1_000
"""Matches of one evaluation text and level that are stored; more only show that the text is boilerplate."""
SNIPPET = 4_000
"""Characters of a training text that are stored."""


@dataclass(frozen=True)
class Evidence:
    """One training text that repeats an evaluation text."""

    score: float
    file: int
    row: int
    field: str
    snippet: str

    @property
    def rank(self) -> tuple[float, int, int, str]:
        """Sorts the best first, then by place: the same order however the work was divided."""
        return (-self.score, self.file, self.row, self.field)


@dataclass(eq=False)
class MatchLog:
    """Matches in the order of files and rows. Texts are stored for the best matches only, so memory stays bounded."""

    parts: list[Matches] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)
    """Names of columns; `field` of a match is a number of them."""
    evidence: dict[tuple[int, int], list[Evidence]] = field(default_factory=dict)
    """By evaluation text and level."""
    totals: dict[tuple[int, int], int] = field(default_factory=dict)
    """How many matches each evaluation text has at each level, those included that are not stored."""

    def field_number(self, name: str) -> int:
        """Return the number of a column, new ones added."""
        if name not in self.fields:
            self.fields.append(name)
        return self.fields.index(name)

    def add(self, file: int, level: int, batch: Batch, hits: Hits) -> None:
        """Add the hits of a batch, with their texts where they are among the best."""
        chosen = []
        for place, (text, score) in enumerate(zip(hits.texts.tolist(), hits.scores.tolist(), strict=True)):
            total = self.totals[text, level] = self.totals.get((text, level), 0) + 1
            best = self.evidence.setdefault((text, level), [])
            at = int(hits.rows[place])
            if len(best) < BEST or score > best[-1].score:
                snippet = batch.texts[at][:SNIPPET]
                best.append(Evidence(score, file, batch.rows[at], batch.fields[at], snippet))
                best.sort(key=lambda one: one.rank)
                del best[BEST:]
            if total <= MOST_STORED:
                chosen.append((file, batch.rows[at], self.field_number(batch.fields[at]), text, level, score))
        if chosen:
            self.parts.append(np.array(chosen, dtype=MATCH))

    def add_one(self, text: int, level: int, evidence: Evidence) -> None:
        """Add a match that was found at the end of a scan."""
        self.totals[text, level] = self.totals.get((text, level), 0) + 1
        self.evidence.setdefault((text, level), []).append(evidence)
        record = (evidence.file, evidence.row, self.field_number(evidence.field), text, level, evidence.score)
        self.parts.append(np.array([record], dtype=MATCH))

    @property
    def table(self) -> Matches:
        """All matches as one array."""
        return np.concatenate([np.zeros(0, dtype=MATCH), *self.parts])

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def to_state(self) -> dict[str, Any]:
        """Return columns and evidence as JSON-ready values; the table is stored apart."""
        evidence = [
            [text, level, item.score, item.file, item.row, item.field, item.snippet]
            for (text, level), items in self.evidence.items()
            for item in items
        ]
        totals = [[text, level, total] for (text, level), total in self.totals.items()]
        return {"fields": self.fields, "evidence": evidence, "totals": totals}

    @classmethod
    def from_state(cls, state: dict[str, Any], table: Matches) -> MatchLog:
        """Read what `to_state` returned."""
        log = cls([table], list(state["fields"]))
        for text, level, *values in state["evidence"]:
            log.evidence.setdefault((text, level), []).append(Evidence(*values))
        log.totals = {(text, level): total for text, level, total in state["totals"]}
        return log

"""From matches to findings: which items of which task were found at which level, and what that means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from steelyard.audit.calibration import least_share
from steelyard.audit.evaluation_side import Pairs, Part
from steelyard.audit.kept_apart import kept_apart
from steelyard.audit.lexical.matcher import CONTAINED, EXACT, LEVELS, NEAR_DUPLICATE, SEMANTIC, Matcher, Thresholds
from steelyard.audit.lexical.normal_form import Bools
from steelyard.audit.match_log import Evidence, Matches
from steelyard.audit.scan import Scan
from steelyard.audit.verdict import Rate, verdict

DOCUMENT_PARTS = ("positives", "documents")
STRICTER = {
    EXACT: (EXACT,),
    NEAR_DUPLICATE: (EXACT, NEAR_DUPLICATE),
    CONTAINED: (EXACT, CONTAINED),
    SEMANTIC: (SEMANTIC,),
}
"""The levels that count for a level: an exact match is also near and contained."""


@dataclass(frozen=True, eq=False)
class Match:
    """An item of an evaluation set next to the training text that repeats it."""

    task: str
    part: str
    id: str
    level: str
    score: float
    text: str
    training_text: str
    file: str
    row: int
    field: str
    kept_apart: str | None = None
    """Why the match does not count; None where it does."""


@dataclass(frozen=True, eq=False)
class PartFindings:
    """One part of a task."""

    part: str
    items: int
    rates: Mapping[str, Rate]
    """By level, and `any`."""
    touched: int
    """Items that share at least one n-gram of 13 words with a training text (GPT-3's rule)."""
    kept_apart: Mapping[str, int]
    """Items with matches that do not count, by reason."""
    ids: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The items that were found, by level, and `any`."""


@dataclass(frozen=True, eq=False)
class TaskFindings:
    """One task: its parts, its pairs and the verdict."""

    task: str
    data_hash: str
    parts: tuple[PartFindings, ...]
    pairs: Rate
    pair_ids: tuple[tuple[str, str], ...]
    verdict: str
    reason: str

    @property
    def contaminated(self) -> tuple[str, ...]:
        """The ids of the queries, or samples, that were found at any level or as half of a pair."""
        ids = [id_ for part in self.parts if part.part not in DOCUMENT_PARTS for id_ in part.ids["any"]]
        return tuple(dict.fromkeys([*ids, *(query for query, _ in self.pair_ids)]))

    @property
    def rate(self) -> Rate:
        """The share of queries, or samples, that are contaminated."""
        sizes = [part.items for part in self.parts if part.part not in DOCUMENT_PARTS]
        return Rate(len(self.contaminated), max(sizes, default=0))


@dataclass(frozen=True, eq=False)
class Findings:
    """All tasks, and every match that can be shown."""

    tasks: tuple[TaskFindings, ...]
    matches: tuple[Match, ...]
    leaking_rows: Mapping[int, frozenset[int]]
    """By the number of the training file: the rows that hold something that counts."""


def find(matcher: Matcher, scan: Scan, chance: float | None = None) -> Findings:
    """Return what the scan means for each task. `chance`: the false-positive rate of the semantic level."""
    return _Finder(matcher, scan, chance).findings()


class _Finder:
    def __init__(self, matcher: Matcher, scan: Scan, chance: float | None) -> None:
        self.side, self.scan, self.chance = matcher.side, scan, chance
        side = matcher.side
        self.table = _counting(scan.log.table, matcher.thresholds)
        self.touched_texts = np.zeros(len(side.texts), dtype=np.bool_)
        self.touched_texts[scan.log.table["text"][scan.log.table["level"] <= CONTAINED]] = True
        self.reasons = kept_apart(matcher, scan.log, self.table)
        self.apart = np.zeros(len(side.texts), dtype=np.bool_)
        self.apart[list(self.reasons)] = True

    def findings(self) -> Findings:
        """Put everything together."""
        levels = {level: self._found_texts(STRICTER[level]) for level in range(len(LEVELS))}
        if self.chance is None:
            del levels[SEMANTIC]
        rows_of = self._rows_by_text()
        tasks = []
        for name in self.side.tasks:
            parts = [self._part(part, levels) for part in self.side.parts if part.task == name]
            pairs = [pairs for pairs in self.side.pairs if pairs.task == name]
            tasks.append(self._task(name, parts, pairs, rows_of))
        return Findings(tuple(tasks), tuple(self._matches()), self._leaking_rows())

    def _found_texts(self, levels: tuple[int, ...]) -> Bools:
        """Return which texts have a match of these levels, kept-apart ones included."""
        texts = np.zeros(len(self.side.texts), dtype=np.bool_)
        texts[self.table["text"][np.isin(self.table["level"], levels)]] = True
        return texts

    def _part(self, part: Part, levels: Mapping[int, Bools]) -> PartFindings:
        counts = ~self.apart[part.texts]
        rates, ids = {}, {}
        anywhere = np.zeros(len(part), dtype=np.bool_)
        for level, texts in levels.items():
            hit = texts[part.texts] & counts
            rate = rates[LEVELS[level]] = Rate(int(hit.sum()), len(part))
            ids[LEVELS[level]] = _ids(part, hit)
            if level != SEMANTIC or _beyond_chance(rate, self.chance):
                anywhere |= hit
        rates["any"], ids["any"] = Rate(int(anywhere.sum()), len(part)), _ids(part, anywhere)
        reasons = [self.reasons[text] for text in part.texts.tolist() if text in self.reasons]
        apart = {reason: reasons.count(reason) for reason in sorted(set(reasons))}
        touched = int((self.touched_texts[part.texts] & counts).sum())
        return PartFindings(part.name, len(part), rates, touched, apart, ids)

    def _rows_by_text(self) -> dict[int, set[tuple[int, int]]]:
        """Return the training rows of every text that was found, partners included."""
        rows: dict[int, set[tuple[int, int]]] = {}
        for text, file, row in zip(
            self.table["text"].tolist(), self.table["file"].tolist(), self.table["row"].tolist(), strict=True
        ):
            rows.setdefault(text, set()).add((file, row))
        return rows

    def _task(
        self, name: str, parts: list[PartFindings], pairs: list[Pairs], rows_of: Mapping[int, set[tuple[int, int]]]
    ) -> TaskFindings:
        leaked = [ids for one in pairs for ids in self._leaked_pairs(one, rows_of)]
        pair_rate = Rate(len(leaked), sum(map(len, pairs)))
        queries = [part.rates["any"] for part in parts if part.part not in DOCUMENT_PARTS]
        documents = [part.rates["any"] for part in parts if part.part in DOCUMENT_PARTS]
        word, reason = verdict(_sum(queries), _sum(documents), pair_rate)
        data_hash = self.side.content_hashes.get(name, "")
        return TaskFindings(name, data_hash, tuple(parts), pair_rate, tuple(leaked), word, reason)

    def _leaked_pairs(self, pairs: Pairs, rows_of: Mapping[int, set[tuple[int, int]]]) -> list[tuple[str, str]]:
        """Return the pairs whose two texts are in one training row; at least one of them must count by itself."""
        leaked = []
        for ids, one, other in zip(pairs.ids, pairs.first.tolist(), pairs.second.tolist(), strict=True):
            tellable = one != other and not (self.apart[one] and self.apart[other])
            if tellable and not rows_of.get(one, set()).isdisjoint(rows_of.get(other, ())):
                leaked.append(ids)
        return leaked

    def _leaking_rows(self) -> dict[int, frozenset[int]]:
        counting = self.table[~self.apart[self.table["text"]] & (self.table["level"] <= SEMANTIC)]
        files = np.unique(counting["file"]).tolist()
        return {file: frozenset(counting["row"][counting["file"] == file].tolist()) for file in files}

    def _matches(self) -> list[Match]:
        """Return the best match of every item that was found, at the strictest level that it reaches."""
        matches = []
        for part in self.side.parts:
            for id_, text in zip(part.ids, part.texts.tolist(), strict=True):
                if (best := self._best(text)) is not None:
                    level, hit = best
                    file = self.scan.files[hit.file].name
                    matches.append(
                        Match(
                            part.task, part.name, id_, LEVELS[level], hit.score, self.side.texts[text], hit.snippet,
                            file, hit.row, hit.field, self.reasons.get(text),
                        )
                    )  # fmt: skip
        return matches

    def _best(self, text: int) -> tuple[int, Evidence] | None:
        for level in range(len(LEVELS)):
            if evidence := self.scan.log.evidence.get((text, level)):
                return level, evidence[0]
        return None


def _beyond_chance(rate: Rate, chance: float | None) -> bool:
    """Return whether more items were found than false positives explain."""
    return least_share(rate.count, rate.total, chance or 0.0) > 0


def _counting(table: Matches, thresholds: Thresholds) -> Matches:
    """Return the matches that reach their threshold."""
    counts: Bools = (table["level"] != CONTAINED) | (table["score"] >= thresholds.containment - 1e-6)
    return np.asarray(table[counts])


def _ids(part: Part, hit: Bools) -> tuple[str, ...]:
    return tuple(part.ids[place] for place in np.flatnonzero(hit).tolist())


def _sum(rates: list[Rate]) -> Rate:
    return Rate(sum(rate.count for rate in rates), sum(rate.total for rate in rates))


def rate_dict(rates: Mapping[str, Rate]) -> dict[str, Any]:
    """Return rates as JSON-ready values."""
    return {name: rate.to_dict() for name, rate in rates.items()}

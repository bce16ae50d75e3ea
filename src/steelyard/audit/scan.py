"""Stream training data past the evaluation side: blocks are read in order, parsed and matched in threads.

The result does not depend on the number of threads: blocks are joined in the order in which they were read. With a
checkpoint folder the state is saved every few seconds, and a scan that was interrupted continues where it stopped.
"""

from __future__ import annotations

import io
import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from steelyard.audit.lexical.containment import ShortIndex
from steelyard.audit.lexical.matcher import Matcher
from steelyard.audit.lexical.near_duplicates import Hits
from steelyard.audit.lexical.normal_form import batches, tokenise
from steelyard.audit.lexical.shingles import Windows
from steelyard.audit.match_log import MATCH, Matches, MatchLog
from steelyard.audit.semantic import Nearest, SemanticIndex
from steelyard.audit.training_data import Batch, Block, ProblemLog, RowProblem, TrainingFile
from steelyard.audit.training_data.batches import READ_ERRORS, unreadable
from steelyard.errors import DataError
from steelyard.files import write_atomic

if TYPE_CHECKING:
    from steelyard.audit.semantic import SemanticIndex


PARTNER = 4
"""The level of a short text that was found in a row that has its partner: it counts for pairs only."""
Progress = Callable[[str, int, int, int], None]
"""Called with the name of the file, rows read so far, bytes read so far, and matches so far."""


def no_progress(file: str, rows: int, size: int, matches: int) -> None:
    """Report nothing."""


@dataclass(eq=False)
class FileFacts:
    """What was read of one training file."""

    name: str
    rows: int = 0
    texts: int = 0
    columns: list[str] = field(default_factory=list)
    error: str | None = None
    """Why reading stopped before the end."""
    blocks: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as JSON-ready values."""
        return {
            "file": self.name,
            "rows": self.rows,
            "texts": self.texts,
            "columns": self.columns,
            "error": self.error,
            "blocks": self.blocks,
        }

    @classmethod
    def from_dict(cls, facts: dict[str, Any]) -> FileFacts:
        """Read what `to_dict` returned."""
        return cls(
            facts["file"], facts["rows"], facts["texts"], list(facts["columns"]), facts["error"], facts["blocks"]
        )


@dataclass(eq=False)
class Scan:
    """What a scan found."""

    files: list[FileFacts] = field(default_factory=list)
    problems: ProblemLog = field(default_factory=ProblemLog)
    log: MatchLog = field(default_factory=MatchLog)

    @property
    def rows(self) -> int:
        """Rows of all files."""
        return sum(file.rows for file in self.files)

    @property
    def texts(self) -> int:
        """Texts of all files."""
        return sum(file.texts for file in self.files)


@dataclass(frozen=True, eq=False)
class _Matched:
    batch: Batch
    hits: dict[int, Hits]
    nearest: Nearest | None


class Scanner:
    """Matches training files against the evaluation side; with `semantic` also by meaning."""

    def __init__(
        self,
        matcher: Matcher,
        *,
        threads: int | None = None,
        semantic: SemanticIndex | None = None,
        progress: Progress = no_progress,
    ) -> None:
        self.matcher, self.semantic, self.progress = matcher, semantic, progress
        self.threads = threads or min(4, os.cpu_count() or 1)
        self._short = ShortIndex(matcher.side)

    def scan(
        self, files: Sequence[TrainingFile], columns: Sequence[str] = (), checkpoint: Checkpoint | None = None
    ) -> Scan:
        """Read every file once; one that cannot be read is reported and the others go on."""
        scan = self._resumed(checkpoint)
        size = 0
        with ThreadPoolExecutor(self.threads) as pool:
            for number, file in enumerate(files):
                facts = scan.files[number] if number < len(scan.files) else FileFacts(file.name)
                if number == len(scan.files):
                    scan.files.append(facts)
                elif facts.error is not None or number < len(scan.files) - 1:
                    size += file.size
                    continue
                try:
                    for matched, block_size in self._matched(pool, file, columns, facts.blocks):
                        size += block_size
                        self._add(scan, number, facts, matched)
                        self.progress(file.name, scan.rows, size, len(scan.log))
                        if checkpoint is not None:
                            checkpoint.save_if_due(scan, self.semantic)
                except DataError as error:
                    facts.error = error.message
                    scan.problems.add(file.name, [RowProblem(facts.rows + 1, "damaged", facts.error)])
        return scan

    def _matched(
        self, pool: ThreadPoolExecutor, file: TrainingFile, columns: Sequence[str], skip: int
    ) -> Iterator[tuple[_Matched, int]]:
        """Yield the matches of each block in the order of the file, a few blocks ahead of their use.

        Where reading fails, the blocks before are yielded first; then a DataError is raised. A file of one block is
        matched in this thread: for a small file, a thread takes longer to start than the matching.
        """
        waiting: deque[tuple[Future[_Matched], int]] = deque()
        only: Block | None = None
        failure: DataError | None = None
        blocks = iter(file.blocks(columns))
        for number in count():
            try:
                block = next(blocks, None)
            except READ_ERRORS as error:
                failure = unreadable(error)
                break
            if block is None:
                break
            if number < skip:
                continue
            if number == skip:
                only = block
                continue
            if only is not None:
                waiting.append((pool.submit(self._match, only), only.size))
                only = None
            waiting.append((pool.submit(self._match, block), block.size))
            if len(waiting) > 2 * self.threads:
                future, size = waiting.popleft()
                yield future.result(), size
        if only is not None:
            yield self._match(only), only.size
        while waiting:
            future, size = waiting.popleft()
            yield future.result(), size
        if failure is not None:
            raise failure

    def _match(self, block: Block) -> _Matched:
        """Parse a block and match its texts."""
        try:
            batch = block.parse()
        except READ_ERRORS as error:
            raise unreadable(error) from error
        levels: dict[int, list[Hits]] = {}
        for part in batches(batch.texts):
            for level, hits in self.matcher.match(batch.texts[part]).items():
                if len(hits):
                    levels.setdefault(level, []).append(Hits(hits.rows + part.start, hits.texts, hits.scores))
        joined = {level: _joined(parts) for level, parts in levels.items()}
        if joined and (partners := self._partners(batch, joined)) is not None:
            joined[PARTNER] = partners
        return _Matched(batch, joined, self.semantic.search(batch.texts) if self.semantic is not None else None)

    def _partners(self, batch: Batch, levels: dict[int, Hits]) -> Hits | None:
        """Return short texts that are in a row together with a match of their partner."""
        partners = self.matcher.side.partners
        rows = batch.row_array
        wanted: dict[int, set[int]] = {}
        for hits in levels.values():
            for place, text in zip(hits.rows.tolist(), hits.texts.tolist(), strict=True):
                if text in partners:
                    wanted.setdefault(int(rows[place]), set()).update(partners[text])
        if not wanted:
            return None
        places = np.flatnonzero(np.isin(rows, np.fromiter(wanted, dtype=np.int64)))
        hits = self._short.search(Windows(tokenise([batch.texts[place] for place in places.tolist()])))
        where = places[hits.rows]
        pairs = zip(rows[where].tolist(), hits.texts.tolist(), strict=True)
        keep = np.array([text in wanted[row] for row, text in pairs], dtype=np.bool_)
        return Hits(where[keep], hits.texts[keep], hits.scores[keep]) if keep.any() else None

    def _add(self, scan: Scan, number: int, facts: FileFacts, matched: _Matched) -> None:
        """Add one block to the scan."""
        batch = matched.batch
        facts.rows += batch.rows_read
        facts.texts += len(batch.texts)
        facts.blocks += 1
        facts.columns += [name for name in dict.fromkeys(batch.fields) if name not in facts.columns]
        scan.problems.add(facts.name, batch.problems)
        for level, hits in sorted(matched.hits.items()):
            scan.log.add(number, level, batch, hits)
        if self.semantic is not None and matched.nearest is not None:
            self.semantic.add(number, batch, matched.nearest)

    def _resumed(self, checkpoint: Checkpoint | None) -> Scan:
        """Return the scan that a checkpoint holds, or an empty one."""
        saved = checkpoint.load() if checkpoint is not None else None
        if saved is None:
            return Scan()
        state, table = saved
        if self.semantic is not None:
            self.semantic.restore(state["semantic"])
        return Scan(
            [FileFacts.from_dict(facts) for facts in state["files"]],
            ProblemLog.from_dict(state["problems"]),
            MatchLog.from_state(state["log"], table),
        )


def _joined(parts: Sequence[Hits]) -> Hits:
    return Hits(
        np.concatenate([hits.rows for hits in parts]),
        np.concatenate([hits.texts for hits in parts]),
        np.concatenate([hits.scores for hits in parts]),
    )


STATE = "state.json"
INTERVAL = 10.0
"""Seconds between two saved states."""


class Checkpoint:
    """A folder with `state.json`: facts of the files, problems, evidence and matches, under a key.

    The key hashes the evaluation side, the settings and the training files: another audit starts anew.
    """

    def __init__(
        self, folder: Path, key: str, *, interval: float = INTERVAL, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.folder, self.key, self.interval, self._clock = folder, key, interval, clock
        self._saved = clock()

    def save_if_due(self, scan: Scan, semantic: SemanticIndex | None = None) -> None:
        """Save the state if the last one is old enough."""
        if self._clock() - self._saved >= self.interval:
            self.save(scan, semantic)

    def save(self, scan: Scan, semantic: SemanticIndex | None = None) -> None:
        """Write the state, whole or not at all."""
        buffer = io.BytesIO()
        np.save(buffer, scan.log.table)
        name = f"matches-{len(scan.log)}-{scan.rows}.npy"
        write_atomic(self.folder / name, buffer.getvalue())
        state = {
            "key": self.key,
            "files": [facts.to_dict() for facts in scan.files],
            "problems": scan.problems.to_dict(),
            "log": scan.log.to_state(),
            "semantic": None if semantic is None else semantic.to_state(),
            "matches": name,
        }
        write_atomic(self.folder / STATE, json.dumps(state).encode())
        for old in self.folder.glob("matches-*.npy"):
            if old.name != name:
                old.unlink(missing_ok=True)
        self._saved = self._clock()

    def load(self) -> tuple[dict[str, Any], Matches] | None:
        """Return the saved state and the matches; None where there are none of this audit."""
        try:
            state = json.loads((self.folder / STATE).read_text(encoding="utf-8"))
            if state["key"] != self.key:
                return None
            table = np.load(self.folder / state["matches"], allow_pickle=False)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):  # a damaged state is as good as none
            return None
        return (state, table) if table.dtype == MATCH else None

    def remove(self) -> None:
        """Remove the state: the audit is complete."""
        for path in (self.folder / STATE, *self.folder.glob("matches-*.npy")):
            path.unlink(missing_ok=True)

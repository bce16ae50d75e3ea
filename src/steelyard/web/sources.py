"""Fill boards: from results of one's own, or from a warehouse with published ones."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.errors import UnknownName
from steelyard.results.table import load_results
from steelyard.web.board import (
    LIMITED,
    OTHER_DATA,
    OTHER_REVISION,
    PARTIAL,
    TRAINED,
    Board,
    BoardModel,
    BoardTask,
    Cell,
    slug,
)

if TYPE_CHECKING:
    from steelyard.results import Result, Results


SHOWN_METRICS = ("ndcg_at_10", "mrr_at_10", "map_at_10", "recall_at_10", "recall_at_100", "precision_at_1")
"""Metrics that the board offers next to the main one: the first three describe what a person sees, recall what an LLM
gets.
"""


def from_results(results: Results, *, name: str = "results", title: str = "Results") -> Board:
    """Return the board of finished results."""
    done = [result for result in results if result.done and result.score is not None]
    tasks = _unique(done, lambda result: result.task)
    models = _unique(done, lambda result: result.model)
    data = {task: Counter(result.facts.data_hash for result in done if result.task == task) for task in tasks}
    newest: dict[tuple[str, str], Result] = {}
    for result in done:
        place = (result.model, result.task)
        if place not in newest or result.created >= newest[place].created:
            newest[place] = result
    cells, chosen = [], list(newest.values())
    for result in chosen:
        usual = data[result.task].most_common(1)[0][0]
        flags = LIMITED * (result.facts.limit is not None) | OTHER_DATA * (result.facts.data_hash != usual)
        low, high = (result.interval.low, result.interval.high) if result.interval else (None, None)
        score = result.score
        assert score is not None
        cells.append(Cell(models[result.model], tasks[result.task], score, low, high, flags))
    leaders = results.overall_leaders()
    return Board(
        name,
        title,
        [_own_task(task, done) for task in tasks],
        [_own_model(model, done) for model in models],
        cells,
        {metric: [result.metrics.get(metric) for result in chosen] for metric in SHOWN_METRICS},
        [models[model] for model in leaders.best if model in models] if leaders else (),
    )


def _unique(results: Sequence[Result], key: Any) -> dict[str, int]:
    return {value: position for position, value in enumerate(dict.fromkeys(map(key, results)))}


def _own_task(name: str, results: Sequence[Result]) -> BoardTask:
    result = next(result for result in results if result.task == name)
    facts = result.facts
    languages = facts.languages or ((facts.language,) if facts.language != "unknown" else ())
    return BoardTask(
        name, facts.type, facts.category, tuple(languages), result.main_metric, facts.queries, facts.documents
    )


def _own_model(name: str, results: Sequence[Result]) -> BoardModel:
    own = [result for result in results if result.model == name]
    notes = own[0].notes
    documents = sum(result.facts.documents or 0 for result in own)
    per_document = notes.get("bytes_per_document")
    if per_document is None and documents:
        per_document = sum(result.index_bytes or 0 for result in own) / documents
    return BoardModel(
        name,
        revision=_text(own[0].settings.get("revision")),
        family=name.partition(":")[0].partition("?")[0] if name[0].isalpha() and ">" not in name else "pipeline",
        dimension=_whole(own[0].settings.get("dimension")),
        own=True,
        variant_of=_text(notes.get("variant_of")),
        bytes=per_document,
        seconds=sum(result.timings.get("total", 0.0) for result in own),
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


class OwnResults:
    """The board of a results folder, read again when a file in it changes."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._board: tuple[str, Board | None] = ("", None)

    def stamp(self) -> str:
        """Return a text that changes with every result that is written."""
        times = [path.stat().st_mtime_ns for path in self.folder.glob("*/*/*.json")]
        return f"{len(times)}-{max(times, default=0)}"

    def board(self) -> Board | None:
        """Return the board; None if the folder has no finished result."""
        stamp = self.stamp()
        if stamp != self._board[0]:
            results = load_results(self.folder)
            board = from_results(results, name=self.folder.name, title=f"Results in {self.folder.name}")
            self._board = (stamp, board if board.models else None)
        return self._board[1]


class Library:
    """The boards of a warehouse, loaded when they are asked for."""

    def __init__(self, warehouse: str | Path) -> None:
        from steelyard.warehouse import connect

        self.path = Path(warehouse)
        self._connection = connect(warehouse)

    def _rows(self, sql: str, parameters: list[Any] | None = None) -> list[dict[str, Any]]:
        with self._connection.cursor() as cursor:
            rows: list[dict[str, Any]] = cursor.sql(sql, params=parameters or None).to_arrow_table().to_pylist()
        return rows

    def benchmarks(self) -> list[dict[str, Any]]:
        """Return name, title and numbers of tasks and models of every benchmark that has scores, largest first."""
        return self._rows(
            """
            SELECT b.benchmark AS name, any_value(b.title) AS title, count(DISTINCT b.task)::INTEGER AS tasks,
                   count(DISTINCT m.model)::INTEGER AS models
            FROM benchmarks b JOIN mart_benchmark m USING (benchmark, task)
            GROUP BY b.benchmark ORDER BY models DESC, name
            """
        )

    def board(self, name: str) -> Board:
        """Return the board of a benchmark: every model with at least one score on it."""
        facts = self._rows(
            "SELECT DISTINCT b.title, t.* FROM benchmarks b JOIN tasks t USING (task) WHERE b.benchmark = ? "
            "ORDER BY t.type, t.task",
            [name],
        )
        if not facts:
            known = [row["name"] for row in self.benchmarks()]
            raise UnknownName("benchmark", name, known, hint="steelyard results query 'FROM benchmarks'")
        tasks = {row["task"]: position for position, row in enumerate(facts)}
        rows = self._rows(
            "SELECT * FROM mart_benchmark WHERE benchmark = ? AND score IS NOT NULL AND experiment = '' "
            "ORDER BY model, task",
            [name],
        )
        names = list(dict.fromkeys(row["model"] for row in rows))
        cards = {
            row["model"]: row
            for row in self._rows("SELECT * EXCLUDE (extra) FROM mart_models WHERE list_contains(?, model)", [names])
        }
        usual = _usual_revisions(rows)
        models = {model: position for position, model in enumerate(names)}
        trained = {model: set(cards[model]["training_datasets"] or ()) for model in names}
        cells = [
            Cell(
                models[row["model"]],
                tasks[row["task"]],
                row["score"],
                row["low"],
                row["high"],
                _flags(row, usual, trained),
            )
            for row in rows
        ]
        return Board(
            name,
            facts[0]["title"],
            [
                BoardTask(row["task"], row["type"], row["category"], tuple(row["languages"] or ()), row["main_score"])
                for row in facts
            ],
            [_published_model(cards[model]) for model in names],
            cells,
        )

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _usual_revisions(rows: Iterable[dict[str, Any]]) -> dict[str, str | None]:
    """Return the data revision that most models have, by task."""
    counts: dict[str, Counter[str | None]] = {}
    for row in rows:
        if row["dataset_revision"]:
            counts.setdefault(row["task"], Counter())[row["dataset_revision"]] += 1
    return {task: counter.most_common(1)[0][0] for task, counter in counts.items()}


def _flags(row: dict[str, Any], usual: dict[str, str | None], trained: dict[str, set[str]]) -> int:
    flags = PARTIAL if row["n_values"] < (row["n_expected"] or 0) else 0
    flags |= LIMITED if row["limit"] is not None else 0
    flags |= OTHER_REVISION if row["other_revision"] else 0
    revision = row["dataset_revision"]
    flags |= OTHER_DATA if revision and revision != usual.get(row["task"]) else 0
    return flags | (TRAINED if row["task"] in trained[row["model"]] else 0)


def _published_model(card: dict[str, Any]) -> BoardModel:
    own = bool(card["family"]) and card["n_parameters"] is None and ":" in card["model"]
    return BoardModel(
        card["model"],
        card["revision"],
        card["family"],
        card["n_parameters"],
        card["embed_dim"],
        card["max_tokens"],
        card["license"],
        card["open_weights"],
        card["release_date"],
        card["url"],
        own,
    )


class Boards:
    """Every board that the server or the export shows: results folders first, then the benchmarks of a warehouse."""

    def __init__(self, folders: Iterable[str | Path] = (), warehouse: str | Path | None = None) -> None:
        self.own = [OwnResults(folder) for folder in folders]
        self.library = Library(warehouse) if warehouse is not None else None
        self._published: dict[str, Board] = {}
        self._lock = threading.Lock()
        self._names = self.library.benchmarks() if self.library else []

    def index(self) -> list[dict[str, Any]]:
        """Return name, title, slug and size of every board."""
        own = [board for results in self.own if (board := results.board()) is not None]
        entries = [
            {"name": board.name, "title": board.title, "tasks": len(board.tasks), "models": len(board.models)}
            for board in own
        ]
        return [{**entry, "slug": slug(entry["name"])} for entry in [*entries, *self._names]]

    def board(self, wanted: str) -> Board | None:
        """Return the board of a slug; None if there is none."""
        for results in self.own:
            board = results.board()
            if board is not None and board.slug == wanted:
                return board
        name = next((entry["name"] for entry in self._names if slug(entry["name"]) == wanted), None)
        if name is None or self.library is None:
            return None
        with self._lock:  # one query at a time: the answers are kept
            if wanted not in self._published:
                self._published[wanted] = self.library.board(name)
        return self._published[wanted]

    def load(self, name: str) -> Any:
        """Return the data of a name in the API; None if there is none."""
        if name == "index":
            return {"boards": self.index()}
        if name == "stamp":
            return {"stamp": " ".join(results.stamp() for results in self.own)}
        board = self.board(name.removeprefix("board-")) if name.startswith("board-") else None
        return board.payload() if board else None

"""Every board and its details by name: what the server answers and what the static site contains.

| name | content |
|---|---|
| `index` | the boards |
| `board-SLUG` | one board |
| `metrics-SLUG` | further metrics of its scores |
| `models-SLUG` | history, declared training data and settings of its models |
| `task-SLUG-N` | queries of the task at position N: scores, ranks, texts, findings |
| `pair-SLUG-A-B` | the models at positions A and B compared query by query |
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from steelyard.results import Result, Results
from steelyard.web.board import OTHER_DATA, Board, slug
from steelyard.web.conclusions import conclusions
from steelyard.web.contamination import ModelAudit, with_audits
from steelyard.web.own_results import OwnResults, distinct, from_results, revisions_of
from steelyard.web.task_details import DetailSources, task_details

if TYPE_CHECKING:
    from steelyard.web.published import Library

Details = dict[str, Any] | None
DETAIL = re.compile(r"(board|models|metrics|task|pair)-(.+?)((?:-\d+)*)")
LONGEST_NAME = 300
MOST_COMPARED = 10
"""Models of a static site that are compared query by query: the best ones that have every task."""
MOST_TESTED = 64
"""Scores of a benchmark in a warehouse that are tested by query for its first view; of more, tasks are tested."""
MOST_KEPT = 32
"""Models whose scores of queries are kept in memory for other comparisons."""


class Source(Protocol):
    """A board with its details."""

    def board(self) -> Board | None:
        """Return the board; None if there are no results."""

    def metrics(self) -> dict[str, list[float | None]] | None:
        """Return the stored metrics of the board; None if it has all of them."""

    def models(self) -> dict[str, Any]:
        """Return history, declared training data and settings of the models, by position."""

    def task(self, place: int) -> dict[str, Any] | None:
        """Return the details of a task; None if there are none."""

    def pair(self, first: int, second: int) -> dict[str, Any] | None:
        """Return the comparison of two models; None if there is none."""

    def best_pairs(self) -> dict[tuple[int, int], dict[str, Any]]:
        """Return the comparisons that a static site has."""


class OwnBoard:
    """The board of results of one's own: a folder that is read again when it changes, or given results."""

    def __init__(
        self, results: OwnResults | Results, sources: DetailSources, audits: Sequence[ModelAudit] = ()
    ) -> None:
        self.results, self._sources, self._audits = results, sources, audits
        self._made: Made | None = None

    def _current(self) -> Made | None:
        """Return the board with everything that was computed for it; computed anew when the results change."""
        if isinstance(self.results, OwnResults):
            plain, results = self.results.board(), self.results.results
        else:
            results = self.results
            plain = self._made.plain if self._made else from_results(results)
        if plain is None or not (plain.models or plain.failures):
            return None
        if self._made is None or self._made.plain is not plain:
            self._made = Made(plain, with_audits(plain, self._audits, {}), results, distinct(results))
        return self._made

    def board(self) -> Board | None:
        """Return the board with its flags."""
        current = self._current()
        return current.board if current else None

    def metrics(self) -> None:
        """Return None: the board has every metric that it shows."""

    def models(self) -> dict[str, Any]:
        """Return history and settings of the models."""
        current = self._current()
        if current is None:
            return {}
        history, settings = {}, {}
        origins = {shown.model: result.model for shown, result in zip(current.view, current.results, strict=True)}
        for place, model in enumerate(current.board.models):
            if rows := revisions_of(current.results, origins[model.name]):
                history[place] = rows
            newest = max((r for r in current.view if r.model == model.name and r.done), key=lambda r: r.created)
            settings[place] = {"settings": dict(newest.settings), "provenance": dict(newest.provenance)}
        return {"history": history, "settings": settings}

    def task(self, place: int) -> dict[str, Any] | None:
        """Return the details of a task."""
        current = self._current()
        if current is None or place >= len(current.board.tasks):
            return None
        names = [model.name for model in current.board.models]
        label = current.board.tasks[place].name
        return _kept(current.answers, f"task-{place}", lambda: task_details(current.view, label, names, self._sources))

    def pair(self, first: int, second: int) -> dict[str, Any] | None:
        """Return the comparison of two models."""
        current = self._current()
        if current is None or max(first, second) >= len(current.board.models) or first == second:
            return None
        return _kept(
            current.answers, f"pair-{first}-{second}", lambda: next(iter(current.pairs([first, second]).values()))
        )

    def best_pairs(self) -> dict[tuple[int, int], dict[str, Any]]:
        """Return the comparisons of the best models that have every task, computed at once."""
        current = self._current()
        if current is None:
            return {}
        means: dict[int, list[float]] = {}
        for cell in current.board.cells:
            means.setdefault(cell.model, []).append(cell.score)
        whole = [model for model, scores in means.items() if len(scores) == len(current.board.tasks)]
        best = sorted(whole, key=lambda model: -sum(means[model]))[:MOST_COMPARED]
        return current.pairs(sorted(best)) if len(best) > 1 else {}


@dataclass(frozen=True, eq=False)
class Made:
    """A board of one's own results and what was computed for its pages."""

    plain: Board
    board: Board
    results: Results
    view: Results
    """The results with one place for each name and its data."""
    answers: dict[str, Details] = field(default_factory=dict)

    def pairs(self, places: Sequence[int]) -> dict[tuple[int, int], dict[str, Any]]:
        """Return the comparisons of models at these positions."""
        return _compared(self.board, self.view, places)


def _kept(answers: dict[str, Details], key: str, compute: Callable[[], Details]) -> Details:
    """Return a value that is computed once."""
    if key not in answers:
        answers[key] = compute()
    return answers[key]


def _compared(board: Board, view: Results, places: Sequence[int]) -> dict[tuple[int, int], dict[str, Any]]:
    """Return the comparisons of models, by positions in the board, from their results."""
    from steelyard.web.pairs import compare_pairs

    names = {board.models[place].name: place for place in places}
    pairs = compare_pairs(view, list(names), [task.name for task in board.tasks])
    return {(names[model], names[baseline]): pair for (model, baseline), pair in pairs.items()}


@dataclass
class PublishedBoard:
    """The board of a benchmark in a warehouse, read once."""

    library: Library
    name: str
    audits: Sequence[ModelAudit] = ()
    sources: DetailSources = field(default_factory=DetailSources)
    _board: Board | None = None
    _answers: dict[str, Details] = field(default_factory=dict)
    _kept_results: dict[int, list[Result]] = field(default_factory=dict)

    def board(self) -> Board:
        """Return the board with its flags."""
        if self._board is None:
            plain = self.library.board(self.name)
            self._board = with_audits(plain, self.audits, self.library.training(plain)) if self.audits else plain
            if self._can_be_tested(plain):
                models = {model.name: place for place, model in enumerate(plain.models)}
                tasks = [task.name for task in plain.tasks]
                self._board = replace(self._board, **conclusions(self._of_models(list(models.values())), tasks, models))
        return self._board

    def _can_be_tested(self, board: Board) -> bool:
        """Return whether every model has scores of queries on every task and the same data, and few enough of them."""
        whole = all(model.queries == len(board.tasks) for model in board.models)
        same = not any(cell.flags & OTHER_DATA for cell in board.cells)
        return whole and same and len(board.cells) == len(board.models) * len(board.tasks) <= MOST_TESTED

    def metrics(self) -> dict[str, list[float | None]]:
        """Return the stored metrics of the board."""
        return self.library.metrics(self.board())

    def models(self) -> dict[str, Any]:
        """Return history and declared training data of the models."""
        board = self.board()
        history, training = self.library.history(board), self.library.training(board)
        return {
            "history": {p: history[model.name] for p, model in enumerate(board.models) if model.name in history},
            "training": {p: training[model.name] for p, model in enumerate(board.models) if model.name in training},
        }

    def task(self, place: int) -> dict[str, Any] | None:
        """Return the details of a task where some models have scores of queries."""
        board = self.board()
        if not board.queries or place >= len(board.tasks):
            return None
        label, names = board.tasks[place].name, [model.name for model in board.models]
        every = range(len(names))
        return _kept(
            self._answers,
            f"task-{place}",
            lambda: task_details(self._results(every, [place]), label, names, self.sources),
        )

    def pair(self, first: int, second: int) -> dict[str, Any] | None:
        """Return the comparison of two models; None unless both have scores of queries on a task."""
        if first == second or max(first, second) >= len(self.board().models):
            return None
        key = f"pair-{first}-{second}"
        return _kept(self._answers, key, lambda: next(iter(self.pairs([first, second]).values()), None))

    def pairs(self, places: Sequence[int]) -> dict[tuple[int, int], dict[str, Any]]:
        """Return the comparisons of models at these positions on the tasks where all have scores of queries."""
        board = self.board()
        if not all(board.models[place].queries for place in places):
            return {}
        return _compared(board, self._of_models(places), places)

    def best_pairs(self) -> dict[tuple[int, int], dict[str, Any]]:
        """Return the comparisons of the models that have scores of queries on the most tasks."""
        models = self.board().models
        places = sorted(range(len(models)), key=lambda place: -models[place].queries)[:MOST_COMPARED]
        chosen = sorted(place for place in places if models[place].queries)
        return self.pairs(chosen) if len(chosen) > 1 else {}

    def _of_models(self, places: Sequence[int]) -> Results:
        """Return the results of models on all tasks; those of the last models are kept for other pairs of them."""
        board = self.board()
        missing = [place for place in places if place not in self._kept_results]
        added: dict[str, list[Result]] = {board.models[place].name: [] for place in missing}
        if missing:
            for result in self._results(missing, range(len(board.tasks))):
                added[result.model].append(result)
        for place in places:  # the last ones in the order of the dictionary are those that were used last
            kept = self._kept_results.pop(place, None)
            self._kept_results[place] = added[board.models[place].name] if kept is None else kept
        chosen = Results(result for place in places for result in self._kept_results[place])
        for place in list(self._kept_results)[:-MOST_KEPT]:
            del self._kept_results[place]
        return chosen

    def _results(self, models: Collection[int], tasks: Collection[int]) -> Results:
        from steelyard.web.published import query_results

        return query_results(self.library, self.board(), models, tasks)


class Boards:
    """Every board that the server or the export shows: own results first, then the benchmarks of a warehouse."""

    def __init__(
        self,
        folders: Iterable[str | Path] = (),
        warehouse: str | Path | None = None,
        *,
        sources: DetailSources | None = None,
        audits: Sequence[ModelAudit] = (),
    ) -> None:
        details = sources or DetailSources()
        self._own: list[OwnBoard] = [OwnBoard(OwnResults(folder), details, audits) for folder in folders]
        self._published: dict[str, PublishedBoard] = {}
        self._names: list[dict[str, Any]] = []
        self._lock = threading.RLock()  # one computation at a time: the answers are kept
        if warehouse is not None:
            from steelyard.web.published import Library

            library = Library(warehouse)
            self._names = library.benchmarks()
            for entry in self._names:
                self._published[slug(entry["name"])] = PublishedBoard(library, entry["name"], audits, details)

    @classmethod
    def of_results(cls, results: Results, sources: DetailSources) -> Boards:
        """Return the one board of results in memory."""
        boards = cls(sources=sources)
        boards._own = [OwnBoard(results, sources)]
        return boards

    def index(self) -> list[dict[str, Any]]:
        """Return name, title, slug and size of every board."""
        own = [board for source in self._own if (board := source.board()) is not None]
        entries = [
            {"name": board.name, "title": board.title, "tasks": len(board.tasks), "models": len(board.models)}
            for board in own
        ]
        return [{**entry, "slug": slug(entry["name"])} for entry in [*entries, *self._names]]

    def source(self, slug: str) -> Source | None:
        """Return the board of a slug with its details; None if there is none."""
        for source in self._own:
            board = source.board()
            if board is not None and board.slug == slug:
                return source
        return self._published.get(slug)

    def board(self, wanted: str) -> Board | None:
        """Return the board of a slug; None if there is none."""
        source = self.source(wanted)
        return source.board() if source else None

    def load(self, name: str) -> Any:
        """Return the data of a name in the API; None if there is none."""
        with self._lock:
            if name == "index":
                return {"boards": self.index()}
            if name == "stamp":
                folders = [source.results for source in self._own if isinstance(source.results, OwnResults)]
                running = [state for folder in folders if (state := folder.progress())]
                return {"stamp": " ".join(folder.stamp() for folder in folders), "running": running}
            match = DETAIL.fullmatch(name) if len(name) <= LONGEST_NAME else None
            return self._detail(match[1], match[2], match[3]) if match else None

    def _detail(self, kind: str, slug: str, numbers: str) -> Any:
        parts = numbers.split("-")[1:]
        count = {"task": 1, "pair": 2}.get(kind, 0)
        split = len(parts) - count  # numbers before it belong to the slug
        source = self.source("-".join([slug, *parts[:split]])) if split >= 0 else None
        if source is None:
            return None
        places = [int(number[:9]) for number in parts[split:]]
        if kind == "board":
            board = source.board()
            return board.payload() if board else None
        if kind == "metrics":
            return source.metrics()
        if kind == "models":
            return source.models()
        return source.task(*places) if kind == "task" else source.pair(*places)

    def details(self, wanted: str) -> Iterator[tuple[str, Any]]:
        """Yield every detail of a board for a static site: all tasks, the models, and pairs of the best models."""
        source = self.source(wanted)
        board = source.board() if source else None
        if source is None or board is None:
            return
        yield f"models-{wanted}", source.models()
        if (metrics := source.metrics()) is not None:
            yield f"metrics-{wanted}", metrics
        if not board.queries:
            return
        for place in range(len(board.tasks)):
            if (details := source.task(place)) is not None:
                yield f"task-{wanted}-{place}", details
        for (first, second), pair in source.best_pairs().items():
            yield f"pair-{wanted}-{first}-{second}", pair


def without_texts(details: dict[str, Any]) -> dict[str, Any]:
    """Return the details of a task without texts and ranked lists, for a page that must stay small."""
    return {
        name: value
        for name, value in details.items()
        if name not in ("texts", "documents", "top", "positives", "ranks")
    }

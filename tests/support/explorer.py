"""Results of one's own with saved runs, hostile texts and a query that no model solves, and a board with variants."""

from __future__ import annotations

from pathlib import Path

from steelyard import evaluate
from steelyard.results import Results
from steelyard.types import Task
from steelyard.web.board import Board, BoardModel, BoardStage, BoardTask, Cell
from steelyard.web.sources import Boards
from steelyard.web.task_details import DetailSources

HOSTILE = "<img src=x onerror=alert(1)>"
MODELS = ("bm25", "bm25?b=0&k1=0.1", "bm25?b=1&k1=9")


def explorer_task(name: str) -> Task:
    """Return a task of eight queries on fruit; the last one shares no word with any document."""
    corpus = {
        f"d{i}": text
        for i, text in enumerate(
            [
                "red apple",
                "apple apple apple apple pie with sugar and more sugar, baked for an hour in a hot oven",
                f"green pear {HOSTILE}",
                "pear juice of a green garden, pressed and bottled and sold and drunk",
                "blue plum plum",
                "plum cake, a very long recipe with flour, butter, eggs, sugar, salt, and at the end a plum",
                "cherry blossom",
                "blossom of a cherry tree in a park, and another tree, and a bench, and a lamp",
            ]
        )
    }
    queries = {
        "q1": "apple",
        "q2": "green pear",
        "q3": "plum",
        "q4": "cherry tree",
        "q5": "sugar",
        "q6": "apple pie",
        "q7": "garden pear",
        HOSTILE: "zzz nothing",
    }
    positives = ("d1", "d2", "d5", "d7", "d5", "d1", "d3", "d4")
    qrels = {query: {document: 1} for query, document in zip(queries, positives, strict=True)}
    qrels["q3"]["d4"] = 1
    return Task.of(name, corpus, queries, qrels, language="en")


def explorer_results(folder: Path) -> tuple[Results, list[Task]]:
    """Evaluate three models on two tasks, with runs, into a folder; return the results and the tasks."""
    tasks = [explorer_task("Fruit/a"), explorer_task("Fruit/b")]
    return evaluate(list(MODELS), tasks, results=folder, save_runs="parquet"), tasks


def explorer_boards(folder: Path, pages: Path | None = None) -> Boards:
    """Return the boards of such results."""
    _, tasks = explorer_results(folder)
    return Boards([folder], sources=DetailSources(tasks=tasks, pages=pages))


def variant_board() -> Board:
    """Return a board with a model, two variants of it, a pipeline and a failure-free task list."""
    tasks = [BoardTask(f"Ret{i}", "retrieval", "natural_language", ("en",), "ndcg_at_10") for i in range(4)]
    stages = (BoardStage("bm25", 0.5), BoardStage("> rerank:X", 0.7, 0.2, 0.9, 50))
    models = [
        BoardModel("dense:X", family="dense", dimension=512, own=True, bytes=2048),
        BoardModel("dense:X?precision=binary", family="dense", own=True, variant_of="dense:X", bytes=64),
        BoardModel("dense:X?truncate_dim=128", family="dense", own=True, variant_of="dense:X", bytes=512),
        BoardModel("bm25 > rerank:X", family="pipeline", own=True, stages=stages),
    ]
    levels = [0.8, 0.7, 0.78, 0.75]
    cells = [Cell(m, t, level + 0.01 * t) for m, level in enumerate(levels) for t in range(4)]
    return Board("Variants", "Variants", tasks, models, cells)

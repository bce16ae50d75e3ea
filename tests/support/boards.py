"""A board with every case that the page must show: complete, partial and flagged models, hostile names."""

from __future__ import annotations

from steelyard.web import Board
from steelyard.web.board import OTHER_DATA, TRAINED, BoardModel, BoardTask, Cell

HOSTILE = "<script>alert(1)</script>"


def small_board() -> Board:
    """Return a board of six models on six tasks of two types."""
    tasks = [BoardTask(f"Ret{i}", "Retrieval", "t2t", ("cmn-Hans",), "ndcg_at_10") for i in range(4)]
    tasks += [
        BoardTask("Sts0", "STS", "t2t", ("eng-Latn",), "cosine_spearman"),
        BoardTask(HOSTILE, "STS", "t2t", ("eng-Latn",)),
    ]
    models = [
        BoardModel(
            "org/large", parameters=7_000_000_000, dimension=4096, license="apache-2.0", open=True, family="dense"
        ),
        BoardModel("org/small", parameters=33_000_000, dimension=384, license="mit", open=True, family="dense"),
        BoardModel("shop/closed", dimension=1024, open=False, family="dense"),
        BoardModel("org/partial", parameters=110_000_000, dimension=768, license="mit", open=True, family="dense"),
        BoardModel(HOSTILE, parameters=1_000_000, dimension=64, family="dense"),
        BoardModel("dense:mine", dimension=512, family="dense", own=True),
    ]
    level = [0.9, 0.7, 0.8, 0.6, 0.3, 0.75]
    cells = []
    for m, base in enumerate(level):
        for t in range(len(tasks)):
            if m == 3 and t > 2:
                continue
            flags = (TRAINED if (m, t) == (0, 0) else 0) | (OTHER_DATA if (m, t) == (2, 1) else 0)
            cells.append(
                Cell(
                    m,
                    t,
                    round(base - 0.01 * t + 0.004 * ((m * 7 + t * 3) % 5), 4),
                    flags=flags,
                    data="abc" if flags & OTHER_DATA else None,
                )
            )
    recall = [round(1 - cell.score / 2, 4) for cell in cells]
    return Board("Small", "A small board", tasks, models, cells, {"recall_at_100": recall})

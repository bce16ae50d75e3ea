"""Row 10: reading the published result files of mteb's repository, and one view of the board."""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

from harness.case import Case, Contestant
from harness.inputs import kept

BENCHMARK = "MTEB(cmn, v1)"
ARCHIVE = Path(__file__).parents[3] / "shared" / "data" / "mteb_results.tar.gz"


def make(models: int, benchmark: str = "") -> Path:
    """Return a folder with the result files of some models, laid out as mteb's cache has them: FOLDER/results/...

    With a benchmark, the folder also has our warehouse of them and its table as Parquet, both made before.
    """
    if not ARCHIVE.exists():
        raise SystemExit("the published results are not here: clone embeddings-benchmark/results and pass its path")
    folder = kept(f"mteb-results-{models}", lambda target: _unpack(target, models))
    if benchmark and not (folder / "warehouse").exists():
        _import(folder, benchmark)
    return folder


def _unpack(folder: Path, models: int) -> None:
    with tarfile.open(ARCHIVE) as archive:
        members = [one for one in archive.getmembers() if one.isfile() and one.name.endswith(".json")]
        chosen = set(sorted({_model(one.name) for one in members})[:models])
        kept_members = [one for one in members if _model(one.name) in chosen]
        for one in kept_members:
            one.name = "results/" + "/".join(Path(one.name).parts[Path(one.name).parts.index(_model(one.name)) :])
        archive.extractall(folder, kept_members, filter="data")


def _import(folder: Path, benchmark: str) -> None:
    from pyarrow import parquet

    from steelyard.warehouse import connect, import_results
    from steelyard.web.published import CELLS

    import_results([folder / "results"], folder / "part")
    with connect(folder / "part") as connection:
        table = connection.execute(CELLS, [benchmark]).to_arrow_table()
    parquet.write_table(table.select(["name", "task", "score"]), folder / "cells.parquet")
    (folder / "part").rename(folder / "warehouse")


def _model(name: str) -> str:
    return next((part for part in Path(name).parts if "__" in part), "")


def ours(folder: Path) -> Callable[[], dict[str, float]]:
    """Import into a new warehouse with all its marts."""
    from steelyard.warehouse import import_results, query

    def work() -> dict[str, float]:
        warehouse = Path(tempfile.mkdtemp()) / "warehouse"
        import_results([folder], warehouse)
        table = query(warehouse, "SELECT count(DISTINCT model) AS models FROM mart_model_task")
        return {"models": float(table.column("models")[0].as_py())}

    return work


def with_mteb(folder: Path) -> Callable[[], dict[str, float]]:
    """Mteb's ResultCache: load all files and make the data frame of its leaderboard."""
    import mteb

    def work() -> dict[str, float]:
        results = mteb.ResultCache(folder).load_results(require_model_meta=False)
        frame = results.to_dataframe(aggregation_level="task", format="long")
        return {"models": float(frame["model_name"].nunique())}

    return work


def ours_board(folder: Path) -> Callable[[], dict[str, float]]:
    """A view of the board from the warehouse, as the server sends it."""
    from steelyard.web.published import Library

    library = Library(folder / "warehouse")
    library.board(BENCHMARK)

    def work() -> dict[str, float]:
        payload = library.board(BENCHMARK).payload()
        scores = payload["score"]
        counts = {"models": float(len(payload["models"])), "tasks": float(len(payload["tasks"]))}
        return {**counts, "mean": sum(scores) / len(scores)}

    return work


def with_pandas_board(folder: Path) -> Callable[[], dict[str, float]]:
    """The same cells from one Parquet file: read, pivot, mean and rank; nothing about models and tasks."""
    import pandas as pd

    def work() -> dict[str, float]:
        frame = pd.read_parquet(folder / "cells.parquet")
        table = frame.pivot_table(index="name", columns="task", values="score")
        table["mean"] = table.mean(axis=1, skipna=False)
        table["rank"] = table["mean"].rank(ascending=False)
        table.sort_values("rank").to_dict()
        return {"models": float(len(table)), "tasks": float(table.shape[1] - 2), "mean": float(frame["score"].mean())}

    work()
    return work


def with_mteb_board(folder: Path) -> Callable[[], dict[str, float]]:
    """The tables that `mteb leaderboard` shows, from its frame of scores in memory."""
    import mteb

    benchmark = mteb.get_benchmark(BENCHMARK)
    results = mteb.ResultCache(folder).load_results(tasks=benchmark, require_model_meta=False)
    frame = results._to_results_df(benchmark.tasks)

    def work() -> dict[str, float]:
        summary = benchmark._create_summary_table(frame)
        tasks = benchmark._create_per_task_table(frame)
        assert summary.df.height
        named = ("Model", "_experiment_id")
        return {"models": float(tasks.height), "tasks": float(sum(name not in named for name in tasks.columns))}

    work()
    return work


CASES = [
    Case(
        10,
        "board-view",
        f"One view of the board {BENCHMARK} from stored scores of 238 models",
        (
            Contestant("steelyard", "ours_board"),
            Contestant("pandas", "with_pandas_board", "tables"),
            Contestant("mteb leaderboard", "with_mteb_board", "mteb"),
        ),
        {"models": 1000, "benchmark": BENCHMARK},
        rounds=3,
        by="cpu",
        tolerance=1e-4,  # the board has scores with five digits
        against="mteb leaderboard",
        note="pandas only pivots and ranks the same cells; mteb makes its two tables from scores in memory.",
        reason="A view is read with SQL from files and has the descriptions of all models and tasks, and flags: four "
        "queries of Parquet files are about 70 % of its time. The peers have their scores in memory or in one file.",
        memory_reason="DuckDB and Arrow are imported; pandas alone is smaller.",
    ),
    Case(
        10,
        "warehouse-import",
        "Reading the published result files of 40 models (about 1,100 files)",
        (Contestant("steelyard", "ours"), Contestant("mteb", "with_mteb", "mteb")),
        {"models": 40},
        rounds=1,
        by="cpu",
        tolerance=1.0,  # mteb's data frame leaves out files that it cannot read
        reason="The import stores every metric, split and unknown field and makes the tables of all boards; the peer "
        "reads main scores into memory. About half of the time is reading: parsing JSON, and every number of a file "
        "as a row; the marts are about a quarter. A second import reads changed files only.",
    ),
]

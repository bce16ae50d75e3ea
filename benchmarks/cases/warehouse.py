"""Row 10: reading the published result files of mteb's repository, and one view of the board."""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

from harness.case import Case, Contestant

ARCHIVE = Path(__file__).parents[3] / "shared" / "data" / "mteb_results.tar.gz"


def make(models: int) -> Path:
    """Return a folder with the result files of some models, laid out as mteb's cache has them: FOLDER/results/..."""
    if not ARCHIVE.exists():
        raise SystemExit("the published results are not here: clone embeddings-benchmark/results and pass its path")
    folder = Path(tempfile.mkdtemp(prefix="steelyard-bench-results-"))
    with tarfile.open(ARCHIVE) as archive:
        members = [one for one in archive.getmembers() if one.isfile() and one.name.endswith(".json")]
        chosen = sorted({_model(one.name) for one in members})[:models]
        kept = [one for one in members if _model(one.name) in chosen]
        for one in kept:
            one.name = "results/" + "/".join(Path(one.name).parts[Path(one.name).parts.index(_model(one.name)) :])
        archive.extractall(folder, kept, filter="data")
    return folder


def _model(name: str) -> str:
    return next((part for part in Path(name).parts if "__" in part), "")


def ours(folder: Path) -> Callable[[], dict[str, float]]:
    """Import into a new warehouse with all its marts."""
    from steelyard.warehouse import import_results, query

    def work() -> dict[str, float]:
        warehouse = Path(tempfile.mkdtemp(prefix="steelyard-bench-warehouse-")) / "warehouse"
        import_results([folder], warehouse)
        found = query(warehouse, "SELECT count(DISTINCT model) AS models FROM mart_model_task")
        return {"models": float(found.rows[0][0])}

    return work


def with_mteb(folder: Path) -> Callable[[], dict[str, float]]:
    """Mteb's ResultCache: load all files and make the data frame of its leaderboard."""
    import mteb

    def work() -> dict[str, float]:
        results = mteb.ResultCache(folder).load_results(require_model_meta=False)
        frame = results.to_dataframe(aggregation_level="task", format="long")
        return {"models": float(frame["model_name"].nunique())}

    return work


CASES = [
    Case(
        10,
        "warehouse-import",
        "Reading the published result files of 40 models (about 1,100 files)",
        (Contestant("steelyard", "ours"), Contestant("mteb", "with_mteb", "mteb")),
        {"models": 40},
        rounds=1,
        by="cpu",
        tolerance=1.0,  # mteb's data frame leaves out files that it cannot read
    ),
]

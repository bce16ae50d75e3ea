"""The notebook of examples/ runs in a real kernel, and every value that it shows is a table."""

from __future__ import annotations

from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "examples" / "steelyard.ipynb"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_notebook_runs_in_a_kernel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    shown = [output["data"] for cell in notebook.cells for output in cell.get("outputs", []) if "data" in output]
    tables = [data["text/html"] for data in shown if "text/html" in data]
    assert len(tables) >= 5 and all("<table" in table for table in tables)
    assert any(data["text/plain"].startswith("{'bm25'") for data in shown), "the metric that is a function"

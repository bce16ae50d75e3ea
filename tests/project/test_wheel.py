"""The wheel holds everything that an installed Steelyard needs: build it, unpack it, evaluate one task with it."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_wheel_evaluates_a_built_in_task(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path / "dist"), str(ROOT)]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (tmp_path / "dist").glob("steelyard-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "site")
    assert "steelyard/py.typed" in names
    sources = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src" / "steelyard").rglob("*")}
    expected = {name for name in sources if (ROOT / "src" / name).is_file() and "__pycache__" not in name}
    assert expected <= set(names)
    program = (
        "import sys, steelyard; assert steelyard.__file__.startswith(sys.argv[1]), steelyard.__file__; "
        "from steelyard.cli import main; "
        "sys.exit(main(['run', 'bm25', 'dense', '-t', 'NanoAlmanac/en', '-o', sys.argv[2], '--offline']))"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "STEELYARD_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-c", program, str(tmp_path / "site"), str(tmp_path / "results")]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "NanoAlmanac/en" in done.stdout
    assert list((tmp_path / "results").rglob("*.json"))

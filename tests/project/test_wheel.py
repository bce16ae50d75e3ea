"""The wheel holds everything that an installed Steelyard needs: build it from what the Dockerfile copies, evaluate."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def copied_by_docker(folder: Path) -> Path:
    """Return a folder with the files that the first stage of the Dockerfile copies, and no others."""
    _, first, _ = (ROOT / "Dockerfile").read_text().split("\nFROM ")
    copies = [line.split()[1:] for line in first.splitlines() if line.startswith("COPY ")]
    for *names, target in copies:
        for name in names:
            place = folder / (name if target == "./" else target)
            place.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / name, place)
    return folder


@pytest.mark.slow
def test_the_wheel_evaluates_a_built_in_task(tmp_path: Path) -> None:
    source = copied_by_docker(tmp_path / "source")
    build = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(tmp_path / "dist"),
        str(source),
    ]
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

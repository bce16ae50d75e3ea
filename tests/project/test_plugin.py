"""A plug-in package, really installed, comes through the same door as the built-in models."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PACKAGES = ("steelyard-trigram", "steelyard-parts")
FAQ = """Q: How long is the Nile?
A: The Nile is 6,650 km long.

Q: Which mountains are in Europe?
A: The Alps are mountains in Europe.
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which the example plug-in is installed (in a folder of its own, without the network)."""
    folder = tmp_path_factory.mktemp("plugin")
    sources = [str(ROOT / "examples" / name) for name in PACKAGES]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", str(folder / "site"), *sources], check=True)
    return os.environ | {"PYTHONPATH": str(folder / "site"), "STEELYARD_HOME": str(folder / "home")}


def steelyard(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "steelyard", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_plugin_is_listed_with_its_origin(environment: dict[str, str]) -> None:
    done = steelyard(environment, "list", "models", "--json")
    assert done.returncode == 0, done.stderr
    assert "steelyard-trigram" in done.stdout


def test_the_plugin_is_evaluated_like_any_model(environment: dict[str, str], tmp_path: Path) -> None:
    words = ("run", "trigram?size=4", "bm25", "-t", "NanoAlmanac/en", "-o", str(tmp_path), "--json")
    done = steelyard(environment, *words)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    text = json.dumps(results)
    assert "trigram?size=4" in text
    assert "bm25" in text


def test_a_wrong_option_of_the_plugin_is_a_usage_error(environment: dict[str, str], tmp_path: Path) -> None:
    done = steelyard(environment, "run", "trigram?sise=4", "-t", "NanoAlmanac/en", "-o", str(tmp_path))
    assert done.returncode == 2
    assert "options: size" in done.stderr


@pytest.mark.parametrize("model", ["trigram?size=0", "trigram?size=x", "trigram:other"])
def test_what_the_plugin_cannot_be_is_refused_before_anything_is_run(
    environment: dict[str, str], tmp_path: Path, model: str
) -> None:
    done = steelyard(environment, "run", model, "-t", "NanoAlmanac/en", "-o", str(tmp_path))
    assert done.returncode == 2 and "trigram" in done.stderr and not list(tmp_path.iterdir())


def test_a_query_shorter_than_the_grams_of_the_plugin_finds_nothing(
    environment: dict[str, str], tmp_path: Path
) -> None:
    words = ("run", "trigram?size=60", "-t", "NanoAlmanac/en", "-o", str(tmp_path), "--json")
    assert steelyard(environment, *words).returncode == 0


def test_the_docs_show_the_code_that_is_tested() -> None:
    page = (ROOT / "docs" / "plug-ins.md").read_text(encoding="utf-8")
    files = [file for name in PACKAGES for file in (ROOT / "examples" / name).glob("*.*")]
    assert len(files) == 6
    for file in files:
        assert file.read_text(encoding="utf-8").strip() in page


def test_a_metric_an_encoder_and_a_format_of_one_file_each_work_together(
    environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "help.faq").write_text(FAQ, encoding="utf-8")
    models = ("bm25", "dense:letters", "[bm25, dense:letters]")
    words = ("run", *models, "-t", f"faq:{tmp_path / 'help.faq'}", "-o", str(tmp_path / "results"), "--json")
    done = steelyard(environment, *words, "--metrics", "first_grade", "--no-report")
    assert done.returncode == 0, done.stderr
    results = [json.loads(path.read_text(encoding="utf-8")) for path in (tmp_path / "results").rglob("*.json")]
    values = [result["steelyard"]["metrics"]["first_grade"] for result in results if "steelyard" in result]
    assert values == pytest.approx([1 / 3] * len(models))  # both answers are found first, with grade 1 of 3
    listed = steelyard(environment, "list", "models", "--json")
    assert "dense:letters" in listed.stdout


def test_bad_data_and_options_of_the_parts_are_errors(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "bad.faq").write_text("Q: one\nQ: two\n", encoding="utf-8")
    common = ("-o", str(tmp_path / "results"), "--no-report")
    done = steelyard(environment, "run", "bm25", "-t", f"faq:{tmp_path / 'bad.faq'}", *common)
    assert done.returncode == 2 and "row 2" in done.stderr
    done = steelyard(environment, "run", "dense:letters?dimension=0", "-t", f"faq:{tmp_path / 'bad.faq'}", *common)
    assert done.returncode == 2 and "dimension" in done.stderr

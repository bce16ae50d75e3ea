"""Study files, shell completion, plain terminals, and the files for code hosts and containers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.cli import main
from steelyard.cli._ui.study import expand_study, study_words
from steelyard.cli.completion import SCRIPTS, completions
from steelyard.config import Settings
from steelyard.errors import DataError, UnknownName

ROOT = Path(__file__).parents[3]
WORSE = "dense?precision=binary&truncate_dim=8"
STUDY = """
data = ["NanoAlmanac/en"]
metrics = ["nDCG@20"]
limit = 3
no_report = true
[models]
lexical = "bm25"
use = "dense"
[variants]
precision = ["int8", "binary"]
"""


def test_a_study_is_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, again = tmp_path / "study.toml", tmp_path / "again.toml"
    study.write_text(STUDY)
    rest = ["-o", str(tmp_path / "r")]
    assert main(["run", str(study), *rest, "--json", "--write-study", str(again)]) == 0
    shown = capsys.readouterr()
    results = json.loads(shown.out)
    names = [result["steelyard"]["model"] for result in results]
    assert names == ["lexical", "use", "use?precision=int8", "use?precision=binary"]
    assert "steelyard run lexical=bm25 use=dense --tasks NanoAlmanac/en" in shown.err
    assert main(["run", str(again), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == results, "the written study is the same command"


def test_data_of_a_study_is_next_to_it_and_options_win(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "s.toml").write_text('data = ["mine", "NanoAlmanac/en"]\nmodels = ["bm25"]\ncosts = true\n')
    words, command = expand_study([str(tmp_path / "s.toml"), "--limit", "5"])
    assert words == ["bm25", "--tasks", str(tmp_path / "mine"), "NanoAlmanac/en", "--costs", "--limit", "5"]
    assert command is not None and command.startswith("steelyard run bm25")


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("modles = []", UnknownName),
        ("[variants]\nlimit = 3", UnknownName),
        ("models = [1]", DataError),
        ("models = 3", DataError),
        ("limit = " + "[" * 3000, DataError),
        ("costs = 3", DataError),
        ("limit = [1, 2]", DataError),
        ("limit =", DataError),
        ("variants = 3", DataError),
    ],
)
def test_a_wrong_study_is_one_error(text: str, error: type[Exception], tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(error):
        study_words(tmp_path / "s.toml")
    assert main(["run", str(tmp_path / "s.toml")]) == 2


def test_completion_knows_verbs_options_tasks_and_models(tmp_path: Path) -> None:
    settings = Settings.load(home=tmp_path)
    assert completions("steelyard comp", settings) == ["compare", "completion"]
    assert "--precision" in completions("steelyard run --pre", settings)
    assert "NanoAlmanac/en" in completions("steelyard run bm25 -t NanoAlmanac/e", settings)
    assert "dense:use-multilingual-v3" in completions("steelyard run dense:", settings)
    assert completions("steelyard nonsense x", settings) == []
    assert completions("steelyard results exp", settings) == ["export"]
    assert completions("steelyard run bm25 --overwrite-strategy only-m", settings) == ["only-missing"]
    assert "processes" in completions("steelyard run bm25 --executor ", settings)
    assert completions("steelyard run bm25 -t NanoAlmanac/en,NanoAlmanac/j", settings) == [
        "NanoAlmanac/en,NanoAlmanac/ja"
    ]
    assert {"task", "NanoAlmanac", "bm25"} <= set(completions("steelyard show ", settings))
    stored = json.loads(next((tmp_path / "completion").glob("*.json")).read_text())
    assert set(stored) == {"tasks", "models"}


def test_bash_completes_a_model_after_its_colon(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(SCRIPTS["bash"])
    line = "steelyard run dense:use"
    commands = (
        f"source {script}; COMP_LINE='{line}'; COMP_POINT={len(line)}; "
        "COMP_WORDS=(steelyard run dense : use); COMP_CWORD=4; _steelyard; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "STEELYARD_HOME": str(tmp_path)}
    done = subprocess.run(["bash", "-c", commands], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["use-multilingual-v3"]


@pytest.mark.slow
def test_an_ascii_terminal_gets_plus_minus_aligned(tmp_path: Path) -> None:
    words = ["run", "bm25", "dense", "-t", "NanoAlmanac/en", "--limit", "3", "--no-report", "-o", str(tmp_path), "-q"]
    outputs = []
    for encoding in ("ascii", "utf-8"):
        environment = os.environ | {"PYTHONIOENCODING": encoding}
        command = [sys.executable, "-m", "steelyard", *words]
        outputs.append(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
    plain, rich = outputs[0].decode("ascii"), outputs[1].decode()
    assert "+-" in plain and "±" in rich and plain.count("+-") == rich.count("±")
    head, rule, row = plain.splitlines()[:3]
    starts = [place for place in range(len(rule)) if rule[place] == "-" and rule[place - 1 : place] in ("", " ")]
    assert starts == [0, head.index("bm25"), head.index("dense")]
    assert all(row[start - 2 : start].isspace() and not row[start].isspace() for start in starts[1:])
    compared = [
        sys.executable,
        "-m",
        "steelyard",
        "compare",
        "bm25",
        "dense",
        *words[3:5],
        "--limit",
        "3",
        *words[-3:-1],
    ]
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    plain = subprocess.run(compared, env=environment, capture_output=True, check=True)
    assert b"! p < 0.05" in plain.stderr and b"\\u" not in plain.stdout + plain.stderr


def test_the_action_runs_a_gate_that_exists() -> None:
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    script = action["runs"]["steps"][-1]["run"]
    assert subprocess.run(["bash", "-n", "-c", script], check=False).returncode == 0
    from steelyard.cli import build_parser

    known = {name for parsed in build_parser("compare")._actions for name in parsed.option_strings}
    used = {word.strip("()") for word in script.split() if word.strip("()").startswith("--")}
    assert used and used <= known
    inputs = action["inputs"]
    steps = [value for step in action["runs"]["steps"] for value in step["env"].values()]
    assert {value.split("inputs.")[1].strip(" }") for value in steps} == set(inputs)


@pytest.mark.slow
def test_the_gate_of_the_action_fails_on_a_regression(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    script = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"][-1]["run"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    given = {"TASKS": "NanoAlmanac/en", "BASELINE": "", "MARGIN": "0.005", "RESULTS": "r"}
    for models, code in ((f"bm25 {WORSE}", 1), (f"{WORSE} bm25", 0)):
        summary = tmp_path / f"summary-{code}.md"
        environment = os.environ | given | {"PATH": path, "MODELS": models, "GITHUB_STEP_SUMMARY": str(summary)}
        done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, check=False)
        assert done.returncode == code and "| NanoAlmanac/en" in summary.read_text(), done.stderr.decode()


def test_the_dockerfile_is_linted_and_built_where_docker_exists(tmp_path: Path) -> None:
    linter = shutil.which("hadolint") or shutil.which(str(Path(sys.executable).parent / "hadolint"))
    assert linter is not None, "pip install --group dev"
    done = subprocess.run([linter, str(ROOT / "Dockerfile")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    docker = shutil.which("docker")
    engine = docker is not None and subprocess.run([docker, "info"], capture_output=True, check=False).returncode == 0
    if docker is not None and engine and os.environ.get("CI"):  # a client without an engine cannot build
        subprocess.run([docker, "build", "-q", str(ROOT)], check=True)

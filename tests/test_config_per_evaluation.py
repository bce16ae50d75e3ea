"""Settings are passed to every loader: nothing is written to the environment, and evaluations do not mix."""

from __future__ import annotations

import threading
from pathlib import Path

import api_server
import numpy as np
import pytest

from steelyard import evaluate, load_task
from steelyard.compat.evalscope import run_task
from steelyard.config import Settings
from steelyard.errors import HubError, MissingPart
from steelyard.results import Results
from steelyard.types import Task

TASK = Task.of(
    "Mine/geography",
    {"nile": "The Nile is a river in Africa.", "alps": "The Alps are mountains in Europe."},
    {"q1": "longest river", "q2": "high mountains"},
    {"q1": {"nile": 1}, "q2": {"alps": 1}},
    language="en",
)
PUBLISHED = "NanoMMTEB-v2/belebele"


def vectors(home: Path) -> list[Path]:
    return list(home.glob("vectors/*/*.vectors"))


def test_evaluations_with_other_settings_run_at_once(tmp_path: Path) -> None:
    """Each thread has a home, a cache limit and a network setting of its own."""
    homes = [tmp_path / name for name in ("first", "second", "third")]
    settings = [
        Settings(home=homes[0], offline=True),
        Settings(home=homes[1], threads=1),
        Settings(home=homes[2], cache_bytes=0, offline=True),
    ]
    gate = threading.Barrier(len(settings))
    scores: dict[int, list[float | None]] = {}

    def work(number: int) -> None:
        gate.wait()
        results = evaluate(
            ["bm25", "dense", "[bm25, dense]"],
            [TASK, "NanoAlmanac/en"],
            limit=4,
            results=tmp_path / f"results{number}",
            settings=settings[number],
        )
        scores[number] = [result.score for result in results]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(settings))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(scores) == 3 and len(scores[0]) == 6
    for number in (1, 2):
        np.testing.assert_allclose(np.array(scores[number], dtype=float), np.array(scores[0], dtype=float))
    assert vectors(homes[0]) and vectors(homes[1]) and not vectors(homes[2])
    assert all((home / "builtin").is_dir() for home in homes)


def test_settings_given_are_the_only_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With settings of the caller's, nothing reads the environment or `steelyard.toml`."""

    def refuse(**overrides: object) -> Settings:
        raise AssertionError("settings were loaded again")

    settings = Settings(home=tmp_path / "home", offline=True)
    monkeypatch.setattr(Settings, "load", refuse)
    results = evaluate(
        ["bm25", "dense", "dense?precision=int8", "[bm25, dense]"],
        [TASK, "NanoAlmanac/en"],
        limit=2,
        results=tmp_path / "results",
        settings=settings,
    )
    assert len(results) == 8 and not results.failures


def test_offline_of_one_load_is_not_that_of_another(tmp_path: Path) -> None:
    with pytest.raises(HubError):
        load_task(PUBLISHED, settings=Settings(home=tmp_path, offline=True))
    with pytest.raises(MissingPart) as caught:  # no copy in that folder
        load_task(PUBLISHED, settings=Settings(home=tmp_path, data=tmp_path))
    assert not isinstance(caught.value, HubError)


def test_two_configs_have_their_own_keys_at_once(tmp_path: Path) -> None:
    gate = threading.Barrier(2)
    outcomes: dict[str, list[str]] = {}
    with api_server.serve(key="right-key") as api:

        def work(key: str) -> None:
            gate.wait()
            model = {"model_name": "tiny", "api_base": api.url, "api_key": key, "dimensions": 8}
            evaluation = {"tasks": ["NanoAlmanac/en"], "limits": 2, "output_folder": str(tmp_path / key)}
            config = {
                "eval_backend": "RAGEval",
                "eval_config": {"tool": "MTEB", "model": [model], "eval": {**evaluation, "verbosity": 0}},
            }
            results = run_task(config, settings=Settings(home=tmp_path / "home" / key))
            assert isinstance(results, Results)
            outcomes[key] = [result.status for result in results]

        threads = [threading.Thread(target=work, args=(key,)) for key in ("right-key", "wrong-key")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert outcomes == {"right-key": ["done"], "wrong-key": ["failed"]}

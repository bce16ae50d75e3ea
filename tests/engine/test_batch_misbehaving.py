"""Plug-ins that raise, exit, hang, leak memory or return nonsense: an error record each, and the others go on."""

from __future__ import annotations

import json
import math
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cluster_models import task
from engine_parts import Overlap, OverlapIndex, small_task

from steelyard import evaluate
from steelyard.config import Settings
from steelyard.engine.batch import Failed, attempt
from steelyard.engine.interrupts import Interrupts
from steelyard.metrics.definition import METRICS, Definition
from steelyard.results import ResultStore
from steelyard.types import Corpus, TaskInfo
from steelyard.types.protocols import Tick, no_tick

QUERIES = 6


def fail(*arguments: object) -> Any:
    raise LookupError("nothing here")


class Odd(Overlap):
    """A retriever that returns what a function makes of its index."""

    def __init__(self, change: Callable[[OverlapIndex], Any]) -> None:
        super().__init__("odd")
        self.change = change

    def index(self, corpus: Corpus, info: TaskInfo, tick: Tick = no_tick) -> Any:
        return self.change(super().index(corpus, info, tick))


class OddSettings(Overlap):
    @property
    def settings(self) -> Mapping[str, Any]:
        raise LookupError("nothing here")


RETRIEVERS: dict[str, tuple[Any, str]] = {
    "raises": (Odd(fail), "LookupError"),
    "exits": (Odd(lambda index: sys.exit(3)), "SystemExit"),
    "no index": (Odd(lambda index: None), "ModelError"),
    "notes": (Odd(lambda index: OverlapIndex(index.texts, 1.0, {"lock": object()})), "ResultError"),
    "no memory": (Odd(lambda index: bytearray(2**60)), "MemoryError"),
    "settings": (OddSettings("odd"), "LookupError"),
}
ENCODERS: dict[str, tuple[Callable[[Sequence[str]], Any], str]] = {
    "raises": (fail, "LookupError"),
    "exits": (lambda texts: sys.exit("bye"), "SystemExit"),
    "stops": (lambda texts: next(iter(())), "StopIteration"),
    "nan": (lambda texts: np.full((len(texts), 3), math.nan), "ModelError"),
    "rows": (lambda texts: np.ones((len(texts) + 1, 3)), "ModelError"),
    "flat": (lambda texts: np.ones(len(texts)), "ModelError"),
    "dimension": (lambda texts: np.ones((len(texts), 2 + len(texts) % 2)), "ModelError"),
    "text": (lambda texts: ["a"] * len(texts), "ModelError"),
}
METRIC_FUNCTIONS: dict[str, tuple[Callable[..., Any], str]] = {
    "raises": (fail, "LookupError"),
    "exits": (lambda ranking, cutoff: sys.exit(3), "SystemExit"),
    "nan": (lambda ranking, cutoff: np.full(QUERIES, math.nan), "SteelyardError"),
    "infinite": (lambda ranking, cutoff: np.full(QUERIES, math.inf), "SteelyardError"),
    "short": (lambda ranking, cutoff: np.ones(QUERIES - 1), "SteelyardError"),
    "matrix": (lambda ranking, cutoff: np.ones((QUERIES, 2)), "SteelyardError"),
    "text": (lambda ranking, cutoff: ["a"] * QUERIES, "SteelyardError"),
    "none": (lambda ranking, cutoff: None, "SteelyardError"),
}


def check(model: Any, error: str, folder: Path) -> None:
    """The model has an error record with that type, in memory and on disk, and the one after it is evaluated."""
    failed, good = evaluate([model, Overlap()], small_task(), results=folder, warn=False)
    assert failed.error is not None and failed.error.type == error and failed.error.message
    assert good.done and good.model == "overlap"
    stored = {result.done: result for result in ResultStore(folder).all()}
    assert set(stored) == {True, False}
    assert stored[False].error == failed.error
    for path in folder.rglob("*.json"):
        json.loads(path.read_text(), parse_constant=pytest.fail)


@pytest.mark.parametrize("case", RETRIEVERS)
def test_retrievers(case: str, tmp_path: Path) -> None:
    check(*RETRIEVERS[case], tmp_path)


@pytest.mark.parametrize("case", ENCODERS)
def test_encoders(case: str, tmp_path: Path) -> None:
    check(*ENCODERS[case], tmp_path)


@pytest.mark.parametrize("case", METRIC_FUNCTIONS)
def test_metrics(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    function, error = METRIC_FUNCTIONS[case]
    for part in ("_builtins", "_loaded"):
        monkeypatch.setattr(METRICS, part, dict(getattr(METRICS, part)))
    METRICS.add("odd", Definition("odd", "odd", "odd", function, ("odd", "odd")))
    (failed,) = evaluate(Overlap(), small_task(), metrics=["odd@10"], results=tmp_path, warn=False)
    assert failed.error is not None and failed.error.type == error
    assert error != "SteelyardError" or "odd_at_10" in failed.error.message
    (good,) = evaluate(Overlap(), small_task(), results=tmp_path)
    assert good.done


def test_the_handler_of_a_signal_may_end_the_process() -> None:
    """A program whose handler calls exit() is ended by SIGTERM; that is not an error of the model."""
    before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(9))
    try:
        with pytest.raises(SystemExit) as ended, Interrupts() as interrupts, interrupts.allowed():
            attempt(lambda: signal.raise_signal(signal.SIGTERM))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended.value.code == 9
    assert isinstance(attempt(lambda: sys.exit(9)), Failed)


@pytest.mark.slow
def test_an_encoder_that_hangs_is_given_up(tmp_path: Path) -> None:
    tasks = [task("Mine/one", 20), task("Mine/bad", 20, poison=True)]
    good, bad = evaluate(
        "dense:cluster_models:hanging?version=1",
        tasks,
        results=tmp_path / "results",
        settings=Settings.load(home=tmp_path / "home"),
        executor="processes?workers=1&timeout=5",
        warn=False,
    )
    assert good.done and bad.error is not None and bad.error.type == "WorkerError"
    assert "5 seconds" in bad.error.message and bad.error.hint


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_an_encoder_that_waits_forever_is_given_up_without_a_time_limit(tmp_path: Path) -> None:
    (bad,) = evaluate(
        "dense:cluster_models:hanging?version=1",
        task("Mine/bad", 20, poison=True),
        settings=Settings.load(home=tmp_path / "home"),
        executor="processes?workers=1&stalled=3",
        warn=False,
    )
    assert bad.error is not None and bad.error.type == "WorkerError"
    assert "no CPU time for 3 seconds" in bad.error.message


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_an_encoder_that_allocates_without_end_is_given_up(tmp_path: Path) -> None:
    good, bad = evaluate(
        "dense:cluster_models:leaking?version=1",
        [task("Mine/one", 20), task("Mine/bad", 20, poison=True)],
        settings=Settings.load(home=tmp_path / "home"),
        executor="processes?workers=1&memory=600MB",
        warn=False,
    )
    assert good.done and bad.error is not None and bad.error.type == "WorkerError"
    assert "more than 0.60 GB" in bad.error.message

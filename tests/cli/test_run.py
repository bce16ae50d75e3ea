"""The verb run: table, files, report, exit codes, progress."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from engine_parts import small_task

from steelyard.cli import main
from steelyard.cli._ui.output import can_redraw
from steelyard.cli._ui.progress import Progress, duration
from steelyard.datasets import write_nano_set
from steelyard.engine.events import Advanced, Event, Finished, Loading, Opening, Planned, Started
from steelyard.errors import ResultError, SteelyardError, UnknownName, UsageError
from steelyard.results import Failure, Result, ResultStore


@pytest.fixture
def nano(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Nano-set of two tasks on disk; caches and results stay in the test's folder."""
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("STEELYARD_RESULTS", str(tmp_path / "results"))
    return write_nano_set(tmp_path / "NanoSmall", [small_task("NanoSmall/a"), small_task("NanoSmall/b", shift=1)])


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


def test_the_default_models_on_a_set(nano: Path, results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-t", str(nano)]) == 0
    out, err = capsys.readouterr()
    head, *rows = out.splitlines()
    assert head.split("  ")[0] == "nDCG@10" and "[bm25, dense:use-multilingual-v3]" in head
    assert [row.split()[0] for row in rows[1:]] == ["NanoSmall/a", "NanoSmall/b", "mean"] and "*" in rows[1]
    assert "6 evaluations: 3 models x 2 tasks" in err and "6 evaluated" in err
    assert str(results) in err and str(results / "report.html") in err
    stored = ResultStore(results).all()
    assert len(stored) == 6 and all(r.done and len(r.per_query) == 6 for r in stored)
    report = (results / "report.html").read_text()
    assert "NanoSmall/a" in report and "use-multilingual-v3" in report


def test_a_store_that_cannot_be_written_is_told_once(
    nano: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "vectors").write_text("in the way of the folder")
    assert main(["run", "dense", "dense?precision=int8", "-t", str(nano)]) == 0
    lines = capsys.readouterr().err.splitlines()
    problems = [line for line in lines if str(tmp_path / "home" / "vectors") in line]
    assert problems and len(problems) == len(set(problems)), "each problem once, not for every evaluation"
    assert main(["run", "dense", "-t", str(nano)]) == 0
    assert str(tmp_path / "home" / "vectors") not in capsys.readouterr().err, "nothing was encoded this time"


def test_files_of_another_version_are_told_in_a_few_lines(
    nano: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "dense", "-t", f"{nano}::a"]) == 0
    capsys.readouterr()
    (stored,) = (tmp_path / "home" / "vectors").iterdir()
    for number in range(9):
        (stored / f"{number}.vectors").write_bytes(b"STEELYARD-VECTORS-OF-OLD" * 99)
    assert main(["run", "dense", "-t", f"{nano}::b"]) == 0
    err = capsys.readouterr().err
    assert "6 more: see cache_problems" in err and err.count("STEELYARD") == 0
    assert sum(f"{number}.vectors" in err for number in range(9)) == 3


def test_a_rerun_says_what_was_there(nano: Path, results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "bm25", "-t", f"{nano}::a"]) == 0
    before = ResultStore(results).all()[0]
    first = capsys.readouterr().out
    assert main(["run", "bm25", "-t", str(nano), "-v"]) == 0
    out, err = capsys.readouterr()
    assert "1 evaluated, 1 of 2 already stored" in err and "[" in out and "[" not in first
    assert ResultStore(results).get(before.key).created == before.created
    assert main(["run", "bm25", "-t", str(nano), "-v", "-q"]) == 0
    assert capsys.readouterr() == (out, "")


def test_json_is_data_alone(nano: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-m", "bm25", "-t", str(nano), "--json", "--no-report"]) == 0
    data = json.loads(capsys.readouterr().out, parse_constant=lambda name: pytest.fail(name))
    assert [entry["task_name"] for entry in data] == ["NanoSmall/a", "NanoSmall/b"]
    assert data[0]["scores"]["test"][0]["main_score"] == data[0]["scores"]["test"][0]["ndcg_at_10"]
    assert data[0]["steelyard"]["status"] == "done"


def test_what_fails_is_summed_up(nano: Path, results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (nano / "qrels" / "b.parquet").write_bytes(b"not parquet")
    assert main(["run", "bm25", "bm25?k1=0.9", "-t", str(nano)]) == 1
    out, err = capsys.readouterr()
    assert "2 evaluated, 2 failed" in err and "failed: bm25 on" in err and "and 1 more" in err
    assert "b.parquet" in err and "failed" in out and "NanoSmall/a" in out
    assert sum(not r.done for r in ResultStore(results).all()) == 2


def test_a_failure_that_stays_is_counted_once(nano: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (nano / "qrels" / "b.parquet").write_bytes(b"not parquet")
    words = ["run", "bm25", "-t", str(nano), "--overwrite-strategy", "never"]
    assert main(words) == 1
    assert "1 evaluated, 1 failed" in capsys.readouterr().err
    assert main(words) == 1
    assert "0 evaluated, 1 of 2 already stored, 1 failed" in capsys.readouterr().err


def test_where_all_fails_for_one_reason_the_exit_code_tells_it(
    nano: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("STEELYARD_OFFLINE", "HF_HUB_OFFLINE"):  # set by --offline; put back when the test is over
        monkeypatch.setenv(variable, "")
    (nano / "qrels" / "b.parquet").write_bytes(b"not parquet")
    assert main(["run", "bm25", "-q", "-t", f"{nano}::b"]) == 2
    assert "b.parquet" in capsys.readouterr().err, "a failure is told, however quiet"
    assert main(["run", "bm25", "--offline", "-t", "NanoMMTEB-v2/belebele"]) == 3


LOOKED_UP_IN_MTEB = pytest.mark.slow
"""Importing mteb takes seconds."""


@pytest.mark.parametrize(
    ("words", "name", "near"),
    [
        (["bm52", "-t", "{nano}"], "bm52", "bm25"),
        pytest.param(["bm25", "-t", "NanoAlmanc/en"], "NanoAlmanc/en", "NanoAlmanac/en", marks=LOOKED_UP_IN_MTEB),
        pytest.param(["bm25", "-t", "nanoalmanac/EN"], "nanoalmanac/EN", "NanoAlmanac/en", marks=LOOKED_UP_IN_MTEB),
        pytest.param(["bm25", "-t", "Belebele"], "Belebele", None, marks=LOOKED_UP_IN_MTEB),
        (["bm25", "-t", "{nano}", "--metrics", "ndgc@10"], "ndgc", "ndcg"),
    ],
)
def test_unknown_names_have_near_ones(
    words: list[str], name: str, near: str | None, nano: Path, error_of: Callable[..., SteelyardError]
) -> None:
    error = error_of("run", *(word.format(nano=nano) for word in words))
    assert isinstance(error, UnknownName) and error.exit_code == 2 and error.found == name
    assert "belebele" in str(error.hint) if near is None else near in error.near


@pytest.mark.parametrize("words", [["NanoAlmanac/en"], ["{nano}"], ["bm25,dense", "-t", "{nano}"]])
def test_what_is_not_a_model_is_refused(words: list[str], nano: Path, error_of: Callable[..., SteelyardError]) -> None:
    error = error_of("run", *(word.format(nano=nano) for word in words))
    assert isinstance(error, UsageError) and error.hint


@pytest.mark.parametrize("option", ["--top-k", "--limit"])
def test_a_count_of_zero_is_refused(option: str, nano: Path, error_of: Callable[..., SteelyardError]) -> None:
    error = error_of("run", "bm25", "-t", str(nano), option, "0")
    assert isinstance(error, UsageError)
    assert isinstance(error_of("run", "bm25", "-t", str(nano), option, "many"), UsageError)


def test_no_stored_lists_are_an_error_of_results(nano: Path, error_of: Callable[..., SteelyardError]) -> None:
    assert isinstance(error_of("run", "--from-runs", "-t", str(nano)), ResultError)


def test_every_metric_asked_for_has_a_table(nano: Path, results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "bm25", "-t", f"{nano}::a", "--metrics", "hit@2", "P.1,3", "--results", str(results)]) == 0
    lines = capsys.readouterr().out.splitlines()
    titles = [above for above, below in pairwise(["", *lines]) if below.startswith("--")]
    assert [title.split()[0] for title in titles] == ["hit@2", "P@1", "P@3"]
    assert lines.count("") == 2


def test_flags_that_are_given_again_add_up(nano: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "bm25", "-t", "NanoAlmanac/en", "-t", "NanoAlmanac/zh,NanoAlmanac/de"]
    words += ["-l", "de,en", "-l", "zh"]
    assert main([*words, "--metrics", "P@3", "--metrics", "P@7", "--json", "--no-report"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["task_name"] for row in rows] == ["NanoAlmanac/en", "NanoAlmanac/zh", "NanoAlmanac/de"]
    assert all({"precision_at_3", "precision_at_7"} <= set(row["steelyard"]["metrics"]) for row in rows)


def test_limit_and_metrics(nano: Path, results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["run", "bm25", "-t", f"{nano}::a", "--limit", "3", "--seed", "4", "--metrics", "hit@2", "--no-report"]
    assert main(asked) == 0
    assert capsys.readouterr().out.startswith("hit@2")
    (stored,) = ResultStore(results).all()
    assert stored.facts.limit == 3 and stored.settings["seed"] == 4 and "hit_rate_at_2" in stored.metrics
    assert not (results / "report.html").exists()


def test_a_run_that_only_fails_keeps_the_report_of_an_earlier_one(
    nano: Path, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "bm25", "-t", f"{nano}::a"]) == 0
    report = (results / "report.html").read_bytes()
    again = ["run", "bm25?k1=0.9", "-t", f"{nano}::a", "--overwrite-strategy", "only-cache"]
    assert main(again) != 0
    assert "of an earlier run" in capsys.readouterr().err and (results / "report.html").read_bytes() == report
    (results / "report.html").unlink()
    assert main(again) != 0 and (results / "report.html").exists()


def test_lists_that_end_above_a_cut_off_are_told(
    nano: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["run", "bm25", "-t", f"{nano}::a", "--no-report", "--top-k"]
    assert main([*asked, "5"]) == 0
    assert "lists end at rank 5: relevant documents below it" in capsys.readouterr().err
    assert main([*asked, "100"]) == 0
    assert "lists end" not in capsys.readouterr().err
    assert main([*asked, "100", "--metrics", "recall@500"]) == 0
    assert "lists end at rank 100" in capsys.readouterr().err
    assert main(["run", "bm25", "-t", f"{nano}::a", "--top-k", "5"]) == 0
    assert "Lists end at rank 5: relevant documents below it" in (tmp_path / "results" / "report.html").read_text()
    assert main(["run", "bm25", "-t", f"{nano}::a"]) == 0
    assert "Lists end" not in (tmp_path / "results" / "report.html").read_text()


def test_results_on_other_data_of_the_same_name_are_told_apart(
    nano: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "bm25", "-t", f"{nano}::a", "--no-report"]) == 0
    capsys.readouterr()
    assert main(["list", "results"]) == 0
    assert "NanoSmall/a " in capsys.readouterr().out
    write_nano_set(tmp_path / "other" / "NanoSmall", [small_task("NanoSmall/a", shift=2)])
    assert main(["run", "bm25", "-t", f"{tmp_path / 'other' / 'NanoSmall'}::a", "--no-report"]) == 0
    capsys.readouterr()
    assert main(["list", "results"]) == 0
    table = capsys.readouterr().out
    for result in ResultStore(tmp_path / "results").all():
        assert result.facts.data_hash and f"NanoSmall/a@{result.facts.data_hash[:8]}" in table


def test_runs_are_kept_and_scored_again(
    nano: Path, results: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["run", "bm25", "-t", str(nano), "--save-runs", "trec"]) == 0
    kept = sorted(results.rglob("*.run.trec"))
    assert len(kept) == 2 and kept[0].read_text().splitlines()[0].split()[1] == "Q0"
    monkeypatch.setattr("steelyard.retrievers.load_retriever", lambda spec: pytest.fail("a model was loaded"))
    assert main(["run", "--from-runs", "-t", str(nano), "--metrics", "ndcg@7"]) == 0
    assert "nDCG@7" in capsys.readouterr().out
    assert sum("ndcg_at_7" in r.metrics for r in ResultStore(results).all()) == 2


def test_saved_runs_of_data_without_a_name_need_its_path(
    nano: Path, capsys: pytest.CaptureFixture[str], error_of: Callable[..., SteelyardError]
) -> None:
    assert main(["run", "--from-runs"]) == 1
    assert "no ranked lists" in capsys.readouterr().err
    assert main(["run", "bm25", "-t", str(nano), "NanoAlmanac/en", "--save-runs", "--top-k", "5"]) == 0
    capsys.readouterr()
    assert main(["run", "--from-runs", "--metrics", "ndcg@7"]) == 0
    out, err = capsys.readouterr()
    assert "skipped: NanoSmall/a is not known by name" in err and "NanoAlmanac/en" in out
    assert "1 saved run: 1 model on 1 task" in err and "lists end at rank 5" in err
    assert main(["run", "--from-runs", "--top-k", "9"]) == 1
    assert "bm25 on NanoAlmanac/en, bm25 on NanoSmall/a" in capsys.readouterr().err
    assert main(["list", "results"]) == 0
    table = capsys.readouterr().out
    assert "top_k 5, metrics ndcg_at_7" in table and table.count("top_k 5") == 4
    assert main(["list", "results", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    path = Path(rows[0]["path"])
    begins_so = path.read_text().replace(rows[0]["key"], rows[1]["key"][:20] + "0" * 12)
    path.write_text(begins_so)
    assert main(["show", rows[1]["key"][:6]]) == 2
    assert "2 keys" in capsys.readouterr().err
    assert {"top_k": 5, "metrics": ["ndcg_at_7"]} in [row["conditions"] for row in rows if row["score"] is not None]
    assert error_of("run", "--from-runs", "--save-runs", "trec").option == "--save-runs"


def test_no_arguments_mean_the_default_models_on_every_built_in_set(
    nano: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from steelyard.datasets import builtin

    heard: list[Event] = []

    def hear_and_stop(self: Progress, event: Event) -> None:
        heard.append(event)
        if isinstance(event, Planned):
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "__call__", hear_and_stop)
    assert main(["run"]) == 130
    assert heard[0] == Opening("bm25") and len(heard) == 4
    assert heard[3] == Planned(models=3, tasks=len(builtin.names()), stored=0) and len(builtin.names()) > 10
    assert "interrupted" in capsys.readouterr().err


def test_help_is_light() -> None:
    script = (
        "import sys; from steelyard.cli import main\n"
        "try: main(['run', '--help'])\n"
        "finally: sys.exit(int(bool({'numpy', 'pyarrow'} & set(sys.modules))))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert found.returncode == 0, "numpy or pyarrow was imported"
    assert "--overwrite-strategy" in found.stdout


@pytest.mark.slow
def test_ctrl_c_stops_in_order_and_the_same_command_goes_on(nano: Path, results: Path) -> None:
    models = [f"bm25?k1={0.5 + i / 100}" for i in range(40)]
    words = ["steelyard", "run", *models, "-t", str(nano), "--no-report"]
    script = f"import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); sys.argv = {words!r}\n"
    command = [sys.executable, "-c", script + "from steelyard.cli import main; sys.exit(main())"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("3/80"):
                process.send_signal(signal.SIGINT)
                break
        rest = process.stderr.read()
    assert process.returncode == 130 and "interrupted" in rest and "Traceback" not in rest
    stored = ResultStore(results).all()
    assert 3 <= len(stored) < 80 and all(len(r.per_query) == 6 for r in stored)
    assert f"{len(stored)} evaluated" in rest
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"{80 - len(stored)} evaluated, {len(stored)} of 80 already stored" in again.stderr


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def finished(model: str = "bm25", stored: bool = False, error: Failure | None = None) -> Finished:
    status = "done" if error is None else "failed"
    return Finished(
        Result("T/a", model, {}, "k", status, metrics={"ndcg_at_10": 0.5}, timings={"total": 2.0}, error=error), stored
    )


def test_the_bar_shows_place_and_time_left_and_is_throttled() -> None:
    clock, stream = Clock(), io.StringIO()
    progress = Progress(stream, terminal=True, clock=clock)
    progress(Planned(models=2, tasks=5, stored=0))
    clock.now = 10
    progress(Loading("T/a"))
    progress(Started("bm25", "T/a", 1000))
    for _ in range(1000):
        clock.now += 0.001
        progress(Advanced(1))
    drawn = stream.getvalue().split("\r\x1b[K")
    assert 10 <= len(drawn) <= 13, "a thousand ticks in one second, ten drawings"
    clock.now = 12
    progress(finished("bm25"))
    clock.now = 16
    progress(finished("dense"))
    assert progress.seconds_left == pytest.approx(4 * 2 + 4 * 4), "each model by its own pace"
    assert "[#####" in stream.getvalue() and "2/10" in stream.getvalue() and "24 s left" in stream.getvalue()
    progress.close()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_loading_models_is_shown_and_no_part_of_the_time_left() -> None:
    clock, stream = Clock(), io.StringIO()
    progress = Progress(stream, terminal=True, clock=clock)
    progress(Opening("dense:large"))
    assert stream.getvalue() == "\r\x1b[Kopening dense:large"
    clock.now = 100
    progress(Planned(models=1, tasks=3, stored=0))
    assert stream.getvalue().endswith("large\r\x1b[K3 evaluations: 1 model x 3 tasks\n")
    clock.now = 102
    progress(finished("bm25"))
    assert progress.seconds_left == pytest.approx(4)


def test_more_runs_of_a_model_than_tasks_do_not_change_the_time_left() -> None:
    clock, stream = Clock(), io.StringIO()
    progress = Progress(stream, terminal=False, clock=clock)
    progress(Planned(models=2, tasks=1, stored=0, runs=5))
    for model, seconds, left in (("bm25", 1, 4.0), ("bm25", 1, 3.0), ("bm25", 1, 2.0), ("dense", 10, 5.5)):
        clock.now += seconds
        progress(finished(model))
        assert progress.seconds_left == pytest.approx(left), "the runs to come, at the mean of both models"
    assert "5 saved runs: 2 models on 1 task" in stream.getvalue()


def test_a_disk_that_is_full_shows_what_was_done(
    nano: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    put = ResultStore.put

    def until_full(store: ResultStore, result: Result, beside: object = None) -> Result:
        if result.task == "NanoSmall/b":
            raise ResultError("cannot write: No space left on device", hint="free space")
        return put(store, result)

    monkeypatch.setattr(ResultStore, "put", until_full)
    assert main(["run", "bm25", "-t", str(nano)]) == 1
    out, err = capsys.readouterr()
    assert "NanoSmall/a" in out and "stopped: 1 evaluated; the same command continues from there" in err
    assert "No space left" in err and "hint: free space" in err


def test_a_report_that_cannot_be_written_hides_no_failure(
    nano: Path, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (nano / "qrels" / "b.parquet").write_bytes(b"not parquet")
    (results / "report.html").mkdir(parents=True)
    assert main(["run", "bm25", "-t", str(nano)]) == 1
    err = capsys.readouterr().err
    assert "failed: bm25 on NanoSmall/b" in err and "--no-report" in err


def test_what_begins_is_shown_at_once_and_fits_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    stream = io.StringIO()
    progress = Progress(stream, terminal=True, clock=Clock())
    progress(Planned(models=1, tasks=1, stored=0))
    progress(Loading("T/数据集"))
    assert stream.getvalue().endswith("[........] 0/1  reading T/数据集")
    progress(Started("dense:a-model-of-a-long-name", "T/数据集", 0))
    assert stream.getvalue().endswith("[........] 0/1  dense:a-model-of-a-long")


def test_a_terminal_that_can_do_nothing_gets_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    assert can_redraw(Terminal()) and not can_redraw(io.StringIO())
    monkeypatch.setenv("TERM", "dumb")
    assert not can_redraw(Terminal())


def test_an_evaluation_that_goes_slower_than_those_before_it_moves_the_time_left() -> None:
    clock = Clock()
    progress = Progress(io.StringIO(), terminal=False, clock=clock)
    progress(Planned(models=1, tasks=3, stored=0))
    clock.now = 4
    progress(finished())
    assert progress.seconds_left == pytest.approx(8)
    progress(Started("bm25", "T/b", 100))
    progress(Advanced(1))
    clock.now = 14
    progress(Advanced(9))
    assert progress.seconds_left == pytest.approx(100 + 4), "90 to go at 0.9 a second, and another task as before"


def test_stored_results_do_not_count_as_work_to_come() -> None:
    clock, stream = Clock(), io.StringIO()
    progress = Progress(stream, terminal=False, clock=clock)
    progress(Planned(models=1, tasks=4, stored=2))
    progress(finished(stored=True))
    assert progress.seconds_left is None
    clock.now = 5
    progress(finished())
    assert progress.seconds_left == pytest.approx(5), "two to come, of which one is stored"
    assert stream.getvalue().splitlines() == [
        "4 evaluations: 1 model x 4 tasks, 2 of 4 may be stored already",
        "2/4  bm25 on T/a: nDCG@10 0.5000  2.0 s  5.0 s left",
    ]
    progress(finished(error=Failure("HubError", "401")))
    assert "failed, HubError" in stream.getvalue()


def test_what_takes_long_to_open_or_read_is_told_on_a_pipe_once() -> None:
    stream = io.StringIO()
    progress = Progress(stream, terminal=False, patience=0.01)
    for event, told in ((Opening("dense:X"), "opening dense:X ..."), (Loading("T/a"), "reading T/a ...")):
        progress(event)
        assert progress._timer is not None
        progress._timer.join()
        assert stream.getvalue().splitlines()[-1] == told
    progress = Progress(stream := io.StringIO(), terminal=False, patience=60)
    progress(Opening("dense:X"))
    (waiting := progress._timer).join(0)
    progress(Opening("dense:Y"))
    progress.close()
    waiting.join()
    assert stream.getvalue() == "", "what is soon done is not told"
    quiet = Progress(io.StringIO(), terminal=False, silent=True, patience=0)
    quiet(Opening("dense:X"))
    assert quiet._timer is None


def test_metrics_may_stand_in_one_word(nano: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "bm25", "-t", str(nano), "--no-report", "--metrics"]
    assert main([*words, "ndcg@3,MAP", "recall_2;P@1,2", "NDCG_cut_3"]) == 0
    heads = [table.split()[0] for table in capsys.readouterr().out.split("\n\n")]
    assert heads == ["nDCG@3", "MAP", "recall@2", "P@1", "P@2"]
    assert main([*words, "ndcg@10,mapp"]) == 2
    assert "unknown metric 'mapp'\n  hint: did you mean 'map'" in capsys.readouterr().err
    assert main([*words, "ndcg10"]) == 2
    assert "write ndcg@10" in capsys.readouterr().err


def test_what_a_flag_leaves_without_effect_is_told(
    nano: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_DEVICE", "")  # set by --device; put back when the test is over
    assert main(["run", "bm25", "-t", str(nano), "--device", "cuda:9", "--no-report"]) == 0
    assert "--device cuda:9 has no effect" in capsys.readouterr().err
    assert main(["run", "bm25", "-t", "NanoAlmanac/en", "--type", "sts"]) == 2
    assert "none is of type sts" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        (["-t", "NanoAlmanac/en", "bm25?k1=0.9"], "tasks"),
        (["-l", "en", "bm25", "-t", "NanoAlmanac/en"], "languages"),
        (["-t", "NanoAlmanac/en", "--metrics", "ndcg@3", "[bm25, dense]"], "metrics"),
        (["-t", "NanoAlmanac/en", "bm25 > rerank:x:y"], "tasks"),
    ],
)
def test_a_model_after_another_option_is_refused(
    words: list[str], flag: str, error_of: Callable[..., SteelyardError]
) -> None:
    error = error_of("run", *words)
    assert isinstance(error, UsageError) and error.option == f"--{flag}" and error.found in words


def test_a_long_evaluation_shows_life_in_plain_lines() -> None:
    clock, stream = Clock(), io.StringIO()
    progress = Progress(stream, terminal=False, clock=clock)
    progress(Planned(1, 1, 0))
    progress(Started("dense", "T/a", 100))
    for _ in range(100):
        clock.now += 1
        progress(Advanced(1))
    lines = stream.getvalue().splitlines()[1:]
    assert len(lines) == 6 and lines[0].endswith("dense on T/a  15%  1.0 texts/s")
    assert lines[1].startswith("0/1  1:10 left  dense"), "the only one goes by its own rate"
    progress(Started("dense", "T/b", 9000))
    progress(Advanced(5000))  # from the store, at once
    clock.now += 16
    progress(Advanced(1600))
    assert stream.getvalue().endswith("dense on T/b  73%  100 texts/s\n")
    silent = Progress(io.StringIO(), terminal=True, silent=True)
    silent(Planned(1, 1, 0))
    assert isinstance(silent.stream, io.StringIO) and silent.stream.getvalue() == ""


@pytest.mark.parametrize(("seconds", "text"), [(0.04, "0.0 s"), (59.6, "60 s"), (60, "1:00"), (3661, "1:01:01")])
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_what_is_odd_about_the_data_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    texts = {"corpus.jsonl": "d", "queries.jsonl": "q"}
    for name, letter in texts.items():
        lines = [{"_id": f"{letter}{n}", "text": "" if letter == "d" and n < 5 else f"word{n}"} for n in range(1, 8)]
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq5\td5\t1\nq6\td6\t-1\n", encoding="utf-8")
    assert main(["run", "bm25", "-t", str(tmp_path), "-o", str(tmp_path / "results"), "--no-report"]) == 0
    err = capsys.readouterr().err
    assert "corpus.jsonl rows 1, 2, 3, 4: an empty text (id 'd1') (kept)" in err
    assert err.count(f"{tmp_path}: ") >= 3 and "1 more: steelyard show lists them" in err, "three of four problems"
    assert main(["run", "bm25", "-t", str(tmp_path), "-o", str(tmp_path / "results"), "--no-report", "-q"]) == 0
    assert not capsys.readouterr().err


@pytest.mark.slow
def test_a_pipe_that_does_not_have_the_characters_gets_their_numbers(tmp_path: Path) -> None:
    folder = tmp_path / "数据"
    write_nano_set(folder, [small_task("local/数据")])
    base = [sys.executable, "-m", "steelyard"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "STEELYARD_HOME": str(tmp_path / "home")}
    for words in (["run", "bm25", "-t", str(folder), "-o", str(tmp_path / "out")], ["show", str(folder)]):
        done = subprocess.run([*base, *words], capture_output=True, env=environment, check=False)
        assert done.returncode == 0 and b"\\u6570" in done.stdout, done.stderr
    told = subprocess.run(
        [*base, "list", "results", "-o", str(tmp_path / "out"), "--json"],
        capture_output=True,
        env=environment,
        check=True,
    )
    assert "数据" in json.loads(told.stdout)[0]["task"]


@pytest.mark.slow
def test_a_home_that_cannot_be_written_is_a_note_and_no_failure(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    recwarn: pytest.WarningsRecorder,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "home").write_text("a file, not a folder")
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    warnings.simplefilter("always")
    assert main(["run", "bm25", "-t", "NanoEmoji/names-to-english", "-o", str(tmp_path / "results")]) == 0
    said = capsys.readouterr().err
    assert "\nwarning: NanoEmoji" in said and "UserWarning" not in said


@pytest.mark.slow
@pytest.mark.parametrize("words", [["--help"], ["list", "tasks", "--json"]])
def test_a_reader_that_has_gone_is_no_error(words: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "steelyard", *words]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert done.returncode == 0 and "Traceback" not in done.stderr and "Exception ignored" not in done.stderr

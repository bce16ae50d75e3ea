"""Imports are incremental, idempotent, safe to kill and safe to run at once; the marts hold what the board shows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from result_files import model_meta, mteb_result, write_json, write_repository

from steelyard.errors import DataError, MissingPart, ResultError, UsageError
from steelyard.warehouse import connect, import_results, importer, query
from steelyard.warehouse.query import closing, load_duckdb

pytest.importorskip("duckdb", reason="the dev group installs it")


def rows(warehouse: Path, sql: str) -> list[dict[str, object]]:
    answer: list[dict[str, object]] = query(warehouse, sql).to_pylist()
    return answer


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return write_repository(tmp_path)


def test_an_import_reads_every_file_and_lists_the_bad_one(repository: Path, tmp_path: Path) -> None:
    report = import_results([repository], tmp_path / "w")
    assert (report.read, report.unchanged) == (8, 0)
    ((path, reason),) = report.bad
    assert path.endswith("broken.json")
    assert reason


def test_a_second_import_reads_nothing(repository: Path, tmp_path: Path) -> None:
    import_results([repository], tmp_path / "w")
    before = sorted((tmp_path / "w").iterdir())
    again = import_results([repository], tmp_path / "w")
    assert (again.read, again.unchanged, len(again.bad)) == (0, 8, 1)
    assert sorted((tmp_path / "w").iterdir()) == before


def test_a_changed_file_replaces_its_rows(repository: Path, tmp_path: Path) -> None:
    import_results([repository], tmp_path / "w")
    path = write_json(repository / "BAAI__bge-small" / "r1" / "STSB.json", mteb_result("STSB", 0.875))
    assert import_results([repository], tmp_path / "w").read == 1
    sql = "SELECT score, n_rows FROM mart_model_task WHERE task = 'STSB' AND experiment = ''"
    assert rows(tmp_path / "w", sql) == [{"score": 0.875, "n_rows": 2}]
    path.unlink()
    assert import_results([repository], tmp_path / "w").removed == 1
    assert rows(tmp_path / "w", sql) == []


def test_files_that_take_long_are_left_to_processes(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_results([repository], tmp_path / "alone", workers=1)
    given: list[str] = []

    def in_processes(jobs: Sequence[importer.Job], count: int) -> Iterator[Any]:
        given.extend(job.path for job in jobs)
        yield importer.read_chunk(jobs)

    monkeypatch.setattr(importer, "_in_processes", in_processes)
    monkeypatch.setattr(importer, "PROBE", 2)
    assert import_results([repository], tmp_path / "quick", workers=2).read == 8 and not given
    monkeypatch.setattr(importer, "PAYS", 0.0)
    import_results([repository], tmp_path / "long", workers=2)
    sql = "SELECT path, file_id, digest, reason FROM files ORDER BY file_id"
    assert given == [row["path"] for row in rows(tmp_path / "long", sql)][4:]
    for name in ("quick", "long"):
        assert rows(tmp_path / name, sql) == rows(tmp_path / "alone", sql)
        scores = "SELECT * FROM scores ORDER BY score_id"
        assert rows(tmp_path / name, scores) == rows(tmp_path / "alone", scores)


def test_parts_are_merged_only_where_files_have_changed_or_are_gone(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    merged: list[int] = []
    compact = importer.marts.compact
    monkeypatch.setattr(importer.marts, "compact", lambda *given: merged.append(1) or compact(*given))
    import_results([repository], tmp_path / "w")
    write_json(repository / "BAAI__bge-small" / "r1" / "Other.json", mteb_result("Other", 0.5))
    import_results([repository], tmp_path / "w")
    assert not merged
    (repository / "BAAI__bge-small" / "r1" / "Other.json").unlink()
    import_results([repository], tmp_path / "w")
    assert merged == [1]
    monkeypatch.setattr(importer.marts, "MOST_PARTS", 0)
    import_results([repository], tmp_path / "new")
    assert merged == [1, 1]


def test_a_script_without_a_guard_is_told_what_to_do(repository: Path, tmp_path: Path) -> None:
    """A new process imports the script again; without a guard that would import the results again, and so on."""
    script = tmp_path / "script.py"
    script.write_text(
        "from steelyard.warehouse import importer\nimporter.PAYS = -1\n"
        f"importer.import_results([{str(repository)!r}], {str(tmp_path / 'w')!r}, workers=2)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=120)
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1 and last.startswith("steelyard.errors.UsageError") and "__main__" in last


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_long_query(number: signal.Signals, repository: Path, tmp_path: Path) -> None:
    import_results([repository], tmp_path / "w")
    script = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    script += "import duckdb\n"
    script += "import threading, os; from steelyard.cli import main\n"
    script += f"threading.Timer(1.5, os.kill, (os.getpid(), {int(number)})).start()\n"
    script += "sys.argv[0] = 'steelyard'; sys.exit(main())"
    sql = "SELECT sum(a.range * b.range) FROM range(1000000000) a, range(1000000) b"
    words = ["results", "query", sql, "--warehouse", str(tmp_path / "w")]
    done = subprocess.run(
        [sys.executable, "-c", script, *words], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stderr.strip()) == (128 + number, "interrupted")


def test_a_touched_file_is_compared_by_content(repository: Path, tmp_path: Path) -> None:
    import_results([repository], tmp_path / "w")
    ids = rows(tmp_path / "w", "SELECT file_id FROM files ORDER BY path")
    os.utime(repository / "BAAI__bge-small" / "r1" / "STSB.json", (1, 1))
    assert import_results([repository], tmp_path / "w").read == 1
    assert rows(tmp_path / "w", "SELECT file_id FROM files ORDER BY path") == ids
    assert import_results([repository], tmp_path / "w").read == 0


def test_the_preferred_revision_has_the_most_tasks_and_others_fill_its_gaps(repository: Path, tmp_path: Path) -> None:
    import_results([repository], tmp_path / "w")
    (model,) = rows(tmp_path / "w", "SELECT * FROM mart_models WHERE model = 'BAAI/bge-small'")
    assert (model["revision"], model["n_parameters"], model["training_datasets"]) == ("r1", 1000, ["STSB"])
    board = rows(
        tmp_path / "w",
        "SELECT task, score, other_revision FROM mart_benchmark WHERE benchmark = 'MTEB(cmn, v1)' "
        "AND experiment = '' AND model LIKE 'BAAI%' ORDER BY task",
    )
    assert board == [
        {"task": "AFQMC", "score": None, "other_revision": False},
        {"task": "LCQMC", "score": 0.7, "other_revision": True},
        {"task": "STSB", "score": 0.5, "other_revision": False},
    ]


def test_compaction_keeps_living_rows_only(repository: Path, tmp_path: Path) -> None:
    warehouse = tmp_path / "w"
    import_results([repository], warehouse)
    for score in (0.1, 0.2, 0.3):
        for path in repository.rglob("STS*.json"):
            write_json(path, mteb_result(path.stem, score))
        import_results([repository], warehouse)
    assert len(list(warehouse.glob("metrics-*.parquet"))) < 4
    assert rows(warehouse, "SELECT DISTINCT main_score AS s FROM scores WHERE task = 'STSB'") == [{"s": 0.3}]


def test_two_imports_at_once_both_finish(repository: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from steelyard.warehouse import import_results; print(import_results([sys.argv[1]], sys.argv[2]))"
    )
    command = [sys.executable, "-c", program, str(repository), str(tmp_path / "w")]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    for process in both:
        assert process.stdout is not None
        process.stdout.close()
    assert rows(tmp_path / "w", "SELECT count(*) AS n FROM files") == [{"n": 8}]


@pytest.mark.slow
def test_a_killed_import_leaves_the_old_state_and_the_next_one_finishes(tmp_path: Path) -> None:
    results = tmp_path / "results"
    for number in range(400):
        write_json(results / f"org__m{number}" / "r" / "STSB.json", mteb_result("STSB", number / 400))
    program = (
        "import sys; from steelyard.warehouse import import_results; "
        "import_results([sys.argv[1]], sys.argv[2], workers=1)"
    )
    for pause in (0.5, 0.8, 1.1, 1.4):
        process = subprocess.Popen([sys.executable, "-c", program, str(results), str(tmp_path / "w")])
        time.sleep(pause)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if (tmp_path / "w" / "warehouse.json").exists():
            assert rows(
                tmp_path / "w", "SELECT count(DISTINCT file_id) = (SELECT count(*) FROM files) AS same FROM scores"
            ) == [{"same": True}]
    import_results([results], tmp_path / "w")
    assert rows(tmp_path / "w", "SELECT count(*) AS n, sum(score) AS s FROM mart_model_task") == [
        {"n": 400, "s": pytest.approx(199.5)}
    ]
    listed = json.loads((tmp_path / "w" / "warehouse.json").read_text())["parts"].values()
    assert {path.name for path in (tmp_path / "w").glob("*.parquet")} == {name for names in listed for name in names}


def test_a_folder_that_is_not_a_warehouse_is_refused(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    with pytest.raises(DataError) as caught:
        import_results([repository], tmp_path / "mine")
    assert caught.value.path == str(tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]


def test_an_import_killed_while_it_wrote_its_first_manifest_is_repeated(repository: Path, tmp_path: Path) -> None:
    leftover = tmp_path / "w" / ".steelyard-warehouse.json.b088ad0a8961.tmp"
    leftover.parent.mkdir()
    leftover.write_bytes(b'{"schema')
    (leftover.parent / ".lock").touch()
    import_results([repository], leftover.parent)
    assert (leftover.parent / "warehouse.json").exists() and not leftover.exists()


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        import_results([tmp_path / "none"], tmp_path / "w")
    assert caught.value.path == str(tmp_path / "none")


@pytest.mark.parametrize(
    "sql",
    [
        "COPY (SELECT 1) TO '{folder}/out.csv'",
        "SELECT * FROM read_csv('{folder}/secret.csv')",
        "CREATE TABLE x AS SELECT 1",
        "SELECT 1; SELECT 2",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "DELETE FROM files",
        "SELEKT",
    ],
)
def test_queries_only_read_the_warehouse(repository: Path, tmp_path: Path, sql: str) -> None:
    import_results([repository], tmp_path / "w")
    (tmp_path / "secret.csv").write_text("a\n1\n")
    with pytest.raises(UsageError):
        query(tmp_path / "w", sql.format(folder=tmp_path))
    assert not (tmp_path / "out.csv").exists()


def test_other_files_can_be_read_when_asked(repository: Path, tmp_path: Path) -> None:
    import_results([repository], tmp_path / "w")
    (tmp_path / "mine.csv").write_text("a\n7\n")
    answer = query(tmp_path / "w", f"SELECT a FROM read_csv('{tmp_path}/mine.csv')", other_files=True)
    assert answer.to_pylist() == [{"a": 7}]


def test_a_folder_without_a_warehouse_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        connect(tmp_path)


@pytest.mark.torch  # imports mteb
def test_scores_agree_with_mteb(tmp_path: Path) -> None:
    """The score of a task is mteb's own, also for several splits and subsets."""
    import mteb

    folder = tmp_path / "results" / "org__m" / "r"
    write_json(folder / "model_meta.json", model_meta("org/m"))
    content = mteb_result("STSB", 0.5)
    content["scores"]["test"][0] = {**content["scores"]["test"][0], "main_score": 0.75}
    path = write_json(folder / "STSB.json", content)
    import_results([tmp_path / "results"], tmp_path / "w")
    expected = mteb.results.TaskResult.from_disk(path).get_score(splits=["test"])
    task = mteb.get_task("STSB")
    wanted = mteb.results.TaskResult.from_disk(path).validate_and_filter_scores(task).get_score()
    (row,) = rows(tmp_path / "w", "SELECT score FROM mart_model_task")
    assert expected == 0.75
    assert row["score"] == pytest.approx(wanted)


def test_a_missing_duckdb_is_an_error_before_anything_is_written(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingPart):
        import_results([repository], tmp_path / "w")
    assert not (tmp_path / "w").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_below_duckdb_is_an_error_of_ours() -> None:
    with pytest.raises(ResultError) as caught, closing(load_duckdb().connect(":memory:")) as connection:
        connection.execute("COPY (SELECT range FROM range(100000)) TO '/dev/full' (FORMAT parquet)")
    assert "{" not in caught.value.message

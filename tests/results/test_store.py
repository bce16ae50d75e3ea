"""The store: files whole or not at all, keys that hold, damage and leftovers, many writers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from steelyard.errors import ResultError, UnknownName
from steelyard.files import SUFFIX, remove_leftovers, write_output
from steelyard.results import Failure, NewerResult, QueryScores, Result, ResultStore, TaskFacts
from steelyard.results.keys import result_key
from steelyard.results.query_scores import queries_path
from steelyard.results.store import attachment_path


def result(
    task: str = "T/a", model: str = "bm25", value: float = 0.5, top_k: int = 10, data: str = "d1" * 16
) -> Result:
    settings = {"model": model, "top_k": top_k}
    facts = TaskFacts("en", queries=1, data_hash=data)
    queries = QueryScores(("q",), np.array([1], dtype=np.int32), {"ndcg_at_10": np.array([value])})
    key = result_key(settings, task, facts)
    return Result(task, model, settings, key, metrics={"ndcg_at_10": value}, facts=facts, queries=queries)


def failure(task: str = "T/a", model: str = "bm25") -> Result:
    return replace(
        result(task, model), status="failed", metrics={}, queries=None, facts=TaskFacts(), error=Failure("E", "m")
    )


def test_put_and_read(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    stored = store.put(result(), {"run.trec": b"q Q0 d 1 1.0 bm25\n"})
    assert stored.path is not None and stored.path.relative_to(tmp_path).parts[0] == "bm25"
    assert stored.path.name == "T__a@d1d1d1d1.json" and len(stored.path.parent.name) == 12
    assert attachment_path(stored.path, "run.trec").read_bytes().startswith(b"q Q0")
    (again,) = store.all()
    assert again.per_query["ndcg_at_10"].tolist() == [0.5] and again.key == stored.key
    assert store.load(stored.path, stored.key) is not None
    assert store.load(stored.path, "another key") is None
    whole = queries_path(stored.path).read_bytes()
    for damaged in (b"", b"PAR", whole[:-9], b"\0" * len(whole)):
        queries_path(stored.path).write_bytes(damaged)
        assert store.load(stored.path, stored.key) is None, "a Parquet file that was cut is none"
    queries_path(stored.path).unlink()
    assert store.load(stored.path, stored.key) is None, "without its Parquet file a result is not whole"


def test_settings_data_and_tasks_have_files_of_their_own(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    for one in (result(), result(top_k=11), result(data="d2" * 16), result("T/b"), result(model="dense")):
        store.put(one)
    assert len(store.all()) == 5 and len({r.path for r in store.all()}) == 5
    assert len(store.find("bm25")) == 4 and len(store.find("bm25", "T/a")) == 3 and len(store.find(task="T/b")) == 1
    assert store.find("nothing") == [] == ResultStore(tmp_path / "nowhere").all()


def test_models_that_share_a_folder_do_not_share_results(tmp_path: Path) -> None:
    """`org/model` and `org__model` have the same slug."""
    store = ResultStore(tmp_path)
    for model, value in (("org/model", 0.25), ("org__model", 0.75)):
        store.put(result(model=model, value=value))
    assert len({path.parent.parent for path in tmp_path.glob("*/*/*.json")}) == 1
    assert [one.score for one in store.find("org/model")] == [0.25]
    assert [one.score for one in store.find("org__model", "T/a")] == [0.75]


def test_failure_of_another_process_is_removed_after_the_first_listing(tmp_path: Path) -> None:
    store, other = ResultStore(tmp_path), ResultStore(tmp_path)
    store.put(result("T/b"))
    store.put(failure())
    other.put(result())
    assert sorted((one.task, one.done) for one in store.all()) == [("T/a", True), ("T/b", True)]


@pytest.mark.parametrize("name", [".a.tmp", ".swp.tmp", ".steelyard-notes.tmp", "x.0123456789ab.tmp"])
def test_clean_removes_only_our_own_leftovers(name: str, tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    stored = store.put(result())
    assert stored.path is not None
    ours = ".steelyard-a.json.0123456789ab.tmp"
    folder = stored.path.parent
    strange = [tmp_path / "notes" / "deep" / ours, tmp_path / "bm25" / "other" / ours]
    for path in (folder / name, tmp_path / name, *strange, folder / ours, tmp_path / ours):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"half")
    (folder / ".steelyard-link.json.0123456789ab.tmp").symlink_to(tmp_path / name)
    assert store.clean() == 2
    assert (folder / name).exists() and (tmp_path / name).exists() and all(path.exists() for path in strange)
    assert not (folder / ours).exists() and not (tmp_path / ours).exists()


def test_get_by_key(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    one = store.put(result())
    store.put(result("T/b"))
    assert store.get(one.key).task == store.get(one.key[:10]).task == "T/a"
    with pytest.raises(UnknownName):
        store.get("no such key")


def test_a_finished_result_removes_the_failures_before_it(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    store.put(failure())
    store.put(failure(task="T/b"))
    store.put(result())
    assert [(r.task, r.done) for r in store.all()] == [("T/a", True), ("T/b", False)]


def test_failures_of_others_stay(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    # Names of models that have one folder between them, as slashes and blanks cannot stand in one.
    first, second = failure(model="org/model"), failure(model="org__model")
    for one in (first, second, replace(first, settings={"model": "org/model", "top_k": 99})):
        store.put(one)
    assert len(store.all()) == 3, "a failure removes no other"
    store.put(result(model="org/model"))
    assert sorted((r.model, r.done) for r in store.all()) == [("org/model", True), ("org__model", False)]


def test_failure_does_not_replace_a_result_that_is_done(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    store.put(result())
    failed = replace(result(), status="failed", metrics={}, queries=None, error=Failure("OSError", "gone"))
    assert store.put(failed).path is None
    assert [r.score for r in store.all()] == [0.5]
    store.put(replace(failed, key="of other settings"))
    assert [r.done for r in store.all()] == [False], "what is out of date does not count as finished"


def test_damaged_file_is_reported_and_skipped(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    whole, damaged = store.put(result()), store.put(result("T/b"))
    assert damaged.path is not None
    damaged.path.write_text(damaged.path.read_text()[:100])
    errors: list[ResultError] = []
    assert [r.key for r in store.all(errors.append)] == [whole.key]
    assert [error.path for error in errors] == [str(damaged.path)]
    with pytest.warns(UserWarning, match=damaged.path.name):
        store.all()
    assert store.load(damaged.path, damaged.key) is None
    store.put(result("T/b"))
    assert len(store.all()) == 2


def test_what_cannot_be_read_is_reported_and_the_others_are_listed(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    whole, other = store.put(result()), store.put(result("T/b"))
    assert other.path is not None
    other.path.unlink()
    other.path.mkdir()
    errors: list[ResultError] = []
    assert [r.key for r in store.all(errors.append)] == [whole.key]
    assert [error.path for error in errors] == [str(other.path)]
    assert store.load(other.path, other.key) is None
    with pytest.raises(ResultError) as caught:
        store.put(result("T/b"))
    assert caught.value.path == str(other.path)


def test_result_of_a_later_version_is_not_replaced(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    path = store.put(result()).path
    assert path is not None
    path.write_text(path.read_text().replace('"schema_version": 1', '"schema_version": 2'))
    newer = path.read_bytes()
    for one in (result(), failure()):
        with pytest.raises(NewerResult):
            store.put(replace(one, facts=result().facts))
    store.put(result("T/b"))
    assert path.read_bytes() == newer and queries_path(path).exists()
    with pytest.warns(UserWarning, match=path.name):
        assert [r.task for r in store.all()] == ["T/b"]


def test_old_result_is_removed_before_new_scores_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same path with another key: a kill between the Parquet file and the JSON file must leave no result."""
    store = ResultStore(tmp_path)
    old = store.put(result(value=0.25))
    assert old.path is not None
    new = replace(result(value=0.75), key="another")

    def killed(self: Result) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(Result, "to_json", killed)
    with pytest.raises(KeyboardInterrupt):
        store.put(new)
    assert store.all() == [] and not old.path.exists()


@pytest.mark.parametrize("damage", ["another key", "a cut file", "values by query"])
def test_run_of_another_evaluation_is_removed(damage: str, tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    old = store.put(result(), {"run.parquet": b"old"})
    assert old.path is not None
    new = result()
    if damage == "another key":
        new = replace(new, key="another")
    elif damage == "a cut file":
        old.path.write_text(old.path.read_text()[:100])
    else:
        queries_path(old.path).write_bytes(b"PAR")
    stored = store.put(new)
    assert stored.path == old.path and queries_path(old.path).exists() and store.load(old.path, new.key) is not None
    assert attachment_path(old.path, "run.parquet").exists() == (damage == "values by query"), "its run is whole"


def test_the_json_file_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed half-way, an old result has lost nothing but itself."""
    store = ResultStore(tmp_path)
    old = store.put(result(), {"run.parquet": b"old"})
    assert old.path is not None
    gone: list[str] = []
    unlink = Path.unlink
    monkeypatch.setattr(Path, "unlink", lambda path, missing_ok=False: (gone.append(path.suffix), unlink(path, True)))
    store.put(replace(result(), key="another"))
    assert next(ending for ending in gone if ending != SUFFIX) == ".json" and gone.count(".parquet") == 2


def test_an_interrupted_write_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a" / "b.json"
    write_output(path, b"old")

    def interrupted(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_output(path, b"new")
    assert path.read_bytes() == b"old" and [p.name for p in path.parent.iterdir()] == ["b.json"]


def test_a_name_of_bytes_that_are_no_text_is_kept(tmp_path: Path) -> None:
    name = os.fsdecode(b"local/na\xefve")
    store = ResultStore(tmp_path)
    store.put(Result(name, "bm25", {}, "k1", status="failed"))
    assert [result.task for result in store.all()] == [name]


def test_unwritable_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultError) as caught:
        write_output(tmp_path / "file" / "a.json", b"")
    assert caught.value.path == str(tmp_path / "file" / "a.json")


def test_leftovers_of_killed_writers_are_removed(tmp_path: Path) -> None:
    script = (
        "import sys, os, signal; from pathlib import Path; from steelyard import files\n"
        "os.fsync = lambda fd: (print('writing', flush=True), sys.stdin.readline())\n"
        "files.write_output(Path(sys.argv[1]) / 'a.json', b'content')\n"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert writer.stdin is not None and writer.stdout is not None
    with writer:
        assert writer.stdout.readline() == "writing\n"
        assert remove_leftovers([tmp_path]) == 0, "a file that is being written was taken for a leftover"
        writer.kill()
        writer.wait()
    assert [p.name[:18] for p in tmp_path.iterdir()] == [".steelyard-a.json."]
    assert ResultStore(tmp_path).all() == []
    assert ResultStore(tmp_path).clean() == 1 and list(tmp_path.iterdir()) == []


def test_many_writers_and_cleaners_in_one_folder(tmp_path: Path) -> None:
    stop = threading.Event()

    def clean() -> None:
        while not stop.is_set():
            ResultStore(tmp_path).clean()

    def write(number: int) -> None:
        store = ResultStore(tmp_path)
        for task in range(10):
            store.put(result(f"T/{task}", value=0.5))
            store.put(result(f"T/{task}", model=f"own-{number}"))

    cleaner = threading.Thread(target=clean)
    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    cleaner.start()
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    stop.set()
    cleaner.join()
    results = ResultStore(tmp_path).all()
    assert len(results) == 10 + 4 * 10
    assert all(r.per_query["ndcg_at_10"].tolist() == [0.5] for r in results)
    assert not list(tmp_path.rglob(".*.tmp"))


def test_files_are_strict_json(tmp_path: Path) -> None:
    stored = ResultStore(tmp_path).put(replace(result(), metrics={"ndcg_at_10": 0.5, "nauc": float("nan")}))
    assert stored.path is not None
    whole = json.loads(stored.path.read_text(), parse_constant=lambda name: pytest.fail(name))
    assert whole["steelyard"]["metrics"]["nauc"] is None


def test_failure_replaces_the_earlier_one(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    store.put(failure())
    again = store.put(replace(failure(), error=Failure("HubError", "out of reach")))
    assert again.path is not None and [str(r.error) for r in store.all()] == ["HubError: out of reach"]


def test_a_finished_result_that_lost_its_values_is_no_failure(tmp_path: Path) -> None:
    store = ResultStore(tmp_path)
    old = store.put(result(top_k=11))
    assert old.path is not None
    queries_path(old.path).unlink()
    store.put(result())
    assert [r.done for r in store.all()] == [True, True], "its figures are still there"

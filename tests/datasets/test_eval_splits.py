"""Splits and benchmarks follow mteb: the oracle is the package itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mteb
import pytest

from steelyard.datasets import benchmark_names, evaluated_names
from steelyard.errors import MissingPart, UnknownName, UsageError


def split_of(name: str, default: str) -> tuple[str, str]:
    task, _, split = name.removeprefix("mteb:").rpartition("/")[2].partition(":")
    return task, split or default


def main_of(splits: list[str]) -> str:
    return "test" if "test" in splits else splits[-1]


@pytest.mark.parametrize("prefix", ["", "mteb:"])
def test_a_task_is_evaluated_on_every_split_of_mteb(prefix: str) -> None:
    for name in ("ATEC", "STSB", "MultilingualSentiment", "LCQMC", "TNews", "Cmnli", "T2Retrieval"):
        splits = list(mteb.get_task(name).eval_splits)
        names = evaluated_names([f"{prefix}{name}"])
        assert [split_of(one, main_of(splits)) for one in names] == [(name, split) for split in splits]
    assert evaluated_names([f"{prefix}ATEC:test"]) == evaluated_names([f"{prefix}ATEC"], splits=["test"])
    assert evaluated_names(["Cmnli"], generation="v1") == ["C-MTEB/Cmnli", "C-MTEB/Cmnli:test"]


def test_a_benchmark_is_evaluated_on_the_splits_of_mteb() -> None:
    theirs = mteb.get_benchmark("MTEB(cmn, v1)").tasks
    expected = {(task.metadata.name, split) for task in theirs for split in task.eval_splits}
    mains = {task.metadata.name: main_of(list(task.metadata.eval_splits)) for task in theirs}
    for name in ("C-MTEB", "MTEB(cmn, v1)", "mteb:MTEB(cmn, v1)"):
        found = [
            split_of(one, mains[one.removeprefix("mteb:").rpartition("/")[2].partition(":")[0]])
            for one in benchmark_names(name)
        ]
        assert len(found) == 32 and set(found) == expected
    assert evaluated_names(["C-MTEB"]) == benchmark_names("C-MTEB")
    assert len(benchmark_names("C-MTEB", splits=["validation"])) == 9
    english = mteb.get_benchmark("MTEB(eng, v2)").tasks
    pairs = sum(len(task.hf_subsets) * len(task.eval_splits) for task in english if not hasattr(task.metadata, "tasks"))
    assert len(evaluated_names(["MTEB(eng, v2)"])) >= pairs >= 41


def test_tasks_of_mteb_need_no_prefix() -> None:
    assert evaluated_names(["STSBenchmark"]) == ["mteb:STSBenchmark"]
    assert evaluated_names(["STS17[ko-ko]"]) == ["mteb:STS17[ko-ko]"]
    with pytest.raises(UnknownName) as caught:
        evaluated_names(["STSBenchmrk"])
    assert "STSBenchmark" in caught.value.near


def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from steelyard.datasets.formats.mteb import tasks

    def missing() -> Any:
        raise MissingPart.extra("mteb", "mteb")

    monkeypatch.setattr(tasks, "_mteb", missing)
    for call in (lambda: evaluated_names(["STSBenchmark"]), lambda: benchmark_names("MTEB(eng, v2)")):
        with pytest.raises(UsageError) as caught:
            call()
        assert "steelyard[mteb]" in str(caught.value.hint)


def test_splits_that_a_task_does_not_have() -> None:
    with pytest.raises(UsageError) as caught:
        evaluated_names(["TNews"], splits=["test"])
    assert caught.value.option == "--eval-splits" and caught.value.found == "test"


def test_splits_of_own_files(tmp_path: Path) -> None:
    for split in ("validation", "test"):
        (tmp_path / f"{split}.csv").write_text("sentence1,sentence2,score\na,b,1\nc,d,2\n")
    names = evaluated_names([str(tmp_path)], splits=["validation"])
    assert [name.rpartition("::")[2] for name in names] == ["validation"]

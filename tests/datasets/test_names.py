"""From what people type to tasks: groups, patterns, filters, unknown names, sources of plug-ins."""

from __future__ import annotations

import sys
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard.datasets import builtin, load_any, load_task, load_tasks, task_names, write_nano_set
from steelyard.datasets.options import LoadOptions
from steelyard.datasets.sources import SOURCES
from steelyard.errors import HubError, MissingPart, UnknownName, UsageError
from steelyard.types import Corpus, Qrels, Queries, Ragged, Task, TaskInfo


def make(name: str, language: str = "unknown") -> Task:
    corpus = Corpus.of(["a", "b"], ["one", "two"])
    info = TaskInfo(name, language=language, languages=() if language == "unknown" else (language,))
    return Task(info, corpus, Queries(("q",), ("?",)), Qrels.of([0], [0], [1], queries=1))


@pytest.mark.parametrize(
    ("reference", "count", "first"),
    [
        ("NanoMMTEB-v2", 18, "NanoMMTEB-v2/ailastatutes"),
        ("hakari-bench/NanoMMTEB-v2", 18, "NanoMMTEB-v2/ailastatutes"),
        ("MNanoBEIR", 169, "MNanoBEIR/NanoBEIR-ar/NanoArguAna"),
        ("MNanoBEIR/NanoBEIR-ar", 13, "MNanoBEIR/NanoBEIR-ar/NanoArguAna"),
        ("NanoBEIR-ar", 13, "MNanoBEIR/NanoBEIR-ar/NanoArguAna"),
        ("NanoBEIR-ar/NanoNQ", 1, "MNanoBEIR/NanoBEIR-ar/NanoNQ"),
        ("T2Retrieval", 1, "C-MTEB/T2Retrieval"),
        ("*/belebele", 1, "NanoMMTEB-v2/belebele"),
        ("catalogue", 609, "C-MTEB/T2Retrieval"),
    ],
)
def test_what_a_name_stands_for(reference: str, count: int, first: str) -> None:
    names = task_names([reference])
    assert len(names) == len(set(names)) == count and first == names[0]


def test_builtin_sets_and_no_duplicates() -> None:
    assert task_names(["builtin"]) == list(builtin.names())
    assert task_names(["builtin-full"]) == list(builtin.full_names())
    group = builtin.names()[0].split("/")[0]
    assert task_names([f"{group}/*", "builtin", group]) == [
        *(name for name in builtin.infos() if name.startswith(f"{group}/")),
        *(name for name in builtin.names() if not name.startswith(f"{group}/")),
    ]


def test_filters(tmp_path: Path) -> None:
    chinese = task_names(["catalogue"], languages=["cmn"], type="retrieval")
    assert "NanoCMTEB/medical" in chinese and "C-MTEB/T2Retrieval" in chinese
    assert not any("NanoBEIR-en" in name or "Reranking" in name for name in chinese)
    folder = write_nano_set(tmp_path / "set", [make("X/zh", "zh"), make("X/en", "en"), make("X/any")])
    kept = [name.rpartition("::")[2] for name in task_names([str(folder)], languages=["zh"])]
    assert kept == ["any", "zh"], "what is not known to be another language stays"
    assert [task.info.task for task in load_tasks([folder])] == ["any", "en", "zh"]


def test_unknown_names_are_helped() -> None:
    with pytest.raises(UnknownName, match="'NanoMMTEB-v2/belebele'"):
        load_task("NanoMMTEB-v2/belebel")
    with pytest.raises(UnknownName, match="'NanoMIRACL'"):
        task_names(["NanoMIRACLE"])
    with pytest.raises(UsageError):
        task_names(["Nano*/no-such-task"])
    with pytest.raises(UsageError, match="18"):
        load_task("NanoMMTEB-v2")
    with pytest.raises(UsageError):
        load_task("C-MTEB/STSB", offline=True)


@pytest.mark.parametrize("reference", ["ir_datasets:vaswani", "modelscope://MTEB/T2Retrieval/dev"])
def test_a_missing_extra_names_its_command(reference: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("ir_datasets", "modelscope", "modelscope.hub"):
        monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    with pytest.raises(MissingPart):
        load_task(reference)


class ElsewhereSource:
    """A source as a plug-in package would bring it."""

    def __init__(self, options: LoadOptions) -> None:
        self.options = options

    def accepts(self, reference: str) -> bool:
        return reference.startswith("elsewhere:")

    def names(self, reference: str) -> list[str]:
        return [reference]

    def load(self, name: str) -> Task:
        return make(f"Elsewhere/{self.options.revision}")


def test_sources_of_plug_ins_come_through_the_same_door(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("elsewhere", f"{__name__}:ElsewhereSource", "steelyard.sources")
    monkeypatch.setattr(SOURCES, "_plugins", {"elsewhere": point})
    assert task_names(["elsewhere:x"]) == ["elsewhere:x"]
    assert load_task("elsewhere:x", revision="v1").name == "Elsewhere/v1"


def test_a_plugin_that_does_not_load_stands_in_no_others_way(monkeypatch: pytest.MonkeyPatch) -> None:
    good = EntryPoint("elsewhere", f"{__name__}:ElsewhereSource", "steelyard.sources")
    bad = EntryPoint("broken", f"{__name__}:Missing", "steelyard.sources")
    monkeypatch.setattr(SOURCES, "_plugins", {"broken": bad, "elsewhere": good})
    monkeypatch.setattr(SOURCES, "_loaded", {}, raising=False)
    assert task_names(["elsewhere:x"]) == ["elsewhere:x"]
    with pytest.raises(MissingPart, match="'broken'"):
        task_names(["nowhere:x"])


@pytest.mark.parametrize("reference", ["modelscope://x", "modelscope://", "hf://x", "hf:///x"])
def test_a_reference_without_owner_or_dataset_asks_no_hub(reference: str) -> None:
    prefix = reference.partition("://")[0]
    with pytest.raises(HubError, match=f"{prefix}://owner/dataset"):
        load_task(reference)


def test_a_path_means_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_nano_set(tmp_path / "NanoMMTEB-v2", [make("X/belebele")])
    assert load_task(Path("NanoMMTEB-v2")).name == load_tasks(Path("NanoMMTEB-v2"))[0].name == "X/belebele"
    assert load_task("./NanoMMTEB-v2::belebele").name == "X/belebele"
    assert len(task_names(["NanoMMTEB-v2"])) == 18, "the words alone are the published group"


@pytest.mark.parametrize(
    ("reference", "options", "value"),
    [
        ("NanoAlmanac/en", {"validate": "lax"}, "'lax'"),
        ("C-MTEB/ATEC", {"generation": "v9"}, r"'v9'.*v1.*v2"),
        ("NanoAlmanac/en", {"revision": "main"}, "NanoAlmanac/en"),
        ("", {}, ""),
        (None, {}, ""),
        ("NanoAlmanac/*", {}, r"14.*NanoAlmanac/ar"),
    ],
)
def test_arguments_without_meaning_are_refused(reference: Any, options: dict[str, Any], value: str) -> None:
    with pytest.raises(UsageError, match=value or None):
        load_any(reference, **options)


def test_candidate_lists_are_asked_for_by_name_or_names(tmp_path: Path) -> None:
    task = make("X/any")
    lists = {name: Ragged(np.array([0, 1]), np.array([0], np.int32)) for name in ("bm25", "dense")}
    folder = write_nano_set(tmp_path / "set", [replace(task, candidates=lists)])
    for asked, found in ((None, {"bm25", "dense"}), ("bm25", {"bm25"}), (["dense"], {"dense"}), ((), set())):
        assert set(load_task(folder, candidates=asked).candidates) == found
    with pytest.raises(UsageError, match="'bm52'"):
        load_task(folder, candidates=["bm52"])
    with pytest.raises(UsageError):
        load_task(folder, revision="main")
    with pytest.raises(UsageError):
        load_tasks(["  "])


def test_codes_of_one_language_filter_alike() -> None:
    codes = ("no", "nb", "nob", "nb-NO", "zh", "zho", "cmn", "zh-CN", "id", "in")
    of = {code: task_names(["catalogue"], languages=[code]) for code in codes}
    assert of["no"] and of["no"] == of["nb"] == of["nob"] == of["nb-NO"]
    assert of["zh"] and of["zh"] == of["zho"] == of["cmn"] == of["zh-CN"]
    assert of["id"] and of["id"] == of["in"]

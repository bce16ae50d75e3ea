"""The built-in sets as they are cut on this machine: sound, honest, the same every time, cut once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest

from steelyard.config import Settings
from steelyard.datasets import builtin
from steelyard.datasets.builtin import set_store
from steelyard.datasets.builtin.cldr import SCRIPTS
from steelyard.datasets.builtin.sampling import fold
from steelyard.errors import DataError, SteelyardError, UnknownName
from steelyard.types import Task

CUT_ALL = "from steelyard.datasets import builtin; [builtin.load(name) for name in builtin.names()]"
ALL = (*builtin.names(), *builtin.full_names())

pytestmark = pytest.mark.slow  # every set is built, the large ones too


def cutter(home: Path, hash_seed: str) -> subprocess.Popen[bytes]:
    environment = os.environ | {"STEELYARD_HOME": str(home), "PYTHONHASHSEED": hash_seed}
    return subprocess.Popen([sys.executable, "-c", CUT_ALL], env=environment, stderr=subprocess.PIPE)


def finish(process: subprocess.Popen[bytes]) -> None:
    _, errors = process.communicate()
    assert process.returncode == 0, errors.decode()


def contents(home: Path) -> dict[str, bytes]:
    return {path.relative_to(home).as_posix(): path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two homes. Into the first, two processes cut at the same time; into the second, one with another hash seed."""
    shared, alone = tmp_path_factory.mktemp("shared"), tmp_path_factory.mktemp("alone")
    processes = [cutter(shared, "1"), cutter(shared, "1"), cutter(alone, "2")]
    for process in processes:
        finish(process)
    return shared, alone


@pytest.fixture(scope="module")
def tasks() -> dict[str, Task]:
    return {name: builtin.load(name) for name in ALL}


@pytest.mark.slow
def test_same_versions_same_bytes_whoever_cuts(homes: tuple[Path, Path]) -> None:
    shared, alone = contents(homes[0]), contents(homes[1])
    assert len(shared) > 3 * len(ALL)
    assert shared == alone


@pytest.mark.slow
def test_processes_that_cut_at_once_leave_whole_sets_and_nothing_else(homes: tuple[Path, Path]) -> None:
    found = sorted(path.name for path in (homes[0] / "builtin").iterdir())
    assert found == sorted(f"{each.name}-{each.key()}" for each in builtin.SETS)


@pytest.mark.slow
def test_a_kept_set_is_not_cut_again(homes: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut() -> list[Task]:
        raise AssertionError("cut again")

    monkeypatch.setenv("STEELYARD_HOME", str(homes[0]))
    for each in builtin.SETS:
        assert len(set_store.load(replace(each, build=cut), each.infos()[0], Settings.load().home).corpus) > 0
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path))
    with pytest.raises(AssertionError):
        set_store.load(replace(each, build=cut), each.infos()[0], Settings.load().home)


@pytest.mark.parametrize("name", ALL)
def test_every_task_is_sound(name: str, tasks: dict[str, Task]) -> None:
    task = tasks[name]
    assert len(set(task.corpus.ids)) == len(task.corpus)
    assert len(set(task.queries.ids)) == len(task.queries)
    assert all(text.strip() for text in (*task.corpus.bodies, *task.queries.texts))
    assert len(set(map(fold, task.corpus.texts))) == len(task.corpus), "a document twice"
    assert len(set(map(fold, task.queries.texts))) == len(task.queries), "a query twice"
    assert task.qrels.rows.min() >= 0
    assert task.qrels.positives.min() >= 1
    for query, text in enumerate(task.queries.texts):
        assert all(fold(text) != fold(task.corpus.texts[row]) for row in task.qrels.rows_of(query)), text


@pytest.mark.parametrize("name", ALL)
def test_every_task_says_what_it_is(name: str, tasks: dict[str, Task]) -> None:
    info = tasks[name].info
    assert info == builtin.infos()[name]
    assert info.name == name
    assert info.source and info.description and info.licence and info.revision and info.languages
    assert info.category == ("code" if name.startswith("NanoStdlib/") else "natural_language")


def test_sizes(tasks: dict[str, Task]) -> None:
    demo = [tasks[name] for name in builtin.names()]
    assert sum(len(task.corpus) for task in demo) < 20_000
    assert all(len(task.queries) <= 320 for task in demo)
    for name in builtin.full_names():
        small, full = tasks[name.removesuffix("-full")], tasks[name]
        assert len(full.corpus) <= 10_000
        assert len(full.corpus) >= len(small.corpus) and len(full.queries) > len(small.queries)


@pytest.mark.parametrize("name", [name for name in ALL if name.startswith("NanoStdlib/")])
def test_no_code_quotes_its_docstring(name: str, tasks: dict[str, Task]) -> None:
    task = tasks[name]
    to_code = "docstring-to-code" in name
    for query, text in enumerate(task.queries.texts):
        document = task.corpus.texts[task.qrels.rows_of(query)[0]]
        summary, code = (text, document) if to_code else (document, text)
        assert fold(summary).rstrip(".") not in fold(code)
        assert task.queries.ids[query] == task.corpus.ids[task.qrels.rows_of(query)[0]]


def language_of(name: str) -> str:
    return name.rpartition(".")[2]


@pytest.mark.parametrize("name", [name for name in ALL if name.startswith("NanoCLDR/")])
def test_cldr_has_forty_languages_and_ten_scripts(name: str, tasks: dict[str, Task]) -> None:
    task = tasks[name]
    languages = set(map(language_of, (*task.queries.ids, *task.corpus.ids)))
    assert len(languages) >= 40
    assert languages <= set(task.info.languages)
    texts = "".join((*task.queries.texts, *task.corpus.texts))
    assert len({unicodedata.name(letter).split()[0] for letter in set(texts) if letter.isalpha()}) >= 10


def test_cldr_scripts_are_those_that_unicode_gives() -> None:
    from babel.core import get_global

    likely = get_global("likely_subtags")
    assert {language: likely[language].split("_")[1] for language in SCRIPTS} == SCRIPTS


@pytest.mark.parametrize("size", ["", "-full"])
def test_across_scripts_means_another_script(size: str, tasks: dict[str, Task]) -> None:
    task = tasks[f"NanoCLDR/names-across-scripts{size}"]
    for query, name in enumerate(task.queries.ids):
        (row,) = task.qrels.rows_of(query)
        assert SCRIPTS[language_of(name)] != SCRIPTS[language_of(task.corpus.ids[row])]


def test_cards_are_never_in_the_language_of_a_query(tasks: dict[str, Task]) -> None:
    for size in ("", "-full"):
        task = tasks[f"NanoCLDR/territory-cards{size}"]
        assert not set(map(language_of, task.queries.ids)) & set(map(language_of, task.corpus.ids))


def test_there_are_single_and_multi_positive_tasks(tasks: dict[str, Task]) -> None:
    for group in ("NanoCLDR/", "NanoEmoji/", "NanoAlmanac/"):
        largest = [int(tasks[name].qrels.positives.max()) for name in builtin.names() if name.startswith(group)]
        assert min(largest) == 1 and max(largest) > 4


def test_an_unknown_task_names_the_near_one() -> None:
    with pytest.raises(UnknownName, match="NanoStdlib/docstring-to-code"):
        builtin.load("NanoStdlib/docstrings-to-code")


@pytest.mark.slow
def test_a_damaged_set_says_what_to_remove(
    homes: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path))
    (whole,) = (homes[1] / "builtin").glob("NanoEmoji-*")
    folder = Path(shutil.copytree(whole, tmp_path / "builtin" / whole.name))  # other tests compare the homes
    damaged = folder / "corpus" / "names-to-english.parquet"
    damaged.write_bytes(damaged.read_bytes()[:100])
    with pytest.raises(DataError):
        builtin.load("NanoEmoji/names-to-english")


def test_a_home_that_cannot_be_written_is_told_and_does_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="STEELYARD_HOME"):
        first = builtin.load("NanoEmoji/names-to-english")
    assert builtin.load("NanoEmoji/names-to-english").content_hash == first.content_hash, "cut once for a process"
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    with pytest.warns(UserWarning), pytest.raises(SteelyardError, match="STEELYARD_HOME"):
        builtin.load("NanoAlmanac/en")


def test_the_docs_name_every_task() -> None:
    page = (Path(__file__).parents[3] / "docs" / "builtin-sets.md").read_text(encoding="utf-8")
    for name in builtin.names():
        group, task = name.split("/")
        assert f"`{name}`" in page or (group == "NanoAlmanac" and f"`{task}`" in page), name

"""The parts that cut the built-in sets, each on a small case whose answer is plain."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard.config import Settings
from steelyard.datasets.builtin import set_store
from steelyard.datasets.builtin.parallel import Entry, across, everywhere, to_english, unambiguous
from steelyard.datasets.builtin.sampling import BuiltinSet, assemble, shuffled
from steelyard.datasets.builtin.stdlib import Function, functions_in
from steelyard.errors import DataError
from steelyard.types import Qrels, Task, TaskInfo

SOURCE = '''
import os

def described(a, b):
    """Add the larger of two numbers to
    the smaller one.

    A second paragraph that is no part of it.
    """

    # A comment that stays.
    total = max(a, b)
    total += min(a, b)
    return "a result that is long enough to count as code of its own", total

class Holder:
    @staticmethod
    def nested(values):
        """Keep every value that is larger than the mean of all of the values."""
        def inner(value):
            return value
        mean = sum(values) / len(values)
        return [inner(value) for value in values if value > mean and value is not None]

    @property
    def twice(self):
        """Return the number of times that this holder has been held by hand."""
        count = self.count
        count += self.other_count_that_makes_this_line_long_enough_to_pass_the_filter
        return count

    @twice.setter
    def twice(self, value):
        """Set the number of times that this holder has been held by hand."""
        self.count = value
        self.other_count_that_makes_this_line_long_enough_to_pass_the_filter = value
        self.third = value

def undescribed(path):
    names = os.listdir(path)
    names.sort(key=lambda name: (len(name), name))
    return [name for name in names if not name.startswith(".") and name]

def signature(a):
    """signature(a) gives back the sum of all the numbers there are in a."""
    total = 0
    for number in a:
        total += number
    return "a result that is long enough to count as code of its own", total

def quoting(a):
    """The sum of all the numbers there are in a."""
    raise NotImplementedError("the sum of all the numbers there are in A, which nobody knows how to compute")
    return "a result that is long enough to count as code of its own"

def short(a):
    """Say something about the thing that is called a."""
    b = a
    return b

def terse(a):
    """Too few words."""
    total = 0
    for number in a:
        total += number
    return "a result that is long enough to count as code of its own", total

def one_line(a): "A docstring on the very line of the definition."; b = a; return "which is long enough to be code", b

if os.name == "nt":
    async def conditional(a):
        """Wait until the other side has said all that it had to say."""
        total = 0
        for number in a:
            total += number
        return "a result that is long enough to count as code of its own", total
'''


@pytest.fixture
def found(tmp_path: Path) -> dict[str, Function]:
    (tmp_path / "module.py").write_text(SOURCE, encoding="utf-8")
    return {function.name: function for function in functions_in(tmp_path / "module.py", "package.module")}


def test_functions_with_a_good_description_or_none_are_found(found: dict[str, Function]) -> None:
    assert {name.removeprefix("package.module."): bool(each.summary) for name, each in found.items()} == {
        "described": True,
        "Holder.nested": True,
        "Holder.twice": True,
        "undescribed": False,
        "conditional": True,
    }


def test_the_summary_is_the_first_paragraph_and_the_code_is_the_rest(found: dict[str, Function]) -> None:
    function = found["package.module.described"]
    assert function.summary == "Add the larger of two numbers to the smaller one."
    assert function.code.splitlines()[:3] == [
        "def described(a, b):",
        "    # A comment that stays.",
        "    total = max(a, b)",
    ]
    assert "paragraph" not in function.code and '"""' not in function.code


def test_a_method_moves_to_the_margin_with_its_decorators(found: dict[str, Function]) -> None:
    code = found["package.module.Holder.nested"].code
    assert code.startswith("@staticmethod\ndef nested(values):\n    def inner(value):\n")
    compile(code, "nested", "exec")


def test_a_name_that_is_defined_twice_is_taken_once(found: dict[str, Function]) -> None:
    assert found["package.module.Holder.twice"].summary.startswith("Return the number")


@pytest.mark.parametrize("content", [b"def broken(:\n", b"# coding: utf-8\nname = '\xff'\n"])
def test_a_file_that_is_no_python_has_no_functions(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "template.py").write_bytes(content)
    assert list(functions_in(tmp_path / "template.py", "template")) == []


THINGS = [
    Entry(
        f"thing-{number:02}", {language: f"{language} word{chr(97 + number)}" for language in ("de", "en", "fr", "ru")}
    )
    for number in range(20)
]
INFO = TaskInfo("NanoThings/names", language="multilingual", languages=("de", "en", "fr", "ru"))


def positives(task: Task) -> dict[str, list[str]]:
    return {
        name: sorted(task.corpus.ids[row] for row in task.qrels.rows_of(query))
        for query, name in enumerate(task.queries.ids)
    }


def test_to_english_asks_in_every_language_by_turns() -> None:
    task = to_english(INFO, THINGS, documents=12, queries=6)
    assert len(task.corpus) == 12 and all(name.endswith(".en") for name in task.corpus.ids)
    assert sorted(name[-2:] for name in task.queries.ids) == ["de", "de", "fr", "fr", "ru", "ru"]
    assert all(found == [f"{name[:-3]}.en"] for name, found in positives(task).items())


def test_to_english_never_asks_with_the_answer() -> None:
    same = Entry("same", {"en": "Sofia", "de": "SOFIA", "ru": "София"})
    assert to_english(INFO, [same], documents=5, queries=5).queries.texts == ("София",)


def test_across_holds_each_thing_once_and_asks_from_afar() -> None:
    def far(one: str, other: str) -> bool:
        return (one == "ru") != (other == "ru")

    task = across(INFO, THINGS, far, documents=20, queries=20)
    assert len({name[:-3] for name in task.corpus.ids}) == 20
    assert len({name[-2:] for name in task.corpus.ids}) == 4
    for name, (document,) in positives(task).items():
        assert name[:-3] == document[:-3] and far(name[-2:], document[-2:])


def test_everywhere_takes_a_shared_string_once_and_the_english_one_not_at_all() -> None:
    names = {"en": "Oslo", "de": "oslo", "fr": "Ville", "ru": "VILLE", "es": "Villa", "it": "Citta", "fi": "Kaupunki"}
    info = TaskInfo("NanoThings/all", languages=tuple(sorted(names)))
    task = everywhere(info, [Entry("city", names)], documents=10, queries=1, per_entry=10)
    assert sorted(map(str.lower, task.corpus.texts)) == ["citta", "kaupunki", "villa", "ville"]
    assert len(positives(task)["city.en"]) == 4


def test_a_string_that_names_two_things_is_used_for_neither() -> None:
    kept = unambiguous([Entry("a", {"en": "A", "de": "x", "fr": "u"}), Entry("b", {"en": "B", "de": "v", "fr": "X"})])
    assert [dict(entry.names) for entry in kept] == [{"en": "A", "fr": "u"}, {"en": "B", "de": "v"}]


def test_shuffled_moves_nothing_when_an_item_goes() -> None:
    items = [f"item {number}" for number in range(50)]
    mixed = shuffled(items, "seed")
    assert mixed != items and sorted(mixed) == sorted(items)
    assert shuffled(reversed(items), "seed") == mixed
    assert shuffled(items, "another") != mixed
    assert shuffled(items[:20] + items[21:], "seed") == [item for item in mixed if item != items[20]]


def one_task() -> Iterator[Task]:
    yield assemble(TaskInfo("NanoOne/only"), {"d1": "first", "d2": "second"}, {"q": "which"}, {"q": ["d2"]})


def one_set(cut: object = one_task) -> BuiltinSet:
    return BuiltinSet("NanoOne", lambda: (TaskInfo("NanoOne/only"),), lambda: "v1", cut)  # type: ignore[arg-type]


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path))
    return tmp_path / "builtin"


def test_two_that_cut_at_once_both_get_the_set(shelf: Path) -> None:
    both = threading.Barrier(2, timeout=30)

    def cut() -> Iterator[Task]:
        both.wait()  # neither goes on before the other has begun, and has seen no set
        yield from one_task()

    loaded: list[Task] = []

    def work() -> None:
        loaded.append(set_store.load(one_set(cut), TaskInfo("NanoOne/only"), Settings.load().home))

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [task.corpus.texts for task in loaded] == [("second", "first")] * 2
    assert [path.name for path in shelf.iterdir()] == ["NanoOne-v1"]


def test_a_set_that_cannot_be_written_leaves_nothing(shelf: Path) -> None:
    def cut() -> Iterator[Task]:
        yield from one_task()
        (task,) = one_task()
        outside = Qrels.of([0], [-1], [1], queries=1)
        yield Task(TaskInfo("NanoOne/bad"), task.corpus, task.queries, outside)

    with pytest.raises(DataError, match="NanoOne/bad"):
        set_store.ensure(one_set(cut), Settings.load().home)
    assert list(shelf.iterdir()) == []
    assert set_store.load(one_set(), TaskInfo("NanoOne/only"), Settings.load().home).queries.texts == ("which",)


def test_what_a_killed_process_left_is_swept_when_it_is_old(shelf: Path) -> None:
    old, fresh = shelf / ".cutting-old", shelf / ".cutting-fresh"
    for folder in (old, fresh):
        (folder / "corpus").mkdir(parents=True)
    long_ago = time.time() - 2 * set_store.STALE
    os.utime(old, (long_ago, long_ago))
    set_store.ensure(one_set(), Settings.load().home)
    assert not old.exists() and fresh.exists()


def test_a_set_that_another_process_finishes_while_this_one_sweeps_is_no_problem(shelf: Path) -> None:
    shelf.mkdir()
    (shelf / ".cutting-gone").symlink_to(shelf / "nothing")  # listed, and not there when it is looked at
    assert set_store.ensure(one_set(), Settings.load().home).parent == shelf

"""Pages in a folder: the page that leads to all, what is made anew and what is not, and figures read back."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from pages_parts import as_lists, ranked_task

from steelyard.cli import main
from steelyard.cli._ui.progress import Progress
from steelyard.datasets import write_nano_set
from steelyard.reports.pages import measure_group, measure_task, write_pages
from steelyard.reports.pages.measure.page_inputs import Audit, Context
from steelyard.reports.pages.render.json_page import read_values
from steelyard.types import Corpus, Task

RANKS: dict[Any, list[int]] = {"bm25": [40, 0, 1], "dense": [1, 0, 30], "hybrid": [1, 20, 2]}


def task_of(name: str) -> Task:
    task, profiles = ranked_task(RANKS, name=name)
    names = ("bm25", "harrier", "reranking_hybrid")
    stored = {config: as_lists(one.run) for config, one in zip(names, profiles, strict=True)}
    return Task(task.info, task.corpus, task.queries, task.qrels, stored)


def make(folder: Path, references: str | list[str], capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    """What `steelyard pages --json` prints, and its notes."""
    sets = [references] if isinstance(references, str) else references
    words = ["pages", *sets, "-o", str(folder / "out"), "--results", str(folder / "results"), "--json", *more]
    capsys.readouterr()
    assert main(words) == 0
    told = capsys.readouterr()
    value: dict[str, Any] = json.loads(told.out)
    return value | {"notes": told.err}


@pytest.fixture
def nano_set(tmp_path: Path) -> Path:
    write_nano_set(tmp_path / "set", [task_of("NanoToy/first"), task_of("NanoToy/second")])
    return tmp_path / "set"


def changed_at(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_figures_come_back_from_their_page(tmp_path: Path) -> None:
    task, profiles = ranked_task({"bm25": [1, 2, 0] * 10, "dense": [2, 1, 4] * 10, "hybrid": [1, 1, 60] * 10})
    context = Context(Audit("web", 1, 2), {"bm25_ndcg_at_10": 0.5}, "X/y", {"queries": 7}, "abc", {"dense": "dense"})
    figures = measure_task(task, profiles, context)
    write_pages(measure_group("NanoToy", [figures]), tmp_path, ["json"])
    assert read_values(tmp_path / "NanoToy" / "ranks.json") == figures
    assert read_values(tmp_path / "NanoToy" / "none.json") is None
    (tmp_path / "broken.json").write_text('{"schema_version": 2, "kind": "task", "figures": {"odd": 1}}')
    assert read_values(tmp_path / "broken.json") is None


def test_what_is_up_to_date_is_left_alone(nano_set: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = make(tmp_path, str(nano_set), capsys)
    assert first["up_to_date"] == []
    assert all(Path(path).is_file() for path in first["pages"])
    before = changed_at(tmp_path / "out")
    second = make(tmp_path, str(nano_set), capsys)
    assert second["up_to_date"] == ["NanoToy/first", "NanoToy/second"]
    assert "already up to date: 2 tasks" in second["notes"]
    assert changed_at(tmp_path / "out") == before
    assert second["pages"] == first["pages"]
    assert make(tmp_path, str(nano_set), capsys, "--rebuild")["up_to_date"] == []
    assert changed_at(tmp_path / "out") == before


def test_changed_data_are_measured_again(nano_set: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path, str(nano_set), capsys)
    before = changed_at(tmp_path / "out")
    old = task_of("NanoToy/second")
    corpus = Corpus(old.corpus.ids, ("another text", *old.corpus.bodies[1:]))
    write_nano_set(nano_set, [task_of("NanoToy/first"), Task(old.info, corpus, old.queries, old.qrels, old.candidates)])
    assert make(tmp_path, str(nano_set), capsys)["up_to_date"] == ["NanoToy/first"]
    after = changed_at(tmp_path / "out")
    assert after["NanoToy/first.html"] == before["NanoToy/first.html"]
    assert after["NanoToy/second.html"] != before["NanoToy/second.html"]
    figures = json.loads((tmp_path / "out" / "NanoToy" / "second.json").read_text(encoding="utf-8"))["figures"]
    page = (tmp_path / "out" / "NanoToy" / "second.html").read_text(encoding="utf-8")
    assert f'<meta name="made-from" content="{figures["made_from"]}">' in page


def test_pages_of_single_tasks_add_up(nano_set: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path, f"{nano_set}::second", capsys)
    make(tmp_path, f"{nano_set}::first", capsys)
    home = tmp_path / "out" / "NanoToy"
    tasks = json.loads((home / "index.json").read_text(encoding="utf-8"))["figures"]["tasks"]
    assert tasks == ["NanoToy/second", "NanoToy/first"]
    other = make(tmp_path, f"{nano_set}::first", capsys, "--dense", "bm25?k1=0.9")
    assert "made with other settings: NanoToy/second" in other["notes"]
    kept = json.loads((home / "index.json").read_text(encoding="utf-8"))["figures"]["tasks"]
    assert kept == ["NanoToy/second", "NanoToy/first"], "a page of two tasks is not replaced by one of one task"


def test_what_is_up_to_date_is_known_without_a_json_page(
    nano_set: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "out" / "NanoToy"
    assert make(tmp_path, f"{nano_set}::second", capsys, "--format", "html")["up_to_date"] == []
    added = make(tmp_path, f"{nano_set}::first", capsys, "--format", "html,md")
    assert added["up_to_date"] == []
    assert not any(path.endswith(".json") for path in added["pages"])
    assert "second.html" in (home / "index.html").read_text(encoding="utf-8"), "pages of single tasks add up"
    assert sorted(path.name for path in home.glob("*.json")) == []
    before = changed_at(tmp_path / "out")
    again = make(tmp_path, str(nano_set), capsys, "--format", "html,md")
    assert again["up_to_date"] == ["NanoToy/first", "NanoToy/second"]
    assert {name: when for name, when in changed_at(tmp_path / "out").items() if name in before} == before
    write_nano_set(tmp_path / "other", [task_of("NanoOther/x")])
    make(tmp_path, str(tmp_path / "other"), capsys, "--format", "html")
    assert "NanoToy/first.html" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    whole = make(tmp_path, str(nano_set), capsys)
    assert whole["up_to_date"] == ["NanoToy/first", "NanoToy/second"]
    assert sorted(path.name for path in home.glob("*.json")) == ["first.json", "index.json", "second.json"]
    assert not list(home.glob(".figures/*")), "with JSON pages nothing is set aside"


def test_formats_that_were_not_asked_for_are_named(
    nano_set: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "not made anew" not in make(tmp_path, str(nano_set), capsys)["notes"]
    told = make(tmp_path, str(nano_set), capsys, "--format", "html")
    assert "not updated, as --format does not name them: md, json" in told["notes"]


def test_several_sets_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_nano_set(tmp_path / "a", [task_of("NanoOne/x")])
    write_nano_set(tmp_path / "b", [task_of("NanoTwo/y")])
    make(tmp_path, [str(tmp_path / "a"), str(tmp_path / "b")], capsys)
    assert "2 groups with 2 tasks" in (tmp_path / "out" / "index.md").read_text(encoding="utf-8")


def test_what_has_nothing_to_search_is_told(nano_set: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text('{"text1": "a", "text2": "b", "score": 1}\n{"text1": "c", "text2": "d", "score": 2}\n')
    told = make(tmp_path, [f"sts:{pairs}", str(nano_set)], capsys)
    assert f"skipped, as tasks of type sts have no pages: sts:{pairs}" in told["notes"]
    assert main(["pages", f"sts:{pairs}", "-o", str(tmp_path / "none")]) == 2
    error = capsys.readouterr().err
    assert "got sts" in error and "steelyard run MODEL -t NAME" in error
    assert not (tmp_path / "none").exists()
    assert main(["pages", "NanoEmoji", "-l", "tlh", "-o", str(tmp_path / "none")]) == 2
    assert "NanoEmoji" in capsys.readouterr().err


def test_published_sets_are_read_from_copies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_DATA", "")  # the flag sets it: it is to be gone afterwards
    folder = tmp_path / "copies" / "T2Retrieval"
    folder.mkdir(parents=True)
    (folder / "corpus.jsonl").write_text('{"_id": "d", "text": "文"}\n{"_id": "e", "text": "字"}\n', encoding="utf-8")
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "问"}\n', encoding="utf-8")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\td\t1\n", encoding="utf-8")
    make(tmp_path, "T2Retrieval", capsys, "--data-dir", str(folder.parent), "--dense", "bm25?k1=0.9")
    page = json.loads((tmp_path / "out" / "C-MTEB" / "T2Retrieval.json").read_text(encoding="utf-8"))
    assert page["figures"]["documents"] == 2


def test_one_page_leads_to_all_groups_and_tasks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_nano_set(tmp_path / "a", [task_of("NanoOne/x")])
    write_nano_set(tmp_path / "b", [task_of("NanoTwo/y")])
    make(tmp_path, str(tmp_path / "a"), capsys)
    told = make(tmp_path, str(tmp_path / "b"), capsys)
    assert told["pages"][:2] == [str(tmp_path / "out" / name) for name in ("index.md", "index.html")]
    html = (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    lines = (tmp_path / "out" / "index.md").read_text(encoding="utf-8")
    assert "2 groups with 2 tasks" in html
    for place in ("NanoOne/index", "NanoOne/x", "NanoTwo/index", "NanoTwo/y"):
        assert f'href="{place}.html"' in html
        assert f"({place}.md)" in lines
        assert (tmp_path / "out" / f"{place}.html").is_file()
    for page in ("NanoOne/index", "NanoOne/x"):
        assert 'href="../index.html"' in (tmp_path / "out" / f"{page}.html").read_text(encoding="utf-8")


def test_other_data_than_the_published_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_nano_set(tmp_path / "set", [task_of("NanoCMTEB/medical")])
    told = make(tmp_path, str(tmp_path / "set"), capsys, "--against", "NanoCMTEB")
    assert "3 queries here and 200" in told["notes"] and "60 documents here and 10,000" in told["notes"]
    assert "3 positives here and 200" in told["notes"]
    page = json.loads((tmp_path / "out" / "NanoCMTEB" / "medical.json").read_text(encoding="utf-8"))
    kinds = [one["kind"] for one in page["findings"] if one["section"] == "Comparison with Published Scores"]
    assert "other_data" in kinds
    assert "same_counts" not in kinds
    first = page["figures"]["published"][0]
    assert first["interval"]["low"] <= first["difference"] <= first["interval"]["high"]
    group = json.loads((tmp_path / "out" / "NanoCMTEB" / "index.json").read_text(encoding="utf-8"))
    assert "group_other_data" in {one["kind"] for one in group["findings"]}


def test_a_task_without_published_figures_is_told(
    nano_set: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = make(tmp_path, f"{nano_set}::first", capsys, "--against", "NanoMMTEB-v2")
    assert "NanoToy/first: NanoMMTEB-v2 has no published scores for this task." in told["notes"]


def test_a_slip_in_the_dense_model_is_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bare = [Task(one.info, one.corpus, one.queries, one.qrels) for one in map(task_of, ("NanoToy/a", "NanoToy/b"))]
    write_nano_set(tmp_path / "set", bare)
    words = ["pages", str(tmp_path / "set"), "-o", str(tmp_path / "out"), "--results", str(tmp_path / "results")]
    assert main([*words, "--dense", "bm25"]) == 2
    assert capsys.readouterr().err.count("--dense must be") == 1
    assert main([*words, "--dense", "no_such_package:function"]) == 2
    assert capsys.readouterr().err.count("no_such_package") == 2, "in the words of the error, once"


def test_interrupted_pages_of_what_is_done_are_written(
    nano_set: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["pages", str(nano_set), "-o", str(tmp_path / "out"), "--results", str(tmp_path / "results")]
    with monkeypatch.context() as patch:
        patch.setattr("steelyard.engine.pages.audit_of", Impatient())
        assert main(words) == 130
    assert "the same command continues from there" in capsys.readouterr().err
    assert {path.name for path in (tmp_path / "out" / "NanoToy").glob("*.html")} == {"index.html", "first.html"}
    assert make(tmp_path, str(nano_set), capsys)["up_to_date"] == ["NanoToy/first"]


class Impatient:
    """Somebody who stops the command when the second task has begun."""

    def __init__(self) -> None:
        self._calls = 0

    def __call__(self, name: str) -> None:
        self._calls += 1
        if self._calls == 2:
            raise KeyboardInterrupt


def test_progress_is_shown_after_two_seconds() -> None:
    now = 0.0
    stream = io.StringIO()
    progress = Progress(stream, terminal=True, clock=lambda: now)
    progress.show(0.0, "1/2  a: reading")
    now = 1.9
    progress.show(0.25, "1/2  a: lists")
    assert stream.getvalue() == ""
    now = 2.5
    progress.show(0.5, "2/2  b: reading")
    assert stream.getvalue() == "\r\x1b[K[############............] 2/2  b: reading"
    progress.close()
    assert stream.getvalue().endswith("\r\x1b[K")
    silent = io.StringIO()
    Progress(silent, terminal=True, silent=True, clock=iter([0.0, 99.0]).__next__).show(0.0, "a: x")
    assert silent.getvalue() == ""

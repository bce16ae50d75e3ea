"""Click logs: from what people clicked to a task, by hand-made figures, in every format, with errors that teach."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from build_parts import big_set, read_lines, write_lines

from steelyard.build.sample.recipe import Recipe
from steelyard.build.sample.sampler import sample_set
from steelyard.cli import main
from steelyard.datasets import check, load_task
from steelyard.datasets.formats.clicks.grades import Grading, grading_of
from steelyard.errors import DataError, SteelyardError, UsageError
from steelyard.types import Task

TEXTS = {"leave": "How leave is asked for.", "vpn": "How to get a VPN token.", "menu": "What the canteen cooks."}


def row(query: str, document: str, clicked: Any, position: int = 1, session: str = "", **more: Any) -> dict[str, Any]:
    told = {"query": query, "doc_id": document, "text": TEXTS.get(document, ""), "clicked": clicked}
    return {**told, "position": position, "session_id": session or f"s-{query}-{document}-{position}-{clicked}", **more}


def log(path: Path, rows: list[dict[str, Any]]) -> str:
    write_lines(path, rows)
    return str(path)


def grades(task: Task) -> dict[tuple[str, str], int]:
    """Grade by query text and document id."""
    return {
        (task.queries.texts[q], task.corpus.ids[r]): int(g)
        for q in range(len(task.queries))
        for r, g in zip(task.qrels.rows_of(q), task.qrels.grades_of(q), strict=True)
    }


BASIC = [
    row("vpn token", "leave", 0, 1, "a"),
    row("vpn token", "vpn", 1, 2, "a"),
    row("VPN  token", "vpn", 1, 2, "b"),
    row("vpn token", "menu", 1, 3, "b"),
    row("holiday", "leave", 1, 1, "c"),
    row("lunch", "leave", 0, 1, "d"),
]


def test_clicked_documents_are_relevant(tmp_path: Path) -> None:
    task = load_task(log(tmp_path / "search.jsonl", BASIC))
    assert task.name == "local/search" and set(task.corpus.ids) == set(TEXTS)
    assert task.corpus.texts[task.corpus.row_of["vpn"]] == TEXTS["vpn"]
    assert grades(task) == {
        ("vpn token", "leave"): 0,
        ("vpn token", "vpn"): 1,
        ("vpn token", "menu"): 1,
        ("holiday", "leave"): 1,
    }, "spellings of one query are one, and a query that nobody clicked for is none"
    assert task.info.description == ("Graded by 6 rows of a click log, clicks: grade 1 from 1; shown at least 1 times.")
    (checked,) = check(str(tmp_path / "search.jsonl"))
    (note,) = [p.found for p in checked.report.problems if p.kind == "click-log"]
    assert note.startswith("1 queries")


def test_ids_do_not_depend_on_the_rest_of_the_log(tmp_path: Path) -> None:
    bare = [{name: value for name, value in line.items() if name != "doc_id"} for line in BASIC]
    whole = load_task(log(tmp_path / "a.jsonl", bare))
    part = load_task(log(tmp_path / "b.jsonl", bare[::-1][:2]))
    assert set(part.queries.ids) < set(whole.queries.ids) and set(part.corpus.ids) < set(whole.corpus.ids)
    again = load_task(log(tmp_path / "c.jsonl", bare[::-1]))
    assert again.content_hash == whole.content_hash, "the order of the rows says nothing"


def test_the_number_of_an_event_is_no_document(tmp_path: Path) -> None:
    numbered = [{"id": number, **line} for number, line in enumerate(BASIC)]
    bare = [{name: value for name, value in line.items() if name != "doc_id"} for line in numbered]
    assert set(load_task(log(tmp_path / "a.jsonl", numbered)).corpus.ids) == set(TEXTS)
    assert len(load_task(log(tmp_path / "b.jsonl", bare)).corpus) == len(TEXTS)


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet", "jsonl.zst", "words.csv"])
def test_formats_give_the_same_task(tmp_path: Path, form: str) -> None:
    expected = load_task(log(tmp_path / "log.jsonl", BASIC))
    path = tmp_path / f"other.{form}"
    rows = [{**line, "clicked": bool(line["clicked"])} for line in BASIC]
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif form == "jsonl.zst":
        with pa.output_stream(str(path), compression="zstd") as stream:
            stream.write("".join(json.dumps(line) + "\n" for line in rows).encode())
    else:
        names = {"query": "Search_Query", "doc_id": "url", "clicked": "is_clicked"} if form == "words.csv" else {}
        with path.open("w", newline="") as stream:
            mark = "\t" if form == "tsv" else ","
            writer = csv.DictWriter(stream, [names.get(n, n) for n in rows[0]], delimiter=mark)
            writer.writeheader()
            writer.writerows({names.get(n, n): v for n, v in line.items()} for line in rows)
    assert load_task(f"clicks:{path}").content_hash == expected.content_hash


def test_a_share_of_impressions_with_two_grades(tmp_path: Path) -> None:
    shown = [("leave", 100, 5), ("vpn", 30, 3), ("menu", 10, 5), ("rare", 2, 2)]
    rows = [
        {"query": "vpn", "doc_id": d, "impressions": n, "clicks": c, "text": TEXTS.get(d, "rare")} for d, n, c in shown
    ]
    path = log(tmp_path / "log.jsonl", rows)
    task = load_task(f"clicks:{path}?signal=ctr&at=0.1,0.5&min_impressions=5")
    assert grades(task) == {("vpn", "leave"): 0, ("vpn", "vpn"): 1, ("vpn", "menu"): 2}
    assert "rare" in task.corpus.row_of, "a document that is not judged is still there"
    plain = load_task(f"clicks:{path}?at=4")
    assert grades(plain) == {("vpn", "leave"): 1, ("vpn", "vpn"): 0, ("vpn", "menu"): 1, ("vpn", "rare"): 0}


def test_clicks_far_down_weigh_more(tmp_path: Path) -> None:
    rows = [row("vpn", "leave", 1, 1, f"a{n}") for n in range(2)] + [
        row("vpn", "leave", 0, 1, f"b{n}") for n in range(8)
    ]
    rows += [row("vpn", "vpn", 1, 8, "c")] + [row("vpn", "vpn", 0, 8, f"d{n}") for n in range(9)]
    rows += [row("vpn", "menu", 1, 50, "e")] + [row("vpn", "menu", 0, 50, f"f{n}") for n in range(9)]
    path = log(tmp_path / "log.jsonl", rows)
    biased = grades(load_task(f"clicks:{path}?signal=ctr&at=0.2"))
    assert biased == {("vpn", "leave"): 1, ("vpn", "vpn"): 0, ("vpn", "menu"): 0}
    # 2 x 1 of 10, 1 x 8 of 10, 1 x min(50, 10) of 10
    fair = grades(load_task(f"clicks:{path}?signal=ctr&at=0.2,0.5,0.9&positions=ips"))
    assert fair == {("vpn", "leave"): 1, ("vpn", "vpn"): 2, ("vpn", "menu"): 3}
    flat = grades(load_task(f"clicks:{path}?signal=ctr&at=0.2,0.5,0.9&positions=ips&eta=0.5&clip=100"))
    assert flat == {("vpn", "leave"): 1, ("vpn", "vpn"): 1, ("vpn", "menu"): 2}, "sqrt(8) and sqrt(50) of 10"


def test_a_session_counts_once(tmp_path: Path) -> None:
    rows = [row("vpn", "vpn", 1, 2, "same") for _ in range(5)] + [row("vpn", "leave", c, 1, f"s{c}") for c in (0, 1)]
    path = log(tmp_path / "log.jsonl", rows)
    with pytest.raises(DataError, match=r"1.*1"):
        load_task(f"clicks:{path}?at=2")
    alone = [{name: value for name, value in line.items() if name != "session_id"} for line in rows]
    assert grades(load_task(f"clicks:{log(tmp_path / 'b.jsonl', alone)}?at=2"))[("vpn", "vpn")] == 1


@pytest.mark.parametrize("unit", [1, 1000, 1_000_000, "iso"])
def test_times_in_any_unit(tmp_path: Path, unit: int | str) -> None:
    moments = [1772323200, 1772409600, 1772496000]  # 1, 2 and 3 March 2026, midnight UTC
    said = ["2026-03-01", "2026-03-02T00:00:00Z", "2026-03-03 01:00:00+01:00"]
    times = said if unit == "iso" else [moment * int(unit) for moment in moments]
    rows = [row("vpn", d, 1, timestamp=t) for d, t in zip(TEXTS, times, strict=True)]
    path = log(tmp_path / "log.jsonl", rows)
    task = load_task(f"clicks:{path}?since=2026-03-02&until=2026-03-03")
    assert grades(task) == {("vpn", "vpn"): 1}
    assert set(task.corpus.ids) == set(TEXTS), "documents of other days are still documents"


def test_the_last_text_of_a_document_counts(tmp_path: Path) -> None:
    old = row("vpn", "vpn", 1, timestamp="2026-03-01") | {"text": "old"}
    new = row("vpn", "vpn", 1, timestamp="2026-03-05") | {"text": "new"}
    for name, rows in (("a", [old, new]), ("b", [new, old])):
        (checked,) = check(log(tmp_path / f"{name}.jsonl", rows))
        assert checked.task is not None and checked.task.corpus.texts == ("new",)
        assert any(
            problem.kind == "click-log" and "1 documents" in problem.found for problem in checked.report.problems
        )


def test_documents_from_a_corpus(tmp_path: Path) -> None:
    bare = [{n: v for n, v in line.items() if n != "text"} for line in [*BASIC, row("vpn token", "gone", 1)]]
    path = log(tmp_path / "log.jsonl", bare)
    with pytest.raises(DataError, match=r"clicks:log\.jsonl.*corpus\.jsonl"):
        load_task(path)
    lines = [{"_id": id_, "text": text} for id_, text in [*TEXTS.items(), ("unseen", "Never shown.")]]
    write_lines(tmp_path / "elsewhere.jsonl", lines)
    given = load_task(f"{path},{tmp_path / 'elsewhere.jsonl'}")
    write_lines(tmp_path / "corpus.jsonl", lines)
    assert load_task(path).content_hash == given.content_hash
    assert "unseen" in given.corpus.row_of and ("vpn token", "gone") not in grades(given)
    (checked,) = check(path)
    assert any("1 of 6 pairs" in p.found for p in checked.report.problems)


@pytest.mark.parametrize(
    ("rows", "options", "error"),
    [
        ([{"q": "a", "clicked": 1}], "", ""),
        ([{"doc_id": "a", "text": "t", "clicked": 1}], "", ""),
        ([row("a", "vpn", "often")], "", r"log\.jsonl.*1.*'often'"),
        ([row("a", "vpn", -1)], "", r"-1.*0"),
        ([row("a", "vpn", 3, impressions=2)], "", r"3.*2"),
        ([row("a", "vpn", 1, 0)], "?positions=ips", r"0.*1"),
        ([row("a", "vpn", 1)], "?signal=ctr", ""),
        ([{"query": "a", "text": "t", "clicked": 1}], "?positions=ips", ""),
        ([row("a", "vpn", 1)], "?since=2026-01-01", "since=2026-01-01"),
        ([row("a", "vpn", 1, time="2026-01-01")], "?since=soon", "since.*soon"),
        ([row("a", "vpn", 1, time="today")], "", "'today'"),
        ([row("a", "vpn", 1)], "?at=0.5,0.1", "0"),
        ([row("a", "vpn", 1)], "?signal=dwell", ""),
        ([row("a", "vpn", 1)], "?min_impresions=3", "'min_impressions'"),
        ([row("a", "vpn", 0)], "", "1"),
    ],
)
def test_errors_teach(tmp_path: Path, rows: list[dict[str, Any]], options: str, error: str) -> None:
    path = log(tmp_path / "log.jsonl", rows)
    with pytest.raises(SteelyardError, match=error or None) as raised:
        load_task(f"clicks:{path}{options}")
    assert raised.value.exit_code == 2


def test_other_files_are_no_click_logs(tmp_path: Path) -> None:
    path = log(tmp_path / "corpus.jsonl", [{"_id": "a", "text": "b"}])
    with pytest.raises(DataError):
        load_task(path)
    with pytest.raises(DataError):
        load_task("clicks:nowhere.csv")
    with pytest.raises(UsageError):
        load_task(f"clicks:{path},{path},{path}")


def test_thresholds_are_exact() -> None:
    shares = np.array([1, 3, 30]) / np.array([10, 30, 300])
    assert Grading("ctr", (0.1,)).grades(shares).tolist() == [1, 1, 1]
    assert grading_of("clicks:x", {"signal": "ctr"}).at == (0.1,) and grading_of("clicks:x", {}).at == (1.0,)


def clicks_of(source: Path) -> Path:
    """A log that shows each query its positives and a judged negative, and clicks on the positives."""
    texts = {line["_id"]: line["text"] for line in read_lines(source / "queries.jsonl")}
    lines = [line.split("\t") for line in (source / "qrels.tsv").read_text().splitlines()[1:]]
    rows = [{"query": texts[q], "doc_id": d, "clicks": 7 * int(g), "impressions": 20} for q, d, g in lines]
    write_lines(source / "log.jsonl", rows)
    return source / "log.jsonl"


def test_a_cut_from_a_click_log_is_the_cut_from_its_judgements(tmp_path: Path) -> None:
    source = big_set(tmp_path / "source", documents=800, queries=60)
    log_path = clicks_of(source)
    recipe = Recipe(queries=20, documents=200, mine=("bm25",))
    made = sample_set(f"clicks:{log_path}?signal=ctr&at=0.35,0.7", tmp_path / "clicks", recipe)
    facts = made.facts["log"]
    assert facts["queries"]["kept"] == 20 and facts["documents"]["kept"] == 200
    assert facts["documents"]["roles"]["judged negative"] == 40 and facts["documents"]["roles"]["hard negative"] > 0
    full = grades(load_task(str(source)))
    task = load_task(str(tmp_path / "clicks"))
    kept = grades(task)
    assert len(kept) == 40 and all(full[pair] == grade for pair, grade in kept.items())
    assert "click log" in task.info.description and "grade 2 from 0.7" in task.info.description
    texts = {line["_id"]: line["text"] for line in read_lines(source / "corpus.jsonl")}
    assert all(body == texts[id_] for id_, body in zip(task.corpus.ids, task.corpus.bodies, strict=True))


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    path = log(tmp_path / "search.jsonl", BASIC)
    out = ["-o", str(tmp_path / "results"), "--no-report"]
    assert main(["run", "bm25", "-t", path, *out]) == 0
    assert "local/search" in capsys.readouterr().out
    assert main(["run", "bm25", "-t", f"clicks:{path}?at=2", *out]) == 0
    assert "local/search" in capsys.readouterr().out
    assert main(["show", path]) == 0
    assert main(["run", "bm25", "-t", f"clicks:{path}?at=9", *out]) == 2
    assert "lower the threshold" in capsys.readouterr().err
    assert main(["build", path, "-o", str(tmp_path / "cut"), "--docs", "3"]) == 0

"""Nano-sets cut from a full dataset: what goes in, what stays out, and that the files say so."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from build_parts import big_set, read_lines, sentence, write_lines

from steelyard.build.sample import sampler as cut_module
from steelyard.build.sample.recipe import Recipe
from steelyard.build.sample.sampler import NanoSet, sample_set
from steelyard.build.sample.scan import scan
from steelyard.build.source import streams
from steelyard.build.source.source import open_sources
from steelyard.cli import main
from steelyard.config import Settings
from steelyard.datasets import DataWarning, check, load_task
from steelyard.errors import DataError, UsageError

SMALL = Recipe(queries=30, documents=400, seed=3)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return big_set(tmp_path_factory.mktemp("full") / "source")


@pytest.fixture(scope="module")
def small(full: Path, tmp_path_factory: pytest.TempPathFactory) -> NanoSet:
    return sample_set(str(full), tmp_path_factory.mktemp("small") / "NanoMine", SMALL)


def ids(folder: Path, table: str, column: str = "_id") -> list[str]:
    (path,) = (folder / table).glob("*.parquet")
    values: list[str] = pq.read_table(str(path))[column].to_pylist()
    return values


def digests(folder: Path) -> dict[str, str]:
    return {
        p.relative_to(folder).as_posix(): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in folder.rglob("*")
        if p.is_file()
    }


def test_a_cut_has_its_size_every_positive_and_loads(small: NanoSet) -> None:
    task = load_task(str(small.folder))
    assert task.name == "NanoMine/source"
    assert len(task.queries) == 30 and len(task.corpus) == 400
    assert task.qrels.positives.tolist() == [2] * 30 and sorted(set(task.qrels.grades.tolist())) == [1, 2]
    judged_negatives = {f"d{int(query[1:]) + 240}" for query in task.queries.ids}
    assert judged_negatives <= set(task.corpus.ids)
    assert task.corpus.titles is not None and any(task.corpus.titles)
    assert not check(small.folder)[0].report.problems


def test_queries_keep_their_further_columns(small: NanoSet) -> None:
    table = pq.read_table(str(small.folder / "queries" / "source.parquet"))
    assert table.column_names == ["_id", "text", "language", "turn"]
    assert all(row["_id"] == f"q{row['turn']}" for row in table.to_pylist())


def test_the_stored_order_says_nothing(small: NanoSet) -> None:
    stored, relevant = ids(small.folder, "corpus"), set(ids(small.folder, "qrels", "corpus-id"))
    places = [place for place, id_ in enumerate(stored) if id_ in relevant]
    assert 150 < np.mean(places) < 250, "positives are spread, not in front"
    numbers = [int(id_[1:]) for id_ in stored]
    assert abs(np.corrcoef(numbers, range(len(numbers)))[0, 1]) < 0.2


def test_the_same_recipe_gives_the_same_bytes_and_another_seed_others(
    small: NanoSet, full: Path, tmp_path: Path
) -> None:
    again = sample_set(str(full), tmp_path / "NanoMine", SMALL)
    assert digests(again.folder) == digests(small.folder)
    other = sample_set(str(full), tmp_path / "Other", Recipe(queries=30, documents=400, seed=4))
    assert set(ids(other.folder, "queries")) != set(ids(small.folder, "queries"))
    assert set(ids(other.folder, "corpus")) != set(ids(small.folder, "corpus"))


def test_the_draw_does_not_depend_on_the_order_of_the_source(full: Path, small: NanoSet, tmp_path: Path) -> None:
    for name in ("corpus.jsonl", "queries.jsonl"):
        write_lines(tmp_path / name, read_lines(full / name)[::-1])
    (tmp_path / "qrels.tsv").write_bytes((full / "qrels.tsv").read_bytes())
    turned = sample_set(str(tmp_path), tmp_path / "out", SMALL)
    assert sorted(ids(turned.folder, "corpus")) == sorted(ids(small.folder, "corpus"))
    assert ids(turned.folder, "queries") == ids(small.folder, "queries")


def test_strata_get_their_shares(full: Path, tmp_path: Path) -> None:
    def languages(shares: Any) -> dict[str, int]:
        recipe = Recipe(queries=30, documents=400, stratify="language", shares=shares)
        facts = sample_set(str(full), tmp_path / shares, recipe).facts["source"]
        return dict(facts["queries"]["strata"])

    assert languages("equal") == {"en": 10, "de": 10, "fr": 10}
    assert languages("proportional") == {"en": 20, "de": 5, "fr": 5}
    with pytest.raises(UsageError, match="'topic'") as error:
        sample_set(str(full), tmp_path / "none", Recipe(stratify="topic"))
    assert "language, turn" in str(error.value.hint)


def test_languages_are_told_from_the_texts_where_no_column_says(tmp_path: Path) -> None:
    asked = [
        ("Where does the river rise?", "Where is the bridge of the town?"),
        ("Wo entspringt der Fluss?", "Wo ist die Brücke der Stadt?"),
    ]
    queries = [{"_id": f"q{i}{j}", "text": text} for i, texts in enumerate(asked) for j, text in enumerate(texts)]
    write_lines(tmp_path / "queries.jsonl", [*queries, {"_id": "q9", "text": "What is the name of the street?"}])
    write_lines(tmp_path / "corpus.jsonl", [{"_id": "d", "text": "one"}, {"_id": "e", "text": "another"}])
    rows = [f"{query['_id']}\td\t1" for query in queries] + ["q9\td\t1"]
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "\n".join(rows) + "\n")
    made = sample_set(str(tmp_path), tmp_path / "out", Recipe(queries=4, documents=2, stratify="language"))
    (facts,) = made.facts.values()
    assert facts["queries"]["strata"] == {"de": 2, "en": 2}


def test_a_cap_on_positives_takes_the_others_out_of_the_corpus(full: Path, tmp_path: Path) -> None:
    recipe = Recipe(queries=30, documents=2890, max_positives=1, judged_negatives=False)
    made = sample_set(str(full), tmp_path / "out", recipe)
    task = load_task(str(made.folder))
    assert task.qrels.positives.tolist() == [1] * 30 and set(task.qrels.grades.tolist()) == {2}
    omitted = {f"d{int(query[1:]) + 120}" for query in task.queries.ids}
    assert len(task.corpus) == 2890 and not omitted & set(task.corpus.ids)
    assert made.facts["source"]["notes"]["positives_omitted"] == 30


def test_a_positive_that_another_query_keeps_stays_judged_for_both(tmp_path: Path) -> None:
    write_lines(tmp_path / "corpus.jsonl", [{"_id": x, "text": f"the text of number {x * 9}"} for x in "abc"])
    write_lines(tmp_path / "queries.jsonl", [{"_id": "q1", "text": "first"}, {"_id": "q2", "text": "second"}])
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\ta\t3\nq1\tb\t1\nq1\tc\t1\nq2\tb\t2\n")
    made = sample_set(str(tmp_path), tmp_path / "out", Recipe(documents=3, max_positives=1, near=0))
    task = load_task(str(made.folder))
    assert set(task.corpus.ids) == {"a", "b"}
    assert dict(zip(task.queries.ids, task.qrels.positives.tolist(), strict=True)) == {"q1": 2, "q2": 1}


def test_copies_are_merged_dropped_or_left_out(tmp_path: Path) -> None:
    long = "a long passage about the river and the bridge that crosses it near the old market"
    rows = [
        {"_id": "p1", "text": long},
        {"_id": "p2", "text": f" {long}  "},
        {"_id": "n1", "text": long + "!"},
        {"_id": "x1", "text": long.upper() + "."},
        {"_id": "x2", "text": long},
        {"_id": "x3", "text": ""},
        {"_id": "y", "text": "something else entirely, with no word in common"},
    ]
    write_lines(tmp_path / "corpus.jsonl", rows)
    asked = [
        ("q1", "what crosses the river"),
        ("q2", "where is the market"),
        ("q3", "What crosses  the river"),
        ("q4", "what crosses the river"),
    ]
    write_lines(tmp_path / "queries.jsonl", [{"_id": id_, "text": text} for id_, text in asked])
    (tmp_path / "qrels.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\tp1\t1\nq2\tp2\t2\nq2\tn1\t0\nq3\tp1\t1\nq4\tp1\t1\n"
    )
    made = sample_set(str(tmp_path), tmp_path / "out", Recipe(near=0.8))
    task = load_task(str(made.folder))
    (facts,) = made.facts.values()
    assert len(task.queries) == 2 and facts["queries"]["left_out"] in (
        {"copies": 1, "near_copies": 1},
        {"near_copies": 2},
    )
    assert len({"p1", "p2"} & set(task.corpus.ids)) == 1, "one of two equal positives stays, judged for both queries"
    assert set(task.corpus.ids) - {"p1", "p2"} == {"n1", "y"}
    assert task.qrels.positives.tolist() == [1, 1]
    assert facts["documents"]["copies"] == {
        "merged_copies": 1, "near_copies_kept_since_judged": 1, "copies": 1, "near_copies": 1, "empty": 1,
    }  # fmt: skip
    loose = load_task(str(sample_set(str(tmp_path), tmp_path / "loose", Recipe(near=0)).folder))
    assert "x1" in loose.corpus.ids and len(loose.queries) == 3


def test_the_published_recipe_takes_the_first_that_fit(full: Path, tmp_path: Path) -> None:
    made = sample_set(str(full), tmp_path / "out", Recipe.hakari(queries=10, documents=100))
    task = load_task(str(made.folder))
    assert task.queries.ids == tuple(f"q{q}" for q in range(10))
    positives = {f"d{q}" for q in range(10)} | {f"d{q + 120}" for q in range(10)}
    negatives = {f"d{q + 240}" for q in range(10)} | {f"d{q + 360}" for q in range(10)}
    rest = [f"d{i}" for i in range(3000) if f"d{i}" not in positives | negatives][:60]
    assert set(task.corpus.ids) == positives | negatives | set(rest)
    assert set(task.qrels.grades.tolist()) == {1}, "grades are gone"


def test_mined_negatives_are_hard_and_guarded(full: Path, tmp_path: Path) -> None:
    rows = read_lines(full / "corpus.jsonl")
    by_id = {row["_id"]: row["text"] for row in rows}
    # For each query a text that shares its words (a hard negative), and a rewording of its positive (a false one).
    hard = [
        {"_id": f"h{q}", "text": " ".join(by_id[f"d{q}"].split()[3:9]) + " " + sentence(np_random(q), 16)}
        for q in range(120)
    ]
    false = [{"_id": f"f{q}", "text": by_id[f"d{q}"] + " " + sentence(np_random(q + 999), 4)} for q in range(120)]
    source = big_set(tmp_path / "source", extra=[*hard, *false])
    recipe = Recipe(queries=20, documents=200, mine=("bm25",), hard_negatives=2, guard_similarity=0.6)
    made = sample_set(str(source), tmp_path / "out", recipe)
    task = load_task(str(made.folder))
    numbers = [query[1:] for query in task.queries.ids]
    assert {f"h{n}" for n in numbers} <= set(task.corpus.ids)
    assert not {f"f{n}" for n in numbers} & set(task.corpus.ids)
    facts = made.facts["source"]
    assert facts["notes"]["guarded_by_similarity"] == 20
    assert facts["documents"]["roles"]["hard negative"] == 40
    unguarded = sample_set(
        str(source),
        tmp_path / "un",
        Recipe(queries=20, documents=200, mine=("bm25",), hard_negatives=2, guard_similarity=0, near=0),
    )
    assert {f"f{n}" for n in numbers} <= set(load_task(str(unguarded.folder)).corpus.ids)


def test_a_margin_leaves_out_what_scores_like_a_positive(full: Path, tmp_path: Path) -> None:
    recipe = Recipe(queries=20, documents=200, mine=("bm25",), hard_negatives=3, guard_margin=0.01)
    facts = sample_set(str(full), tmp_path / "out", recipe).facts["source"]
    assert facts["notes"]["guarded_by_score"] > 20 and "hard negative" not in facts["documents"]["roles"]


def np_random(seed: int) -> Any:
    import random

    return random.Random(seed)


def test_mining_in_portions_finds_what_mining_at_once_finds(
    full: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from steelyard.build.sample import hard_negatives

    recipe = Recipe(queries=20, documents=200, mine=("bm25",), hard_negatives=3)
    monkeypatch.setattr(streams, "BLOCK", 20_000)
    whole = set(ids(sample_set(str(full), tmp_path / "whole", recipe).folder, "corpus"))
    monkeypatch.setattr(hard_negatives, "PORTION", 400)
    parts = set(ids(sample_set(str(full), tmp_path / "parts", recipe).folder, "corpus"))
    assert len(whole & parts) > 170, "term weights differ a little from portion to portion"


def test_an_interrupted_cut_goes_on(full: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from steelyard.build.sample import hard_negatives

    monkeypatch.setattr(hard_negatives, "PORTION", 400)
    monkeypatch.setattr(streams, "BLOCK", 20_000)
    recipe = Recipe(queries=20, documents=200, mine=("bm25",), hard_negatives=3)
    real, calls, stop_at = hard_negatives._search, list[int](), 0

    def failing(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == stop_at:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(hard_negatives, "_search", failing)
    undisturbed = sample_set(str(full), tmp_path / "calm" / "out", recipe)
    portions = len(calls)
    assert portions > 5
    stop_at = portions + 4
    with pytest.raises(KeyboardInterrupt):
        sample_set(str(full), tmp_path / "out", recipe)
    assert (tmp_path / "out" / ".cutting").is_dir() and not (tmp_path / "out" / "manifest.json").exists()
    monkeypatch.setattr(cut_module, "scan", None)  # the ids are not read again
    made = sample_set(str(full), tmp_path / "out", recipe)
    assert len(calls) - portions == 3 + 1 + (portions - 3), "the three portions that were done are not searched again"
    assert digests(made.folder) == digests(undisturbed.folder)
    assert not (tmp_path / "out" / ".cutting").exists()


def test_a_finished_cut_is_not_done_again_and_another_is_refused(
    full: Path, small: NanoSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = sample_set(str(full), tmp_path / "NanoMine", SMALL)
    before = digests(made.folder)
    with pytest.raises(UsageError):
        sample_set(str(full), made.folder, Recipe(queries=10, documents=100))
    monkeypatch.setattr(cut_module, "_sample_task", None)
    sample_set(str(full), made.folder, SMALL)
    assert digests(made.folder) == before
    monkeypatch.undo()
    smaller = sample_set(str(full), made.folder, Recipe(queries=10, documents=100), overwrite=True)
    assert len(load_task(str(smaller.folder)).queries) == 10
    assert "at most 10 queries" in (made.folder / "README.md").read_text()


def test_a_copy_of_the_source_is_the_same_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was known by the times of its files, which a copy, a checkout and an archive have of their own."""
    source = big_set(tmp_path / "here" / "source")
    made = sample_set(str(source), tmp_path / "NanoMine", SMALL)
    before = digests(made.folder)
    shutil.copytree(source, tmp_path / "there" / "source", copy_function=shutil.copyfile)
    os.utime(tmp_path / "there" / "source" / "corpus.jsonl", (1, 1))
    monkeypatch.setattr(cut_module, "_sample_task", None)
    sample_set(str(tmp_path / "there" / "source"), made.folder, SMALL)
    assert digests(made.folder) == before
    corpus = tmp_path / "there" / "source" / "corpus.jsonl"
    changed = corpus.read_bytes().replace(b"a", b"e", 1)
    corpus.write_bytes(changed)
    os.utime(corpus, (1, 1))
    with pytest.raises(UsageError):
        sample_set(str(tmp_path / "there" / "source"), made.folder, SMALL)


def test_build_says_which_of_two_columns_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = big_set(tmp_path / "source")
    rows = read_lines(source / "corpus.jsonl")
    write_lines(source / "corpus.jsonl", [{**row, "contents": "other"} for row in rows])
    (source / "qrels.tsv").write_text((source / "qrels.tsv").read_text().replace("query-id", "qid\tquery-id", 1))
    lines = (source / "qrels.tsv").read_text().splitlines()
    (source / "qrels.tsv").write_text("\n".join([lines[0], *(f"z\t{line}" for line in lines[1:])]) + "\n")
    assert main(["build", str(source), "-o", str(tmp_path / "out"), "--queries", "9", "--docs", "99"]) == 0
    said = capsys.readouterr().err
    assert said.count("two columns could be the text: 'text' is read, 'contents' is not") == 1
    assert said.count("two columns could be the query: 'query-id' is read, 'qid' is not") == 1
    assert "other" not in load_task(tmp_path / "out").corpus.bodies


def other_format(full: Path, folder: Path, name: str) -> Path:
    rows = read_lines(full / "corpus.jsonl")
    table = pa.table(
        {"docid": [r["_id"] for r in rows], "title": [r["title"] for r in rows], "contents": [r["text"] for r in rows]}
    )
    folder.mkdir()
    if name == "corpus.parquet":
        pq.write_table(table, str(folder / name), row_group_size=500)
    elif name == "corpus.tsv":
        lines = ["docid\ttitle\tcontents", *(f"{r['_id']}\t{r['title']}\t{r['text']}" for r in rows)]
        (folder / name).write_text("\n".join(lines) + "\n")
    elif name == "collection.tsv":  # as MS MARCO has it: no header
        (folder / name).write_text("\n".join(f"{r['_id']}\t{r['title']}\t{r['text']}" for r in rows) + "\n")
    elif name.startswith("corpus.csv"):
        pa.csv.write_csv(table, pa.CompressedOutputStream(str(folder / name), "gzip"))
    for other in ("queries.jsonl", "qrels.tsv"):
        (folder / other).write_bytes((full / other).read_bytes())
    return folder


@pytest.mark.parametrize("name", ["corpus.parquet", "corpus.tsv", "collection.tsv", "corpus.csv.gz"])
def test_every_format_is_streamed_to_the_same_cut(
    full: Path, small: NanoSet, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "BLOCK", 30_000)
    monkeypatch.setattr(streams, "_at_once", None)  # nothing is read as a whole
    made = sample_set(str(other_format(full, tmp_path / "source", name)), tmp_path / "NanoMine", SMALL)
    for table in ("corpus", "queries", "qrels"):
        mine, theirs = (pq.read_table(str(f / table / "source.parquet")) for f in (made.folder, small.folder))
        assert mine.equals(theirs), table


def test_quoted_line_breaks_do_not_end_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BLOCK", 50)
    rows = [(f"d{i}", f'line one of {i}\nline "two", with a comma') for i in range(40)]
    quoted = "\n".join(f'{id_},"{text.replace(chr(34), chr(34) * 2)}"' for id_, text in rows)
    (tmp_path / "c.csv").write_text(f"id,text\n{quoted}\n")
    found = [
        row
        for batch in streams.stream_documents(tmp_path / "c.csv", "c.csv")
        for row in zip(batch["id"].to_pylist(), batch["text"].to_pylist(), strict=True)
    ]
    assert found == rows


def test_a_bad_line_is_named_with_its_row(full: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BLOCK", 30_000)
    source = big_set(tmp_path / "source")
    lines = (source / "corpus.jsonl").read_text().splitlines()
    lines[1500] = '{"_id": "d1500", "text": '
    (source / "corpus.jsonl").write_text("\n".join(lines))
    with pytest.raises(DataError, match=r"corpus\.jsonl.*1501.*JSON"):
        sample_set(str(source), tmp_path / "out", SMALL)
    lines[1500] = '{"_id": "d7", "text": "again"}'
    (source / "corpus.jsonl").write_text("\n".join(lines))
    with pytest.raises(DataError, match=r"corpus\.jsonl.*1501.*d7"):
        sample_set(str(source), tmp_path / "out", SMALL)


def test_what_cannot_be_cut_says_why(full: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"60.*50"):
        sample_set(str(full), tmp_path / "a", Recipe(queries=30, documents=50))
    for wrong in ({"queries": 0}, {"near": 1.5}, {"max_positives": 0}, {"guard_margin": 0.0}):
        with pytest.raises(UsageError, match=next(iter(wrong)).replace("_", " ")):
            Recipe(**wrong)  # type: ignore[arg-type]


def test_judgements_outside_the_corpus_are_treated_as_by_a_load(full: Path, tmp_path: Path) -> None:
    source = big_set(tmp_path / "source")
    with (source / "qrels.tsv").open("a") as file:
        file.write("q0\tnowhere\t1\n")
    recipe = Recipe(queries=120, documents=600)
    with pytest.warns(DataWarning, match="nowhere"):
        made = sample_set(str(source), tmp_path / "count", recipe)
    assert made.facts["source"]["notes"]["judgements_outside_corpus"] == 1
    assert made.facts["source"]["judgements"]["outside_corpus_written"] == 1
    with pytest.warns(DataWarning, match="nowhere"):
        task = load_task(str(made.folder))
    assert sorted(task.qrels.positives.tolist()) == [2] * 119 + [3] and (task.qrels.rows < 0).sum() == 1
    with pytest.warns(DataWarning, match="nowhere"):
        made = sample_set(str(source), tmp_path / "ignore", recipe, settings=Settings.load(missing_judgements="ignore"))
    assert load_task(str(made.folder)).qrels.positives.tolist() == [2] * 120
    with pytest.raises(DataError) as caught:
        sample_set(str(source), tmp_path / "error", recipe, settings=Settings.load(missing_judgements="error"))
    rows = len((source / "qrels.tsv").read_text().splitlines()) - 1
    assert (caught.value.path, caught.value.row, caught.value.field) == ("qrels.tsv", rows, "unknown-document")
    assert not (tmp_path / "error" / "manifest.json").exists()


def test_the_limit_of_positives_includes_those_outside_the_corpus(tmp_path: Path) -> None:
    source = big_set(tmp_path / "source")
    with (source / "qrels.tsv").open("a") as file:
        file.write("q0\tnowhere\t1\nq0\tneither\t2\n")
    with pytest.warns(DataWarning):
        made = sample_set(str(source), tmp_path / "out", Recipe(queries=120, documents=600, max_positives=3))
    with pytest.warns(DataWarning, match="neither"):
        assert load_task(str(made.folder)).qrels.positives.max() == 3


def test_a_repeated_id_is_reported_with_file_row_and_id(tmp_path: Path) -> None:
    source = big_set(tmp_path / "source")
    lines = (source / "corpus.jsonl").read_text().splitlines()
    (source / "corpus.jsonl").write_text("\n".join([*lines, lines[4]]) + "\n")
    with pytest.raises(DataError) as caught:
        sample_set(str(source), tmp_path / "out", SMALL)
    error = caught.value
    assert (error.path, error.row, error.field) == ("corpus.jsonl", len(lines) + 1, "duplicate-id")
    assert repr(json.loads(lines[4])["_id"]) in str(error.found)
    (checked,) = check(source)
    assert [(p.kind, p.file, p.rows) for p in checked.report.of("error")] == [
        ("duplicate-id", "corpus.jsonl", (len(lines) + 1,))
    ]


def test_zero_grades_are_written_only_when_asked(full: Path, tmp_path: Path) -> None:
    made = sample_set(str(full), tmp_path / "out", Recipe(queries=30, documents=400, seed=3, zero_grades=True))
    task = load_task(str(made.folder))
    assert (task.qrels.grades == 0).sum() == 60 and task.qrels.positives.tolist() == [2] * 30


def test_a_task_in_memory_can_be_cut_too(tmp_path: Path) -> None:
    made = sample_set("NanoAlmanac/en", tmp_path / "out", Recipe(queries=5, documents=20))
    task = load_task(str(made.folder))
    assert len(task.queries) == 5 and len(task.corpus) == 20 and task.info.language == "en"


def test_a_fair_draw_is_fair(full: Path) -> None:
    (open_,) = open_sources(str(full)).values()
    hits = np.zeros(3000)
    for seed in range(60):
        hits[scan(open_(), seed).first(300, without=[])] += 1
    assert hits.sum() == 60 * 300
    assert 4.5 < hits[:1500].mean() < 7.5 and hits.max() < 20, "each document comes about six times in sixty"


def test_card_manifest_and_eval_yaml_tell_the_set(small: NanoSet) -> None:
    card = (small.folder / "README.md").read_text()
    assert (
        'path:\n    - "corpus/source.parquet"' in card and "## How it was sampled" in card and "| seed | `3` |" in card
    )
    manifest = json.loads((small.folder / "manifest.json").read_text())
    assert manifest["tasks"]["source"]["content_hash"] == load_task(str(small.folder)).content_hash
    assert set(manifest["files"]) == {f"{t}/source.parquet" for t in ("corpus", "queries", "qrels")} | {
        "metadata/source.json"
    }
    for name, facts in manifest["files"].items():
        assert hashlib.sha256((small.folder / name).read_bytes()).hexdigest() == facts["sha256"]
    assert '- id: "source"\n  config: queries\n  split: "source"' in (small.folder / "eval.yaml").read_text()
    assert str(small.folder) not in json.dumps(manifest)

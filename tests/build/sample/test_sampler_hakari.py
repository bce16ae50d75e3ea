"""A set of ours as HAKARI-Bench reads sets, restated from what is known of its reader (it is not imported).

It calls `datasets.load_dataset(folder, config, split=split)` once for each of the configs `corpus`, `queries`, `qrels`
and `reranking_hybrid`; splits are tasks. Ids are read as text, rows of empty text are dropped, titles and scores are
not looked at, every row of `qrels` is a positive, and `corpus-id` may be a list.
"""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from build_parts import big_set, read_lines, write_lines

import datasets
from steelyard.build.candidates.adding import build_candidates
from steelyard.build.candidates.lists import HYBRIDS, CandidatePlan
from steelyard.build.sample.recipe import Recipe
from steelyard.build.sample.sampler import sample_set
from steelyard.cli import main
from steelyard.datasets import DataWarning, load_task


class TheirReader:
    """What that reader makes of a folder."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder, self.cache = str(folder), str(cache)

    def rows(self, config: str, split: str) -> list[dict[str, Any]]:
        loaded = datasets.load_dataset(
            self.folder, config, split=split, cache_dir=self.cache, download_mode="force_redownload"
        )
        return [dict(row) for row in loaded]

    def splits(self) -> list[str]:
        names: list[str] = datasets.get_dataset_split_names(self.folder, "queries")
        return names

    def texts(self, config: str, split: str) -> dict[str, str]:
        return {str(row["_id"]): row["text"] for row in self.rows(config, split) if row["text"].strip()}

    def relevant(self, split: str) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for row in self.rows("qrels", split):
            ids = row["corpus-id"]
            found.setdefault(str(row["query-id"]), set()).update(map(str, ids if isinstance(ids, list) else [ids]))
        return found

    def candidates(self, split: str, config: str = "reranking_hybrid") -> dict[str, list[str]]:
        return {str(row["query-id"]): list(map(str, row["corpus-ids"])) for row in self.rows(config, split)}


@pytest.fixture(scope="module", params=["default", "hakari"])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, str]:
    base = tmp_path_factory.mktemp(request.param)
    source = big_set(base / "one-two", documents=700, queries=40)
    # Every other query loses the positive that shares its words, so that some need a safeguard.
    lines = (source / "qrels.tsv").read_text().splitlines()
    kept = [line for line in lines if not (line.endswith("\t2") and int(line.split("\t")[0][1:]) % 2)]
    (source / "qrels.tsv").write_text("\n".join(kept) + "\n")
    folder = base / "NanoMine"
    recipe = (
        Recipe(queries=25, documents=300) if request.param == "default" else Recipe.hakari(queries=25, documents=300)
    )
    sample_set(str(source), folder, recipe)
    build_candidates(str(folder), CandidatePlan(("bm25", "dense"), depth=120, hybrids=HYBRIDS))
    return source, folder, request.param


@pytest.fixture
def theirs(built: tuple[Path, Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TheirReader:
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    datasets.disable_progress_bars()
    return TheirReader(built[1], tmp_path / "cache")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_every_id_text_judgement_and_list_is_read_as_we_read_it(
    built: tuple[Path, Path, str], theirs: TheirReader
) -> None:
    task = load_task(str(built[1]))
    assert theirs.splits() == ["one_two"], "no hyphen in the name of a split"
    documents, queries = theirs.texts("corpus", "one_two"), theirs.texts("queries", "one_two")
    assert documents == dict(zip(task.corpus.ids, task.corpus.bodies, strict=True)) and len(documents) == 300
    assert queries == dict(zip(task.queries.ids, task.queries.texts, strict=True)) and len(queries) == 25
    ours = {
        task.queries.ids[q]: {task.corpus.ids[row] for row in task.qrels.rows_of(q)} for q in range(len(task.queries))
    }
    assert theirs.relevant("one_two") == ours and all(map(len, ours.values()))
    for config in ("reranking_hybrid", "hybrid", "bm25", "use_multilingual_v3"):
        lists = task.candidates[config]
        expected = {id_: [task.corpus.ids[r] for r in lists.rows_of(q)] for q, id_ in enumerate(task.queries.ids)}
        assert theirs.candidates("one_two", config) == expected, "id by id, in their order"


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_the_lists_pass_their_audit(built: tuple[Path, Path, str], theirs: TheirReader) -> None:
    """100 or 101 different ids of the corpus for every query, and a positive among them."""
    documents, relevant = theirs.texts("corpus", "one_two"), theirs.relevant("one_two")
    lists = theirs.candidates("one_two")
    assert lists.keys() == relevant.keys()
    for query, ids in lists.items():
        assert len(ids) in (100, 101) and len(set(ids)) == len(ids) and set(ids) <= documents.keys()
        assert relevant[query] & set(ids)
    assert any(len(ids) == 101 for ids in lists.values()) and any(len(ids) == 100 for ids in lists.values())


def test_titles_are_in_the_texts_of_the_published_recipe_only(built: tuple[Path, Path, str]) -> None:
    source, folder, recipe = built
    rows = {row["_id"]: row for row in read_lines(source / "corpus.jsonl")}
    task = load_task(str(folder))
    assert (task.corpus.titles is None) == (recipe == "hakari")
    for id_, body in zip(task.corpus.ids, task.corpus.bodies, strict=True):
        title, text = rows[id_]["title"], rows[id_]["text"]
        assert body == (f"{title}\n\n{text}" if title and recipe == "hakari" else text)


def test_titles_can_be_merged_with_any_recipe(built: tuple[Path, Path, str], tmp_path: Path) -> None:
    folder = str(tmp_path / "merged")
    assert main(["build", str(built[0]), "-o", folder, "--docs", "300", "--merge-titles", "-q"]) == 0
    task = load_task(folder)
    assert task.corpus.titles is None and any("\n\n" in body for body in task.corpus.bodies)


Wanted = tuple[dict[str, str], dict[str, str], set[tuple[str, str]]]


def untidy(folder: Path, seed: int) -> Path:
    """A source with all that a recipe has a rule for: copies, white space, empty texts, titles, unknown documents."""
    rng = random.Random(seed)
    rows: list[dict[str, Any]] = []
    for number in range(120):
        body = f"body {rng.randrange(120)}"
        title = rng.choice(["", "", f"title {number}", body, " padded "])
        body = rng.choice([body] * 6 + [f"  {body} \n", body.replace(" ", "  "), "   "])
        rows.append({"_id": f"d{rng.randrange(10**6)}-{number}", "title": title, "text": body})
    asked = [
        {"_id": f"q{number}", "text": rng.choice(["{0}", "{0}", " {0} ", "a  {0}", " "]).format(rng.randrange(25))}
        for number in range(30)
    ]
    ids = [*(row["_id"] for row in rows), "unknown"]
    pairs = {(f"q{rng.randrange(30)}", rng.choice(ids)): rng.choice([-1, 0, 0, 1, 2]) for _ in range(130)}
    folder.mkdir()
    write_lines(folder / "corpus.jsonl", rows)
    write_lines(folder / "queries.jsonl", asked)
    lines = ["query-id\tcorpus-id\tscore", *(f"{q}\t{d}\t{grade}" for (q, d), grade in pairs.items())]
    (folder / "qrels.tsv").write_text("\n".join(lines) + "\n")
    return folder


def told(folder: Path, queries: int, documents: int) -> Wanted:
    """The published recipe as it is told in words: in the order of the source, copies out, whatever that costs."""

    def merged(row: dict[str, Any]) -> str:
        parts = [part for part in (row["title"].strip(), row["text"].strip()) if part]
        return "\n\n".join(dict.fromkeys(parts))

    corpus = {row["_id"]: text for row in read_lines(folder / "corpus.jsonl") if (text := merged(row))}
    judged = [line.split("\t") for line in (folder / "qrels.tsv").read_text().splitlines()[1:]]
    relevant = [(q, d) for q, d, grade in judged if int(grade) > 0]
    asked: dict[str, str] = {}
    for row in read_lines(folder / "queries.jsonl"):
        text = row["text"].strip()
        if text and text not in asked.values() and any(q == row["_id"] for q, _ in relevant):
            asked[row["_id"]] = text
    asked = dict(list(asked.items())[:queries])
    relevant = [(q, d) for q, d in relevant if q in asked]
    refused = {q: [d for other, d, grade in judged if other == q and int(grade) <= 0] for q in sorted(asked)}
    turns = [ids[turn] for turn in range(130) for ids in refused.values() if turn < len(ids)]
    kept: dict[str, str] = {}
    for document in [*(d for _, d in relevant), *turns, *corpus]:
        text = corpus.get(document, "")
        if text and text not in kept.values() and len(kept) < documents:
            kept[document] = text
    pairs = {(q, d) for q, d in relevant if d in kept}
    return kept, {q: text for q, text in asked.items() if any(q == other for other, _ in pairs)}, pairs


@pytest.mark.parametrize("seed", range(12))
def test_the_published_recipe_takes_what_it_says(tmp_path: Path, seed: int) -> None:
    source, documents = untidy(tmp_path / "source", seed), (60, 80, 110)[seed % 3]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # some judgements are of documents that do not exist
        sample_set(str(source), tmp_path / "out", Recipe.hakari(queries=12, documents=documents))
    task = load_task(str(tmp_path / "out"))
    corpus, queries, pairs = told(source, 12, documents)
    assert dict(zip(task.corpus.ids, task.corpus.bodies, strict=True)) == corpus
    found = list(zip(task.queries.ids, task.queries.texts, strict=True))
    assert found == list(queries.items()), "in the order of the source"
    ours = {(id_, task.corpus.ids[row]) for q, id_ in enumerate(task.queries.ids) for row in task.qrels.rows_of(q)}
    assert ours == pairs and set(task.qrels.grades.tolist()) == {1}


def test_the_tables_have_the_columns_of_the_published_sets(built: tuple[Path, Path, str]) -> None:
    folder = built[1]
    text, ids = pa.string(), pa.list_(pa.string())
    wanted = {
        "corpus": {"_id": text, "text": text},
        "queries": {"_id": text, "text": text},
        "qrels": {"query-id": text, "corpus-id": text},
        "reranking_hybrid": {"query-id": text, "corpus-ids": ids},
    }
    configs = {config["config_name"]: config for config in front_matter(folder)["configs"]}
    for config, columns in wanted.items():
        schema = pq.read_schema(folder / config / "one-two.parquet")
        assert {name: schema.field(name).type for name in columns} == columns, config
        assert configs[config]["data_files"] == [{"split": "one_two", "path": [f"{config}/one-two.parquet"]}]


def front_matter(folder: Path) -> dict[str, Any]:
    head: dict[str, Any] = yaml.safe_load((folder / "README.md").read_text().split("---\n")[1])
    return head

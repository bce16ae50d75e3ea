"""A set of ours as HAKARI-Bench reads sets, restated from what is known of its reader (it is not imported).

It calls `datasets.load_dataset(folder, config, split=split)` once for each of the configs `corpus`, `queries`, `qrels`
and `reranking_hybrid`; splits are tasks. Ids are read as text, rows of empty text are dropped, titles and scores are
not looked at, every row of `qrels` is a positive, and `corpus-id` may be a list.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import pytest

from build_parts import big_set, read_lines
from steelyard.build.adding import add_candidates
from steelyard.build.candidates import HYBRIDS, CandidatePlan
from steelyard.build.cut import cut
from steelyard.build.recipe import Recipe
from steelyard.cli import main
from steelyard.datasets import load_task


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
    cut(str(source), folder, recipe)
    add_candidates(str(folder), CandidatePlan(("bm25", "dense"), depth=120, hybrids=HYBRIDS))
    return source, folder, request.param


@pytest.fixture
def theirs(built: tuple[Path, Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TheirReader:
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    datasets.disable_progress_bars()
    return TheirReader(built[1], tmp_path / "cache")


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

"""Tasks of mteb with several subsets and languages: every key of every subset, and one file for all of them."""

from __future__ import annotations

import json
from pathlib import Path

import mteb
import mteb_parts
import pytest
from mteb.results import TaskResult
from mteb_repositories import searched, write

from steelyard import evaluate
from steelyard.compat.mteb import as_mteb_model
from steelyard.compat.mteb.mteb_files import write_mteb_files
from steelyard.compat.mteb.predictions import write_all_predictions
from steelyard.datasets import task_names
from steelyard.engine import Results

PAWS, ESCI, IN22 = "PawsXPairClassification", "ESCIReranking", "IN22GenBitextMining"
NOT_SCORES = {"main_score", "hf_subset", "languages", "mteb_version"}
INDIAN = ("eng_Latn", "hin_Deva", "tam_Taml")


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Other data in every subset and split; the pairs of one subset are one row of lists, as older tasks have them."""
    root = tmp_path_factory.mktemp("hub")
    pairs = mteb_parts.pairs()
    configs = {}
    for number, language in enumerate(("de", "ja")):
        configs[language] = {}
        for split, part in (("test", slice(9 * number, 60)), ("validation", slice(60 + 9 * number, None))):
            labels = pairs.gold[part].astype(int).tolist()
            columns = {"sentence1": list(pairs.first[part]), "sentence2": list(pairs.second[part]), "labels": labels}
            as_row = {name: [values] for name, values in columns.items()}
            configs[language][split] = as_row if language == "ja" else columns
    write(root / f"mteb/{PAWS}", configs)
    for name, languages in ((ESCI, ("us", "es", "jp")), ("WikipediaRerankingMultilingual", ("de", "no"))):
        parts = {}
        for number, language in enumerate(languages):
            task = mteb_parts.retrieval(40 + 9 * number, 8 + number, type="reranking")
            parts |= searched(task, "test", lists=True, language=language)
        write(root / f"mteb/{name}", parts)
    bitext = mteb_parts.bitext()
    sides = (bitext.first, bitext.second, [*bitext.second[1:], bitext.second[0]])
    write(root / f"mteb/{IN22}", {"default": {"test": dict(zip(INDIAN, sides, strict=True))}})
    return root


@pytest.fixture
def here(repositories: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import datasets

    monkeypatch.chdir(repositories)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return tmp_path


def both(task: str, subsets: list[str] | None, splits: list[str], folder: Path) -> tuple[Results, TaskResult]:
    """Our results of all subsets and splits, and those of mteb; predictions of both are written below the folder."""
    model = mteb_parts.lookup()
    names = [f"mteb:{task}[{subset}]" for subset in subsets] if subsets else task_names([f"mteb:{task}"])
    names = [name if split == "test" else f"{name}:{split}" for name in names for split in splits]
    ours = evaluate(model, names, results=folder / "results", save_runs="parquet")
    asked = mteb.get_task(task, eval_splits=splits, hf_subsets=subsets)
    options = {"prediction_folder": folder / "theirs", "show_progress_bar": False, "co2_tracker": False}
    (theirs,) = mteb.evaluate(as_mteb_model(model), [asked], cache=None, **options).task_results
    return ours, theirs


@pytest.mark.filterwarnings("ignore:.*is not in the corpus")
@pytest.mark.parametrize(
    ("task", "subsets", "splits", "parts"),
    [
        (PAWS, ["de", "ja"], ["test", "validation"], 4),
        (ESCI, None, ["test"], 3),
        ("WikipediaRerankingMultilingual", ["de", "no"], ["test"], 2),
    ],
)
def test_every_key_of_every_subset(
    task: str, subsets: list[str] | None, splits: list[str], parts: int, here: Path
) -> None:
    ours, theirs = both(task, subsets, splits, here)
    assert all(result.done for result in ours) and len(ours) == parts
    expected = {(split, part["hf_subset"]): part for split in splits for part in theirs.scores[split]}
    assert len(expected) == parts
    found = {(result.facts.split, result.task.partition("[")[2].partition("]")[0]): result for result in ours}
    assert set(found) == set(expected)
    for key, result in found.items():
        scores = {name: value for name, value in expected[key].items() if name not in NOT_SCORES}
        assert set(scores) <= set(result.mteb)
        mteb_parts.assert_same({name: result.mteb[name] for name in scores}, scores, f"{task} {key}", 1e-6)
        assert result.score == pytest.approx(expected[key]["main_score"], abs=1e-5)
        assert list(result.facts.language_tags) == expected[key]["languages"]
    assert len({result.score for result in ours}) == parts, "every part has data of its own"
    (file,) = (path for path in write_mteb_files(ours, here / "files") if path.name == f"{task}.json")
    read = TaskResult.from_disk(file)
    assert {split: {part["hf_subset"] for part in read.scores[split]} for split in read.scores} == {
        split: {part["hf_subset"] for part in theirs.scores[split]} for split in splits
    }
    for languages in (None, [theirs.scores["test"][-1]["languages"][0]]):
        mean = theirs.get_score(languages=languages, splits=splits)
        assert read.get_score(languages=languages, splits=splits) == pytest.approx(mean, abs=1e-5)
    (path,) = write_all_predictions(ours, here / "ours")
    written, theirs_written = (json.loads(part.read_text()) for part in (path, here / "theirs" / path.name))
    assert {name: set(part) for name, part in written.items() if name != "mteb_model_meta"} == {
        name: set(part) for name, part in theirs_written.items() if name != "mteb_model_meta"
    }


@pytest.mark.filterwarnings("ignore:To copy construct from a tensor")
def test_pairs_of_languages_of_one_table_are_predictions_of_one_part(here: Path) -> None:
    subsets = [f"{INDIAN[0]}-{other}" for other in INDIAN[1:]]
    ours, _ = both(IN22, subsets, ["test"], here)
    (path,) = write_all_predictions(ours, here / "ours")
    written, expected = (json.loads(part.read_text()) for part in (path, here / "theirs" / path.name))
    assert set(expected) == set(written) == {"mteb_model_meta", "parallel"}
    assert set(written["parallel"]["test"]) == set(subsets)
    mteb_parts.assert_same(written["parallel"], expected["parallel"], IN22, 2e-5)

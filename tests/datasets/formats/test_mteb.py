"""Tasks of mteb in our engine: read by mteb from repositories of its layout, weighed here, equal to what it says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import mteb
import mteb_parts
import pytest
from hub_server import Repository, serve
from mteb_repositories import searched, write

from steelyard import evaluate
from steelyard.build.source.source import open_sources
from steelyard.cli import main
from steelyard.compat.mteb import as_mteb_model
from steelyard.datasets import DataWarning, load_any, task_facts, task_names
from steelyard.datasets.formats.mteb.tasks import refusal
from steelyard.errors import UnknownName, UsageError
from steelyard.types.samples import Bootstrap, ClusterTask

pytestmark = [
    pytest.mark.filterwarnings("ignore:The task .* is superseded"),
    pytest.mark.filterwarnings("ignore:.*lbfgs failed to converge"),
    pytest.mark.filterwarnings("ignore:unknown class"),
    pytest.mark.filterwarnings("ignore:The used Evaluator is deprecated"),
    pytest.mark.filterwarnings("ignore:To copy construct from a tensor"),
]

RERANKING = "f77f0345c9b6ac0a2447a3a71483d5b27393cb35"
STSB = "e036defee8f190911de6fc825a944b928c8cda53"


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small data under names of C-MTEB: `datasets` takes a folder of that name for the repository."""
    root = tmp_path_factory.mktemp("hub")
    sts, pairs, labels, clusters = mteb_parts.sts(), mteb_parts.pairs(), mteb_parts.labels(), mteb_parts.clusters()
    halves = {"validation": slice(0, 40), "test": slice(40, None)}
    write(
        root / "mteb/STSB",
        {
            "default": {
                split: {"sentence1": sts.first[part], "sentence2": sts.second[part], "score": sts.gold[part].tolist()}
                for split, part in halves.items()
            }
        },
    )
    gold = [[int(value) for value in pairs.gold]]
    row = {"sent1": [list(pairs.first)], "sent2": [list(pairs.second)], "labels": gold}
    write(root / "C-MTEB/OCNLI", {"default": {"validation": row}})
    train = {"text": labels.train_texts * 3, "label": labels.train_labels * 3}
    test = {"text": labels.texts, "label": labels.labels}
    write(root / "C-MTEB/TNews-classification", {"default": {"train": train, "validation": test}})
    rows = {
        "sentences": [list(problem.texts) for problem in clusters.problems],
        "labels": [[f"topic {levels[0]}" for levels in problem.labels] for problem in clusters.problems],
    }
    write(root / "C-MTEB/CLSClusteringS2S", {"default": {"test": rows}})
    write(root / "mteb/CovidRetrieval", searched(mteb_parts.retrieval(), "dev", lists=False))
    write(root / "mteb/CMedQAv1-reranking", searched(mteb_parts.reranking(), "test", lists=True))
    write_other_types(root)
    return root


def write_other_types(root: Path) -> None:
    """Translations, texts with several labels, summaries, changed instructions; subsets by language."""
    bitext, several, summaries = mteb_parts.bitext(), mteb_parts.multilabel(), mteb_parts.summaries()
    write(
        root / "mteb/BornholmBitextMining",
        {"default": {"test": {"sentence1": bitext.first, "sentence2": bitext.second}}},
    )
    languages = {"eng_Latn": bitext.first, "hin_Deva": bitext.second}
    write(root / "mteb/IN22GenBitextMining", {"default": {"test": languages}})
    train = {"text": several.train_texts, "label": [list(labels) for labels in several.train_labels]}
    test = {"text": several.texts, "label": [list(labels) for labels in several.labels]}
    write(root / "mteb/KorHateSpeechMLClassification", {"default": {"train": train, "test": test}})
    rows = {
        "text": [""] * len(summaries),
        "human_summaries": [list(cell) for cell in summaries.human],
        "machine_summaries": [list(cell) for cell in summaries.machine],
        "relevance": [list(cell) for cell in summaries.gold],
    }
    for name in ("mteb/summeval", "lyon-nlp/summarization-summeval-fr-p2p"):
        write(root / name, {"default": {"test": rows}})
    task = mteb_parts.instructed()
    configs = searched(task, "test", lists=True)
    changed = {
        query.removesuffix("-changed"): [task.corpus.ids[row] for row in task.candidates["qrel_diff"].rows_of(number)]
        for number, query in enumerate(task.queries.ids)
    }
    changed = {query: ids for query, ids in changed.items() if ids}
    configs["qrel_diff"] = {"qrel_diff": {"query-id": list(changed), "corpus-ids": list(changed.values())}}
    instructions = [f"instruction {number % 5}" for number in range(len(task.queries))]
    configs["instruction"] = {"instruction": {"query-id": task.queries.ids, "instruction": instructions}}
    write(root / "mteb/News21InstructionRetrieval", configs)
    write(root / "mteb/InstructIR-mteb", searched(mteb_parts.reworded(), "test", lists=False))


@pytest.fixture
def here(repositories: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    import datasets

    monkeypatch.chdir(repositories)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path)
    return repositories


@pytest.mark.parametrize(
    "name",
    [
        *("STSB:test", "STSB:validation", "Ocnli", "TNews", "CLSClusteringS2S", "CLSClusteringS2S.v2"),
        *("CovidRetrieval", "CMedQAv1-reranking", "BornholmBitextMining", "KorHateSpeechMLClassification"),
        *("SummEvalSummarization.v2", "SummEvalFr", "News21InstructionRetrieval", "InstructIR"),
        "IN22GenBitextMining[eng_Latn-hin_Deva]",
    ],
)
def test_the_figures_of_mteb(name: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fewer = {"TNews": {"n_experiments": 3}, "CLSClusteringS2S.v2": {"max_documents_per_cluster": 500, "n_clusters": 3}}
    for trait, value in fewer.get(name, {}).items():  # of both sides
        monkeypatch.setattr(type(mteb.get_task(name)), trait, value)
    model = mteb_parts.lookup()
    (ours,) = evaluate(model, f"mteb:{name}")
    assert ours.done, ours.error
    task, _, split = name.partition(":")
    task, _, subset = task.rstrip("]").partition("[")
    asked = mteb.get_task(task, eval_splits=[split or ours.facts.split], hf_subsets=[subset] if subset else None)
    (other,) = mteb.evaluate(as_mteb_model(model), [asked], cache=None, show_progress_bar=False).task_results
    found = dict(other.scores[ours.facts.split][0])
    mteb_parts.assert_same(dict(ours.mteb), {key: found.get(key) for key in ours.mteb}, name, 1e-6)
    assert ours.score == pytest.approx(found["main_score"], abs=1e-5)
    assert (ours.task, ours.main_metric) == (f"mteb/{name.removesuffix(':test')}", asked.metadata.main_score)


@pytest.mark.filterwarnings("ignore:.*is not in the corpus")
def test_what_is_known_of_it_comes_along(here: Path) -> None:
    task = load_any("mteb:CLSClusteringS2S.v2")
    assert isinstance(task, ClusterTask)
    assert isinstance(task.bootstrap, Bootstrap)
    assert (task.bootstrap.documents, task.bootstrap.size, task.bootstrap.rounds) == (2048, 16384, 10)
    assert task.info.revision == "e458b3f5414b62b7f9f83499ac1f5497ae2e869f"
    assert task.info.language == "zh"
    assert task.info.source.startswith("mteb 2.")
    with pytest.warns(DataWarning, match="elsewhere"):
        lists = load_any("mteb:CMedQAv1-reranking").candidates["top_ranked"]  # type: ignore[union-attr]
    assert set(lists.counts.tolist()) == {30}


@pytest.mark.filterwarnings("ignore:.*is not in the corpus")
def test_the_cutter_reads_it(here: Path) -> None:
    (opener,) = open_sources("mteb:CovidRetrieval").values()
    with pytest.warns(DataWarning, match="elsewhere"):
        source = opener()
    assert len(source.queries) == 40
    assert sum(len(batch["id"]) for batch in source.documents(False)) == 300


def test_names() -> None:
    assert task_names(["mteb:ATEC", "mteb:ATEC:validation"]) == ["mteb:ATEC", "mteb:ATEC:validation"]
    assert task_names(["mteb:STS22.v2[zh]"]) == ["mteb:STS22.v2[zh]"]
    assert len(task_names(["mteb:STS22.v2"])) == 18
    assert task_names(["mteb:STS22.v2"], languages=["zh"]) == ["mteb:STS22.v2[zh]", "mteb:STS22.v2[zh-en]"]
    chinese = task_names(["mteb:MTEB(cmn, v1)"])
    assert {name.split(":")[1] for name in chinese} == {
        task.metadata.name for task in mteb.get_benchmark("MTEB(cmn, v1)")
    }
    assert {"mteb:MultilingualSentiment", "mteb:MultilingualSentiment:validation"} <= set(chinese)
    assert "mteb:CQADupstackRetrieval[CQADupstackGisRetrieval]" in task_names(["mteb:CQADupstackRetrieval"])


def test_facts_without_data() -> None:
    info = task_facts("mteb:STS22.v2[de-en]")
    assert info is not None
    assert (info.type, info.languages, info.main_metric) == ("sts", ("de", "en"), "cosine_spearman")
    code = task_facts("mteb:CosQA")
    assert code is not None
    assert (code.category, code.language) == ("code", "en")


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("mteb:STSBenchmar", "'STSBenchmark'"),
        ("mteb:MTEB(eng, v3)", r"'MTEB\(eng, v2\)'"),
        ("mteb:ATEC:dev", ""),
        ("mteb:STS22.v2[xx]", r"STS22\.v2.*'xx'"),
    ],
)
def test_unknown_names(reference: str, message: str) -> None:
    with pytest.raises(UnknownName, match=message or None):
        task_names([reference])


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Flickr30kT2IRetrieval", "image"),
        ("AESDD", "audio"),
        ("RuSciBenchYearPublRegression", "Regression"),
        ("MindSmallReranking", "max_over_subqueries_map_at_1000"),
        ("SciRepEvalDRSMClassification", ""),
        ("TERRa.V2", ""),
    ],
)
def test_what_would_not_be_the_same_figure_is_refused(name: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason or None):
        load_any(task_names([f"mteb:{name}"])[0])


def test_most_tasks_of_texts_are_taken() -> None:
    tasks = list(mteb.get_benchmark("MTEB(eng, v2)").tasks)
    assert [task.metadata.name for task in tasks if refusal(task)] == ["MindSmallReranking"]


def test_show_tells_of_it_without_its_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "mteb:STSB", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["name"], told["type"], told["language"]) == ("mteb/STSB", "sts", "zh")


FETCH = """
import json, sys
from steelyard.datasets import load_any
from steelyard.errors import HubError
told = {}
for name in sys.argv[1:]:
    try:
        told[name] = repr(load_any(name))
    except HubError as error:
        told[name] = f"HubError {error.message}"
json.dump(told, sys.stdout)
"""


def test_from_a_hub_with_the_real_client(repositories: Path, tmp_path: Path) -> None:
    def served(name: str, revision: str) -> Repository:
        folder = repositories / name
        files = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        return Repository(files, branches=(revision,))

    shelf = {
        "mteb/STSB": served("mteb/STSB", STSB),
        "mteb/CMedQAv1-reranking": served("mteb/CMedQAv1-reranking", RERANKING),
    }
    with serve(shelf) as hub:
        environment = {
            **{key: value for key, value in os.environ.items() if key not in ("HF_HUB_OFFLINE", "HF_TOKEN")},
            "HF_ENDPOINT": hub.url,
            "HF_HOME": str(tmp_path),
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_XET": "1",
        }
        command = [sys.executable, "-W", "ignore", "-c", FETCH, "mteb:STSB", "mteb:CMedQAv1-reranking", "mteb:LCQMC"]
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert told["mteb:STSB"] == "PairTask('mteb/STSB': 50 pairs, sts, zh)"
        assert told["mteb:CMedQAv1-reranking"].startswith("Task('mteb/CMedQAv1-reranking': 40 queries x 300 documents")
        assert told["mteb:LCQMC"].startswith("HubError LCQMC of mteb could not be loaded")
        assert hub.count("GET", STSB) > 0

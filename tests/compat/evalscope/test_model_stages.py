"""EvalScope's two examples with real, tiny models on tiny copies of C-MTEB; the files read by mteb itself."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch_models
from evalscope_parts import DOCUMENTS, ONE_STAGE, QUERIES, TWO_STAGES, first_generation, write_jsonl

from steelyard import run_task
from steelyard.compat.mteb.mteb_files import write_mteb_files
from steelyard.encoders.backends.transformers.packed_bert import Ids, PackedBert
from steelyard.engine import Results, evaluate
from steelyard.errors import UsageError
from steelyard.types import Float32

TASKS = ("TNews", "CLSClusteringS2S", "T2Reranking", "T2Retrieval", "ATEC")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An encoder and a cross-encoder, by the names of the examples; and a second encoder of the same name."""
    folder = tmp_path_factory.mktemp("models")
    torch_models.save_bert(folder / "a" / "m3e-base")
    torch_models.save_bert(folder / "b" / "m3e-base", seed=1)
    torch_models.save_cross_encoder(folder / "MiniCPM-Reranker")
    return {
        "AI-ModelScope/m3e-base": folder / "a" / "m3e-base",
        "other": folder / "b" / "m3e-base",
        "OpenBMB/MiniCPM-Reranker": folder / "MiniCPM-Reranker",
    }


@pytest.fixture(autouse=True)
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("STEELYARD_DATA", str(first_generation(tmp_path / "data")))


def example(of: dict[str, Any], models: dict[str, Path], folder: Path, **evaluation: Any) -> dict[str, Any]:
    """The example with models that are here, which read no more than 64 tokens."""
    given: dict[str, Any] = copy.deepcopy(of)
    for model in given["eval_config"]["model"]:
        model["model_name_or_path"] = str(models[model["model_name_or_path"]])
        model["max_seq_length"] = 64
    given["eval_config"]["eval"].update(output_folder=str(folder), verbosity=1, **evaluation)
    return given


def test_one_stage(models: dict[str, Path], tmp_path: Path) -> None:
    results = run_task(task_cfg=example(ONE_STAGE, models, tmp_path / "outputs"))
    assert isinstance(results, Results)
    assert [str(result.error) for result in results.failures] == []
    assert [result.facts.type for result in results] == [
        *("classification", "clustering", "reranking", "retrieval", "sts", "sts")
    ]
    folder = tmp_path / "outputs" / "m3e-base" / "master"
    files = {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json") if path.stem != "model_meta"}
    assert set(files) == set(TASKS) and set(files["ATEC"]["scores"]) == {"validation", "test"}
    hashes = {result.facts.data_hash for result in results}
    mains = {"TNews": "accuracy", "CLSClusteringS2S": "v_measure", "T2Reranking": "map", "T2Retrieval": "ndcg_at_10"}
    mains["ATEC"] = "cosine_spearman"
    for name, main in mains.items():
        for split in files[name]["scores"].values():
            (scores,) = split
            assert scores["main_score"] == scores[main] is not None and scores["languages"] == ["cmn-Hans"]
    for result in results:  # a copy has no commit: the hash of its data stands for it
        assert files[result.task.partition(":")[0].rpartition("/")[2]]["dataset_revision"] in hashes
    assert len(files["TNews"]["scores"]["validation"][0]["scores_per_experiment"]) == 10
    assert not any(beside["partial"] for file in files.values() for beside in file["steelyard"].values())


def test_two_stages(models: dict[str, Path], tmp_path: Path) -> None:
    tasks = ["T2Retrieval", "T2Reranking", "ATEC"]
    results = run_task(task_cfg=example(TWO_STAGES, models, tmp_path / "o", tasks=tasks, limits=None, top_k=3))
    assert isinstance(results, Results) and not results.failures
    assert {(result.task.rpartition("/")[2], result.model) for result in results} == {
        ("T2Retrieval", "m3e-base"),
        ("T2Retrieval", "m3e-base > MiniCPM-Reranker"),
        ("T2Reranking", "m3e-base"),
        ("T2Reranking", "MiniCPM-Reranker"),
        ("ATEC:validation", "m3e-base"),
        ("ATEC", "m3e-base"),
    }
    for stage, model, tasks in ((1, "m3e-base", ["ATEC", "T2Reranking", "T2Retrieval"]), SECOND):
        folder = tmp_path / "o" / f"stage{stage}" / model / "master"
        assert sorted(path.stem for path in folder.glob("[AT]*.json")) == tasks
    # The second stage, computed by the libraries themselves.
    from sentence_transformers import CrossEncoder, SentenceTransformer

    encoder = SentenceTransformer(str(models["AI-ModelScope/m3e-base"]), device="cpu")
    first = encoder.encode(list(QUERIES.values()), normalize_embeddings=True)
    documents = encoder.encode(list(DOCUMENTS.values()), normalize_embeddings=True)
    judge = CrossEncoder(str(models["OpenBMB/MiniCPM-Reranker"]), device="cpu")
    prompt = TWO_STAGES["eval_config"]["model"][1]["prompt"]
    written = json.loads((tmp_path / "o" / "stage2" / "T2Retrieval_default_predictions.json").read_text())
    for query, scores in zip(QUERIES, first @ documents.T, strict=True):
        best = [list(DOCUMENTS)[row] for row in np.argsort(-scores)[:3]]
        pairs = [(prompt + QUERIES[query], DOCUMENTS[document]) for document in best]
        expected = judge.predict(pairs)
        assert written[query] == {d: pytest.approx(float(s), abs=1e-4) for d, s in zip(best, expected, strict=True)}


SECOND = (2, "MiniCPM-Reranker", ["T2Reranking", "T2Retrieval"])


def test_the_file_of_a_task_is_always_the_newest_evaluation(
    models: dict[str, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    given = example(ONE_STAGE, models, tmp_path / "o", tasks=["ATEC", "TNews"])
    model, evaluation = given["eval_config"]["model"][0], given["eval_config"]["eval"]
    file = tmp_path / "o" / "m3e-base" / "master" / "ATEC.json"
    run_task(given)
    scores = [json.loads(file.read_text())["scores"]]
    evaluation["tasks"] = ["ATEC"]
    for change in (
        {"encode_kwargs": {"batch_size": 128, "show_progress_bar": False}},
        {"model_kwargs": {}},
        {"prompt": None},
        {"max_seq_length": 5},
        {"model_name_or_path": str(models["other"])},
    ):
        model.update(change)
        (result, *_) = run_task(given)
        scores.append(json.loads(file.read_text())["scores"])
        assert scores[-1]["validation"][0]["main_score"] == pytest.approx(result.score)
    assert scores[0] == scores[1] == scores[2] == scores[3] != scores[4] != scores[5]
    assert {path.name for path in (tmp_path / "o").iterdir()} == {"m3e-base", "results", "steelyard"}
    assert "TNews.json" in caplog.text, "the file of another model is in the folder"


def test_variants_in_one_config_are_experiments_of_mteb(models: dict[str, Path], tmp_path: Path) -> None:
    import mteb

    given = example(ONE_STAGE, models, tmp_path / "o", tasks=["ATEC"])
    (model,) = given["eval_config"]["model"]
    given["eval_config"]["model"] = [
        model,
        {**model, "prompt": "river "},
        {**model, "model_name_or_path": str(models["other"])},
    ]
    results = run_task(given)
    assert isinstance(results, Results) and len(results) == 6
    folder = tmp_path / "o" / "m3e-base" / "master"
    plain, variant = (
        json.loads((folder / name / "ATEC.json").read_text()) for name in (".", "experiments/prompt_river ")
    )
    assert plain["scores"] != variant["scores"]
    assert len(list((tmp_path / "o").glob("m3e-base-*/master/ATEC.json"))) == 1
    cache = mteb.ResultCache(tmp_path / "o")
    assert len(cache.load_results().model_results) == 2, "experiments are not loaded unless asked for"
    (found,) = cache.load_results(experiment_kwargs={"prompt": "river "}).model_results
    assert found.experiment_name == "prompt_river "


@pytest.mark.parametrize("version", ["1.14", "2"])
def test_a_prompt_is_on_every_text_of_the_types_without_queries(
    models: dict[str, Path], tmp_path: Path, version: str, caplog: pytest.LogCaptureFixture
) -> None:
    given = example(ONE_STAGE, models, tmp_path / "o", tasks=["CLSClusteringS2S", "ATEC"])
    plain = run_task(given, mteb_version=version)
    given["eval_config"]["model"][0]["prompt"] = "river "
    prompted = run_task(given, mteb_version=version)
    for before, after in zip(plain, prompted, strict=True):
        own = after.settings["model_settings"]["prompts"].get("text")
        assert own == ("river " if version == "1.14" else None)
        assert (before.mteb == after.mteb) == (version == "2")
    noted = {word for word in ("clustering", "sts") if f"of type {word}" in caplog.text}
    assert noted == (set() if version == "1.14" else {"clustering", "sts"})


def test_a_length_beyond_the_positions_is_refused_and_the_default_is_lowered(
    models: dict[str, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    given = example(ONE_STAGE, models, tmp_path / "o", tasks=["ATEC"])
    (model,) = given["eval_config"]["model"]
    positions = json.loads((models["AI-ModelScope/m3e-base"] / "config.json").read_text())["max_position_embeddings"]
    model["max_seq_length"] = positions + 1
    with pytest.raises(UsageError) as caught:
        run_task(given)
    assert caught.value.field == "eval_config.model[0].max_seq_length" and caught.value.found == positions + 1
    assert not (tmp_path / "o").exists()
    model["max_seq_length"] = 512
    (result, *_) = run_task(given)
    assert result.settings["model_settings"]["max_seq_length"] == positions
    assert f"is {positions} instead of 512" in caplog.text


def test_names_of_experiments_are_those_of_mteb() -> None:
    from mteb.models.model_meta import _serialize_experiment_kwargs_to_name

    from steelyard.compat.mteb.mteb_names import experiment_name

    for experiment in (
        {"limits": 500},
        {"prompt": "Represent: a/b?", "max_seq_length": 128, "pooling_mode": None},
        {"model_kwargs": {"dtype": "float16", "attn": True}, "encode_kwargs": {}},
        {"prompt": "x" * 300},
        {"languages": ["a", "b"], "rate": 0.5},
    ):
        assert experiment_name(experiment) == _serialize_experiment_kwargs_to_name(experiment)


@pytest.mark.filterwarnings("ignore:is_cross_encoder is deprecated")  # mteb writes the field itself
def test_mteb_loads_what_a_config_of_the_first_version_wrote(models: dict[str, Path], tmp_path: Path) -> None:
    import mteb

    given = example(ONE_STAGE, models, tmp_path / "o", tasks=["ATEC", "T2Retrieval"])
    results = run_task(given)
    loaded = mteb.ResultCache(tmp_path / "o").load_results(validate_and_filter=True, tasks=mteb.get_tasks(["ATEC"]))
    (found,) = loaded.model_results
    assert (found.model_name, found.model_revision) == ("local/m3e-base", "master")
    (atec,) = found.task_results
    assert atec.get_score(languages=["cmn"]) == pytest.approx(np.mean([r.score for r in results if "ATEC" in r.task]))
    assert len(mteb.ResultCache(tmp_path / "o").load_results().model_results[0].task_results) == 2
    # What `mteb submit-results` would submit: it needs the metadata of the model, and looks for files by its name.
    cache = mteb.ResultCache(tmp_path / "o")
    (meta,) = cache._normalize_models()
    (submitted,) = cache._get_unsubmitted_results([meta]).values()
    assert sorted(path.stem for path in submitted) == ["ATEC", "T2Retrieval"]
    given["eval_config"]["eval"].update(limits=3, output_folder=str(tmp_path / "limited"))
    run_task(given)
    assert (tmp_path / "limited" / "m3e-base" / "master" / "ATEC.json").exists()
    cache = mteb.ResultCache(tmp_path / "limited")
    assert not cache.load_results().model_results, "a partial result is not a whole one"
    assert len(cache.load_results(experiment_kwargs={"limits": 3}).model_results) == 1


def test_the_batch_size_is_what_the_model_gets(
    models: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    compute = PackedBert.__call__

    def watched(self: PackedBert, ids: Sequence[Ids]) -> Float32:
        seen.append(len(ids))
        return compute(self, ids)

    monkeypatch.setattr(PackedBert, "__call__", watched)  # BERT on a CPU is computed without padding
    given = example(ONE_STAGE, models, tmp_path / "o", tasks=["CLSClusteringS2S"])
    given["eval_config"]["model"][0]["encode_kwargs"] = {"batch_size": 10}
    run_task(given)
    assert max(seen) == 10 and sum(seen) >= 27  # 27 texts; the last batch may be filled up


def test_data_of_ones_own_of_every_type(models: dict[str, Path], tmp_path: Path) -> None:
    texts = [f"{a} of the {b}" for a in ("river", "king", "bread") for b in ("north", "south", "city", "harbour")]
    labels = [place // 4 for place in range(12)]
    labelled = [{"text": text, "label": label} for text, label in zip(texts, labels, strict=True)]
    pairs = [{"sentence1": texts[n], "sentence2": texts[-n - 1], "score": n % 4, "label": n % 2} for n in range(12)]
    ranked = [{"query": "river", "positive": texts[:2], "negative": texts[6:9]}]
    rows = {"sts": pairs, "pair_classification": pairs, "reranking": ranked}
    rows |= {"clustering": [{"sentences": texts, "labels": labels}]}
    custom: list[dict[str, Any]] = []
    for type, content in rows.items():
        write_jsonl(tmp_path / "own" / f"{type}.jsonl", content)
        custom.append({"name": f"My-{type}", "data_path": str(tmp_path / "own" / f"{type}.jsonl"), "type": type})
    for split in ("train", "test"):
        write_jsonl(tmp_path / "own" / "labelled" / f"{split}.jsonl", labelled)
    custom.append({"name": "My-classes", "data_path": str(tmp_path / "own" / "labelled"), "type": "classification"})
    given = example(ONE_STAGE, models, tmp_path / "o", tasks=None, custom_tasks=custom, limits=None)
    results = run_task(given)
    assert isinstance(results, Results) and [str(result.error) for result in results.failures] == []
    assert [result.facts.type for result in results] == [
        *("sts", "pair_classification", "reranking", "clustering", "classification")
    ]
    names = {path.stem for path in (tmp_path / "o" / "results").rglob("My-*.json")}
    assert names == {entry["name"] for entry in custom}


def test_mteb_reads_the_files(models: dict[str, Path], tmp_path: Path) -> None:
    import mteb
    from mteb.results import TaskResult

    results = run_task(example(ONE_STAGE, models, tmp_path / "first"))
    assert isinstance(results, Results)
    for name in TASKS:
        read = TaskResult.from_disk(tmp_path / "first" / "m3e-base" / "master" / f"{name}.json")
        ours = [result.score for result in results if result.task.partition(":")[0].endswith(name)]
        assert read.task_name == name and read.mteb_version == "1.14.15"
        assert read.get_score() == pytest.approx(np.mean(ours), abs=1e-5)
    two = example(TWO_STAGES, models, tmp_path / "now", tasks=["T2Retrieval", "T2Reranking", "ATEC"], limits=None)
    results = run_task(two, mteb_version="2")
    assert isinstance(results, Results) and not results.failures
    for stage, model in (("stage1", "local/m3e-base"), ("stage2", "local/MiniCPM-Reranker")):
        loaded = mteb.ResultCache(tmp_path / "now" / stage).load_results()
        (found,) = loaded.model_results
        assert (found.model_name, found.model_revision) == (model, "master")
        mine = [result for result in results if ("MiniCPM" in result.model) == (stage == "stage2")]
        for read in found.task_results:
            ours = [result.score for result in mine if result.task.partition(":")[0].endswith(f"/{read.task_name}")]
            assert read.get_score() == pytest.approx(np.mean(ours), abs=1e-5)
        meta = (
            tmp_path / "now" / stage / "results" / model.replace("/", "__") / "master" / "model_meta.json"
        ).read_text()
        with pytest.warns(DeprecationWarning, match="is_cross_encoder"):
            read_meta = mteb.models.ModelMeta.model_validate(json.loads(meta))
        assert read_meta.is_cross_encoder == (stage == "stage2")
    # Any of our results, too.
    direct = evaluate("bm25", "C-MTEB/T2Retrieval")
    (path,) = write_mteb_files(direct, tmp_path / "any")
    (line,) = mteb.ResultCache(tmp_path / "any").load_results().model_results
    assert line.model_name == "steelyard/bm25"
    assert line.task_results[0].get_score() == pytest.approx(direct[0].score, abs=1e-5)
    assert TaskResult.from_disk(path, load_historic_data=False).eval_splits == ["dev"]

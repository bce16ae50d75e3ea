"""Late interaction with sentence-transformers' own encoders: same vectors, same scores, same figures."""

from __future__ import annotations

import json
import shutil
import string

import numpy as np
import pytest
import torch
from float_parity import assert_float_parity
from safetensors.torch import load_file, save_file
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.multi_vector_encoder.evaluation import MultiVectorInformationRetrievalEvaluator
from sentence_transformers.multi_vector_encoder.modules import HierarchicalTokenPooling, MultiVectorMask
from torch_models import DOCUMENTS, QUESTIONS, RELEVANT, save_bert

from steelyard.encoders.backends.transformers.multi_vector_encoder import TransformerTokens
from steelyard.encoders.deferred import Deferred
from steelyard.encoders.load import load_multi_vector_encoder
from steelyard.errors import ModelError, UsageError
from steelyard.metrics import score
from steelyard.retrievers import load_retriever
from steelyard.types import Corpus, Qrels, Queries, TaskInfo
from steelyard.vectors.maxsim import pool_tokens

INFO = TaskInfo("made/up")
CORPUS = Corpus.of(list(DOCUMENTS), list(DOCUMENTS.values()))
QUERIES = Queries(tuple(QUESTIONS), tuple(QUESTIONS.values()))
pytestmark = pytest.mark.usefixtures("own_home")


@pytest.fixture(scope="module")
def colbert(bert, tmp_path_factory):
    """A ColBERT with all that one can declare: projection, markers, lengths, [MASK] expansion, a skip-list."""
    torch.manual_seed(1)
    transformer = Transformer(
        str(bert),
        query_length=16,
        document_length=24,
        query_expansion={"strategy": "fixed", "attend": False, "length": 16},
    )
    projection = Dense(
        in_features=32,
        out_features=8,
        bias=False,
        activation_function=torch.nn.Identity(),
        module_input_name="token_embeddings",
    )
    model = MultiVectorEncoder(
        modules=[
            transformer,
            projection,
            MultiVectorMask(skiplist_words=list(string.punctuation)),
            Normalize(module_input_name="token_embeddings"),
        ],
        prompts={"query": "what ", "document": "the "},
        device="cpu",
    )
    folder = tmp_path_factory.mktemp("colbert")
    model.save_pretrained(str(folder))
    return folder


def expected_scores(model):
    queries = model.encode_query(list(QUERIES.texts))
    documents = model.encode_document(list(CORPUS.texts))
    return model.similarity(queries, documents).numpy()


def our_scores(run):
    board = np.full((len(QUERIES), len(CORPUS)), np.nan)
    np.put_along_axis(board, run.rows.astype(np.int64), run.scores, axis=1)
    return board


def test_scores_are_the_librarys(colbert):
    model = MultiVectorEncoder(str(colbert), device="cpu")
    run = load_retriever(f"late:{colbert}?device=cpu&batch_size=3").index(CORPUS, INFO).search(QUERIES, len(CORPUS))
    assert_float_parity(our_scores(run), expected_scores(model))


def test_what_the_model_declares_is_in_the_settings(colbert):
    settings = load_retriever(f"late:{colbert}").settings
    assert settings["head"] == "declared"
    assert settings["prompts"] == {"query": "what ", "document": "the "}
    assert (settings["query_length"], settings["document_length"]) == (16, 24)
    assert settings["query_expansion"]["strategy"] == "fixed"
    assert settings["skiplist"] == "".join(sorted(string.punctuation))
    assert settings["similarity"] == "maxsim"
    assert len(settings["weights"]) == 32


def test_figures_are_those_of_the_librarys_evaluator(colbert):
    model = MultiVectorEncoder(str(colbert), device="cpu")
    evaluator = MultiVectorInformationRetrievalEvaluator(QUESTIONS, DOCUMENTS, RELEVANT, ndcg_at_k=[10], mrr_at_k=[10])
    expected = evaluator(model)
    triples = [(QUERIES.row_of[q], CORPUS.row_of[d]) for q, ids in RELEVANT.items() for d in ids]
    qrels = Qrels.of(*zip(*triples, strict=True), [1] * len(triples), queries=len(QUERIES))
    run = load_retriever(f"late:{colbert}").index(CORPUS, INFO).search(QUERIES, 10)
    ours = score(run, qrels).means
    assert ours["ndcg_at_10"] == pytest.approx(expected["maxsim_ndcg@10"], abs=1e-6)
    assert ours["mrr_at_10"] == pytest.approx(expected["maxsim_mrr@10"], abs=1e-6)
    assert 0.2 < ours["ndcg_at_10"] < 1


def test_options_take_the_place_of_what_is_declared(colbert):
    model = MultiVectorEncoder(str(colbert), device="cpu", prompts={"query": "who ", "document": ""})
    model[0].query_expansion = None
    model[0].query_length = 6
    model[0].document_length = 9
    model[2].skiplist_words = []
    model[2].resolve_with_tokenizer(model.tokenizer)
    model.similarity_fn_name = "meanmaxsim"
    options = "query_prompt=who &document_prompt=&query_expansion=none&query_length=6&document_length=9&skiplist=none"
    retriever = load_retriever(f"late:{colbert}?{options}&similarity_fn_name=meanmaxsim")
    index = retriever.index(CORPUS, INFO)
    run = index.search(QUERIES, len(CORPUS))
    assert_float_parity(our_scores(run), expected_scores(model))
    assert retriever.settings["skiplist"] == ""
    lengths = [len(model.tokenizer(text)["input_ids"]) for text in CORPUS.texts]
    assert index.notes["documents"]["texts_cut"] == sum(length > 9 for length in lengths) > 0


def test_expansion_pads_queries_with_masks(colbert):
    encoder = load_multi_vector_encoder(str(colbert), None, {"query_expansion": "20", "query_length": "20"})
    assert set(encoder.encode(list(QUERIES.texts), "query").counts.tolist()) == {20}
    smallest = '{"strategy":"min","length":8}'
    encoder = load_multi_vector_encoder(str(colbert), None, {"query_expansion": smallest})
    assert encoder.encode(["iron", QUESTIONS["q0"] * 2], "query").counts.tolist() == [8, 16]
    with pytest.raises(UsageError):
        load_multi_vector_encoder(str(colbert), None, {"query_expansion": '{"strategy":"most"}'})


def test_punctuation_is_skipped_in_documents_only(colbert):
    encoder = load_multi_vector_encoder(str(colbert), None, {"query_expansion": "none"})
    plain, marked = encoder.encode(["bread is old", "bread, is: (old)!"], "document").counts
    assert plain == marked
    plain, marked = encoder.encode(["bread is old", "bread, is: (old)!"], "query").counts
    assert marked == plain + 5


def test_any_transformer_gives_its_token_states(bert):
    """No projection with random weights: the states of the last layer, marks included, at length 1."""
    encoder = load_multi_vector_encoder(str(bert), None, {"query_prompt": "what is "})
    assert isinstance(encoder, Deferred) and isinstance(encoder.opened, TransformerTokens)
    assert encoder.settings["head"] == "token states"
    tokens = encoder.encode(["the king", "", "iron and salt"], "query")
    from transformers import AutoModel, AutoTokenizer

    words, model = AutoTokenizer.from_pretrained(bert), AutoModel.from_pretrained(bert).eval()
    for place, text in enumerate(["what is the king", "what is ", "what is iron and salt"]):
        with torch.inference_mode():
            states = model(**words(text, return_tensors="pt")).last_hidden_state[0]
        expected = torch.nn.functional.normalize(states, dim=-1).numpy()
        assert_float_parity(tokens.text(place), expected)


def test_pooling_is_the_librarys(bert):
    """The same vectors; the order of clusters, which MaxSim does not see, is our own."""
    tokens = load_multi_vector_encoder(str(bert)).encode(list(CORPUS.texts), "document")
    for factor in (1.5, 2, 3):
        ours = pool_tokens(tokens, factor)
        theirs = HierarchicalTokenPooling(factor).pool(
            [torch.from_numpy(tokens.text(place).copy()) for place in range(len(tokens))]
        )
        for place, expected in enumerate(theirs):
            mine, other = ours.text(place), expected.numpy()
            assert mine.shape == other.shape
            nearest = (mine @ other.T).argmax(axis=1)
            assert sorted(nearest.tolist()) == list(range(len(other)))
            assert_float_parity(mine, other[nearest])


def test_a_second_run_encodes_nothing(colbert):
    name = f"late:{colbert}"
    load_retriever(name).index(CORPUS, INFO).search(QUERIES, 5)
    index = load_retriever(name + "?pool_factor=2").index(CORPUS, INFO)
    index.search(QUERIES, 5)
    assert index.notes["documents"]["texts_encoded"] == index.notes["queries"]["texts_encoded"] == 0
    assert index.notes["bytes_per_document"] < 8 * 4 * 24


def test_another_prompt_for_queries_encodes_no_document_again(colbert):
    load_retriever(f"late:{colbert}").index(CORPUS, INFO).search(QUERIES, 5)
    index = load_retriever(f"late:{colbert}?query_prompt=which%20").index(CORPUS, INFO)
    index.search(QUERIES, 5)
    assert (index.notes["documents"]["texts_encoded"], index.notes["queries"]["texts_encoded"]) == (0, len(QUERIES))


def test_a_folder_that_is_no_model(tmp_path):
    with pytest.raises(ModelError):
        load_multi_vector_encoder(str(tmp_path))


def test_a_stanford_checkpoint_is_what_it_declares(tmp_path):
    """Projection beside the encoder's weights, markers and lengths in `artifact.metadata`."""
    bert = save_bert(tmp_path / "bert")
    weights = {f"bert.{name}": value for name, value in load_file(bert / "model.safetensors").items()}
    torch.manual_seed(2)
    weights["linear.weight"] = torch.randn(8, 32)
    folder = tmp_path / "stanford"
    shutil.copytree(bert, folder)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"architectures": ["HF_ColBERT"]}))
    declared = {"query_token_id": "[unused0]", "doc_token_id": "[unused1]", "query_maxlen": 12, "doc_maxlen": 20}
    (folder / "artifact.metadata").write_text(json.dumps(declared))
    retriever = load_retriever(f"late:{folder}")
    settings = retriever.settings
    assert (settings["head"], settings["document_length"]) == ("declared", 20)
    assert settings["prompts"] == {"query": "[unused0] ", "document": "[unused1] "}
    assert settings["query_expansion"]["length"] == 12
    run = retriever.index(CORPUS, INFO).search(QUERIES, len(CORPUS))
    expected = expected_scores(MultiVectorEncoder(str(folder), device="cpu"))
    assert_float_parity(our_scores(run), expected)


def test_memory_that_runs_out_halves_the_batches(bert):
    encoder = load_multi_vector_encoder(str(bert), None, {"batch_size": "8"})
    texts = [f"wool {number}" for number in range(8)]  # of one length, so that they are in one batch
    expected = encoder.encode(texts, "document")
    inner, sizes = encoder._model.encode_document, []

    def small_machine(batch, **arguments):
        sizes.append(len(set(batch)))  # a short batch contains copies of its first text
        if sizes[-1] > 2:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory")
        return inner(batch, **arguments)

    encoder._model.encode_document = small_machine
    try:
        tokens = encoder.encode(texts, "document")
    finally:
        del encoder._model.encode_document
    failed = [size for size in sizes if size > 2]
    assert failed and max(sizes[max(place for place, size in enumerate(sizes) if size > 2) + 1 :]) <= 2
    assert encoder.account()["batches_halved"] == len(failed)
    assert_float_parity(tokens.matrix, expected.matrix)

"""Variants as models: named by options, flags or lists, encoded once, shown with what they cost and keep."""

import gc
import json
import re
import weakref
from pathlib import Path

import numpy as np
import pytest
from encoder_parts import Letters
from engine_parts import small_task

from steelyard import evaluate
from steelyard.cli import main
from steelyard.encoders import ENCODERS
from steelyard.errors import UsageError
from steelyard.reports.run_report.variants import variant_rows
from steelyard.results import Result, ResultStore
from steelyard.retrievers import load_retriever
from steelyard.retrievers.dense import DenseRetriever, SharedVectors
from steelyard.retrievers.model_variants import variants, with_variants
from steelyard.types import Corpus, Queries, TaskInfo
from steelyard.types.protocols import Index
from steelyard.vectors.variants import Variant

INFO = TaskInfo("Some/task")
DOCS = Path(__file__).parents[2] / "docs" / "variants.md"


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def test_variants_are_models_of_their_own_from_one_encoding(monkeypatch):
    monkeypatch.setenv("STEELYARD_CACHE_BYTES", "0")  # no store: what is shared, is shared in memory
    asked = []
    use = load_retriever("dense").encoder
    real = type(use).encode
    monkeypatch.setattr(type(use), "encode", lambda self, texts, *rest: asked.extend(texts) or real(self, texts, *rest))
    task = small_task()
    names = [str(v) for v in variants("dense?truncate_dim=all,256,64&precision=float32,int8,binary&rescore=none,4")]
    results = evaluate(names, [task])
    assert len(results) == len(names) == 15 and not results.failures
    assert sorted(asked) == sorted([*task.corpus.texts, *task.queries.texts])
    assert len({r.key for r in results}) == 15
    base = results.filter(model="dense:use-multilingual-v3")[0]
    assert "variant_of" not in base.notes and base.settings["model_settings"]["precision"] == "float32"
    small = results.filter(model="dense:use-multilingual-v3?precision=int8&rescore=4&truncate_dim=64")[0]
    assert small.notes["variant_of"] == "dense:use-multilingual-v3"
    assert (small.notes["bytes_per_document"], small.notes["rescore_bytes_per_document"]) == (64, 256)
    assert small.notes["search_seconds"] > 0
    assert {"texts": 8, "texts_encoded": 0, "texts_from_cache": 8}.items() <= small.notes["documents"].items()
    wanted = {"precision": "int8", "truncate_dim": 64, "rescore": 4, "rescore_k": 100}
    assert small.settings["model_settings"].items() >= wanted.items()


def test_the_figures_of_a_variant_do_not_depend_on_its_company():
    task, encoder = small_task(), Letters()

    def models(*kept):
        shared = SharedVectors(encoder)
        every = {
            "whole": Variant(),
            "binary": Variant(precision="binary"),
            "rescored": Variant(precision="binary", rescore=1, rescore_k=2),
            "int8": Variant(precision="int8"),
        }
        return [DenseRetriever(name, encoder, None, every[name], None, shared) for name in kept]

    alone = evaluate(models("rescored"), [task])[0]
    assert alone.metrics["recall_at_100"] < 1  # two documents each, not all
    for company in (["whole", "binary", "rescored", "int8"], ["rescored", "binary"], ["int8", "rescored", "whole"]):
        same = evaluate(models(*company), [task]).filter(model="rescored")[0]
        assert same.metrics == alone.metrics and same.key == alone.key


def test_vectors_are_let_go_with_their_corpus():
    encoder = Letters()
    vectors = SharedVectors(encoder)
    corpus = Corpus.of(["1", "2"], ["abc", "bcd"])
    matrix, tally = vectors.documents(corpus)
    again, second = vectors.documents(corpus)
    assert again is matrix and (tally.encoded, second.encoded, second.stored) == (2, 0, 2)
    index, _ = vectors.index(corpus, Variant(precision="int8"))
    assert vectors.index(corpus, Variant(precision="int8", rescore=4))[0].coded is index.coded
    assert vectors.index(corpus, Variant(precision="binary"))[0].coded is not index.coded
    gone = weakref.ref(corpus)
    del corpus
    gc.collect()
    assert gone() is None
    assert vectors._documents._value is None and vectors._coded._value is None
    other = Corpus.of(["1"], ["hhh"])
    assert vectors.documents(other)[0].shape == (1, 9)
    assert len(encoder.asked) == 3


def test_other_queries_are_other_vectors():
    retriever = DenseRetriever("dense:letters", Letters(), variant=Variant(precision="float16"))
    index = retriever.index(Corpus.of(["1", "2"], ["aaa", "bbb"]), INFO)
    assert isinstance(index, Index)
    first, second = Queries(("q",), ("aa",)), Queries(("q",), ("bb",))
    found = [int(index.search(each, 1).rows[0, 0]) for each in (first, second, first)]
    assert found[0] == found[2] != found[1]


def test_a_deeper_search_after_a_shallow_one_is_whole():
    index = DenseRetriever("dense:letters", Letters(), variant=Variant(precision="int8")).index(
        Corpus.of([f"{n:04}" for n in range(900)], ["abcdefgh"[n % 8] * (1 + n % 5) for n in range(900)]), INFO
    )
    queries = Queries(("q",), ("ab",))
    assert [index.search(queries, k).depth for k in (3, 900, 10, 2000)] == [3, 900, 10, 900]


def test_truncation_keeps_dot_products_comparable():
    encoder = Letters()
    encoder.similarity = "dot"
    index = DenseRetriever("dense:letters", encoder, variant=Variant(truncate_dim=2)).index(
        Corpus.of(["1", "2"], ["aacc", "ac"]), INFO
    )
    run = index.search(Queries(("q",), ("a",)), 2)
    lengths = np.linalg.norm([[2, 0, 2, 0.5], [1, 0, 1, 0.5]], axis=1) * np.linalg.norm([1, 1.5])
    np.testing.assert_allclose(run.scores[0], lengths, rtol=1e-6)


def test_encoders_are_loaded_once_for_all_variants(monkeypatch):
    made = []
    monkeypatch.setattr(ENCODERS, "get", lambda name: lambda revision, options: made.append(options) or Letters())
    models = [load_retriever(f"dense:x?max_seq_length=9&precision={p}") for p in ("float32", "int8", "binary")]
    assert made == [{"max_seq_length": "9"}]
    assert len({id(model.encoder) for model in models}) == 1
    with pytest.raises(UsageError):
        load_retriever("dense:x?truncate_dim=10")


def test_flags_are_lists_and_the_model_itself_stays():
    spread = with_variants(["dense:X?precision=int8", "bm25"], truncate_dim="all, 64", rescore="4")
    assert list(map(str, spread)) == [
        "dense:X?precision=int8",
        "dense:X?precision=int8&rescore=4",
        "dense:X?precision=int8&truncate_dim=64",
        "dense:X?precision=int8&rescore=4&truncate_dim=64",
        "bm25",
    ]
    nineteen = with_variants(["dense:X"], truncate_dim="256,128,64", precision="float32,int8,binary", rescore="4")
    assert len(nineteen) == len(set(map(str, nineteen))) == 20
    for names, flags in [
        (["bm25"], {"precision": "int8"}),
        (["dense:X"], {"rescore": "4"}),
        (["dense:X"], {"precision": "int8,int8"}),
    ]:
        with pytest.raises(UsageError):
            with_variants(names, **flags)
    assert [str(v) for v in variants("dense:X?precision=float32&rescore=4")] == ["dense:X?rescore=4"]


@pytest.mark.slow
def test_the_command_line_shows_what_each_variant_takes_and_keeps(capsys):
    asked = [
        "run",
        "dense",
        "bm25",
        "-t",
        "NanoAlmanac/en",
        "--truncate-dim",
        "128",
        "--precision",
        "binary,int8@hakari",
    ]
    assert main([*asked, "--rescore", "hakari", "-o", "results"]) == 0
    report = Path("results/report.html").read_text(encoding="utf-8")
    assert '"variant_of":"' in report
    out, err = capsys.readouterr()
    lines = [re.split(r"\s{2,}", line.strip()) for line in out.splitlines()]
    table = {line[0]: line[1:] for line in lines}
    assert "11 evaluated" in err
    assert table["truncate_dim=128, precision=binary, rescore=hakari"][0] == "16 + 512"
    assert table["dense:use-multilingual-v3"][0] == "2,048" and table["dense:use-multilingual-v3"][-1] == "100.0%"
    assert table["nDCG@10"] == ["dense:use-multilingual-v3", "bm25"]
    stored = ResultStore(Path("results")).all()
    assert len({result.model for result in stored}) == 11
    assert main([*asked, "--rescore", "hakari", "--no-report", "-o", "results", "--json"]) == 0
    out, err = capsys.readouterr()
    assert "11 of 11 already stored" in err and len(json.loads(out)) == 11
    assert main(["run", "dense", "--truncate-dim", "513", "-t", "NanoAlmanac/en"]) == 2
    assert "513" in capsys.readouterr().err
    longer = ["run", "dense", "--truncate-dim", "768,128", "--precision", "binary", "-t", "NanoAlmanac/en"]
    assert main([*longer, "--no-report", "-o", "results"]) == 0
    out, err = capsys.readouterr()
    assert sum("512" in line and "768" in line for line in err.splitlines()) == 1
    assert "768" not in out and "truncate_dim=128, precision=binary" in out
    assert main(["run", "dense?truncate_dim=768", "--precision", "binary", "-t", "NanoAlmanac/en"]) == 2
    usual = [
        "run",
        "dense",
        "--precision",
        "binary",
        "--rescore",
        "-t",
        "NanoAlmanac/en",
        "-o",
        "results",
        "--no-report",
    ]
    assert main(usual) == 0 and "precision=binary, rescore=4" in capsys.readouterr().out


def test_kept_is_told_only_where_it_can_be():
    def result(model, task, score, **notes):
        return Result(task, model, {}, f"{model}{task}", metrics={"ndcg_at_10": score}, notes=notes)

    rows = variant_rows(
        [
            result("sparse:A", "T/a", 0.5, bytes_per_document=100),
            result("sparse:A", "T/b", 0.1, bytes_per_document=300),
            result("sparse:A?cap=1", "T/a", 0.25, variant_of="sparse:A"),
            result("late:B?pool_factor=2", "T/a", 0.25, variant_of="late:B"),
            result("bm25", "T/a", 0.9),
        ]
    )[1]
    assert rows == [
        ["sparse:A", "100", "-", "0.5000", "100.0%"],  # T/b is not among the tasks that both have
        ["  cap=1", "-", "-", "0.2500", "50.0%"],
        ["late:B?pool_factor=2", "-", "-", "0.2500", "-"],  # nothing above it would say whose variant it is
    ]
    assert variant_rows([result("bm25", "T/a", 0.9)])[1] == []
    assert variant_rows([result("bm25", "T/a", 0.9)])[1] == []


def test_the_page_names_every_precision_with_its_bytes():
    page = DOCS.read_text(encoding="utf-8")
    for name, size in [("float32", 4), ("float16", 2), ("int8", 1), ("binary", "1/8")]:
        assert re.search(rf"\| `{name}` \| {size} \|", page), name
    for name in ("int8@hakari", "binary@hakari", "rescore_k", "truncate_dim", "--rescore", "--precision"):
        assert name in page

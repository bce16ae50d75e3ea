"""One model has one name and one key, however its options are written."""

import pytest

from steelyard import evaluate
from steelyard.engine.batch import load_models
from steelyard.errors import UnknownName, UsageError
from steelyard.results.keys import digest
from steelyard.retrievers import load_retriever
from steelyard.retrievers.model_names import DEFAULTS, PRESETS, result_name
from steelyard.retrievers.pipeline import pipeline
from steelyard.retrievers.rerank.load import from_function
from steelyard.spec import parse

RERANKER = "rerank:math:hypot"
SAME = [
    ("bm25", "bm25?k1=1.2&b=0.75", "bm25?b=.75", "bm25?form=lucene&preset=default&analyser=default"),
    ("bm25?b=1", "bm25?b=1.0", "bm25?b=1."),
    ("bm25?b=0.4&k1=0.9", "bm25?k1=.9&b=0.40", "bm25?k1=9e-1&b=0.4"),
    ("bm25?preset=hakari", "bm25?preset=hakari&k1=1.50&form=robertson"),
    ("bm25?form=bm25l", "bm25?form=bm25l&delta=0.5"),
    ("[bm25, bm25?b=0]", "[bm25?k1=1.2, bm25?b=0.0]?depth=500&method=adaptive&weights=1,1.0"),
    ("[bm25, bm25?b=0]?method=rrf", "[bm25?k1=1.2, bm25?b=0.0]?k=60.0&depth=500&method=rrf&weights=1,1.0"),
    ("[bm25, bm25?b=0]?k=10", "[bm25, bm25?b=0]?k=10.0&method=rrf"),
    ("[bm25, bm25?b=0]?weights=2%2C1", "[bm25, bm25?b=0]?weights=2,1", "[bm25, bm25?b=-0.0]?weights=2.0,1."),
    ("[bm25, bm25?b=0]?preset=hakari", "[bm25, bm25?b=0]?preset=hakari&k=1e2"),
    (f"bm25 > {RERANKER}", f"bm25?b=0.75 > {RERANKER}?depth=100&tail=keep", f"bm25 > {RERANKER}?depth=0100"),
    (f"[bm25, bm25?b=0] > {RERANKER}?depth=50", f"[bm25?k1=1.20, bm25?b=0]?depth=500 > {RERANKER}?tail=keep&depth=50"),
    (f"candidates:x > {RERANKER}", f"candidates:x?safeguards=keep > {RERANKER}?tail=keep"),
    ("dense:use-multilingual-v3", "dense?precision=float32", "dense?truncate_dim=all"),
    ("dense:use-multilingual-v3?precision=int8&rescore=4", "dense?rescore=04&precision=int8&rescore_k=100"),
]


@pytest.mark.parametrize("spellings", SAME, ids=lambda spellings: spellings[0])
def test_spellings_of_a_model_are_one_model(spellings):
    loaded = [load_models([spelling])[0] for spelling in spellings]
    assert {model.name for model in loaded} == {spellings[0]}
    assert len({digest(model.settings) for model in loaded}) == 1
    assert {model.retriever.name for model in loaded} == {spellings[0]}
    assert len(load_models(list(spellings))) == 1


def test_other_values_are_other_models():
    names = ["bm25?b=0.7", "bm25?preset=hakari&k1=1.2", "bm25?language=en", f"candidates:x > {RERANKER}?depth=100"]
    assert [result_name(parse(name)) for name in names] == [
        "bm25?b=0.7",
        "bm25?k1=1.2&preset=hakari",
        "bm25?language=en",
        f"candidates:x > {RERANKER}?depth=100",
    ]
    assert (
        result_name(parse("dense:api/x?query_prompt=1.0&url=http://x")) == "dense:api/x?query_prompt=1.0&url=http://x"
    )


@pytest.mark.parametrize("family", ["bm25", "fusion"])
def test_what_is_left_out_of_names_is_what_the_family_does_without_it(family):
    base = "[bm25, bm25?b=0]" if family == "fusion" else "bm25"
    for preset in (None, *PRESETS[family]):
        given = {"preset": preset} if preset else {}
        usual = {**DEFAULTS[family], **(PRESETS[family][preset] if preset else {})}
        for option, value in usual.items():
            if option in ("preset", "delta"):
                continue
            with_it = "&".join(f"{name}={said}" for name, said in {**given, option: value}.items())
            without = "&".join(f"{name}={said}" for name, said in given.items())
            ours, theirs = load_retriever(f"{base}?{with_it}"), load_retriever(f"{base}?{without}")
            assert digest(ours.settings) == digest(theirs.settings), (preset, option)


def test_a_grid_leaves_rescore_k_to_those_that_are_rescored():
    loaded = load_models(["dense?precision=float32,int8&rescore=none,4&rescore_k=50"])
    assert [model.name.partition("?")[2] for model in loaded] == [
        "",
        "precision=int8",
        "precision=int8&rescore=4&rescore_k=50",
    ]


def test_a_pipeline_of_objects_has_a_depth_from_1_up():
    one = from_function(lambda query, texts: [1.0] * len(texts), "one")
    for depth in (0, -1):
        with pytest.raises(UsageError) as caught:
            pipeline("bm25", one, depth=depth)
        assert (caught.value.option, caught.value.found) == ("depth", depth)
    with pytest.raises(UnknownName) as unknown:
        pipeline("bm25", one, tail="drop")
    assert (unknown.value.option, unknown.value.name) == ("tail", "drop")
    assert pipeline("bm25", one, depth=100).name == pipeline("bm25", one).name == "bm25 > rerank:one"
    assert pipeline("bm25", one).at_depth(100).name == "bm25 > rerank:one"


def test_the_size_of_a_batch_is_in_the_key_only_where_it_changes_scores():
    address = "rerank:api/x?url=http://localhost:1"
    plain = [load_retriever(f"{address}&batch_size={size}") for size in (8, 16)]
    assert len({digest([model.name, model.settings]) for model in plain}) == 1
    listwise = [load_retriever(f"{address}&listwise=true&batch_size={size}") for size in (8, 16)]
    assert len({digest(model.settings) for model in listwise}) == len({model.name for model in listwise}) == 2


@pytest.mark.parametrize("listwise", [False, True])
def test_scores_that_depend_on_the_list_are_not_taken_from_another_list(listwise):
    from engine_parts import small_task

    asked = []

    class Ranks:
        name, settings = "ranks", {"reranker": "ranks"}

        def rerank(self, queries, documents, tick=None):
            asked.extend(map(len, documents))
            return [[-float(place) for place in range(len(texts))] for texts in documents]

    reranker = Ranks()
    reranker.listwise = listwise
    short = pipeline("dense", reranker, depth=3)
    evaluate([short, short.at_depth(8)], small_task())
    assert set(asked) == ({3, 8} if listwise else {3, 5})


def test_an_old_result_is_found_under_another_spelling(tmp_path):
    from engine_parts import small_task

    (first,) = evaluate("bm25", small_task(), results=tmp_path)
    (again,) = evaluate("bm25?k1=1.20&b=.75", small_task(), results=tmp_path)
    assert (first.key, first.created, first.model) == (again.key, again.created, again.model)

"""What BM25 promises beside its formula: ties, empty answers, order of documents, both ways of searching."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.errors import UsageError
from steelyard.retrievers.bm25 import search as postings_search
from steelyard.retrievers.bm25.forms import FORMS
from steelyard.retrievers.bm25.retriever import Bm25, Bm25Index, from_spec
from steelyard.spec import parse
from steelyard.types import Corpus, Queries, Run, TaskInfo
from steelyard.types.protocols import Index, Retriever

WORDS = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu"]
ENGLISH = TaskInfo("test/english", language="en")
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=8), min_size=1, max_size=12)


def corpus_of(texts: list[str]) -> Corpus:
    return Corpus.of([f"d{number:03d}" for number in range(len(texts))], texts)


def ask(index: Bm25Index, *queries: str, top_k: int = 10) -> Run:
    return index.search(Queries(tuple(map(str, range(len(queries)))), queries), top_k)


def test_it_is_a_retriever() -> None:
    retriever = Bm25()
    index = retriever.index(corpus_of(["one fox"]), ENGLISH)
    assert isinstance(retriever, Retriever)
    assert isinstance(index, Index)
    assert index.size_bytes > 0
    assert index.notes["analysers"] == {"words, english stemmer": 1}
    assert index.notes["vocabulary"] == 2
    assert index.notes["average_length"] == 2.0
    assert retriever.settings["form"] == "lucene"


def test_ties_go_to_the_lower_row_also_at_the_cut() -> None:
    index = Bm25().index(corpus_of(["a fox"] * 50), ENGLISH)
    run = ask(index, "fox", top_k=7)
    assert run.rows.tolist() == [list(range(7))]
    assert len(set(run.scores[0].tolist())) == 1


def test_nothing_known_is_nothing_found() -> None:
    index = Bm25().index(corpus_of(["a fox", "", "a dog"]), ENGLISH)
    run = ask(index, "zebra", "", "fox zebra")
    assert run.lengths.tolist() == [0, 0, 1]
    assert (run.rows[0] == -1).all()
    assert np.isneginf(run.scores[0]).all()


def test_documents_without_the_terms_are_not_padding() -> None:
    index = Bm25().index(corpus_of(["fox", "dog", "eel", "fox dog"]), ENGLISH)
    assert ask(index, "fox").lengths.tolist() == [2]


@pytest.mark.parametrize("texts", [[], [""], ["", ""], ["fox"]])
def test_tiny_corpora(texts: list[str]) -> None:
    run = ask(Bm25().index(corpus_of(texts), ENGLISH), "fox", top_k=100)
    assert run.lengths.tolist() == [texts.count("fox")]


def test_a_mixed_corpus_is_read_and_asked_in_its_languages() -> None:
    texts = [
        "The foxes were running through the forest and they did not stop.",
        "Die Häuser wurden von den Bauern gebaut, weil sie nicht warten wollten.",
        "東京は日本の首都であり、人口が最も多い都市です。",
        "ประภาคารสร้างบนโขดหินเพราะเรือหลายลำสูญหายที่นั่น",
    ]
    index = Bm25().index(corpus_of(texts), TaskInfo("test/mixed", language="multilingual"))
    run = ask(index, "Where was the fox?", "Wo ist das Haus?", "日本の首都はどこですか", "เรือสูญหายที่ไหน")
    best = [index.notes["languages"], *(3 - run.rows[:, 0]).tolist()]
    assert best == [["de", "en", "ja", "th"], 0, 1, 2, 3]


def made_index(form: str, documents: int = 3000) -> tuple[Bm25Index, Queries]:
    rng = np.random.default_rng(3)
    names = [f"{a}{b}" for a in "bcdfglmnprst" for b in ("ab", "eck", "ilm", "ost", "und", "arp", "in")]
    texts = [" ".join(names[min(int(n), len(names)) - 1] for n in rng.zipf(1.2, 30)) for _ in range(documents)]
    queries = [" ".join(rng.choice(names, 6, p=_falling(len(names)))) for _ in range(40)]
    index = Bm25(form=form, delta=FORMS[form].delta).index(corpus_of(texts), TaskInfo("test/made", language="und"))
    assert len(index.notes["languages"]) > 1  # made-up words look like several languages: many groups, one index
    return index, Queries(tuple(map(str, range(40))), tuple(queries))


def _falling(count: int) -> np.ndarray:
    weights = 1 / np.arange(1, count + 1)
    return weights / weights.sum()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("top_k", [1, 10, 200])
def test_pruning_changes_nothing(form: str, top_k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    index, queries = made_index(form)
    whole = index.search(queries, top_k)
    monkeypatch.setattr(postings_search, "_SMALL", 0)
    monkeypatch.setattr(postings_search, "_RARE", 0)  # all are pruned
    pruned = index.search(queries, top_k)
    np.testing.assert_array_equal(whole.rows, pruned.rows)
    np.testing.assert_array_equal(whole.scores, pruned.scores)


@settings(max_examples=60)
@given(TEXTS, st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), st.randoms())
def test_properties_of_a_ranking(words: list[list[str]], query: list[str], random: object) -> None:
    texts = [" ".join(text) for text in words]
    index = Bm25().index(corpus_of(texts), ENGLISH)
    run = ask(index, " ".join(query), " ".join([*query, "fox"]), top_k=len(texts))
    found = run.scores[0][run.rows[0] >= 0]
    assert (found > 0).all()
    assert (np.diff(found) <= 0).all()
    assert set(run.rows[0][run.rows[0] >= 0]) == {
        len(texts) - 1 - place for place, text in enumerate(words) if set(text) & set(query)
    }
    # One more word in the query lowers no document.
    before = dict(zip(run.rows[0].tolist(), run.scores[0].tolist(), strict=True))
    after = dict(zip(run.rows[1].tolist(), run.scores[1].tolist(), strict=True))
    assert all(after[row] >= score for row, score in before.items() if row >= 0)
    # Documents under other ids score as before.
    order = list(range(len(texts)))
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = Bm25().index(corpus_of([texts[place] for place in order]), ENGLISH)
    again = ask(shuffled, " ".join(query), top_k=len(texts))
    np.testing.assert_array_equal(run.scores[0], again.scores[0])


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("bm25?frm=lucene", "frm"),
        ("bm25?k2=1", "k2"),
        ("bm25?form=lucine", "form"),
        ("bm25?b=1.5", "b"),
        ("bm25?k1=many", "k1"),
        ("bm25?k1=nan", "k1"),
        ("bm25?k1=1&b=0.5&k1=2", "model"),
        ("bm25?form=lucene&delta=1", "delta"),
        ("bm25?form=bm25+&delta=-1", "delta"),
        ("bm25?preset=hakary", "preset"),
        ("bm25?analyser=segments", "analyser"),
        ("bm25?language=japanese", "language"),
        ("bm25?language=jp", "language"),
        ("bm25:large", "model"),
    ],
)
def test_invalid_options_are_named(name: str, option: str) -> None:
    with pytest.raises(UsageError) as caught:
        from_spec(parse(name))
    assert caught.value.option == option


def test_options_reach_the_settings() -> None:
    retriever = from_spec(parse("bm25?form=bm25+&k1=0.9&b=0.4&analyser=segment&language=ja"))
    assert retriever.settings.items() >= {"form": "bm25+", "k1": 0.9, "b": 0.4, "delta": 0.5}.items()
    assert retriever.settings["packages"]
    notes = retriever.index(corpus_of(["東京の地図"]), ENGLISH).notes
    assert notes["analysers"] == {"segmented by fugashi": 1}
    assert notes["language_from"] == "asked for"


def test_a_language_of_no_list_is_read_in_words_as_they_stand() -> None:
    index = from_spec(parse("bm25?language=und")).index(corpus_of(["the foxes", "the dog"]), ENGLISH)
    assert ask(index, "fox").rows[0].tolist() == [-1, -1]
    assert (ask(index, "the foxes").rows[0] >= 0).all()
    assert index.notes["analysers"] == {"words": 2}


def test_progress_counts_every_document() -> None:
    seen: list[int] = []
    Bm25().index(corpus_of(["fox", "café", "dog"]), ENGLISH, seen.append)
    assert sum(seen) == 3

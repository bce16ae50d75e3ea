"""Scores equal those of bm25s for the same tokens, in all five forms; the HAKARI preset gives its figures."""

from __future__ import annotations

import json
from pathlib import Path

import bm25s
import numpy as np
import pytest

from steelyard.retrievers.bm25.forms import FORMS
from steelyard.retrievers.bm25.postings import PostingsBuilder
from steelyard.retrievers.bm25.retriever import Bm25, from_spec
from steelyard.retrievers.bm25.search import QueryTerms, search
from steelyard.spec import parse
from steelyard.text.tokenizer.spans import keys_of_strings
from steelyard.text.tokenizer.tokens import Tokens
from steelyard.text.tokenizer.vocabulary import Vocabulary
from steelyard.types import Corpus, Queries, TaskInfo

SHARED = Path(__file__).resolve().parents[4] / "shared"


def made_tokens(seed: int = 5) -> tuple[list[list[str]], list[list[str]]]:
    """Documents with very common and very rare words, a word in every document, repeated and empty documents."""
    rng = np.random.default_rng(seed)
    documents = [
        ["everywhere", *(f"w{int(n)}" for n in rng.zipf(1.3, rng.integers(1, 60)) if n < 500)] for _ in range(300)
    ]
    documents += [documents[7], documents[7]]
    queries = [[f"w{int(n)}" for n in rng.zipf(1.3, 8) if n < 700] + ["everywhere"] for _ in range(40)]
    queries += [["w1", "w1", "w2"], ["unheard"]]
    return documents, queries


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.6, 0.3), (2.0, 1.0), (1.2, 0.0), (0.0, 0.75)])
def test_scores_equal_those_of_bm25s(form: str, k1: float, b: float) -> None:
    documents, queries = made_tokens()
    delta = FORMS[form].delta
    # Its BM25+ has no figure where k1 is 0.
    theirs = bm25s.BM25(method=form, k1=k1 or 1e-12, b=b, delta=delta or 0.5)
    theirs.index(documents, show_progress=False)

    tokens, vocabulary, builder = Tokens.of_lists(documents), Vocabulary(), PostingsBuilder(len(documents))
    builder.add(vocabulary.grow(keys_of_strings(tokens.distinct))[tokens.numbers], tokens.owners)
    postings = builder.finish(len(vocabulary), FORMS[form], k1, b, delta)
    for query in queries:
        numbers = vocabulary.look_up(keys_of_strings(query))
        known = [word for word, number in zip(query, numbers, strict=True) if number >= 0]
        terms, counts = np.unique(numbers[numbers >= 0], return_counts=True)
        asked = QueryTerms(np.array([0, len(terms)]), terms, counts.astype(np.float64))
        rows, scores = search(postings, len(documents), asked, len(documents))
        found = rows[0][rows[0] >= 0]
        # Robertson's idf is zero for words of more than half of the documents: they find nothing.
        assert (len(found) > 0) == bool(known) or form == "robertson"
        expected = theirs.get_scores(known) if known else np.zeros(len(documents))
        np.testing.assert_allclose(scores[0][: len(found)], expected[found], atol=1e-5, rtol=1e-6)
        missing = np.setdiff1d(np.arange(len(documents)), found)
        floor = float(counts @ postings.floor[terms]) if known else 0.0
        np.testing.assert_allclose(expected[missing], floor, atol=1e-5)


def ndcg_at_10(corpus: Corpus, rows: np.ndarray, relevant: list[set[str]]) -> float:
    discounts = 1 / np.log2(np.arange(10) + 2)
    values = []
    for line, wanted in zip(rows, relevant, strict=True):
        gains = [row >= 0 and corpus.ids[row] in wanted for row in line[:10]]
        values.append((gains * discounts).sum() / discounts[: len(wanted)].sum())
    return float(np.mean(values))


def load(folder: Path) -> tuple[Corpus, Queries, list[set[str]]]:
    """The first 200 queries with a positive, as the parity file has them."""
    documents = [json.loads(line) for line in (folder / "corpus.jsonl").read_text("utf-8").strip().split("\n")]
    documents = [document for document in documents if document["text"].strip()]
    relevant: dict[str, set[str]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        if int(grade) > 0:
            relevant.setdefault(query, set()).add(document)
    queries = [json.loads(line) for line in (folder / "queries.jsonl").read_text("utf-8").strip().split("\n")]
    queries = [query for query in queries if query["_id"] in relevant][:200]
    corpus = Corpus.of(
        [document["_id"] for document in documents],
        ["\n\n".join(filter(None, (document.get("title"), document["text"]))) for document in documents],
    )
    asked = Queries(tuple(query["_id"] for query in queries), tuple(query["text"] for query in queries))
    return corpus, asked, [relevant[query["_id"]] for query in queries]


TASKS = {
    "xquad_en": "en",
    "xquad_ar": "ar",
    "xquad_zh": "zh",
    "cranfield_en": "en",
    "jsquad_ja": "ja",
    "vaswani_en": "en",
}


@pytest.mark.skipif(not (SHARED / "parity" / "hakari" / "bm25.json").is_file(), reason="the data is not here")
@pytest.mark.parametrize("task", TASKS)
def test_the_default_is_as_good_as_hakaris_and_the_preset_is_hakaris(task: str) -> None:
    published = json.loads((SHARED / "parity" / "hakari" / "bm25.json").read_text())["tasks"][task]["ndcg_at_10"]
    corpus, queries, relevant = load(SHARED / "data" / task)
    info = TaskInfo(f"shared/{task}", language=TASKS[task])
    default = Bm25().index(corpus, info).search(queries, 10)
    assert ndcg_at_10(corpus, default.rows, relevant) >= published
    preset = from_spec(parse("bm25?preset=hakari")).index(corpus, info).search(queries, 10)
    # Only the order of ties and the version of a dictionary can differ.
    assert ndcg_at_10(corpus, preset.rows, relevant) == pytest.approx(published, abs=0.001)

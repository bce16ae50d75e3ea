"""Arabic stems, thousands at a time, are those of Snowball."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.text.analysis import analyser
from steelyard.text.analysis.analyser import Analyser, stem
from steelyard.text.tokenizer.spans import Grams, find_tokens, keys_of_strings
from steelyard.text.tokenizer.tokens import Words

LETTERS = "ءآأؤإئابةتثجحخدذرزسشصضطظعغفقكلمنهوىي"
MARKS = "\u064b\u064c\u064d\u064e\u064f\u0650\u0651\u0652"
BEGINNINGS = "ال,بال,كال,لل,و,ف,وال,فا,ب,بب,كك,سي,ست,سن,سأ,سيست,سيتست,يست,نست,تست,أأ,أآ,أؤ,أا,أإ,وب,فسي,با"
ENDINGS = (
    "ه,ك,ني,نا,ها,هم,هن,كم,كن,هما,كما,كمو,ت,ا,ن,ي,تا,تن,ان,ون,ين,تما,وا,تم,و,تمو,ات,ة,ى,يه,ية,يها,ؤ,ئ,ياتهم,تها,ينا,يك"
)
SENTENCE = "سيستخدمون المكتبات الوطنية والجامعات وبالكتاب كُتُبٌ مُهِمَّة أيضاً في ٢٠٢٦ و2026 وGPU ومستشفياتهما المتوسطات"


@pytest.fixture(autouse=True, scope="module")
def _few_words_go_through_arrays_too() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(analyser, "_FEW", 0)
        yield


def stemmed(words: list[str]) -> list[int]:
    """The keys of the stems of the words, through the arrays; a space stands between two of them."""
    found = Words.of(find_tokens([" ".join(words)], Grams()))
    of_distinct = Analyser("ar").stem(found, np.arange(len(found.first)))
    return [int(key) for key in of_distinct[found.numbers]]


def test_a_sentence() -> None:
    words = SENTENCE.split()
    stems = stem("arabic", words)
    assert stems[:2] == ["يستخدم", "مكتب"]
    assert stemmed(words) == keys_of_strings([stem("arabic", [word.lower()])[0] for word in words]).tolist()


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", *MARKS, *BEGINNINGS.split(","), "ا\u064eل", "بِال"]),
            st.text(alphabet=LETTERS, max_size=6) | st.text(alphabet=LETTERS + 4 * MARKS, max_size=5),
            st.sampled_from(["", *ENDINGS.split(",")]),
            st.sampled_from(["", "", *ENDINGS.split(",")]),
        )
        .map("".join)
        .filter(bool),
        min_size=1,
        max_size=200,
    )
)
def test_words_made_of_affixes(words: list[str]) -> None:
    assert stemmed(words) == keys_of_strings(stem("arabic", words)).tolist()


@given(st.lists(st.text(alphabet="اليوتنهكمبسفأىة", min_size=1, max_size=12), min_size=1, max_size=200))
def test_words_of_letters_that_affixes_have(words: list[str]) -> None:
    assert stemmed(words) == keys_of_strings(stem("arabic", words)).tolist()


def test_most_words_are_stemmed_in_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []
    monkeypatch.setattr(analyser, "stem", lambda algorithm, words: asked.extend(words) or stem(algorithm, words))
    stemmed(SENTENCE.split())
    assert {word.decode() for word in asked} == {"و2026", "وgpu", "ومستشفياتهما"}

"""The normal form on arrays is the one that a plain loop over `normalise` gives, for any text in any batch."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.audit.lexical.normal_form import normal_form, tokenise
from steelyard.audit.lexical.shingles import Length, Windows
from steelyard.text.characters import HANGUL, SEPARATOR, WORD, class_of
from steelyard.text.tokenizer.normalise import normalise

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), min_size=1, max_size=8)


def reference_tokens(text: str) -> list[str]:
    """Words and single characters, one character at a time."""
    tokens: list[str] = []
    word = ""
    for character in normalise(text.replace("\x00", " ")):
        kind = class_of(character)
        if kind in (WORD, HANGUL):
            word += character
            continue
        tokens += [word] if word else []
        word = ""
        if kind != SEPARATOR:
            tokens.append(character)
    return tokens + ([word] if word else [])


@given(TEXTS)
def test_tokens_are_those_of_a_plain_loop(texts: list[str]) -> None:
    tokens = tokenise(texts)
    expected = [reference_tokens(text) for text in texts]
    assert tokens.counts.tolist() == [len(words) for words in expected]
    flat = [word for words in expected for word in words]
    by_hash: dict[int, str] = {}
    for word, value in zip(flat, tokens.hashes.tolist(), strict=True):
        assert by_hash.setdefault(value, word) == word
    assert len(set(flat)) == len(by_hash)


@given(TEXTS)
def test_a_batch_has_the_hashes_of_each_text_alone(texts: list[str]) -> None:
    together = Windows(tokenise(texts)).whole().tolist()
    assert together == [int(Windows(tokenise([text])).whole()[0]) for text in texts]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The  Nile, a RIVER!", "the nile a river"),
        ("Straße", "STRASSE"),
        ("ﬁne … print", "fine print"),
        ("cafe\u0301", "café"),
        ("ｆｕｌｌ　ｗｉｄｔｈ", "full width"),
        ("東京 へ、行く。", "東京へ行く"),
        ("२०२० में", "2020 में"),
        ("soft\u00adhyphen", "softhyphen"),
        (unicodedata.normalize("NFD", "한국어 문장"), "한국어 문장"),
    ],
)
def test_texts_that_readers_take_as_one_have_one_normal_form(one: str, other: str) -> None:
    assert normal_form(one) == normal_form(other)
    first, second = Windows(tokenise([one, other])).whole().tolist()
    assert first == second


def test_order_and_word_boundaries_matter() -> None:
    values = Windows(tokenise(["a b c", "c b a", "ab c", "a bc"])).whole().tolist()
    assert len(set(values)) == 4


def test_shingles_are_longer_where_characters_are_tokens() -> None:
    windows = Windows(tokenise(["one two three four", "一二三四五六"]))
    starts, hashes = windows.of_length(Length(words=3, characters=5))
    assert windows.text_of(starts).tolist() == [0, 0, 1, 1]
    assert len(np.unique(hashes)) == 4


def test_half_of_a_surrogate_pair_is_not_an_error() -> None:
    assert tokenise(["cut \ud83d here", "cafe\u0301 \ud83d"]).counts.tolist() == [2, 1]

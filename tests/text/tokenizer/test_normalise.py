"""What readers take as one word is one term: the two i of Turkish, digits of every script, signs inside words."""

from __future__ import annotations

import unicodedata

import pytest

from steelyard.text.analysis.analyser import Analyser
from steelyard.text.tokenizer.normalise import ZEROS


def test_the_two_letters_i_of_turkish() -> None:
    turkish = Analyser("tr")
    for capital, small in (("İzmir", "izmir"), ("I\u0307zmir", "izmir"), ("Isparta", "ısparta"), ("IĞDIR", "ığdır")):
        assert turkish.tokens([capital]).distinct == turkish.query_tokens([small]).distinct
    assert turkish.tokens(["ISPARTA ısparta"]).distinct == turkish.tokens(["ısparta"]).distinct
    assert Analyser("en").tokens(["İzmir"]).distinct == Analyser("en").tokens(["Izmir"]).distinct


@pytest.mark.parametrize(
    ("language", "year"), [("fa", "۲۰۲۰"), ("hi", "२०२०"), ("bn", "২০২০"), ("th", "๒๐๒๐"), ("ar", "٢٠٢٠")]
)
def test_digits_of_every_script_are_one(language: str, year: str) -> None:
    assert Analyser(language).tokens([year]).distinct == ["2020"] == Analyser(language).query_tokens(["2020"]).distinct


def test_the_zeros_have_nine_digits_behind_them() -> None:
    assert all(unicodedata.decimal(chr(zero + digit)) == digit for zero in ZEROS for digit in range(10))


def test_an_armenian_word_that_is_asked_is_the_same_word() -> None:
    assert Analyser("hy").tokens(["Երևա՞նը"]).distinct == Analyser("hy").tokens(["Երևանը"]).distinct


def test_several_of_what_is_written_in_capitals() -> None:
    assert Analyser("code").tokens(["parseURLs(userIDs)"]).lists(1) == [
        ["pars", "url", "parseurl", "user", "id", "userid"]
    ]


@pytest.mark.parametrize(
    ("language", "spellings"),
    [
        ("uk", ("п'ять", "п’ять", "пʼять")),
        ("be", ("сям'я", "сям’я", "сямʼя")),
        ("uz", ("oʻzbek", "o‘zbek", "o'zbek", "oʼzbek")),
        ("he", ("שָׁלוֹם", "שלום")),
        ("fa", ("کِتاب", "کتاب", "كتاب")),
        ("ur", ("کِتاب", "کتاب", "كتاب")),
        ("ckb", ("کوردی", "كوردي")),
        ("el", ("ΛΌΓΟΣ", "λόγος", "ΛΟΓΟΣ")),
    ],
)
def test_a_word_that_is_typed_in_several_ways_is_one(language: str, spellings: tuple[str, ...]) -> None:
    assert len(Analyser(language).tokens(list(spellings)).distinct) == 1


def test_an_apostrophe_stays_a_border_where_words_are_joined_by_it() -> None:
    assert Analyser("fr").tokens(["l'arbre"]).lists(1) == [["l", "arbre"]]
    assert Analyser("uk").tokens(["слово 'у лапках' тут"]).lists(1) == [["слово", "у", "лапках", "тут"]]


def test_function_words_of_queries_are_known_in_every_spelling() -> None:
    assert Analyser("uz").query_tokens(["bo'lgan shahar", "boʻlgan shahar"]).lists(2) == [["shahar"]] * 2


def test_emoji_are_tokens_of_their_own() -> None:
    found = Analyser("en").tokens(["pizza🍕🍕!", "👍🏽 I ❤️ tea", "★ ✓ → • ©", "家👨‍👩‍👧"]).lists(4)
    assert found == [["pizza", "🍕", "🍕"], ["i", "tea", "👍", "❤"], [], ["家", "👨", "👩", "👧"]]


def test_identifiers_in_other_letters_are_split_by_their_case() -> None:
    assert Analyser("code").tokens(["größeMessen", "НайтиПоКоду", "变量_a"]).lists(3) == [
        ["grösse", "messen", "grössemessen"],
        ["найти", "по", "коду", "найтипокоду"],
        ["a", "变", "量", "变量"],
    ]

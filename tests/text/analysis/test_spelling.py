"""Spellings of one word meet in one term, in documents and queries; words that look alike stay apart."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.retrievers.bm25.retriever import Bm25
from steelyard.text.analysis.analyser import Analyser
from steelyard.text.analysis.spelling import PLAIN, spelling_of
from steelyard.text.function_words import FUNCTION_WORDS
from steelyard.types import Corpus, Queries, TaskInfo

JOINER, NON_JOINER = "\u200d", "\u200c"

MEET = {
    "hi": ("हिन्दी हिंदी", "सम्बन्ध संबंध", "पञ्जाब पंजाब", "अङ्क अंक", "घण्टा घंटा", "माँ मां", "बातें बातेँ", "आऊँगा आऊंगा",
           "क़लम कलम", "\u0958लम क\u093cलम", "लड़कियाँ लडकियां", "क्\u200dष क्ष", "क्\u200cष क्ष"),
    "mr": ("हिन्दी हिंदी", "मराठीँ मराठीं", "फ़ोन फोन", "\u0931हाणे रहाणे"),
    "ne": ("हिन्दी हिंदी", "ग्रन्थ ग्रंथ", "आँखा आंखा", "जान्छ जान्थ्यो"),
    "ml": (f"അവൻ അവന്{JOINER}", f"കാർ കാര്{JOINER}", f"പാൽ പാല്{JOINER}", f"അവൾ അവള്{JOINER}", f"കൺ കണ്{JOINER}",
           f"എന്റെ എൻ്റെ എന്{JOINER}്റെ", f"തമിഴ്{NON_JOINER}നാട് തമിഴ്നാട്"),
    "bn": (f"হঠাৎ হঠাত্{JOINER}",),
    "ro": ("şcoală școală", "ţară țară", "s\u0326i și s\u0327i"),
    "fa": ("كتاب کتاب", "ايران ایران ايران", "خانۀ خانهٔ خانه", "ہمہ همه", "علىٰ علی"),
    "ur": ("كتاب کتاب کِتاب", "هے ہے", "زمانۂ زمانهٔ زمانہ", "علي علی على", "زكوة زکوۃ"),
    "ckb": ("كوردي کوردی", f"ئێمه ئێمه{NON_JOINER} ئێمە", f"ده{NON_JOINER}نگ دەنگ", "ھەولێر هەولێر",
            "رۆژ ڕۆژ ڒۆژ", "دةنگ دەنگ"),
    "ru": ("ёлка елка", "за\u0301мок замок", "её ее"),
    "uk": ("п'ять п’ять пʼять п′ять", "за\u0301мок замок"),
    "be": ("сям'я сям’я сямʼя", "за\u0301мак замак"),
    "bg": ("въ\u0301лна вълна",),
    "vi": ("hoà hòa", "HOÁ hóa", "khoẻ khỏe", "thuý thúy", "Thuỷ thủy", "loè lòe", "quý qúy", "xoáy xóay", "Ðà Đà"),
    "fr": ("cœur coeur", "Œuvre oeuvre", "ex-æquo ex-aequo"),
    "it": ("Cæsar Caesar",),
    "de": ("Œuvre Oeuvre",),
    "en": ("café cafe", "naïve naive", "résumé resume", "encyclopædia encyclopaedia", "Dvořák Dvorak",
           "Øresund Oresund", "Łódź Lodz", "fœtus foetus", "Þór Thor", "cooperate coöperate"),
    "he": ("שָׁלוֹם שלום \ufb2aלום",),
    "tr": ("İzmir izmir", "ISPARTA ısparta"),
}  # fmt: skip

APART = {
    "hi": ("अन्य अंय", "जन्म जंम", "सम्मान संमान", "दिन दीन", "कम काम", "चिन्ता चीता"),
    "mr": ("जन्म जंम", "मला माला"),
    "ne": ("अन्न अंन", "दिन दीन"),
    "ml": ("അവൻ അവന്", "പാൽ പാല്"),
    "bn": ("মত মৎ",),
    "ro": ("mar măr", "sa șa", "tine ține"),
    "fa": ("آرد ارد", "مار ماه"),
    "ur": ("بہاری بھاری", "پہل پھل"),
    "ckb": ("کەر کەڕ", "بار باڕ"),
    "ru": ("йод иод", "все всю"),
    "uk": ("гніт ґніт", "їхати іхати"),
    "be": ("лён лен",),
    "vi": ("hoà hoá", "hòa hoa", "ma mà", "của cua", "mùa muà"),
    "fr": ("pêche péché", "mur mûr", "cote côte"),
    "es": ("ano año",),
    "da": ("æble aeble", "få fa"),
    "no": ("bær baer", "få fa"),
    "is": ("æ ae",),
    "en": ("мой мои", "café caf", "ガ カ", "coop cop"),
    "pt": ("avó avô",),
    "ja": ("ガ カ", "は ば"),
}  # fmt: skip


def terms(language: str, word: str) -> list[str]:
    return Analyser(language).tokens([word]).lists(1)[0]


def each(pairs: dict[str, tuple[str, ...]]) -> list[tuple[str, list[str]]]:
    return [(language, spellings.split(" ")) for language, words in pairs.items() for spellings in words]


@pytest.mark.parametrize(("language", "spellings"), each(MEET))
def test_spellings_of_one_word_meet(language: str, spellings: list[str]) -> None:
    assert len({tuple(terms(language, word)) for word in spellings}) == 1
    # However the characters are composed, among other words, and between characters that make n-grams.
    decomposed = [unicodedata.normalize("NFD", word) for word in spellings]
    assert {tuple(terms(language, word)) for word in decomposed} == {tuple(terms(language, spellings[0]))}
    among = Analyser(language).tokens([f"東京 {word}, 京都" for word in spellings]).lists(len(spellings))
    assert [found[: len(terms(language, spellings[0]))] for found in among] == [terms(language, spellings[0])] * len(
        spellings
    )
    asked = Analyser(language).query_tokens(spellings).lists(len(spellings))
    assert asked == [asked[0]] * len(spellings)


@pytest.mark.parametrize(("language", "words"), each(APART))
def test_words_that_look_alike_stay_apart(language: str, words: list[str]) -> None:
    assert len({tuple(terms(language, word)) for word in words}) == len(words)


def test_a_persian_suffix_behind_a_non_joiner_is_parted_as_behind_a_space() -> None:
    assert terms("fa", f"کتاب{NON_JOINER}ها") == terms("fa", "کتاب ها")
    assert terms("ur", f"خوب{NON_JOINER}صورت") == terms("ur", "خوب صورت")


@pytest.mark.parametrize(
    ("language", "query", "left"),
    [
        ("ro", "şi ţară", "țar"),
        ("ru", "её ёлка", "елк"),
        ("hi", "हैँ हिन्दी", "हिंद"),
        ("fa", "كه كتاب", "کتاب"),
        ("uz", "bo'lgan shahar", "shahar"),
    ],
)
def test_function_words_are_known_in_every_spelling(language: str, query: str, left: str) -> None:
    assert Analyser(language).query_tokens([query]).lists(1) == [[left]]


@pytest.mark.parametrize("language", sorted(FUNCTION_WORDS))
def test_a_function_word_stays_one_word(language: str) -> None:
    words = sorted(FUNCTION_WORDS[language])
    assert all(len(terms(language, word)) == 1 for word in words if len(terms("und", word)) == 1)


LATIN_INSIDE = {"zh": "他喜欢running和cafés。", "ja": "ランニングはrunning、cafésで。", "th": "ฉันชอบrunningที่cafésนะ",
                "ko": "나는 running을 cafés에서"}  # fmt: skip


@pytest.mark.parametrize(("language", "text"), LATIN_INSIDE.items())
def test_latin_words_among_n_grams_are_english_ones(language: str, text: str) -> None:
    assert {"run", "cafe"} <= set(terms(language, text))
    assert {"run", "cafe"} <= set(Analyser("en").query_tokens(["running in a café"]).distinct)
    # A language that was asked for says otherwise.
    assert {"running", "cafés"} <= set(terms("und", text))
    assert "cafés" not in terms("fr", text) and "running" in terms("fr", text)


def test_what_is_an_acronym_in_chinese_is_no_function_word() -> None:
    assert "who" in Analyser("zh").query_tokens(["WHO总部在哪里"]).distinct


@pytest.mark.parametrize("language", ["zh", ""])
def test_an_english_question_finds_english_words_in_a_chinese_document(language: str) -> None:
    chinese = [
        "他每天早上去公园running，已经坚持了十年。",
        "这家餐厅的菜很好吃，我们常去。",
        "昨天下雨，所以没有出门。",
    ]
    corpus = Corpus.of(["run", "food", "rain"], chinese)
    index = Bm25().index(corpus, TaskInfo("t/t", language=language))
    run = index.search(Queries(("q",), ("Who runs every morning?",)), 3)
    assert corpus.ids[run.rows[0, 0]] == "run"


def test_n_grams_are_numbered_apart_from_words() -> None:
    """A word that becomes a term another portion has, n-grams before and behind it: nothing shifts."""
    corpus = Corpus.of(["a", "b", "c"], ["東京 running", "京都 runs 東京", "大阪 café"])
    index = Bm25().index(corpus, TaskInfo("t/t", language="ja"))
    found = index.search(Queries(("1", "2", "3"), ("run", "大阪", "cafes")), 3)
    assert [[corpus.ids[row] for row in line if row >= 0] for line in found.rows.tolist()] == [["a", "b"], ["c"], ["c"]]


@given(st.text(alphabet="aéœкийу\u0301\u0306हिनन्द्दँ़म्पരന്\u200d\u200cهۀكي\u0654\u064e\u0651oàuý 東カ\u3099"))
@pytest.mark.parametrize("language", ["en", "ru", "hi", "fr", "vi", "ur", "fa", "ja"])
def test_letters_are_one_however_they_are_composed(language: str, text: str) -> None:
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    assert terms(language, composed) == terms(language, decomposed) == terms(language, text)


def test_ascii_is_left_alone() -> None:
    """It takes a way of its own, on which no spelling is looked at."""
    letters = "".join(map(chr, range(128)))
    for language in (*MEET, *APART):
        assert spelling_of(language).letters(letters) == letters


def test_a_language_without_spellings_of_its_own_is_left_alone() -> None:
    assert spelling_of("da") is spelling_of("und") is PLAIN

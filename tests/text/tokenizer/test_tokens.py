"""Words of every script come out whole, whatever the way they take through the arrays."""

from __future__ import annotations

import re
import subprocess
import sys
import unicodedata
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.text.analysis.analyser import Analyser, split_identifier, stem
from steelyard.text.characters import class_of
from steelyard.text.tokenizer.fold import COMBINING, END, Folded, fold
from steelyard.text.tokenizer.normalise import normalise
from steelyard.text.tokenizer.spans import Grams, UInt64, _mix, find_tokens, keys, keys_of_strings
from steelyard.text.tokenizer.tokens import ODD, Tokens, first_places
from steelyard.text.tokenizer.vocabulary import Reader, Vocabulary

WORDS_BY_SCRIPT = {
    "devanagari": ["हिन्दी", "पुस्तकें", "क़लम"],
    "bengali": ["বাংলাদেশের", "স্বাধীনতা"],
    "tamil": ["தமிழ்நாடு", "பூக்கள்"],
    "telugu": ["తెలుగు", "పుస్తకాలు"],
    "malayalam": ["മലയാളം"],
    "sinhala": ["සිංහල"],
    "arabic with marks": ["مُحَمَّد", "كِتَابٌ"],
    "hebrew with points": ["שָׁלוֹם", "עִבְרִית"],
    "greek": ["ἄνθρωπος", "ελληνικά"],
    "vietnamese": ["tiếng", "việt"],
    "latin": ["naïve", "smörgåsbord", "covid19"],
    "georgian": ["საქართველო"],
    "ethiopic": ["አማርኛ"],
}


def tokens(text: str, grams: Grams | None = None) -> list[str]:
    return Tokens.of_spans(find_tokens([text], grams or Grams())).lists(1)[0]


@pytest.mark.parametrize("words", WORDS_BY_SCRIPT.values(), ids=WORDS_BY_SCRIPT.keys())
def test_marks_belong_to_the_word(words: list[str]) -> None:
    assert tokens(", ".join(words) + "!") == [normalise(word) for word in words]


def test_scripts_without_spaces_become_n_grams() -> None:
    assert tokens("東京2020年") == ["2020", "東", "京", "年", "東京"]
    assert tokens("ไทย ก", Grams(unspaced=(2,))) == ["ก", "ไทย"]
    assert tokens("한국어를 씀") == ["씀", "한국", "국어", "어를"]


CLUSTERS = {
    "thai": ["น้ำ", "เที่", "ย", "ว", "โบว์", "สิ", "ทธิ์"],
    "lao": ["ພາ", "ສາ", "ລາ", "ວ", "ເກົ່າ"],
    "khmer": ["ភា", "សា", "ខ្មែ", "រ"],
    "burmese": ["မြန်", "မာ", "ဘာ", "သာ", "တ", "က္က", "သိုလ်"],
}


@pytest.mark.parametrize("clusters", CLUSTERS.values(), ids=CLUSTERS.keys())
def test_a_vowel_is_never_parted_from_its_consonant(clusters: list[str]) -> None:
    clusters = list(map(normalise, clusters))
    pairs = [first + second for first, second in pairwise(clusters)]
    assert tokens("".join(clusters)) == [*clusters, *pairs]
    # Spaces and other scripts end a run; its last cluster pairs with nothing beyond.
    apart = tokens(f"{clusters[0]} {clusters[1]}x{clusters[2]}{clusters[3]}")
    assert apart == ["x", *clusters[:4], clusters[2] + clusters[3]]


def test_marks_without_a_consonant_are_kept() -> None:
    assert tokens("a\u0e49\u0e49 \u0e40") == ["a", "\u0e49\u0e49", "\u0e40"]


def test_width_case_and_composition_do_not_matter() -> None:
    assert tokens("ＡＢＣ") == tokens("abc")
    assert tokens("ｶﾞｷﾞ") == tokens("ガギ")
    assert tokens("cafe\u0301") == tokens("CAFÉ") == ["café"]
    assert tokens("STRASSE") == tokens("straße")
    assert tokens("co\u00adoperate") == ["cooperate"]


def test_the_non_joiner_parts_persian_words_and_vanishes_elsewhere() -> None:
    assert tokens("می\u200cروم") == ["می", "روم"]
    assert tokens("क्\u200cष") == [normalise("क्ष")]


def test_odd_texts_are_kept_apart() -> None:
    texts = ["", "a\0b", "\ud800x", "é", "...", "z"]
    assert Tokens.of_spans(find_tokens(texts, Grams())).lists(6) == [[], ["a", "b"], ["x"], ["é"], [], ["z"]]
    assert Tokens.of_spans(find_tokens([], Grams())).lists(0) == []


def test_the_list_of_combining_characters_is_complete() -> None:
    second = {
        int(parts[1], 16)
        for point in range(0x110000)
        if (parts := unicodedata.decomposition(chr(point)).split())
        and len(parts) == 2
        and not parts[0].startswith("<")
        and unicodedata.normalize("NFC", chr(point)) == chr(point)
    }
    listed = {point for first, last in COMBINING for point in range(first, last + 1)}
    assert second <= listed


MARKS_AND_COMPOUNDS = [chr(point) for point in range(0x110000) if unicodedata.combining(chr(point))] + [
    chr(point) for point in range(0x110000) if unicodedata.decomposition(chr(point))
]


@settings(max_examples=400)
@given(
    st.text()
    | st.text(st.sampled_from(MARKS_AND_COMPOUNDS) | st.sampled_from("aلحคक東ｶ한 \u200d\u200c\u064e\u0651"), max_size=6)
)
def test_fold_is_normalise(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    points = np.array([ord(character) for character in text], dtype=np.uint32)
    folded = fold(points)
    if isinstance(folded, Folded):
        expected = list(map(class_of, normalise(text)))
        separated = (
            character if kind or character == END else " "
            for character, kind in zip(normalise(text), expected, strict=True)
        )
        assert "".join(map(chr, folded.points)) == "".join(separated)
        assert folded.classes.tolist() == expected
        assert folded.only_words == (max(expected, default=0) <= 1)


def test_many_characters_that_become_none_or_several_are_put_in_their_places_as_few_are() -> None:
    text = "oﬃce, ½ شـــاي ＿ co\u00adop…"
    many = [text] * 500
    assert Tokens.of_spans(find_tokens(many, Grams())).lists(500) == [tokens(text)] * 500
    assert "office" in tokens(text) and "شاي" in tokens(text) and "coop" in tokens(text)


def test_a_mark_that_folding_leaves_is_put_in_order_with_the_next() -> None:
    text = "\u0130\u20e5"
    assert (
        Tokens.of_spans(find_tokens([text], Grams())).distinct
        == Tokens.of_spans(find_tokens([normalise(text)], Grams())).distinct
    )


def test_two_marks_are_put_in_order_without_a_detour() -> None:
    folded = fold(np.array([ord(character) for character in "عل\u0651\u064eم"], dtype=np.uint32))
    assert isinstance(folded, Folded)
    assert "".join(map(chr, folded.points)) == normalise("عل\u0651\u064eم") == "عل\u064e\u0651م"


@given(st.lists(st.text(alphabet="aAbB1é_ .-東京ก\u0301", max_size=30), min_size=1, max_size=5))
def test_the_way_through_ascii_agrees_with_the_general_way(texts: list[str]) -> None:
    together = Tokens.of_spans(find_tokens(texts, Grams())).lists(len(texts))
    assert together == [tokens(text) for text in texts]
    for text, found in zip(texts, together, strict=True):
        if text.isascii():
            assert found == re.findall("[a-z0-9]+", text.lower())


@given(st.lists(st.text(alphabet="abcdefgh", min_size=1, max_size=40), min_size=1))
def test_keys_are_equal_for_equal_words_only(words: list[str]) -> None:
    found = keys(find_tokens([" ".join(words)], Grams())).tolist()
    assert len(set(found)) == len(set(words))
    assert [found[words.index(word)] for word in words] == found


def test_huge_tokens_have_keys_of_their_own_and_take_no_pass_for_every_eight_bytes() -> None:
    words = ["x" * length for length in (1023, 1024, 1025, 1026, 4000)] + ["x" * 4000 + "y", "é" * 600, "cat"]
    alone, together = keys_of_strings(words), keys(find_tokens([" ".join(words)], Grams()))
    assert len(set(alone.tolist())) == len(words)
    assert together.tolist() == alone.tolist()
    passes = 0

    def counted(key: UInt64, block: UInt64) -> UInt64:
        nonlocal passes
        passes += 1
        return _mix(key, block)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("steelyard.text.tokenizer.spans._mix", counted)
        keys_of_strings(["z" * 1_000_000, "four score and seven"])
    assert passes == 2


def test_stemming_every_snowball_language_has_an_algorithm() -> None:
    from steelyard.text.languages import STEMMERS

    for language in STEMMERS:
        assert Analyser(language).tokens(["abc"]).distinct


def test_a_number_is_its_own_stem_in_every_language() -> None:
    from steelyard.text.languages import STEMMERS

    for algorithm in set(STEMMERS.values()):
        numbers = [*map(str, range(2100)), "12345678", "00000000"]
        assert stem(algorithm, numbers) == numbers, "numbers are not shown to stemmers"


def test_identifiers_are_split_and_kept() -> None:
    assert split_identifier("parseJSON5File") == ["parse", "json", "5", "file", "parsejson5file"]
    assert Analyser("code").tokens(["x = max_value"]).lists(1) == [["x", "max", "valu", "max_valu"]]


def test_a_query_keeps_its_function_words_if_it_has_no_others() -> None:
    assert Analyser("en").query_tokens(["who is who", "who is Ann"]).lists(2) == [["who", "is", "who"], ["ann"]]
    assert Analyser("zh").query_tokens(["什么"]).distinct
    assert "什么" not in Analyser("zh").query_tokens(["什么是茶"]).distinct


@pytest.mark.parametrize("language", ["en", "zh", "code"])
def test_reading_in_portions_gives_the_terms_of_reading_at_once(language: str) -> None:
    texts = ["Running cats", "the cat ran", "東京の猫", "getCat", "cats running"]
    vocabulary = Vocabulary()
    reader = Reader(Analyser(language), vocabulary)
    in_portions = []
    for part in (texts[:2], texts[2:3], texts[3:]):
        numbers, owners = reader.read(part)
        in_portions += [numbers[owners == place].tolist() for place in range(len(part))]
    at_once = Analyser(language).tokens(texts).lists(len(texts))
    assert in_portions == [vocabulary.look_up(keys_of_strings(terms)).tolist() for terms in at_once]
    assert len(vocabulary) == len({term for terms in at_once for term in terms})


@pytest.mark.parametrize("language", ["en", "ar", "zh", "ja", "th", "de", "code", "und"])
def test_terms_of_queries_are_those_of_their_strings_whether_a_document_had_the_words_or_not(language: str) -> None:
    queries = [
        "Who is running to getCat?",
        "ما هي عاصمة الكتاب",
        "什么是茶 2026",
        "東京はどこですか",
        "อะไรคือ cats",
        "the",
        "",
    ]
    documents = ["He runs with a cat; getCats", "كتاب العاصمة", "茶", "東京 2026", "คือ", "running"]
    reader = Reader(Analyser(language), Vocabulary())
    reader.read(documents)
    numbers, owners = reader.read_queries(queries)
    strings = Analyser(language).query_tokens(queries).lists(len(queries))
    for place, terms in enumerate(strings):
        wanted = reader.vocabulary.look_up(keys_of_strings(terms))
        assert sorted(numbers[owners == place].tolist()) == sorted(wanted.tolist())
    assert (numbers >= 0).any()
    assert (numbers < 0).any()


@given(st.lists(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 40), max_size=60), max_size=6), st.integers(0, 8))
def test_a_vocabulary_numbers_keys_in_order_of_first_sight(portions: list[list[int]], passes: int) -> None:
    vocabulary, known = Vocabulary(), dict[int, int]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("steelyard.text.tokenizer.vocabulary._PASSES", passes)
        for portion in portions:
            keys = np.array(portion, dtype=np.uint64)
            assert vocabulary.look_up(keys).tolist() == [known.get(key, -1) for key in portion]
            assert vocabulary.grow(keys).tolist() == [known.setdefault(key, len(known)) for key in portion]
    assert len(vocabulary) == len(known)


@pytest.mark.parametrize("passes", [0, 8])
def test_keys_that_want_the_same_slot_are_told_apart(passes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.text.tokenizer.vocabulary._PASSES", passes)
    # The slot is in the upper bits of a product; these differ in the lowest only, so that all share one.
    inverse = pow(ODD, -1, 1 << 64)
    keys = np.array([number * inverse % (1 << 64) for number in range(300)], dtype=np.uint64)
    vocabulary = Vocabulary()
    assert vocabulary.grow(keys[:200], distinct=True).tolist() == list(range(200))
    assert vocabulary.look_up(keys).tolist() == [*range(200), *[-1] * 100]


@given(
    st.lists(st.text(alphabet="aé\u0301 \u064e\u0651ل\u0654و\0\uff76\uff9e\n½", max_size=12), min_size=1, max_size=4)
)
def test_words_whose_letters_act_on_each_other_are_normalised(texts: list[str]) -> None:
    found = Tokens.of_spans(find_tokens(texts, Grams())).lists(len(texts))
    alone = [Tokens.of_spans(find_tokens([normalise(text.replace("\0", " "))], Grams())).lists(1)[0] for text in texts]
    assert found == alone


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 40), max_size=200), st.integers(1, 8))
def test_first_places_whatever_the_size_of_the_table(values: list[int], bits: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("steelyard.text.tokenizer.tokens._TABLE_BITS", bits)
        found = first_places(np.array(values, dtype=np.uint64))
    assert found.tolist() == [values.index(value) for value in values]


def test_bm25_needs_no_arrow() -> None:
    """Its import alone would take more memory than the index of ten thousand documents."""
    code = """if True:
        import sys
        from steelyard.retrievers.bm25.retriever import Bm25
        from steelyard.types import Corpus, Queries, TaskInfo
        corpus = Corpus.of(["a", "b"], ["The cat sleeps.", "Prices fell."])
        run = Bm25().index(corpus, TaskInfo("t/en", language="en")).search(Queries(("q",), ("cats",)), 10)
        assert corpus.ids[run.rows[0, 0]] == "a"
        assert "pyarrow" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", code], check=True)

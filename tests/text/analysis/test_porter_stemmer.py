"""The Porter stemmer against NLTK, whose default mode HAKARI-Bench uses."""

import random

import pytest

from steelyard.text.analysis.porter_stemmer import porter_stem

ENDINGS = (
    "sses ies ied ss s eed ed ing y ational tional enci anci izer abli bli alli entli eli ousli ization ation ator "
    "alism iveness fulness ousness aliti iviti biliti fulli logi icate ative alize iciti ical ful ness al ance ence er "
    "ic able ible ant ement ment ent ion ou ism ate iti ous ive ize e ll"
)

STEMS = {  # by NLTK 3.10.4
    "days": "day",
    "enjoyed": "enjoy",
    "flies": "fli",
    "dies": "die",
    "tried": "tri",
    "spy": "spi",
    "news": "news",
    "skies": "sky",
    "exceeds": "exce",
    "exceed": "exceed",
    "technology": "technolog",
    "hopefully": "hope",
    "radically": "radic",
    "possibly": "possibl",
    "is": "is",
    "controlling": "control",
    "oing": "o",
    "ated": "ate",
}


@pytest.mark.parametrize(("word", "stem"), STEMS.items())
def test_a_word_has_the_stem_of_nltk(word: str, stem: str) -> None:
    assert porter_stem(word) == stem


def test_random_words_have_the_stems_of_nltk() -> None:
    oracle = pytest.importorskip("nltk.stem").PorterStemmer()
    draw = random.Random(7)
    for _ in range(20_000):
        base = "".join(draw.choice("aeiouybcdlrstz") for _ in range(draw.randint(0, 6)))
        word = base + "".join(draw.choice(ENDINGS.split()) for _ in range(draw.randint(1, 3)))
        assert porter_stem(word) == oracle.stem(word), word

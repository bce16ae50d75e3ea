"""The semantic level finds translations, and its false-positive rate is what it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from audit_parts import label_task

from steelyard.audit import audit
from steelyard.audit.calibration import calibrate, with_random_pairs
from steelyard.types import Float32

XQUAD = Path(__file__).parents[3] / "shared" / "data"
WORDS = 120


class DictionaryEncoder:
    """A bilingual encoder: `en7` and `de7` are one direction of the space, with a little of the language in it."""

    name = "dictionary"
    dimension = 64
    similarity = "cosine"
    settings: dict[str, str] = {}  # noqa: RUF012

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.words = rng.normal(size=(WORDS, self.dimension)).astype(np.float32)
        self.languages = {language: rng.normal(size=self.dimension) for language in ("en", "de")}

    def encode(self, texts: Sequence[str], role: str, tick: object = None) -> Float32:
        rows = []
        for text in texts:
            vector = np.sum([self.words[int(word[2:])] for word in text.split()], axis=0)
            rows.append(vector + self.languages[text[:2]])
        return np.asarray(rows, dtype=np.float32)


def sentences(rng: np.random.Generator, count: int, language: str = "en") -> list[str]:
    drawn = rng.integers(0, WORDS, (count, 8))
    return [" ".join(f"{language}{word}" for word in row) for row in drawn.tolist()]


def test_translations_are_found_and_others_are_not() -> None:
    rng = np.random.default_rng(4)
    texts = sentences(rng, 300)
    translated = [text.replace("en", "de") for text in texts[:60]]
    result = audit(label_task(texts), records=[*sentences(rng, 400, "de"), *translated], encoder=DictionaryEncoder())
    (part,) = result.tasks[0].parts
    assert part.rates["exact"].count == part.rates["near"].count == 0
    found = set(map(int, part.ids["semantic"]))
    assert len(found & set(range(60))) >= 54
    assert len(found - set(range(60))) <= 12  # of 240; the calibration asks for 1%
    semantic = result.settings["semantic"]
    assert semantic["encoder"] == "dictionary"
    assert semantic["estimate"] == pytest.approx(0.2, abs=0.04)


def test_unrelated_data_changes_no_verdict() -> None:
    rng = np.random.default_rng(5)
    result = audit(label_task(sentences(rng, 300)), records=sentences(rng, 400, "de"), encoder=DictionaryEncoder())
    assert result.tasks[0].verdict == "clean"
    assert result.settings["semantic"]["estimate"] < 0.03


def test_random_pairs_give_an_estimate_of_their_own() -> None:
    """A rate that random pairs make higher than the target is the one that is reported."""
    rng = np.random.default_rng(8)
    values = rng.normal(size=40_000)
    strict = with_random_pairs(calibrate(values[:1000], values[1000:8000]), values, 10)
    lax = with_random_pairs(replace(calibrate(values[:1000], values[1000:8000]), threshold=2.0), values, 100)
    assert strict.random_pairs is not None and strict.random_pairs < 0.2
    assert lax.random_pairs == pytest.approx(1 - np.exp(-100 * 0.02275), abs=0.03) == lax.false_positives
    assert with_random_pairs(lax, values[:10], 100) is lax
    result = audit(label_task(sentences(rng, 300)), records=sentences(rng, 2000, "de"), encoder=DictionaryEncoder())
    rates = result.settings["semantic"]
    assert rates["random_pairs_rate"] is None or rates["false_positive_rate"] >= rates["random_pairs_rate"]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
def test_the_false_positive_rate_is_what_the_calibration_says(share: float) -> None:
    """Of 4,000 made texts, as many pass by chance as was asked for, whatever the share that leaks."""
    rng = np.random.default_rng(6)
    texts, stored = 4000, 8
    chance = np.sort(rng.normal(size=(texts, 400)), axis=1)[:, ::-1]
    leaked = np.arange(texts) < share * texts
    best = np.where(leaked, 8.0, chance[:, 0])
    others = np.where(leaked[:, None], chance[:, : stored - 1], chance[:, 1:stored]).ravel()
    calibration = calibrate(best, others)
    by_chance = (chance[~leaked, 0] >= calibration.threshold).mean()
    assert 0.002 < by_chance < 0.025
    assert calibration.estimate == pytest.approx(share, abs=0.015)


def test_few_texts_give_no_false_alarm() -> None:
    result = audit(label_task(["en1 en2 en3 en4 en5"]), records=["de7 de8 de9 de10"], encoder=DictionaryEncoder())
    assert result.tasks[0].verdict == "clean"


@pytest.mark.slow
@pytest.mark.skipif(not (XQUAD / "xquad_en").exists(), reason="the data is not on this machine")
def test_chinese_translations_of_english_questions_are_found() -> None:
    from steelyard import load_task

    task, other = load_task(str(XQUAD / "xquad_en")), load_task(str(XQUAD / "xquad_zh"))
    records = [*other.queries.texts, *other.corpus.texts]
    result = audit(task, records=records, encoder="use-multilingual-v3")
    rates = {part.part: part.rates["semantic"].share or 0.0 for part in result.tasks[0].parts}
    assert rates["queries"] > 0.8 and rates["positives"] > 0.9
    right = [
        match.id == (other.queries.ids[match.row - 1] if match.row <= len(other.queries) else None)
        for match in result.matches
        if match.part == "queries" and match.level == "semantic"
    ]
    assert np.mean(right) > 0.95

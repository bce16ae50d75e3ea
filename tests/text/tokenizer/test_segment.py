"""Words as packages cut them: those of the extra, and guests that are used where they are installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from steelyard.errors import MissingPart
from steelyard.retrievers.bm25.retriever import Bm25
from steelyard.text.tokenizer import segment
from steelyard.text.tokenizer.segment import HakariTokenizer, Segmenter
from steelyard.types import Corpus, Queries, TaskInfo


@pytest.fixture
def no_guests(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine without them, whatever is installed here."""
    monkeypatch.setattr(
        segment, "OPTIONAL_SEGMENTERS", {language: f"absent_{language}" for language in segment.OPTIONAL_SEGMENTERS}
    )
    segment.word_splitter.cache_clear()
    yield
    segment.word_splitter.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("zh", "北京是中国的首都。", ["北京", "是", "中国", "的", "首都"]),
        ("ja", "東京都に住む。", ["東京", "都", "に", "住む"]),
        ("th", "โรงเรียนอยู่ที่ไหน", ["โรงเรียน", "อยู่", "ที่ไหน"]),
    ],
)
def test_packages_of_the_extra(language: str, text: str, words: list[str]) -> None:
    assert Segmenter(language).tokens([text]).lists(1) == [words]
    assert str(Segmenter(language)).startswith("segmented by")


@pytest.mark.parametrize("language", ["ko", "vi"])
@pytest.mark.usefixtures("no_guests")
def test_without_a_guest_its_language_is_read_as_by_default_and_the_preset_says_what_is_missing(language: str) -> None:
    corpus = Corpus.of(["a", "b"], ["서울은 수도이다", "thủ đô là Hà Nội"])
    index = Bm25(analyser="segment").index(corpus, TaskInfo("t/x", language=language))
    assert [name for name in index.notes["analysers"] if "no segmenter" in name]
    assert index.search(Queries(("q",), ("서울은",)), 5).rows[0, 0] == corpus.row_of["a"]
    with pytest.raises(MissingPart, match="not installed"):
        HakariTokenizer(language).tokens(["x"])


def test_a_guest_is_used_where_it_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of the same shape stands in: a cutter that knows one word."""
    (tmp_path / "guest_ko.py").write_text(
        "from types import SimpleNamespace\n"
        "class Kiwi:\n"
        "    def tokenize(self, text):\n"
        "        return [SimpleNamespace(form=word) for word in text.replace('은', ' 은').split()]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(segment, "OPTIONAL_SEGMENTERS", {"ko": "guest_ko"})
    segment.word_splitter.cache_clear()
    try:
        assert str(Segmenter("ko")) == "segmented by guest_ko"
        assert Segmenter("ko").query_tokens(["서울은 ?"]).lists(1) == [["서울", "은"]]
        assert HakariTokenizer("ko").tokens(["서울은 ?"]).lists(1) == [["서울", "은", "?"]]
    finally:
        segment.word_splitter.cache_clear()
        sys.modules.pop("guest_ko", None)


def test_segmented_texts_keep_their_emoji_as_others_do() -> None:
    pytest.importorskip("rjieba")
    assert Segmenter("zh").tokens(["今晚吃🍕，好！"]).lists(1)[0][-2:] == ["🍕", "好"]
    assert "！" not in Segmenter("zh").tokens(["今晚吃🍕，好！"]).distinct

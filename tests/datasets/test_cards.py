"""Dataset cards: parsed, found for folders, copies of hub datasets and sources, and quotable."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from steelyard.config import Settings
from steelyard.datasets import load_task, task_cards
from steelyard.datasets.cards import LONGEST, parse_card
from steelyard.errors import DataError

PROSE = "Questions that Greek students asked about their exams, with the paragraph that answers each of them."
CARD = f"""---
license: cc-by-4.0
language:
- el
- no
pretty_name: Exams
configs:
- config_name: corpus
---

<div align="center"><h1>EXAMS</h1></div>

# *Exam* questions

[![badge](https://x.y/z.svg)](https://x.y)

{PROSE}

| a | table |
|---|---|

```python
load_dataset("a/b")  # this is code and is not quoted, although it is rather long
```

<!-- steelyard: begin description -->
A Nano-set sampled by Steelyard: at most 200 queries and 10,000 documents per task.
<!-- steelyard: end description -->

The paragraphs come from **[school books](https://x.y)** of 2019, and each question has one answer.

[More Information Needed] about everything else that a template asks for.
"""


def write_set(folder: Path, tasks: tuple[str, ...] = ("el",)) -> Path:
    for task in tasks:
        tables = {
            "corpus": {"_id": ["d1", "d2"], "text": ["one", "two"]},
            "queries": {"_id": ["q1"], "text": ["which?"]},
            "qrels": {"query-id": ["q1"], "corpus-id": ["d1"]},
        }
        for name, columns in tables.items():
            (folder / name).mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table(columns), folder / name / f"{task}.parquet")
    return folder


def test_a_card_is_facts_and_prose() -> None:
    card = parse_card(CARD, "me/exams", url="https://huggingface.co/datasets/me/exams")
    assert (card.title, card.licence, card.languages) == ("Exam questions", "cc-by-4.0", ("el", "no"))
    assert card.paragraphs == (
        PROSE,
        "The paragraphs come from school books of 2019, and each question has one answer.",
    )
    assert card.front["pretty_name"] == "Exams"


def test_odd_cards_are_read_without_an_error() -> None:
    assert parse_card("", "x").paragraphs == ()
    assert parse_card("---\n: [\n---\n" + PROSE, "x").paragraphs == (PROSE,)
    long = parse_card("word " * 2000, "x").quote
    assert LONGEST - 20 < len(long) <= LONGEST + 4
    assert parse_card(f"---\r\nlicense: mit\r\n---\r\n\r\n{PROSE}\r\n", "x").licence == "mit"


def test_the_card_of_a_folder_and_of_its_source(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "NanoExams")
    assert task_cards(f"{folder}::el").cards == ()
    (folder / "README.md").write_text(CARD, encoding="utf-8")
    (folder / "metadata").mkdir()
    stored = {"source": {"card": {"name": "me/exams", "paragraphs": ["From school books."], "licence": "mit"}}}
    (folder / "metadata" / "el.json").write_text(json.dumps(stored), encoding="utf-8")
    own, source = task_cards(f"{folder}::el").cards
    assert (own.name, own.role, own.paragraphs[0]) == ("NanoExams", "set", PROSE)
    assert (source.name, source.role, source.quote, source.licence) == (
        "me/exams",
        "source",
        "From school books.",
        "mit",
    )


def test_the_card_of_a_copy_of_a_hub_dataset(tmp_path: Path) -> None:
    copy = write_set(tmp_path / "hakari-bench" / "NanoMIRACL", ("ja",))
    (copy / "README.md").write_text(f"# MIRACL\n\n{PROSE}\n", encoding="utf-8")
    paper = tmp_path / "miracl" / "miracl-corpus"
    paper.mkdir(parents=True)
    (paper / "README.md").write_text(f"---\nlicense: apache-2.0\n---\n{PROSE[::-1]}\n", encoding="utf-8")
    settings = Settings.load(data=tmp_path, offline=True)
    info = load_task("NanoMIRACL/ja", settings=settings).info
    found = task_cards("NanoMIRACL/ja", info, settings=settings)
    assert found.cards[0].name == "hakari-bench/NanoMIRACL"
    assert found.cards[0].paragraphs == (PROSE,)
    assert found.cards[0].url == "https://huggingface.co/datasets/hakari-bench/NanoMIRACL"
    assert [(card.name, card.licence) for card in found.cards[1:]] == [("miracl/miracl-corpus", "apache-2.0")]
    assert not found.unread


def test_a_card_that_cannot_be_read_has_a_reason(tmp_path: Path) -> None:
    found = task_cards("NanoMIRACL/ja", settings=Settings.load(data=tmp_path, offline=True))
    assert found.cards == () and "NanoMIRACL/ja" in found.unread


METADATA = {
    "references": [{"title": "Exams", "year": 2019, "type": "paper", "url": "https://x.y", "doi": "10.1/x",
                    "confidence": "human_verified", "authors": ["A. B."]}],
    "original_train_split": "available",
    "evaluation_split_origin": "dev",
    "train_eval_overlap_audit": "not_audited",
    "leakage_note": "do not train on it",
    "useful_training_data": ["school books", "exam questions"],
    "synthetic_data": {"question_generation": "ask for one fact", "hard_negatives": "same subject"},
    "multi_positive_training": "single",
    "retrieval_focus": "exam question to paragraph",
    "language_notes": "polytonic Greek occurs",
    "rerank_suitability": "good",
}  # fmt: skip


def own_folder(folder: Path, sidecar: object) -> Path:
    folder.mkdir()
    (folder / "corpus.csv").write_text("_id,text\nd1,one\nd2,two\n")
    (folder / "queries.csv").write_text("_id,text\nq1,which?\n")
    (folder / "qrels.csv").write_text("query-id,corpus-id,score\nq1,d1,1\n")
    (folder / "task.json").write_text(json.dumps(sidecar), encoding="utf-8")
    return folder


def test_task_json_supplies_every_kind_of_metadata(tmp_path: Path) -> None:
    info = load_task(own_folder(tmp_path / "mine", {"name": "exams", "language": "el", **METADATA})).info
    from steelyard.datasets.formats.sidecar import info_facts, task_info

    assert {key: info_facts(info)[key] for key in METADATA} == METADATA
    assert task_info(info_facts(info), name=info.name, source="x").metadata == info.metadata
    assert info.metadata.references[0].authors == ("A. B.",)


@pytest.mark.parametrize(
    ("facts", "field", "expected"),
    [
        ({"retreival_focus": "x"}, "retreival_focus", "retrieval_focus"),
        ({"langauge": "el"}, "langauge", "language"),
        ({"references": [{"titel": "x"}]}, "titel", "title"),
        ({"synthetic_data": {"hard_negative": "x"}}, "hard_negative", "hard_negatives"),
    ],
)
def test_an_unknown_key_is_an_error_with_the_near_name(
    tmp_path: Path, facts: object, field: str, expected: str
) -> None:
    with pytest.raises(DataError) as caught:
        load_task(own_folder(tmp_path / "mine", facts))
    assert (caught.value.field, caught.value.expected) == (field, expected)
    assert str(caught.value.path).endswith("task.json") and expected in str(caught.value.hint)


@pytest.mark.parametrize(
    ("facts", "field"),
    [
        ({"references": [{"title": "x", "year": "2019"}]}, "references.year"),
        ({"references": [{"year": 2019}]}, "references.title"),
        ({"references": [{"title": "x", "confidence": "sure"}]}, "references.confidence"),
        ({"references": [{"title": "x", "url": "x.y"}]}, "references.url"),
        ({"references": "x"}, "references"),
        ({"useful_training_data": 3}, "useful_training_data"),
        ({"retrieval_focus": ["x"]}, "retrieval_focus"),
    ],
)
def test_an_invalid_value_is_an_error_with_its_key(tmp_path: Path, facts: object, field: str) -> None:
    with pytest.raises(DataError) as caught:
        load_task(own_folder(tmp_path / "mine", facts))
    assert caught.value.field == field and str(caught.value.path).endswith("task.json")


def test_a_set_file_describes_the_tasks_of_a_nano_set(tmp_path: Path) -> None:
    folder = write_set(tmp_path / "NanoExams", ("el", "hi"))
    greek_facts = "{language: el, retrieval_focus: question to paragraph, licence: cc0-1.0}"
    text = f"licence: mit\ntasks:\n  el: {greek_facts}\n  hi: {{}}\n"
    (folder / "set.yaml").write_text(text, encoding="utf-8")
    greek, hindi = (load_task(f"{folder}::{task}").info for task in ("el", "hi"))
    assert (greek.language, greek.licence, greek.metadata.retrieval_focus) == ("el", "cc0-1.0", "question to paragraph")
    assert (hindi.language, hindi.licence, hindi.metadata.retrieval_focus) == ("unknown", "mit", "")
    (folder / "set.yaml").write_text(text.replace("language", "langage"), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        load_task(f"{folder}::el")
    assert (caught.value.field, caught.value.expected) == ("langage", "language")

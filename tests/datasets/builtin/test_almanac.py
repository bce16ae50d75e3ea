"""NanoAlmanac: the files are parallel, clean and in the language that they say; the tasks are what they promise."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from steelyard.datasets.builtin import almanac
from steelyard.types import Task

FOLDER = Path(almanac.__file__).parent / "almanac"
LETTERS = {
    "ar": "ARABIC",
    "hi": "DEVANAGARI",
    "ja": "CJK HIRAGANA KATAKANA",
    "ko": "HANGUL",
    "ru": "CYRILLIC",
    "zh": "CJK",
}


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def tasks() -> dict[str, Task]:
    return {task.info.task: task for task in almanac.build()}


def test_every_file_is_used() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.jsonl")) == sorted(almanac.FILES)


def test_tasks_come_in_the_order_of_their_infos(tasks: dict[str, Task]) -> None:
    assert [task.info for task in tasks.values()] == list(almanac.infos())


@pytest.mark.parametrize("language", almanac.LANGUAGES)
def test_passages_are_parallel(language: str) -> None:
    passages, english = rows(language), rows("en")
    assert len(passages) >= 25
    assert [(row["id"], row["theme"]) for row in passages] == [(row["id"], row["theme"]) for row in english]
    assert all(len(row["questions"]) == 2 for row in passages)
    titles = Counter(row["title"] for row in passages)
    questions = Counter(question for row in passages for question in row["questions"])
    assert titles.most_common(1)[0][1] == questions.most_common(1)[0][1] == 1


def test_every_passage_has_look_alikes_of_its_theme() -> None:
    assert min(Counter(row["theme"] for row in rows("en")).values()) >= 3


@pytest.mark.parametrize("language", almanac.LANGUAGES)
def test_passages_are_in_their_language(language: str) -> None:
    expected = LETTERS.get(language, "LATIN").split()
    for row in rows(language):
        for text in (row["text"], *row["questions"]):
            letters = [unicodedata.name(letter).split()[0] for letter in text if letter.isalpha()]
            share = sum(letter in expected for letter in letters) / len(letters)
            assert share > 0.8, (row["id"], text)


@pytest.mark.parametrize("name", almanac.FILES)
def test_texts_are_normalised_and_trimmed(name: str) -> None:
    for row in rows(name):
        for text in (value for value in row.values() if isinstance(value, str)):
            assert text == unicodedata.normalize("NFC", text).strip() and text


def test_cross_has_no_answer_in_the_language_of_the_question(tasks: dict[str, Task]) -> None:
    task = tasks["cross"]
    in_corpus = Counter(name.rpartition(".")[2] for name in task.corpus.ids)
    asked_in = Counter(name.split(".")[1] for name in task.queries.ids)
    assert set(in_corpus) == set(asked_in) == set(almanac.LANGUAGES)
    for query, name in enumerate(task.queries.ids):
        subject, language, _ = name.split(".")
        answers = [task.corpus.ids[row].split(".") for row in task.qrels.rows_of(query)]
        assert len(answers) == 5
        assert {answer[0] for answer in answers} == {subject}
        assert language not in {answer[1] for answer in answers}
        assert f"{subject}.{language}" not in task.corpus.row_of


def test_pool_has_an_answer_in_every_language(tasks: dict[str, Task]) -> None:
    task = tasks["pool"]
    assert set(task.qrels.counts.tolist()) == {len(almanac.LANGUAGES)}
    assert len(task.queries) == len(task.corpus)


def test_a_passage_is_read_with_its_title(tasks: dict[str, Task]) -> None:
    first = rows("en")[0]
    corpus = tasks["en"].corpus
    assert corpus.texts[corpus.row_of[f"{first['id']}.en"]] == f"{first['title']} {first['text']}"


def test_health_questions_are_not_in_their_answers(tasks: dict[str, Task]) -> None:
    task = tasks["health-zh"]
    assert len(task.queries) >= 60
    for query, question in enumerate(task.queries.texts):
        (row,) = task.qrels.rows_of(query)
        assert question.strip("？?") not in task.corpus.texts[row]


def test_graded_queries_have_several_grades(tasks: dict[str, Task]) -> None:
    task = tasks["graded"]
    assert len(task.queries) >= 20
    assert set(task.qrels.grades.tolist()) == {0, 1, 2, 3}
    for query in range(len(task.queries)):
        grades = task.qrels.grades_of(query).tolist()
        assert sum(grade > 0 for grade in grades) >= 2
        assert len({grade for grade in grades if grade > 0}) >= 2, task.queries.ids[query]

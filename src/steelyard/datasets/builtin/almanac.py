"""NanoAlmanac: short passages on the same subjects in ten languages, with questions, written for Steelyard.

`almanac/<language>.jsonl` holds the passages, the same ids in each; `graded.jsonl` further paragraphs and judged
queries; `health_zh.jsonl` questions and answers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.datasets.builtin.sampling import BuiltinSet, assemble
from steelyard.types import TaskInfo

if TYPE_CHECKING:
    from steelyard.types import Task

EDITION = 1
"""Increased when the builder changes the data."""

LANGUAGES = ("ar", "de", "en", "es", "fr", "hi", "ja", "ko", "ru", "zh")
FILES = (*LANGUAGES, "graded", "health_zh")

DESCRIPTIONS = {
    "cross": "A question in one language; relevant is the passage that answers it, which the corpus holds in five "
    "other languages, among passages in the question's own language on the same theme. Ten languages, five positives.",
    "pool": "A question in one of ten languages; relevant is the passage that answers it in all ten. Ten positives.",
    "health-zh": "Everyday health questions in Chinese, and the answers that a careful FAQ gives. One positive. "
    "Data to test retrieval with, not advice.",
    "graded": "English questions on the passages and on short paragraphs about the same themes, judged from 0 "
    "(not relevant) to 3 (answers in full). Many positives.",
}


def infos() -> tuple[TaskInfo, ...]:
    """Return the tasks of NanoAlmanac."""
    same = "Questions and the passages that answer them, with other passages on the same theme; {}. One positive."
    spoken = [(language, (language,), same.format(f"in the language {language!r}")) for language in LANGUAGES]
    others = [(task, _languages(task), description) for task, description in DESCRIPTIONS.items()]
    return tuple(
        TaskInfo(
            f"NanoAlmanac/{task}",
            language=languages[0] if len(languages) == 1 else "multilingual",
            languages=languages,
            source="steelyard",
            revision=key(),
            description=description,
            licence="Apache-2.0",
        )
        for task, languages, description in (*spoken, *others)
    )


def _languages(task: str) -> tuple[str, ...]:
    return {"health-zh": ("zh",), "graded": ("en",)}.get(task, LANGUAGES)


@cache
def key() -> str:
    """Return a hash of the files, and the version of this builder."""
    digest = hashlib.blake2b(digest_size=5)
    for name in FILES:
        digest.update(_file(name).encode() + b"\x00")
    return f"{digest.hexdigest()}-e{EDITION}"


def _file(name: str) -> str:
    return (Path(__file__).with_name("almanac") / f"{name}.jsonl").read_text(encoding="utf-8")


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _file(name).splitlines() if line.strip()]


def build() -> Iterator[Task]:
    """Yield the tasks of NanoAlmanac, in the order of `infos`."""
    info = {task.task: task for task in infos()}
    passages = {language: _rows(language) for language in LANGUAGES}
    for language in LANGUAGES:
        yield _asked(info[language], [(row, (language,), (language,)) for row in passages[language]], passages)
    first = passages["en"]
    # The languages rotate from passage to passage: five for the passages, the other five for the questions.
    turns = [LANGUAGES[n % 10 :] + LANGUAGES[: n % 10] for n in range(len(first))]
    half = len(LANGUAGES) // 2
    yield _asked(
        info["cross"], [(row, turn[:half], turn[half:]) for row, turn in zip(first, turns, strict=True)], passages
    )
    yield _asked(info["pool"], [(row, LANGUAGES, LANGUAGES) for row in first], passages)
    yield _health(info["health-zh"])
    yield _graded(info["graded"], passages["en"])


def _asked(
    info: TaskInfo,
    subjects: Sequence[tuple[dict[str, Any], Sequence[str], Sequence[str]]],
    passages: dict[str, list[dict[str, Any]]],
) -> Task:
    """Return questions and passages: for each subject, the languages of its passages and of its questions.

    A subject with one question language has both its questions; with several, one in each, alternating.
    """
    rows = {(language, row["id"]): row for language in passages for row in passages[language]}
    texts: dict[str, str] = {}
    titles: dict[str, str] = {}
    questions: dict[str, str] = {}
    positives: dict[str, list[str]] = {}
    for subject, reading, asking in subjects:
        name = subject["id"]
        for language in reading:
            texts[f"{name}.{language}"] = rows[language, name]["text"]
            titles[f"{name}.{language}"] = rows[language, name]["title"]
        for turn, language in enumerate(asking):
            for number, question in enumerate(rows[language, name]["questions"], start=1):
                if len(asking) == 1 or number == 1 + turn % 2:
                    questions[f"{name}.{language}.{number}"] = question
                    positives[f"{name}.{language}.{number}"] = [f"{name}.{spoken}" for spoken in reading]
    return assemble(info, texts, questions, positives, titles)


def _health(info: TaskInfo) -> Task:
    rows = _rows("health_zh")
    answers = {row["id"]: row["answer"] for row in rows}
    return assemble(info, answers, {row["id"]: row["question"] for row in rows}, {name: [name] for name in answers})


def _graded(info: TaskInfo, passages: list[dict[str, Any]]) -> Task:
    rows = _rows("graded")
    documents = [*passages, *(row for row in rows if row["kind"] == "document")]
    queries = [row for row in rows if row["kind"] == "query"]
    return assemble(
        info,
        {row["id"]: row["text"] for row in documents},
        {row["id"]: row["text"] for row in queries},
        {row["id"]: row["judgements"] for row in queries},
        {row["id"]: row["title"] for row in documents},
    )


SET = BuiltinSet("NanoAlmanac", infos, key, build)

"""Draft the prose of a page with a chat model, from the facts only, and keep the sentences that pass every check."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.config import Settings
from steelyard.encoders.backends.api_texts import estimated_tokens, read_traffic
from steelyard.errors import ModelError, UsageError
from steelyard.http.endpoint import Endpoint
from steelyard.http.service import Refused, Service
from steelyard.http.traffic import Traffic
from steelyard.options import Options
from steelyard.reports.pages.findings.sentences import language_name
from steelyard.reports.pages.measure.page_inputs import METRIC_NAMES
from steelyard.reports.pages.measure.page_values import TaskValues
from steelyard.reports.pages.measure.part_values import Draft, DroppedSentence, NoteText
from steelyard.reports.pages.measure.profile_scores import METRICS
from steelyard.reports.pages.prose.checking import Facts, problem, split_sentences
from steelyard.reports.pages.render.blocks import Page
from steelyard.spec import parse

OPENAI = "https://api.openai.com/v1"
PATH = "chat/completions"
OPTIONS = ("url", "key_env", "key_header", "allow_http", "temperature", "max_tokens", *Traffic.names())
SECTIONS = (
    "Overview",
    "What the Original Data Measures",
    "Query and Relevance Type Tendencies",
    "Representative Failure Modes",
    "Training Data That May Help",
    "Model Improvement Notes",
)
"""The sections that are drafted."""
TASK = (
    "You write short sections of a reference page about one retrieval task, for researchers who train and evaluate "
    "retrieval models. Write plain, natural English, two to four sentences for each section. Use only the facts below: "
    "do not add numbers, names, languages, datasets or models that are not in them, and do not calculate. Name scores "
    "with their profile and metric. Answer with one JSON object whose keys are the headings."
)


@dataclass(frozen=True)
class Writer:
    """A chat model of a service with OpenAI's interface."""

    model: str
    service: Service
    temperature: float = 0.0
    max_tokens: int = 2000

    @classmethod
    def of(cls, name: str, settings: Settings) -> Writer:
        """Return the model of a name such as `api/NAME?url=http://localhost:8000/v1`; `api/` may be left out."""
        spec = parse(f"chat:{name if name.startswith('api/') else f'api/{name}'}")
        model = spec.id.removeprefix("api/")
        if not model:
            raise UsageError.invalid(
                "--write-with", expected="the name of a chat model", found=name, option="--write-with"
            )
        options = Options(f"chat:api/{model}", spec.options, OPTIONS)
        endpoint = Endpoint.of(
            options.text("url") or OPENAI,
            options.text("key_env"),
            options.text("key_header") or "Authorization",
            settings,
            allow_http=options.flag("allow_http", False),
        )
        temperature = options.number("temperature", 0.0, minimum=0)
        return cls(model, Service(endpoint, read_traffic(options)), temperature, options.whole("max_tokens", 2000))

    def draft(self, task: TaskValues, page: Page) -> Draft:
        """Return the sections that the model wrote, without the sentences that fail a check."""
        known = statements(task, page)
        written = self._ask(known)
        facts = facts_of(task, known)
        notes: list[NoteText] = []
        dropped: list[DroppedSentence] = []
        for heading in SECTIONS:
            paragraphs = []
            for paragraph in re.split(r"\n\s*\n", written.get(heading, "")):
                sentences = [(one, problem(one, facts)) for one in split_sentences(paragraph)]
                dropped += [DroppedSentence(heading, one, reason) for one, reason in sentences if reason]
                paragraphs.append(" ".join(one for one, reason in sentences if not reason))
            text = "\n\n".join(filter(None, paragraphs))
            if text:
                notes.append(
                    NoteText(heading, text, f"Drafted by {self.model}, checked against the values of this page")
                )
        return Draft(self.model, task.made_from, tuple(notes), tuple(dropped))

    def _ask(self, facts: list[str]) -> Mapping[str, str]:
        content = f"Headings: {json.dumps(SECTIONS)}\n\nFacts:\n" + "\n".join(f"- {one}" for one in facts)
        body = {
            "model": self.model,
            "messages": [{"role": "system", "content": TASK}, {"role": "user", "content": content}],
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
        }
        try:
            answer = self.service.post(PATH, body, estimated_tokens(content) + self.max_tokens, threading.Event())
        finally:
            self.service.close()
        if isinstance(answer, Refused):
            raise ModelError(
                f"{self.service.endpoint.host} returned {answer.status}: {answer.message}",
                hint="check the name of the model, or lower max_tokens",
            )
        return _sections(answer, self.service.endpoint.host)


def _sections(answer: Any, host: str) -> dict[str, str]:
    """Return the texts by heading from the response of a chat service."""
    hint = "check that the address is that of a chat service with OpenAI's interface, and try a larger model"
    try:
        content = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        raise ModelError.invalid(
            f"the answer of {host}", expected="an object with choices and a message", found="something else", hint=hint
        ) from None
    match = re.search(r"\{.*\}", content, re.S) if isinstance(content, str) else None
    try:
        value = json.loads(match[0]) if match else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ModelError.invalid(
            f"the draft of {host}", expected="a JSON object with headings", found="another text", hint=hint
        )
    return {str(heading): text for heading, text in value.items() if isinstance(text, str)}


def facts_of(task: TaskValues, known: list[str]) -> Facts:
    """Return the facts against which a draft is checked."""
    names = frozenset(language_name(code).partition(" (")[0] for code in task_languages(task))
    return Facts(tuple(known), names, {one.label: one.ndcg_at_10 for one in task.main})


def statements(task: TaskValues, page: Page) -> list[str]:
    """Return every fact of the page as a statement of its own."""
    return list(dict.fromkeys((*_scores(task), *_names(task), *(one.sentence for _, one in page.findings))))


def _scores(task: TaskValues) -> Iterator[str]:
    """Yield one statement for each score, so that a number belongs to one profile and one metric."""
    for one in task.profiles:
        for metric in METRICS:
            value = getattr(one, metric)
            if value is not None:
                yield f"{one.label} {METRIC_NAMES[metric]} = {value:.4f}"


def _names(task: TaskValues) -> Iterator[str]:
    yield f"The task is {task.name} of the set {task.nano_set}."
    yield f"The data comes from {task.dataset}." if task.dataset else "The origin of the data is not recorded."
    yield from (f"{one.label} is {one.config}." for one in task.profiles)
    yield from (f"Source: {one.title} ({one.year}), {one.type}." for one in task.sources)
    yield from (one.text for one in task.cards)
    if task.description:
        yield task.description
    for code in sorted(task_languages(task)):
        yield f"A language of the task is {language_name(code)}."


def task_languages(task: TaskValues) -> set[str]:
    """Return the codes of the languages that the task declares or that were identified."""
    profile = task.language_profile
    identified = {*profile.query_languages, *profile.document_languages} if profile else set()
    return ({*task.languages} | identified) - {"und"}

"""How texts are sent to a model service: prompts, length limits, extra request fields, estimated tokens.

Tokens are estimated by the length of a character in UTF-8: a quarter of a token for ASCII, half a token for two bytes
(Cyrillic, Greek, Arabic), one for three (Chinese, Japanese, Hindi, Thai), two for four (emoji). Tokenizers of current
models need about that many or fewer. The service's own count is what it bills.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Self

from steelyard.encoders.instructions import OPTIONS as INSTRUCTION_OPTIONS
from steelyard.encoders.prompts import PromptsByTask, with_instruction
from steelyard.http.secrets import stored
from steelyard.http.traffic import Traffic
from steelyard.options import Options
from steelyard.types import Role, TaskInfo

ROLES: tuple[Role, Role] = ("query", "document")
ALL_ROLES: tuple[Role, ...] = (*ROLES, "text")
SHOWN = 60
NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
QUARTERS = ((0x80, 1), (0x800, 2), (0x10000, 4))


@dataclass(frozen=True)
class ApiTexts:
    """Prompts and request fields by role, and how long a text may be, prompt included.

    >>> ApiTexts(prompts={"query": "query: "}, max_chars=12).prepared("steelyard", "query")
    ('query: steel', True)
    """

    prompts: Mapping[Role, str] = field(default_factory=dict)
    fields: Mapping[Role, Mapping[str, Any]] = field(default_factory=dict)
    max_chars: int | None = None
    max_tokens: int | None = None
    options: Options | None = None
    """The options with the instructions by task; None without instructions."""

    @staticmethod
    def names() -> tuple[str, ...]:
        """Return the names of the options."""
        prompts, bodies = (tuple(f"{role}_{kind}" for role in ALL_ROLES) for kind in ("prompt", "body"))
        return ("max_chars", "max_tokens", "body", *prompts, *bodies, *INSTRUCTION_OPTIONS)

    @classmethod
    def of(cls, options: Options) -> ApiTexts:
        """Read the options: `body` is for all roles, `query_body`, `document_body` and `text_body` for one."""
        shared = options.json_object("body")
        prompts = {role: options.text(f"{role}_prompt") or "" for role in ALL_ROLES}
        return cls(
            prompts=with_instruction(prompts, options, None),
            fields={role: {**shared, **options.json_object(f"{role}_body")} for role in ALL_ROLES},
            max_chars=options.whole("max_chars", None),
            max_tokens=options.whole("max_tokens", None),
            options=options if "instructions" in options.values else None,
        )

    def for_task(self, info: TaskInfo) -> ApiTexts:
        """Return the texts with the instruction of that task; itself if there is none."""
        prompts = self.prompts if self.options is None else with_instruction(self.prompts, self.options, info)
        return self if prompts == self.prompts else replace(self, prompts=prompts)

    @property
    def limited(self) -> bool:
        """Return whether texts may be truncated."""
        return self.max_chars is not None or self.max_tokens is not None

    @property
    def symmetric(self) -> bool:
        """Return whether requests are the same for every role, apart from the prompt."""
        return all(self.fields.get(role, {}) == self.fields.get(ALL_ROLES[0], {}) for role in ALL_ROLES)

    def _request(self, role: Role) -> tuple[str, dict[str, Any]]:
        return self.prompts.get(role) or "", dict(self.fields.get(role, {}))

    @property
    def _shared(self) -> dict[str, Any]:
        """Return the fields that queries and documents have in common."""
        query, document = (self.fields.get(role, {}) for role in ROLES)
        return {name: value for name, value in query.items() if name in document and document[name] == value}

    def prepared(self, text: str, role: Role) -> tuple[str, bool]:
        """Return what is sent for a text, and whether it was truncated. An empty text is sent as a space."""
        whole = self.prompts.get(role, "") + text
        sent = whole if self.max_chars is None else whole[: self.max_chars]
        sent = sent if self.max_tokens is None else truncate_to_tokens(sent, self.max_tokens)
        return sent or " ", len(sent) < len(whole)

    @property
    def settings(self) -> dict[str, Any]:
        """Return all of it, ready for JSON. The role `text` is left out if it has no prompt and no field of its own, so
        that keys of results from before that role stay the same.
        """
        roles = ROLES if self._request("text") == ("", self._shared) else ALL_ROLES
        return {
            "prompts": {role: self.prompts.get(role) or None for role in roles},
            "request_fields": {role: stored("", dict(self.fields.get(role, {}))) for role in roles},
            "max_chars": self.max_chars,
            "max_tokens": self.max_tokens,
        }


class SendsTexts(PromptsByTask):
    """A model of a service whose prompts may depend on the task."""

    _texts: ApiTexts

    def for_task(self, info: TaskInfo) -> Self:
        """Return the model with the prompts of that task: itself, or a copy that uses the same service."""
        texts = self._texts.for_task(info)
        if texts is self._texts:
            return self
        other = copy(self)
        other._texts = texts
        other.__dict__.pop("settings", None)  # cached, with the prompts
        return other


def read_traffic(options: Options) -> Traffic:
    """Return how a service is called, from the options of a model."""
    return Traffic(
        batch_size=options.whole("batch_size", Traffic.batch_size),
        concurrency=options.whole("concurrency", Traffic.concurrency),
        requests_per_minute=options.number("requests_per_minute", None),
        tokens_per_minute=options.number("tokens_per_minute", None),
        timeout=options.number("timeout", Traffic.timeout),
        max_retries=options.whole("max_retries", Traffic.max_retries, minimum=0),
        max_wait=options.number("max_wait", Traffic.max_wait, minimum=0),
        backoff=options.number("backoff", Traffic.backoff),
        price_per_million_tokens=options.number("price_per_million_tokens", None, minimum=0),
        price_per_thousand_searches=options.number("price_per_thousand_searches", None, minimum=0),
    )


def shown(text: str) -> str:
    """Return the start and the length of a text for an error.

    >>> shown("steel")
    "'steel' (5 characters)"
    """
    return f"{text if len(text) <= SHOWN else text[:SHOWN] + '…'!r} ({len(text):,} characters)"


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a text has.

    >>> estimated_tokens("the steelyard"), estimated_tokens("весы"), estimated_tokens("杆秤"), estimated_tokens("")
    (4, 2, 2, 1)
    """
    others = "".join(NOT_ASCII.findall(text))
    quarters = len(text) - len(others) + sum(map(_quarters, others))
    return max(1, -(-quarters // 4))


def truncate_to_tokens(text: str, limit: int) -> str:
    """Return the longest prefix of the text with at most `limit` estimated tokens.

    >>> truncate_to_tokens("the steelyard", 2), truncate_to_tokens("杆秤称重", 3)
    ('the stee', '杆秤称')
    """
    if len(text) * 8 <= limit * 4:  # even if every character were an emoji
        return text
    left = limit * 4
    for position, character in enumerate(text):
        left -= _quarters(character)
        if left < 0:
            return text[:position]
    return text


def _quarters(character: str) -> int:
    code = ord(character)
    return next((quarters for bound, quarters in QUARTERS if code < bound), 8)

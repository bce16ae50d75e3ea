"""How texts are put to a service: prompts, lengths, extra fields. All of it changes what the model sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.http.tokens import cut_to_tokens
from steelyard.options import Options
from steelyard.types import Role

ROLES: tuple[Role, Role] = ("query", "document")
ALL_ROLES: tuple[Role, ...] = (*ROLES, "text")
SHOWN = 60


@dataclass(frozen=True)
class Reading:
    """Prompts and request fields by role, and how long a text may be, prompt included.

    >>> Reading(prompts={"query": "query: "}, max_chars=12).prepared("steelyard", "query")
    ('query: steel', True)
    """

    prompts: Mapping[Role, str] = field(default_factory=dict)
    fields: Mapping[Role, Mapping[str, Any]] = field(default_factory=dict)
    max_chars: int | None = None
    max_tokens: int | None = None

    @staticmethod
    def names() -> tuple[str, ...]:
        """The names of the options."""
        prompts, bodies = (tuple(f"{role}_{kind}" for role in ALL_ROLES) for kind in ("prompt", "body"))
        return ("max_chars", "max_tokens", "body", *prompts, *bodies)

    @classmethod
    def of(cls, options: Options) -> Reading:
        """As the options ask: `body` is for all roles, `query_body`, `document_body` and `text_body` for one."""
        shared = options.json_object("body")
        return cls(
            prompts={role: options.text(f"{role}_prompt") or "" for role in ALL_ROLES},
            fields={role: {**shared, **options.json_object(f"{role}_body")} for role in ALL_ROLES},
            max_chars=options.whole("max_chars", None),
            max_tokens=options.whole("max_tokens", None),
        )

    @property
    def limited(self) -> bool:
        """Whether texts may be cut."""
        return self.max_chars is not None or self.max_tokens is not None

    @property
    def symmetric(self) -> bool:
        """Whether a text is put alike whatever its role, but for the prompt."""
        return all(self.fields.get(role, {}) == self.fields.get(ALL_ROLES[0], {}) for role in ALL_ROLES)

    def _put(self, role: Role) -> tuple[str, dict[str, Any]]:
        return self.prompts.get(role) or "", dict(self.fields.get(role, {}))

    @property
    def _shared(self) -> dict[str, Any]:
        """The fields that queries and documents have in common."""
        query, document = (self.fields.get(role, {}) for role in ROLES)
        return {name: value for name, value in query.items() if name in document and document[name] == value}

    def prepared(self, text: str, role: Role) -> tuple[str, bool]:
        """What is sent for a text, and whether it had to be cut. Services refuse an empty text: it becomes a space."""
        whole = self.prompts.get(role, "") + text
        sent = whole if self.max_chars is None else whole[: self.max_chars]
        sent = sent if self.max_tokens is None else cut_to_tokens(sent, self.max_tokens)
        return sent or " ", len(sent) < len(whole)

    @property
    def settings(self) -> dict[str, Any]:
        """All of it, JSON-ready. How texts are put that are neither query nor document is left out where it is plain,
        so that the keys of what was stored before there were such stay what they were.
        """
        told = ROLES if self._put("text") == ("", self._shared) else ALL_ROLES
        return {
            "prompts": {role: self.prompts.get(role) or None for role in told},
            "request_fields": {role: dict(self.fields.get(role, {})) for role in told},
            "max_chars": self.max_chars,
            "max_tokens": self.max_tokens,
        }


def shown(text: str) -> str:
    """A text for an error: how long it is, and how it begins.

    >>> shown("steel")
    "'steel' (5 characters)"
    """
    return f"{text if len(text) <= SHOWN else text[:SHOWN] + '…'!r} ({len(text):,} characters)"

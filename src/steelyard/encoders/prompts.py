"""What is put in front of a text: the prompt asked for, else the model's own for that role, else its card's."""

from __future__ import annotations

from collections.abc import Mapping

from steelyard import models
from steelyard.errors import UnknownName
from steelyard.services.options import Options
from steelyard.types import Role

OPTIONS = ("document_prompt", "document_prompt_name", "prompt_name", "query_prompt", "query_prompt_name")
NAMES: dict[Role, tuple[str, ...]] = {"query": ("query",), "document": ("document", "passage", "corpus")}
"""What models call the prompt of a role."""
TEXT_OPTIONS = ("text_prompt", "text_prompt_name")
"""Of texts that are neither query nor document, for encoders that read such."""


def role_prompts(own: Mapping[str, str | None], options: Options) -> dict[Role, str]:
    """The prompt for each role, from the model's own by name and the options.

    A prompt in words (`query_prompt`, even if empty) counts before one of the model's by name (`query_prompt_name`),
    that before one for both roles (`prompt_name`), and that before what the model declares for the role. A model that
    declares none at all is given those that its page asks for, where a card of ours has them (e5's `query: `).

    >>> own = {"query": "query: ", "passage": "passage: ", "sts": "compare: "}
    >>> role_prompts(own, Options("x", {}, OPTIONS))
    {'query': 'query: ', 'document': 'passage: '}
    >>> role_prompts(own, Options("x", {"prompt_name": "sts", "document_prompt": ""}, OPTIONS))
    {'query': 'compare: ', 'document': ''}
    >>> role_prompts({}, Options("dense:intfloat/e5-base-v2", {}, OPTIONS))
    {'query': 'query: ', 'document': 'passage: '}
    """
    if not any(own.values()):
        own = models.prompts_for(options.model.partition(":")[2])
    return {role: _prompt(role, own, options) for role in NAMES}


def all_prompts(own: Mapping[str, str | None], options: Options, default: str | None = None) -> dict[Role, str]:
    """`role_prompts`, and the prompt of texts that are neither query nor document, where there is one.

    It is the one asked for (`text_prompt`, `text_prompt_name`, `prompt_name`), else the one that the model declares as
    its `default`; never that of queries or documents.

    >>> own = {"query": "query: ", "sts": "compare: "}
    >>> all_prompts(own, Options("x", {}, OPTIONS))
    {'query': 'query: ', 'document': ''}
    >>> all_prompts(own, Options("x", {}, OPTIONS), default="sts")
    {'query': 'query: ', 'document': '', 'text': 'compare: '}
    """
    text = _asked("text", own, options)
    if text is None:
        text = own.get(default or "") or ""
    # Left out where empty: settings, and with them the keys of stored vectors, stay what they were.
    return {**role_prompts(own, options), **({"text": text} if text else {})}


def alike(prompts: Mapping[Role, str]) -> bool:
    """Whether a text is put to the model in one way, whatever its role.

    >>> alike({"query": "", "document": ""}), alike({"query": "q: ", "document": "q: "})
    (True, False)
    """
    return prompts["query"] == prompts["document"] == prompts.get("text", "")


def _prompt(role: Role, own: Mapping[str, str | None], options: Options) -> str:
    asked = _asked(role, own, options)
    return next((text for name in NAMES[role] if (text := own.get(name))), "") if asked is None else asked


def _asked(role: Role, own: Mapping[str, str | None], options: Options) -> str | None:
    if f"{role}_prompt" in options.given:
        return options.given[f"{role}_prompt"]
    if name := options.text(f"{role}_prompt_name") or options.text("prompt_name"):
        if name not in own:
            known = ", ".join(sorted(own)) or "none"
            raise UnknownName(f"prompt of {options.model}", name, own, hint=f"the model has: {known}")
        return own[name] or ""
    return None

"""What is put in front of a text: the prompt asked for, else the model's own for that task or role, else its card's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import Self

from steelyard import models
from steelyard.errors import UnknownName
from steelyard.options import Options
from steelyard.types import Role, TaskInfo
from steelyard.types.samples import MTEB_TYPES

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
        own = models.prompts_for(options.owner.partition(":")[2])
    return {role: _prompt(role, own, options) for role in NAMES}


def all_prompts(
    own: Mapping[str, str | None], options: Options, default: str | None = None, info: TaskInfo | None = None
) -> dict[Role, str]:
    """`role_prompts`, and the prompt of texts that are neither query nor document, where there is one.

    It is the one asked for (`text_prompt`, `text_prompt_name`, `prompt_name`), else the one that the model declares as
    its `default`; never that of queries or documents. Where nothing is asked for, a prompt that the model names after
    the task or its type counts before both.

    >>> own = {"query": "query: ", "sts": "compare: "}
    >>> all_prompts(own, Options("x", {}, OPTIONS))
    {'query': 'query: ', 'document': ''}
    >>> all_prompts(own, Options("x", {}, OPTIONS), default="sts")
    {'query': 'query: ', 'document': '', 'text': 'compare: '}
    >>> own = {"query": "query: ", "Retrieval-query": "find: ", "STS": "compare: "}
    >>> all_prompts(own, Options("x", {}, OPTIONS), info=TaskInfo("C-MTEB/T2Retrieval"))
    {'query': 'find: ', 'document': ''}
    """
    text = _asked("text", own, options)
    if text is None:
        text = own.get(default or "") or ""
    found = {**role_prompts(own, options), "text": text}
    if info is not None and not any(name in options.values for name in (*OPTIONS, *TEXT_OPTIONS)):
        for role in found:
            if (name := task_prompt_name(own, info, role)) is not None:
                found[role] = own[name] or ""
    # Left out where empty: settings, and with them the keys of stored vectors, stay what they were.
    return {role: prompt for role, prompt in found.items() if prompt or role != "text"}


def task_prompt_name(own: Mapping[str, str | None], info: TaskInfo, role: Role) -> str | None:
    """The prompt that a model has for a task and role, found as mteb finds it: by the task, then by its type.

    >>> own = {"STS": "", "TNews": "", "Retrieval-query": "", "Retrieval": ""}
    >>> task_prompt_name(own, TaskInfo("C-MTEB/TNews", type="classification"), "text")
    'TNews'
    >>> [task_prompt_name(own, TaskInfo("X/y"), role) for role in ("query", "document", "text")]
    ['Retrieval-query', 'Retrieval', 'Retrieval']
    """
    task = info.task.partition(":")[0].partition("[")[0]  # without the split and the subset
    for name in (task, MTEB_TYPES.get(info.type, "")):
        for known in (f"{name}-{role}",) * (role != "text") + (name,):
            if name and known in own:
                return known
    return None


class PromptsByTask:
    """An encoder of which each task may ask for other prompts, if its model has some by the names of tasks or types."""

    _prompts: dict[Role, str]
    _choose: Callable[..., dict[Role, str]]
    """`all_prompts` of the model, but for the task."""

    def for_task(self, info: TaskInfo) -> Self:
        """The encoder as it reads the texts of that task: itself, or another with the same weights."""
        found = self._choose(info=info)
        if found == self._prompts:
            return self
        other = copy(self)
        other._prompts = found
        other.__dict__.pop("settings", None)  # remembered, with the prompts
        return other


def _prompt(role: Role, own: Mapping[str, str | None], options: Options) -> str:
    asked = _asked(role, own, options)
    return next((text for name in NAMES[role] if (text := own.get(name))), "") if asked is None else asked


def _asked(role: Role, own: Mapping[str, str | None], options: Options) -> str | None:
    if f"{role}_prompt" in options.values:
        return str(options.values[f"{role}_prompt"])
    if name := options.text(f"{role}_prompt_name") or options.text("prompt_name"):
        if name not in own:
            known = ", ".join(sorted(own)) or "none"
            raise UnknownName(f"prompt of {options.owner}", name, own, hint=f"the model has: {known}")
        return own[name] or ""
    return None

"""Prompts: what is put in front of a text. An option, else the model's own prompt, else that of its card."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import Self

from steelyard import models
from steelyard.encoders.instructions import OPTIONS as INSTRUCTIONS
from steelyard.encoders.instructions import query_prompt
from steelyard.errors import UnknownName
from steelyard.options import Options
from steelyard.types import Role, TaskInfo
from steelyard.types.task_info import MTEB_TYPES

OPTIONS = ("document_prompt", "document_prompt_name", "prompt_name", "query_prompt", "query_prompt_name")
NAMES: dict[Role, tuple[str, ...]] = {"query": ("query",), "document": ("document", "passage", "corpus")}
"""The names that models use for the prompt of a role."""
TEXT_OPTIONS = ("text_prompt", "text_prompt_name")
"""Options for texts that are neither query nor document."""
RETRIEVAL_OPTIONS = (*OPTIONS, *INSTRUCTIONS)
"""Options of models for queries and documents only."""
ALL_OPTIONS = (*RETRIEVAL_OPTIONS, *TEXT_OPTIONS)


def role_prompts(own: Mapping[str, str | None], options: Options, info: TaskInfo | None = None) -> dict[Role, str]:
    """Return the prompt for each role, from the model's own prompts by name and the options.

    In order of precedence: a prompt given literally (`query_prompt`, even if empty), one of the model's by name
    (`query_prompt_name`), one for both roles (`prompt_name`), what the model declares for the role. A model that
    declares none gets those of its model card, if there is one (`query: ` for e5). With `instructions`, queries have
    the instruction of the task instead.

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
    return with_instruction({role: _prompt(role, own, options) for role in NAMES}, options, info)


def with_instruction(prompts: Mapping[Role, str], options: Options, info: TaskInfo | None) -> dict[Role, str]:
    r"""Return the prompts with the instruction of the task before queries, if there is one.

    >>> with_instruction({"query": "q: "}, Options("x", {"instructions": "Find"}, INSTRUCTIONS), None)
    {'query': 'Instruct: Find\nQuery: '}
    """
    prompt = query_prompt(options, info) if "instructions" in options.values else None
    return {**prompts} if prompt is None else {**prompts, "query": prompt}


def all_prompts(
    own: Mapping[str, str | None], options: Options, default: str | None = None, info: TaskInfo | None = None
) -> dict[Role, str]:
    """Return `role_prompts`, and the prompt of texts that are neither query nor document, if there is one.

    It is that of an option (`text_prompt`, `text_prompt_name`, `prompt_name`), else the model's `default`; never that
    of queries or documents. With `instructions`, queries have the instruction of the task. Without options, a prompt
    that the model names after the task or its type takes precedence.

    >>> own = {"query": "query: ", "sts": "compare: "}
    >>> all_prompts(own, Options("x", {}, OPTIONS))
    {'query': 'query: ', 'document': ''}
    >>> all_prompts(own, Options("x", {}, OPTIONS), default="sts")
    {'query': 'query: ', 'document': '', 'text': 'compare: '}
    >>> own = {"query": "query: ", "Retrieval-query": "find: ", "STS": "compare: "}
    >>> all_prompts(own, Options("x", {}, OPTIONS), info=TaskInfo("C-MTEB/T2Retrieval"))
    {'query': 'find: ', 'document': ''}
    """
    text = _from_options("text", own, options)
    if text is None:
        text = own.get(default or "") or ""
    prompts = {**role_prompts(own, options), "text": text}
    if info is not None and not any(name in options.values for name in (*OPTIONS, *TEXT_OPTIONS)):
        for role in prompts:
            if (name := task_prompt_name(own, info, role)) is not None:
                prompts[role] = own[name] or ""
    prompts = with_instruction(prompts, options, info)
    # Left out if empty, so that settings and keys of stored vectors do not change.
    return {role: prompt for role, prompt in prompts.items() if prompt or role != "text"}


def task_prompt_name(own: Mapping[str, str | None], info: TaskInfo, role: Role) -> str | None:
    """Return the name of a model's prompt for a task and role, as mteb does: by the task, then by its type.

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
    """A model whose prompts may depend on the task: prompts named after it, or instructions."""

    _prompts: dict[Role, str]
    _choose: Callable[..., dict[Role, str]]
    """The prompts of the model as a function of the task, `info`."""

    def for_task(self, info: TaskInfo) -> Self:
        """Return the model with the prompts of that task: itself, or a copy that shares the weights."""
        chosen = self._choose(info=info)
        if chosen == self._prompts:
            return self
        other = copy(self)
        other._prompts = chosen
        other.__dict__.pop("settings", None)  # cached, with the prompts
        return other


def _prompt(role: Role, own: Mapping[str, str | None], options: Options) -> str:
    chosen = _from_options(role, own, options)
    return next((text for name in NAMES[role] if (text := own.get(name))), "") if chosen is None else chosen


def _from_options(role: Role, own: Mapping[str, str | None], options: Options) -> str | None:
    if f"{role}_prompt" in options.values:
        return str(options.values[f"{role}_prompt"])
    if name := options.text(f"{role}_prompt_name") or options.text("prompt_name"):
        if name not in own:
            known = ", ".join(sorted(own)) or "none"
            raise UnknownName(f"prompt of {options.owner}", name, own, hint=f"use one of: {known}")
        return own[name] or ""
    return None

"""EvalScope's config as values: the fields of version 0 (`model`, `tasks`) and of version 1 (`models`, `task_names`),
each with the defaults of its version.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from steelyard.encoders.model_folder import HUBS
from steelyard.encoders.pooling import POOLING_MODES
from steelyard.errors import UsageError

BACKEND, TOOL = "RAGEval", "mteb"
TOP = ("eval_backend", "eval_config", "work_dir", "use_cache", "no_timestamp", "seed", "debug")
PARTS = ("tool", "model", "models", "eval")
OF_MODEL = (
    *("model_name_or_path", "is_cross_encoder", "pooling_mode", "max_seq_length", "prompt", "prompts"),
    *("model_kwargs", "config_kwargs", "encode_kwargs", "hub", "revision"),
    *("model_name", "api_base", "api_key", "dimensions"),
)
OF_EVAL = (
    *("tasks", "task_names", "task_types", "languages", "custom_tasks", "dataset_path", "splits"),
    *("verbosity", "output_folder", "overwrite_results", "limits", "hub", "top_k", "topk", "encode_kwargs"),
)
OF_CUSTOM = ("name", "data_path", "eval_splits", "type")
TYPES = ("retrieval", "reranking", "sts", "pair_classification", "classification", "clustering")
SEED, MAX_SEQ_LENGTH, VERBOSITY = 42, 512, 2
TOP_K = {"1.14": 5, "2": 10}
"""Number of documents for the second stage, by the mteb version of the config."""


@dataclass(frozen=True)
class ModelEntry:
    """One model of a config. `where` is its path in the config, for errors."""

    where: str
    path: str | None = None
    """`model_name_or_path`; None for a service."""
    cross_encoder: bool = False
    pooling_mode: str | None = None
    max_seq_length: int = MAX_SEQ_LENGTH
    prompt: str | None = None
    """None: the model's own prompt."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """By task."""
    model_kwargs: Mapping[str, Any] = field(default_factory=dict)
    config_kwargs: Mapping[str, Any] = field(default_factory=dict)
    encode_kwargs: Mapping[str, Any] = field(default_factory=dict)
    hub: str = "modelscope"
    revision: str | None = None
    model_name: str | None = None
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)
    dimensions: int | None = None

    @property
    def id(self) -> str:
        """The path, the name at a hub, or the name at its service."""
        return self.model_name or self.path or ""


@dataclass(frozen=True)
class CustomEntry:
    """A task with the user's own data."""

    name: str
    path: str
    splits: tuple[str, ...] = ()
    """Empty: `splits` of the config, or else the default split of the data, `test` if there is one."""
    type: str = "retrieval"


@dataclass(frozen=True)
class Config:
    """The content of a config."""

    models: tuple[ModelEntry, ...]
    version: str
    """The mteb version that it was written for: `1.14` or `2`."""
    tasks: tuple[str, ...] = ()
    task_types: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    custom: tuple[CustomEntry, ...] = ()
    data_folder: str | None = None
    """`dataset_path`: a local copy of the tasks' data."""
    splits: tuple[str, ...] = ()
    verbosity: int = VERBOSITY
    output_folder: str | None = None
    overwrite: bool | None = None
    limits: int | None = None
    hub: str | None = None
    """The hub of the data; None: not given."""
    top_k: int = 5
    work_dir: str | None = None
    use_cache: str | None = None
    no_timestamp: bool | None = None
    seed: int = SEED
    debug: bool = False


def parse(value: object) -> Config:
    """Return the config of a table; anything wrong with it is a UsageError with the field.

    >>> config = parse({"model": [{"model_name_or_path": "m3e-base"}], "eval": {"tasks": ["TNews"]}})
    >>> config.version, config.top_k, config.models[0].max_seq_length
    ('1.14', 5, 512)
    """
    if isinstance(value, Mapping) and "eval_config" not in value and "eval" in value:
        value = {"eval_config": value}  # the inner part alone, as a file of its own
    hint = f"use the fields of the backend {BACKEND}: {', '.join(TOP)}"
    top = Fields(value, "", TOP, hint=hint)
    backend = top.text("eval_backend")
    if backend not in (None, BACKEND):
        raise UsageError.invalid("eval_backend", expected=BACKEND, found=backend, field="eval_backend")
    if not top.has("eval_config"):
        raise UsageError("the config lacks eval_config", hint="add it, with tool, model and eval", field="eval_config")
    inner = Fields(top.get("eval_config"), "eval_config", PARTS)
    tool = inner.text("tool")
    if tool is not None and tool.lower() != TOOL:
        raise UsageError.invalid(
            "eval_config.tool",
            expected="MTEB",
            found=tool,
            hint="use EvalScope for RAGAS and clip_benchmark",
            field="eval_config.tool",
        )
    return _config(top, inner)


def _config(top: Fields, inner: Fields) -> Config:
    fields = Fields(inner.get("eval") or {}, "eval_config.eval", OF_EVAL)
    newer = inner.has("models") or any(map(fields.has, ("task_names", "task_types", "languages", "custom_tasks")))
    version = "2" if newer else "1.14"
    shared = fields.table("encode_kwargs")
    config = Config(
        models=_models(inner, shared),
        version=version,
        tasks=fields.texts("tasks", "task_names"),
        task_types=fields.texts("task_types"),
        languages=fields.texts("languages"),
        custom=_custom(fields),
        data_folder=fields.text("dataset_path"),
        splits=fields.texts("splits"),
        verbosity=_or(fields.whole("verbosity", least=0, most=3), VERBOSITY),
        output_folder=fields.text("output_folder"),
        overwrite=fields.flag("overwrite_results"),
        limits=fields.whole("limits"),
        hub=fields.choice("hub", HUBS),
        top_k=_or(fields.whole("top_k", "topk"), TOP_K[version]),
        work_dir=top.text("work_dir"),
        use_cache=top.text("use_cache"),
        no_timestamp=top.flag("no_timestamp"),
        seed=_or(top.whole("seed", least=0), SEED),
        debug=bool(top.flag("debug")),
    )
    if not (config.tasks or config.task_types or config.languages or config.custom):
        raise UsageError(
            "eval_config.eval has no task",
            hint="add tasks (or task_names), task_types, languages or custom_tasks",
            field="eval_config.eval",
        )
    return config


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def _models(inner: Fields, shared: Mapping[str, Any]) -> tuple[ModelEntry, ...]:
    name = "models" if inner.has("models") else "model"
    listed = inner.get("model", "models")
    listed = [listed] if isinstance(listed, Mapping) else listed
    if not isinstance(listed, list | tuple) or not listed:
        raise wrong(inner.at(name), listed, "a list of models")
    return tuple(_model(entry, f"{inner.at(name)}[{place}]", shared) for place, entry in enumerate(listed))


def _model(entry: object, where: str, shared: Mapping[str, Any]) -> ModelEntry:
    fields = Fields(entry, where, OF_MODEL)
    path, service = fields.text("model_name_or_path") or None, fields.text("model_name")
    if path is None and service is None:
        raise UsageError(
            f"{where} has no model",
            hint="add model_name_or_path, or model_name and api_base of a service",
            field=where,
        )
    if service is not None and not fields.has("api_base"):
        raise UsageError(f"{where}.model_name needs an api_base", hint="add the address of the service", field=where)
    prompts = fields.table("prompts")
    for task, prompt in prompts.items():
        if not isinstance(prompt, str):
            raise wrong(f"{where}.prompts.{task}", prompt, "a string")
    return ModelEntry(
        where=where,
        path=path,
        cross_encoder=bool(fields.flag("is_cross_encoder")),
        pooling_mode=fields.choice("pooling_mode", POOLING_MODES),
        max_seq_length=_or(fields.whole("max_seq_length"), MAX_SEQ_LENGTH),
        prompt=fields.text("prompt"),
        prompts=prompts,
        model_kwargs=fields.table("model_kwargs"),
        config_kwargs=fields.table("config_kwargs"),
        encode_kwargs={**shared, **fields.table("encode_kwargs")},
        hub=fields.choice("hub", HUBS) or "modelscope",
        revision=fields.text("revision"),
        model_name=service,
        api_base=fields.text("api_base"),
        api_key=fields.text("api_key"),
        dimensions=fields.whole("dimensions"),
    )


def _custom(fields: Fields) -> tuple[CustomEntry, ...]:
    listed = fields.get("custom_tasks")
    if listed is None:
        return ()
    listed = [listed] if isinstance(listed, str | Mapping) else listed
    if not isinstance(listed, list | tuple):
        raise wrong(fields.at("custom_tasks"), listed, "a list of {name, data_path, eval_splits}")
    return tuple(_one_custom(entry, f"{fields.at('custom_tasks')}[{place}]") for place, entry in enumerate(listed))


def _one_custom(entry: object, where: str) -> CustomEntry:
    table = Fields({"data_path": entry} if isinstance(entry, str) else entry, where, OF_CUSTOM)
    path = table.text("data_path")
    if path is None:
        raise UsageError(
            f"{where} has no data_path", hint="name a folder with corpus, queries and qrels, or a file", field=where
        )
    return CustomEntry(
        name=table.text("name") or "CustomRetrieval",
        path=path,
        splits=table.texts("eval_splits"),
        type=table.choice("type", TYPES) or "retrieval",
    )


class Fields:
    """One table of a config. A field that is null counts as missing; an unknown name is an error.

    >>> fields = Fields({"top_k": 5, "prompt": None}, "eval", ("top_k", "topk", "prompt"))
    >>> fields.whole("top_k", "topk"), fields.text("prompt")
    (5, None)
    >>> Fields({"poling_mode": "cls"}, "eval_config.model[0]", ("pooling_mode", "prompt"))
    Traceback (most recent call last):
    steelyard.errors.UsageError: unknown field eval_config.model[0].poling_mode (did you mean 'pooling_mode'?)
    """

    def __init__(self, value: object, where: str, known: Sequence[str], *, hint: str | None = None) -> None:
        if not isinstance(value, Mapping):
            raise wrong(where, value, "a table of fields")
        self.where = where
        self._value = value
        for name in value:
            if not isinstance(name, str):  # YAML reads `on:` as true and `1:` as a number
                raise wrong(f"the name of a field in {where or 'the config'}", name, "a string (quote it in YAML)")
            if name not in known:
                raise unknown(self.at(name), name, known, hint)

    def at(self, name: str) -> str:
        """Return the path of a field, for errors."""
        return f"{self.where}.{name}" if self.where else name

    def get(self, *names: str) -> Any:
        """Return the value under any of the names; None if missing. Two of the names at once are an error."""
        present = [name for name in names if self._value.get(name) is not None]
        if len(present) > 1:
            raise UsageError(
                f"{self.at(present[0])} and {self.at(present[1])} are the same field", hint="keep one of them"
            )
        return self._value[present[0]] if present else None

    def has(self, name: str) -> bool:
        """Return whether the field exists and is not null."""
        return self._value.get(name) is not None

    def text(self, *names: str) -> str | None:
        """Return a string."""
        value = self.get(*names)
        if value is not None and not isinstance(value, str):
            raise wrong(self.at(names[0]), value, "a string")
        return value

    def choice(self, name: str, known: Sequence[str]) -> str | None:
        """Return one of the known words."""
        value = self.text(name)
        if value is not None and value not in known:
            near = difflib.get_close_matches(value, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else None
            place, expected = self.at(name), f"one of {', '.join(known)}"
            raise UsageError.invalid(place, expected=expected, found=value, hint=hint, field=place)
        return value

    def flag(self, name: str) -> bool | None:
        """Return true or false."""
        value = self.get(name)
        if value is not None and not isinstance(value, bool):
            raise wrong(self.at(name), value, "true or false")
        return value

    def whole(self, *names: str, least: int = 1, most: int | None = None) -> int | None:
        """Return a whole number of at least `least`."""
        value = self.get(*names)
        if value is None:
            return None
        right = isinstance(value, int) and not isinstance(value, bool) and value >= least
        if not right or (most is not None and value > most):
            limits = f"of at least {least}" if most is None else f"from {least} to {most}"
            raise wrong(self.at(names[0]), value, f"a whole number {limits}")
        return int(value)

    def table(self, name: str) -> dict[str, Any]:
        """Return a table of names and values; empty if missing."""
        value = self.get(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            raise wrong(self.at(name), value, "a table of names and values")
        return dict(value)

    def texts(self, *names: str) -> tuple[str, ...]:
        """Return a list of strings; one string is a list of one; empty if missing."""
        value = self.get(*names)
        if value is None:
            return ()
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list | tuple) or not all(isinstance(item, str) for item in listed):
            raise wrong(self.at(names[0]), value, "a list of strings")
        return tuple(listed)


def wrong(where: str, value: object, expected: str) -> UsageError:
    """Return the error for a value of the wrong type. A value that may be a secret is not repeated."""
    secret = any(word in where.lower() for word in ("key", "token", "secret"))
    shown = f"a {type(value).__name__}" if secret or isinstance(value, Mapping | list | tuple) else repr(value)[:80]
    place = where or "the config"
    return UsageError(f"{place} must be {expected}, got {shown}", field=place, expected=expected, found=shown)


def unknown(where: str, name: str, known: Sequence[str], hint: str | None = None) -> UsageError:
    """Return the error for an unknown field."""
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    guess = f"did you mean {near[0]!r}?" if near else hint or f"known: {', '.join(known)}"
    return UsageError(f"unknown field {where}", hint=guess, field=where, found=name)

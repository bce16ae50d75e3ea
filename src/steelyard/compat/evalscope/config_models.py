"""The models of a config as our model names: `dense:ID?...`, `rerank:ID?...`, or a service."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from steelyard.compat.evalscope.config_schema import MAX_SEQ_LENGTH, ModelEntry
from steelyard.encoders.compute_options import DTYPES
from steelyard.encoders.load import detect_backend
from steelyard.encoders.model_folder import ModelFolder
from steelyard.encoders.model_metadata import max_positions
from steelyard.errors import UsageError
from steelyard.files import with_home
from steelyard.retrievers import RETRIEVERS
from steelyard.spec import ModelSpec, parse

NO_KEYS = ("", "EMPTY", "empty", "none", "None")
"""Values of `api_key` that mean no key."""
CHARACTERS = 3
"""Characters of a text that a service gets for each token of `max_seq_length`: EvalScope's rule."""
IGNORED = ("show_progress_bar", "convert_to_tensor", "convert_to_numpy")
"""Arguments of `encode` that change no vector."""


@dataclass
class ApiKeys:
    """The API keys of a config, in memory only, each under a name that a model's `key_env` can have."""

    secrets: dict[str, str] = field(default_factory=dict, repr=False)

    def name_of(self, key: str) -> str:
        """Return the name of a key; the same key has one name."""
        known = next((name for name, value in self.secrets.items() if value == key), None)
        name = known or f"EVALSCOPE_API_KEY_{len(self.secrets) + 1}"
        self.secrets[name] = key
        return name


def spec_of(entry: ModelEntry, prompt: str | None, keys: ApiKeys, *, texts: bool = False) -> ModelSpec:
    """Return the model of an entry with this prompt for queries; None keeps the model's own prompts.

    With `texts` the prompt is also that of texts that are neither query nor document, as in mteb 1.14.

    >>> entry = ModelEntry("model[0]", path="AI-ModelScope/m3e-base", encode_kwargs={"batch_size": 128})
    >>> str(spec_of(entry, "", ApiKeys())).replace("&", " ").split()[1:]
    ['batch_tokens=65536', 'document_prompt=', 'hub=modelscope', 'max_seq_length=512', 'query_prompt=']
    """
    if entry.model_name is not None:
        return _service(entry, prompt, keys, texts=texts)
    assert entry.path is not None
    if is_ours(entry.path):
        return _ours(entry, prompt)
    length = "max_length" if entry.cross_encoder else "max_seq_length"
    options = {length: str(entry.max_seq_length), **_prompts(entry, prompt, texts=texts)}
    if not is_local(entry.path):
        options["hub"] = entry.hub
    if entry.pooling_mode is not None:
        if entry.cross_encoder:
            raise _unsupported(f"{entry.where}.pooling_mode", "a cross-encoder")
        options["pooling_mode"] = entry.pooling_mode
    options |= _loading(entry) | _encoding(entry)
    return ModelSpec("rerank" if entry.cross_encoder else "dense", entry.path, entry.revision, _sorted(options))


def is_local(path: str) -> bool:
    """Return whether a model is a local folder."""
    return with_home(path).is_dir()


def is_ours(path: str) -> bool:
    """Return whether a name is one of ours, such as `bm25`, `dense:ID` or `[bm25, dense]`, and not a folder.

    >>> is_ours("bm25"), is_ours("[bm25, dense]"), is_ours("AI-ModelScope/m3e-base")
    (True, True, False)
    """
    family = path.partition("?")[0].partition(":")[0]
    return not is_local(path) and (path.startswith("[") or family in RETRIEVERS)


def _ours(entry: ModelEntry, prompt: str | None) -> ModelSpec:
    other_fields = {
        "pooling_mode": entry.pooling_mode,
        "max_seq_length": entry.max_seq_length if entry.max_seq_length != MAX_SEQ_LENGTH else None,
        "prompt": prompt,
        "model_kwargs": entry.model_kwargs,
        "config_kwargs": entry.config_kwargs,
        "encode_kwargs": {name for name in entry.encode_kwargs if name not in IGNORED},
    }
    for name, value in other_fields.items():
        if value:
            raise UsageError(
                f"{entry.where}.{name} cannot be combined with {entry.path}, a model name of Steelyard",
                hint="add options to the name: dense:ID?query_prompt=...&max_seq_length=512",
                field=f"{entry.where}.{name}",
            )
    spec = parse(str(entry.path))
    return ModelSpec(spec.family, spec.id, entry.revision or spec.revision, spec.options, spec.parts)


def _prompts(entry: ModelEntry, prompt: str | None, *, texts: bool) -> dict[str, str]:
    """Return the options of a prompt, which documents do not have; without one, the model's own prompts are used."""
    if prompt is None:
        return {}
    if entry.cross_encoder:
        return {"query_prompt": prompt}
    options = {"query_prompt": prompt, "document_prompt": ""}
    return options | {"text_prompt": prompt} if texts else options


def with_length_of_model(entry: ModelEntry, folder: ModelFolder, note: Callable[[str], None]) -> ModelEntry:
    """Return the entry with a length that its model can read.

    EvalScope's default is lowered to the positions of the model, with a note; any other length beyond them is an error.
    """
    positions = max_positions(folder.json_object("config.json"))
    if positions is None or entry.max_seq_length <= positions:
        return entry
    if entry.max_seq_length != MAX_SEQ_LENGTH:
        field, hint = f"{entry.where}.max_seq_length", f"use {positions}, or leave it out"
        expected = f"at most {positions}, the positions of {entry.id}"
        raise UsageError.invalid(field, expected=expected, found=entry.max_seq_length, hint=hint, field=field)
    note(f"max_seq_length of {entry.id} is {positions} instead of {MAX_SEQ_LENGTH}: the model has no more positions")
    return replace(entry, max_seq_length=positions)


def _loading(entry: ModelEntry) -> dict[str, str]:
    """Return the options of loading the model. Remote code runs only if the config allows it."""
    options: dict[str, str] = {}
    model, config = dict(entry.model_kwargs), dict(entry.config_kwargs)
    remote_code = {name: table.pop("trust_remote_code", None) for name, table in _tables(model, config)}
    for name, value in remote_code.items():
        if value not in (None, True, False):
            field = f"{entry.where}.{name}.trust_remote_code"
            raise UsageError.invalid(field, expected="true or false", found=value, field=field)
    if any(remote_code.values()):
        options["trust_remote_code"] = "true"
    dtype = model.pop("torch_dtype", None) or model.pop("dtype", None)
    if dtype is not None:
        name = str(dtype).removeprefix("torch.")
        if name == "auto":  # as the weights are stored: only for torch
            model |= {"dtype": name} if _of_torch(entry) else {}
        elif name in DTYPES:
            options["dtype"] = name
        else:
            field, expected = f"{entry.where}.model_kwargs.torch_dtype", f"one of auto, {', '.join(DTYPES)}"
            raise UsageError.invalid(field, expected=expected, found=name, field=field)
    if "device" in model:
        options["device"] = str(model.pop("device"))
    for name, table in _tables(model, config):
        if table:
            options[name] = _json(f"{entry.where}.{name}", table)
    return options


def _of_torch(entry: ModelEntry) -> bool:
    path = str(entry.path)
    return not is_local(path) or detect_backend(ModelFolder(path, with_home(path))) == "sentence-transformers"


def _tables(model: dict[str, Any], config: dict[str, Any]) -> tuple[tuple[str, dict[str, Any]], ...]:
    return ("model_kwargs", model), ("config_kwargs", config)


def _encoding(entry: ModelEntry) -> dict[str, str]:
    """Return the options of encoding. A batch size is exact: the token limit is set so high that it has no effect."""
    arguments = {name: value for name, value in entry.encode_kwargs.items() if name not in IGNORED}
    options: dict[str, str] = {}
    size = arguments.pop("batch_size", None)
    if size is not None:
        options["batch_size"] = str(_size(entry, size))
        options["batch_tokens"] = str(size * entry.max_seq_length)
    if "device" in arguments:
        options["device"] = str(arguments.pop("device"))
    if arguments and entry.cross_encoder:
        raise _unsupported(f"{entry.where}.encode_kwargs.{next(iter(arguments))}", "a cross-encoder")
    if "truncate_dim" in arguments:
        options["truncate_dim"] = str(arguments.pop("truncate_dim"))
    if arguments:
        options["encode_kwargs"] = _json(f"{entry.where}.encode_kwargs", arguments)
    return options


def _service(entry: ModelEntry, prompt: str | None, keys: ApiKeys, *, texts: bool) -> ModelSpec:
    arguments = {name: value for name, value in entry.encode_kwargs.items() if name not in IGNORED}
    options = {"url": str(entry.api_base), "max_chars": str(CHARACTERS * entry.max_seq_length)}
    if prompt:
        options |= {"query_prompt": prompt, "text_prompt": prompt} if texts else {"query_prompt": prompt}
    size = arguments.pop("batch_size", None)
    if size is not None:
        options["batch_size"] = str(_size(entry, size))
    if arguments:
        raise _unsupported(f"{entry.where}.encode_kwargs.{next(iter(arguments))}", "a service")
    if entry.dimensions is not None:
        if entry.cross_encoder:
            raise _unsupported(f"{entry.where}.dimensions", "a reranker")
        options["dimensions"] = str(entry.dimensions)
    if entry.api_key is not None and entry.api_key.strip() not in NO_KEYS:
        options["key_env"] = keys.name_of(entry.api_key.strip())
    family = "rerank" if entry.cross_encoder else "dense"
    return ModelSpec(family, f"api/{entry.model_name}", entry.revision, _sorted(options))


def _size(entry: ModelEntry, size: object) -> int:
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        field = f"{entry.where}.encode_kwargs.batch_size"
        raise UsageError.invalid(field, expected="a whole number of at least 1", found=size, field=field)
    return size


def _unsupported(field: str, what: str) -> UsageError:
    return UsageError(f"{field} is not supported by {what}", hint="remove it", field=field)


def _json(where: str, table: Mapping[str, Any]) -> str:
    try:
        return json.dumps(table, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"{where} must be valid JSON: {error}", hint="use strings, numbers, true and false", field=where
        ) from error


def _sorted(options: Mapping[str, str]) -> dict[str, str]:
    return dict(sorted(options.items()))

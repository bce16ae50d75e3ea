"""Models that are opened when they first encode: what a key needs of a model is kept from the last time it was loaded.

The description of a model (name, settings, similarity, dimension) is stored under a hash of its weights, options and
the versions of the libraries. A run whose results or vectors are all stored imports neither torch nor the weights.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Self

from steelyard.encoders.instructions import OPTIONS, read_instructions
from steelyard.encoders.model_folder import DESCRIPTIONS, ModelFolder
from steelyard.encoders.prompts import PromptsByTask
from steelyard.files import read_cached, write_cached
from steelyard.options import Options
from steelyard.types import Role, TaskInfo
from steelyard.types.protocols import ModelSettings, Tick, no_tick

VERSION = 1
"""Increased when the form of a description changes."""
COUNTS = ("batch_size", "batch_tokens", "threads")
UNRELATED = ("device", *COUNTS)
"""Options that are not part of a model's settings."""
LIBRARIES = ("sentence-transformers", "transformers", "torch", "onnxruntime", "tokenizers", "model2vec")
FIELDS = ("name", "settings", "similarity", "dimension", "storable", "listwise", "computation")


class Deferred(PromptsByTask):
    """A model that is opened at first use; everything else of it is known from its description."""

    def __init__(self, kind: type, description: dict[str, Any], path: Path, open: Callable[[], Any]) -> None:
        self._kind = kind
        self._description = description
        self._path = path
        self._open = open
        self._model_object: Any = None

    @property
    def opened(self) -> Any:
        """Return the model, opened now if it was not."""
        if self._model_object is None:
            self._model_object = self._open()
        return self._model_object

    @property
    def is_open(self) -> bool:
        """Return whether the model has been opened."""
        return self._model_object is not None

    @property
    def name(self) -> str:
        """The name of the model."""
        return str(self._description["name"])

    @property
    def settings(self) -> ModelSettings:
        """Everything that could change what the model computes."""
        settings: ModelSettings = self._description["settings"]
        return settings

    @property
    def similarity(self) -> str:
        """The similarity that the model declares."""
        return str(self._description["similarity"])

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return int(self._description["dimension"])

    @property
    def storable(self) -> bool:
        """Whether the settings determine what is computed."""
        return bool(self._description.get("storable", True))

    @property
    def computation(self) -> int:
        """The version of the computation of vectors; 0 for models that have none."""
        return int(self._description.get("computation", 0))

    @property
    def workers(self) -> int:
        """The number of devices that share the texts; 1 as long as the model is not open."""
        return int(getattr(self.opened, "workers", 1)) if self.is_open else 1

    def encode(self, texts: Sequence[str], role: Role, tick: Tick = no_tick) -> Any:
        """Open the model and encode."""
        return self.opened.encode(texts, role, tick)

    def account(self) -> ModelSettings:
        """Return the counts of the model since the last call; nothing if it is not open."""
        counts: ModelSettings = self.opened.account() if self.is_open and hasattr(self._kind, "account") else {}
        return counts

    def for_task(self, info: TaskInfo) -> Self:
        """Return the model with the prompts of that task; itself if it has none."""
        if not hasattr(self._kind, "for_task"):
            return self
        tasks, key = self._description.setdefault("tasks", {}), f"{info.name}|{info.type}"
        if key not in tasks:
            other = self.opened.for_task(info)
            tasks[key] = None if other is self.opened else json_ready(other.settings)
            write_cached(self._path, self._description)
        if tasks[key] is None:
            return self
        description = {**self._description, "settings": tasks[key], "tasks": {}}
        return type(self)(self._kind, description, self._path, lambda: self.opened.for_task(info))

    def __getattr__(self, name: str) -> Any:
        # Protocols look for methods: the class answers, so that looking does not open the model.
        if name.startswith("__") or not (name.startswith("_") or hasattr(self._kind, name)):
            raise AttributeError(name)
        return getattr(self.opened, name)


def deferred(
    kind: type,
    folder: ModelFolder,
    options: Mapping[str, str],
    open: Callable[[], Any],
    name: str = "",
    *,
    weights: str | None = None,
    related: Sequence[str] = (),
) -> Any:
    """Return a model of a folder that is opened when it encodes; at once if nothing is known of it yet.

    `name` is that of a model which is not called after its folder; `weights` the hash of its files, if they are not the
    usual ones; `related` are options that are part of its settings, although they usually are not.
    """
    key = _key(kind, folder, options, name, folder.weights if weights is None else weights, related)
    path = folder.settings.home / DESCRIPTIONS / f"{key}.json"
    description = read_cached(path)
    place = str(folder.path.resolve()) if folder.revision is None else None
    if description.get("version") == VERSION and {"name", "settings"} <= set(description):
        for count in COUNTS:  # otherwise read when the model is opened
            Options(folder.id, {count: options[count]} if count in options else {}, COUNTS).whole(count, None)
        if description.get("path") != place:
            write_cached(path, {**description, "path": place})
        return Deferred(kind, description, path, open)
    opened = open()
    values = {field: getattr(opened, field) for field in FIELDS if hasattr(opened, field)}
    description = {**values, "settings": json_ready(opened.settings), "version": VERSION, "path": place}
    write_cached(path, description)
    model = Deferred(kind, description, path, open)
    model._model_object = opened
    return model


def json_ready(settings: ModelSettings) -> dict[str, Any]:
    """Return settings as they are after a round trip through JSON, so that keys do not depend on it."""
    return json.loads(json.dumps(settings))  # type: ignore[no-any-return]


def _key(
    kind: type, folder: ModelFolder, options: Mapping[str, str], name: str, weights: str, related: Sequence[str]
) -> str:
    source = inspect.getsource(sys.modules[kind.__module__])
    versions = {library: _version(library) for library in LIBRARIES}
    relevant = {
        option: value for option, value in sorted(options.items()) if option not in UNRELATED or option in related
    }
    relevant["instructions"] = str(
        read_instructions(Options(name, {"instructions": relevant.get("instructions", "")}, OPTIONS))
    )
    facts = [VERSION, kind.__name__, source, folder.name, weights, folder.revision, relevant, versions, name]
    return hashlib.blake2b(json.dumps(facts).encode(), digest_size=16).hexdigest()


def _version(library: str) -> str | None:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return None

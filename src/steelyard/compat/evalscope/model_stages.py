"""The models of a config on each task: each alone, or an encoder and then a cross-encoder on the top of its lists.

The files of a model are always in its own folder (`outputs/<model>/<revision>/`), and the newest evaluation replaces
the one before. Only models of one config that would share a folder are separated: variants of one model are in mteb's
folder `experiments`, other models with the same name have some digits of a hash (`ckpt-100-3f2a91`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from steelyard.compat.evalscope.config_models import IGNORED, ApiKeys, is_local, is_ours, spec_of, with_length_of_model
from steelyard.compat.evalscope.config_schema import Config, ModelEntry
from steelyard.compat.evalscope.config_tasks import SEARCHED, PlannedTask
from steelyard.compat.mteb.mteb_names import MtebModel
from steelyard.config import Settings
from steelyard.encoders.model_folder import ModelFolder
from steelyard.engine.batch import Failed, attempt
from steelyard.engine.plan import Model
from steelyard.errors import UsageError
from steelyard.files import with_home
from steelyard.results.keys import digest, model_slug
from steelyard.retrievers import load_retriever
from steelyard.retrievers.dense import DenseRetriever
from steelyard.retrievers.pipeline import RerankedRetriever
from steelyard.spec import ModelSpec, parse
from steelyard.types.protocols import Retriever

FIRST, SECOND = "stage1", "stage2"
CANDIDATES = ModelSpec("candidates")
"""The candidate lists of a reranking task."""


@dataclass(frozen=True, eq=False)
class Stage:
    """A model on a task, and the folder of its files."""

    model: Model
    files: MtebModel
    folder: str = ""
    """Below the folder of outputs."""
    previous: MtebModel | None = None
    """The model whose lists are reranked."""


@dataclass(eq=False)
class ConfigModels:
    """The models of a config; loaded at first use, and again where a task has its own prompt."""

    config: Config
    version: str
    keys: ApiKeys
    note: Callable[[str], None]
    settings: Settings
    _loaded: dict[str, tuple[ModelSpec, Retriever | Failed]] = field(default_factory=dict)
    _noted: set[str] = field(default_factory=set)
    _entries: dict[str, ModelEntry] = field(default_factory=dict)

    @property
    def pair(self) -> tuple[ModelEntry, ModelEntry] | None:
        """The encoder and the cross-encoder, if the config has exactly these two: two stages."""
        models = sorted(self.config.models, key=lambda entry: entry.cross_encoder)
        alike = len(models) != 2 or models[0].cross_encoder == models[1].cross_encoder
        return None if alike else (models[0], models[1])

    def check(self, tasks: list[PlannedTask]) -> None:
        """Read every entry once, so that errors in it are raised before the first model is loaded."""
        for entry in self.config.models:
            for task in tasks:
                self._spec(entry, task)

    @property
    def without_bars(self) -> set[str]:
        """The names of the models whose `show_progress_bar` is false."""
        silent = (entry for entry in self.config.models if entry.encode_kwargs.get("show_progress_bar") is False)
        return {self._names[entry.where].name for entry in silent}

    def stages(self, task: PlannedTask) -> list[Stage]:
        """Return the models to evaluate on a task."""
        if self.pair is None:
            return [self._alone(entry, task) for entry in self.config.models]
        first, second = self.pair
        before = self._alone(first, task, FIRST)
        if task.type == "reranking":
            return [before, self._alone(second, task, SECOND)]
        if task.type not in SEARCHED:
            self._note_once(f"{task.asked} is of type {task.type}: only the first stage is evaluated on it")
            return [before]
        return [before, self._after(second, before, task)]

    def _alone(self, entry: ModelEntry, task: PlannedTask, folder: str = "") -> Stage:
        """Return a model without a first stage; a cross-encoder ranks the candidates of the task."""
        spec = self._spec(entry, task)
        if entry.cross_encoder and spec.family == "rerank":
            spec = ModelSpec("pipeline", parts=(CANDIDATES, spec))
        loaded = self._load(entry.where, spec)
        name = self._names[entry.where]
        return Stage(_model(name.name, loaded), self._files(entry, name, _own_settings(loaded)), folder)

    def _after(self, entry: ModelEntry, before: Stage, task: PlannedTask) -> Stage:
        """Return the cross-encoder on the top `top_k` of the first stage's lists; lower ranks are left out."""
        first, depth = before.model.retriever, self.config.top_k
        loaded: Retriever | Failed
        if first is None:
            assert before.model.failure is not None
            loaded = Failed(before.model.failure, "")
        else:
            rerank = self._spec(entry, task)
            options = dict(sorted({**rerank.options, "depth": str(depth), "tail": "cut"}.items()))
            parts = (self._spec(self._first, task), replace(rerank, options=options))
            loaded = self._load(f"{entry.where} after {before.model.name}", ModelSpec("pipeline", parts=parts))
        name = self._names[entry.where]
        if isinstance(loaded, RerankedRetriever) and first is not None:
            loaded = replace(loaded, first=first)  # so that its lists are reused
        files = self._files(entry, name, _own_settings(loaded))
        return Stage(_model(f"{before.model.name} > {name.name}", loaded), files, SECOND, before.files)

    @cached_property
    def _names(self) -> dict[str, OutputName]:
        return output_names(self.config.models)

    @property
    def _first(self) -> ModelEntry:
        assert self.pair is not None
        return self.pair[0]

    def _spec(self, entry: ModelEntry, task: PlannedTask) -> ModelSpec:
        """Return the model of an entry on a task, with a note about what of the entry is not used on it."""
        prompt, searched = prompt_for(entry, task), task.type in (None, *SEARCHED)
        texts = self.version == "1.14" and not entry.cross_encoder
        if prompt and not searched and not texts:
            self._note_once(f"{entry.where}.prompt is not used on tasks of type {task.type}: they have no queries")
        return spec_of(self._with_length(entry), prompt, self.keys, texts=texts)

    def _with_length(self, entry: ModelEntry) -> ModelEntry:
        """Return the entry with a length that the model can read; for a model that cannot be found, itself."""
        if entry.where not in self._entries:
            self._entries[entry.where] = entry
            if entry.path is not None and not is_ours(entry.path):
                find = partial(ModelFolder.find, only=("config.json",), hub=entry.hub, settings=self.settings)
                folder = attempt(partial(find, entry.path, entry.revision))  # an error is one of loading the model
                if not isinstance(folder, Failed):
                    self._entries[entry.where] = with_length_of_model(entry, folder, self._note_once)
        return self._entries[entry.where]

    def _load(self, place: str, spec: ModelSpec) -> Retriever | Failed:
        """Load the model, unless it was the last one at this place. A wrong name is a UsageError at once."""
        if place not in self._loaded or self._loaded[place][0] != spec:
            self._loaded.pop(place, None)  # before the next is loaded: two may not fit into memory
            settings = self.settings.updated(secrets={**self.settings.secrets, **self.keys.secrets})
            self._loaded[place] = (spec, attempt(lambda: load_retriever(spec, settings), raises=UsageError))
        return self._loaded[place][1]

    def _files(self, entry: ModelEntry, name: OutputName, settings: dict[str, Any]) -> MtebModel:
        """Return the model in mteb's files: in mteb 2 names have an organisation, in 1.14 EvalScope's revision."""
        local = entry.path is not None and is_local(entry.path)
        ours = entry.path is not None and is_ours(entry.path)
        owner = "steelyard" if ours else "api" if entry.path is None else "local"
        hub = entry.path is not None and not local and not ours and entry.path.count("/") == 1
        same = hub and name.folder == label(entry)
        known = settings.get("revision") if self.version != "1.14" else None
        return MtebModel(
            entry.id if same else f"{owner}/{name.folder}",
            str(entry.revision or known or MASTER),
            entry.cross_encoder,
            settings,
            entry.encode_kwargs,
            name.experiment,
            name.folder,
        )

    def _note_once(self, text: str) -> None:
        if text not in self._noted:
            self._noted.add(text)
            self.note(text)


def prompt_for(entry: ModelEntry, task: PlannedTask) -> str | None:
    """Return the prompt of the queries of a task: the one for all tasks, or else the one of the task."""
    if entry.prompt:
        return entry.prompt
    named = (entry.prompts.get(name) for name in (task.asked, task.name, Path(task.name).name))
    return next((prompt for prompt in named if prompt is not None), entry.prompt)


def _model(name: str, loaded: Retriever | Failed) -> Model:
    if isinstance(loaded, Failed):
        return Model(name, failure=loaded.failure)
    if isinstance(loaded, DenseRetriever | RerankedRetriever):
        return Model(name, replace(loaded, name=name))
    return Model(loaded.name, loaded)


def _own_settings(loaded: Retriever | Failed) -> dict[str, Any]:
    """Return the settings of the encoder, or of the reranker of a pipeline."""
    if isinstance(loaded, Failed):
        return {}
    settings = dict(loaded.settings)
    return dict(settings["reranker"]) if isinstance(loaded, RerankedRetriever) else settings


MASTER = "master"
"""EvalScope's revision of a model that has none."""
DIGITS = 6
LONGEST = 40
"""Length up to which one of our names keeps its options."""
WITHOUT_EFFECT = (*IGNORED, "batch_size", "device")
"""Arguments that change no score."""


@dataclass(frozen=True)
class OutputName:
    """The names of a model of a config."""

    name: str
    """In tables and in our own results; unique in the config."""
    folder: str
    experiment: Mapping[str, Any] = field(default_factory=dict)
    """What differs from the model of the config that has the folder itself."""


def output_names(models: Iterable[ModelEntry]) -> dict[str, OutputName]:
    """Return the names of the models of a config by their place in it.

    >>> tuned = [ModelEntry("model[0]", path="X/e5"), ModelEntry("model[1]", path="X/e5", max_seq_length=128)]
    >>> tuned.append(ModelEntry("model[2]", path="Y/e5"))
    >>> [(name.folder, name.experiment) for name in output_names(tuned).values()]
    [('e5', {}), ('e5', {'max_seq_length': 128}), ('e5-82edf3', {})]
    """
    first: dict[str, ModelEntry] = {}
    names: dict[str, OutputName] = {}
    for entry in models:
        owner = first.setdefault(label(entry), entry)
        names[entry.where] = _name(entry, owner)
    return names


def label(entry: ModelEntry) -> str:
    """Return the last part of a path or id as the user wrote it: links are not resolved.

    >>> label(ModelEntry("", path="AI-ModelScope/m3e-base")), label(ModelEntry("", path="./runs/ckpt-100/"))
    ('m3e-base', 'ckpt-100')
    """
    if entry.path is not None and is_ours(entry.path):
        whole, spec = model_slug(entry.path), parse(entry.path)
        return whole if len(whole) <= LONGEST else model_slug(f"{spec.family}_{Path(spec.id).name}")
    path = os.path.normpath(with_home(entry.id).absolute()) if is_local(entry.id) else entry.id
    return model_slug(Path(path).name)


def _name(entry: ModelEntry, owner: ModelEntry) -> OutputName:
    name, source = label(entry), (entry.id, entry.api_base)
    own, others = _settings(entry), _settings(owner)
    if source == (owner.id, owner.api_base) and own == others and entry.revision == owner.revision:
        return OutputName(name, name)
    unique = f"{name}-{digest([*source, entry.revision, str(own)])[:DIGITS]}"
    if source != (owner.id, owner.api_base):
        return OutputName(unique, unique)
    return OutputName(unique, name, {field: value for field, value in own.items() if value != others[field]})


def _settings(entry: ModelEntry) -> dict[str, Any]:
    """Return everything in the entry that could change a score of its model."""
    settings = {
        name: getattr(entry, name) for name in ("pooling_mode", "max_seq_length", "prompt", "dimensions", "prompts")
    }
    tables = {
        name: {key: value for key, value in getattr(entry, name).items() if key not in WITHOUT_EFFECT}
        for name in ("model_kwargs", "config_kwargs", "encode_kwargs")
    }
    return settings | tables

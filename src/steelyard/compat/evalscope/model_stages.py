"""The models of a config on each task: each alone, or an encoder and then a cross-encoder on the top of its lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from steelyard.compat.evalscope.config_models import ApiKeys, is_local, is_ours, spec_of
from steelyard.compat.evalscope.config_schema import Config, ModelEntry
from steelyard.compat.evalscope.config_tasks import SEARCHED, PlannedTask
from steelyard.compat.evalscope.output_names import MASTER, Names, identity, label
from steelyard.compat.mteb.mteb_names import MtebModel
from steelyard.config import Settings
from steelyard.engine.batch import Failed, attempt
from steelyard.engine.plan import Model
from steelyard.errors import UsageError
from steelyard.retrievers import load_retriever
from steelyard.retrievers.dense import DenseRetriever
from steelyard.retrievers.pipeline import RerankedRetriever
from steelyard.spec import ModelSpec
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
    names: Names
    note: Callable[[str], None]
    settings: Settings
    _loaded: dict[str, tuple[ModelSpec, Retriever | Failed]] = field(default_factory=dict)
    _noted: set[str] = field(default_factory=set)

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
                spec_of(entry, prompt_for(entry, task), self.keys)

    def stages(self, task: PlannedTask) -> list[Stage]:
        """Return the models to evaluate on a task."""
        if self.pair is None:
            return [self._alone(entry, task) for entry in self.config.models]
        first, second = self.pair
        before = self._alone(first, task, FIRST)
        if task.type == "reranking":
            return [before, self._alone(second, task, SECOND, before)]
        if task.type not in SEARCHED:
            self._note_once(f"{task.asked} is of type {task.type}: only the first stage is evaluated on it")
            return [before]
        return [before, self._after(second, before, task)]

    def _alone(self, entry: ModelEntry, task: PlannedTask, folder: str = "", before: Stage | None = None) -> Stage:
        """Return a model without a first stage; a cross-encoder ranks the candidates of the task."""
        spec = spec_of(entry, prompt_for(entry, task), self.keys)
        if entry.cross_encoder and spec.family == "rerank":
            spec = ModelSpec("pipeline", parts=(CANDIDATES, spec))
        loaded = self._load(entry.where, spec)
        name = self._name(entry, loaded, before)
        return Stage(_model(name, loaded), self._files(entry, name, _own_settings(loaded)), folder)

    def _after(self, entry: ModelEntry, before: Stage, task: PlannedTask) -> Stage:
        """Return the cross-encoder on the top `top_k` of the first stage's lists; lower ranks are left out."""
        first, depth = before.model.retriever, self.config.top_k
        loaded: Retriever | Failed
        if first is None:
            assert before.model.failure is not None
            loaded = Failed(before.model.failure, "")
        else:
            rerank = spec_of(entry, prompt_for(entry, task), self.keys)
            options = dict(sorted({**rerank.options, "depth": str(depth), "tail": "cut"}.items()))
            parts = (spec_of(self._first, prompt_for(self._first, task), self.keys), replace(rerank, options=options))
            loaded = self._load(f"{entry.where} after {before.model.name}", ModelSpec("pipeline", parts=parts))
        name = self._name(entry, loaded, before)
        if isinstance(loaded, RerankedRetriever) and first is not None:
            loaded = replace(loaded, first=first)  # so that its lists are reused
        files = self._files(entry, name, _own_settings(loaded))
        return Stage(_model(f"{before.model.name} > {name}", loaded), files, SECOND, before.files)

    def _name(self, entry: ModelEntry, loaded: Retriever | Failed, before: Stage | None) -> str:
        """Return the name of the model: a second stage has one for each first stage and depth."""
        if isinstance(loaded, Failed):
            return label(entry)
        stage = () if before is None else (before.model.name, self.config.top_k)
        return self.names.of(label(entry), identity(entry, _own_settings(loaded).get("weights"), *stage))

    @property
    def _first(self) -> ModelEntry:
        assert self.pair is not None
        return self.pair[0]

    def _load(self, place: str, spec: ModelSpec) -> Retriever | Failed:
        """Load the model, unless it was the last one at this place. A wrong name is a UsageError at once."""
        if place not in self._loaded or self._loaded[place][0] != spec:
            self._loaded.pop(place, None)  # before the next is loaded: two may not fit into memory
            settings = self.settings.updated(secrets={**self.settings.secrets, **self.keys.secrets})
            self._loaded[place] = (spec, attempt(lambda: load_retriever(spec, settings), raises=UsageError))
        return self._loaded[place][1]

    def _files(self, entry: ModelEntry, name: str, settings: dict[str, Any]) -> MtebModel:
        revision = entry.revision or settings.get("revision") or MASTER
        if self.version != "1.14":  # names have an organisation in mteb 2
            hub = entry.path is not None and not is_local(entry.path) and entry.path.count("/") == 1
            ours = entry.path is not None and is_ours(entry.path)
            owner = "steelyard" if ours else "api" if entry.path is None else "local"
            same = hub and not ours and name == label(entry)
            name = entry.id if same else f"{owner}/{name}"
        return MtebModel(name, str(revision), entry.cross_encoder, settings, entry.encode_kwargs)

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

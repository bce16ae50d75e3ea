"""Who is weighed on which task: every model alone, or an encoder first and a cross-encoder on the best of its lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from steelyard.compat.evalscope.config_models import ApiKeys, is_local, is_ours, spec_of
from steelyard.compat.evalscope.config_schema import Config, ModelEntry
from steelyard.compat.evalscope.config_tasks import SEARCHED, Wanted
from steelyard.compat.evalscope.output_names import MASTER, Names, identity, label
from steelyard.compat.mteb.names import MtebModel
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
"""The lists that a reranking task brings."""


@dataclass(frozen=True, eq=False)
class Stage:
    """A model on a task, and where its files go."""

    model: Model
    files: MtebModel
    folder: str = ""
    """Under the folder of outputs."""
    previous: MtebModel | None = None
    """The model whose lists were ranked."""


@dataclass(eq=False)
class Crew:
    """The models of a config; loaded when they are first needed, and anew where a task has a prompt of its own."""

    config: Config
    version: str
    keys: ApiKeys
    names: Names
    tell: Callable[[str], None]
    settings: Settings
    _loaded: dict[str, tuple[ModelSpec, Retriever | Failed]] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)

    @property
    def pair(self) -> tuple[ModelEntry, ModelEntry] | None:
        """The encoder and the cross-encoder, if that is what the config has: two stages."""
        models = sorted(self.config.models, key=lambda entry: entry.cross_encoder)
        alike = len(models) != 2 or models[0].cross_encoder == models[1].cross_encoder
        return None if alike else (models[0], models[1])

    def check(self, tasks: list[Wanted]) -> None:
        """Read every entry once, so that what is wrong with it shows before the first model is loaded."""
        for entry in self.config.models:
            for task in tasks:
                spec_of(entry, prompt_for(entry, task), self.keys)

    def stages(self, task: Wanted) -> list[Stage]:
        """The models that are weighed on a task."""
        if self.pair is None:
            return [self._alone(entry, task) for entry in self.config.models]
        first, second = self.pair
        before = self._alone(first, task, FIRST)
        if task.type == "reranking":
            return [before, self._alone(second, task, SECOND, before)]
        if task.type not in SEARCHED:
            self._tell_once(f"{task.asked} is of type {task.type}: the first stage alone is weighed on it")
            return [before]
        return [before, self._after(second, before, task)]

    def _alone(self, entry: ModelEntry, task: Wanted, folder: str = "", before: Stage | None = None) -> Stage:
        """A model by itself; a cross-encoder ranks the candidates that the task brings."""
        spec = spec_of(entry, prompt_for(entry, task), self.keys)
        if entry.cross_encoder and spec.family == "rerank":
            spec = ModelSpec("pipeline", parts=(CANDIDATES, spec))
        found = self._load(entry.where, spec)
        name = self._name(entry, found, before)
        return Stage(_model(name, found), self._files(entry, name, _own_settings(found)), folder)

    def _after(self, entry: ModelEntry, before: Stage, task: Wanted) -> Stage:
        """The cross-encoder on the best `top_k` of the first stage's lists; what stands below is left out."""
        first, depth = before.model.retriever, self.config.top_k
        found: Retriever | Failed
        if first is None:
            assert before.model.failure is not None
            found = Failed(before.model.failure, "")
        else:
            rerank = spec_of(entry, prompt_for(entry, task), self.keys)
            options = dict(sorted({**rerank.options, "depth": str(depth), "tail": "cut"}.items()))
            parts = (spec_of(self._first, prompt_for(self._first, task), self.keys), replace(rerank, options=options))
            found = self._load(f"{entry.where} after {before.model.name}", ModelSpec("pipeline", parts=parts))
        name = self._name(entry, found, before)
        if isinstance(found, RerankedRetriever) and first is not None:
            found = replace(found, first=first)  # so that its lists are those that are there already
        files = self._files(entry, name, _own_settings(found))
        return Stage(_model(f"{before.model.name} > {name}", found), files, SECOND, before.files)

    def _name(self, entry: ModelEntry, found: Retriever | Failed, before: Stage | None) -> str:
        """Of a second stage there is one for each first stage and depth; a model that failed owns no name."""
        if isinstance(found, Failed):
            return label(entry)
        stage = () if before is None else (before.model.name, self.config.top_k)
        return self.names.of(label(entry), identity(entry, _own_settings(found).get("weights"), *stage))

    @property
    def _first(self) -> ModelEntry:
        assert self.pair is not None
        return self.pair[0]

    def _load(self, place: str, spec: ModelSpec) -> Retriever | Failed:
        """The model, unless it is the one that was there last. A name that cannot be right is a UsageError at once."""
        if place not in self._loaded or self._loaded[place][0] != spec:
            self._loaded.pop(place, None)  # before the next is loaded, not after: two may be too many
            settings = self.settings.updated(secrets={**self.settings.secrets, **self.keys.secrets})
            self._loaded[place] = (spec, attempt(lambda: load_retriever(spec, settings), raises=UsageError))
        return self._loaded[place][1]

    def _files(self, entry: ModelEntry, name: str, settings: dict[str, Any]) -> MtebModel:
        revision = entry.revision or settings.get("revision") or MASTER
        if self.version != "1.14":  # names have an organisation now
            hub = entry.path is not None and not is_local(entry.path) and entry.path.count("/") == 1
            ours = entry.path is not None and is_ours(entry.path)
            owner = "steelyard" if ours else "api" if entry.path is None else "local"
            same = hub and not ours and name == label(entry)
            name = entry.id if same else f"{owner}/{name}"
        return MtebModel(name, str(revision), entry.cross_encoder, settings, entry.encode_kwargs)

    def _tell_once(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            self.tell(text)


def prompt_for(entry: ModelEntry, task: Wanted) -> str | None:
    """The prompt on the queries of a task: the one for all, else the one under the task's name."""
    if entry.prompt:
        return entry.prompt
    named = (entry.prompts.get(name) for name in (task.asked, task.name, Path(task.name).name))
    return next((prompt for prompt in named if prompt is not None), entry.prompt)


def _model(name: str, found: Retriever | Failed) -> Model:
    if isinstance(found, Failed):
        return Model(name, failure=found.failure)
    if isinstance(found, DenseRetriever | RerankedRetriever):
        return Model(name, replace(found, name=name))
    return Model(found.name, found)


def _own_settings(found: Retriever | Failed) -> dict[str, Any]:
    """The settings of the encoder, or of the reranker that stands behind something."""
    if isinstance(found, Failed):
        return {}
    settings = dict(found.settings)
    return dict(settings["reranker"]) if isinstance(found, RerankedRetriever) else settings

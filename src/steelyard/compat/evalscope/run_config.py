"""Run a config: results one by one, each with its files, so that an interrupted run loses nothing."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path

from steelyard.compat.evalscope.config_models import ApiKeys
from steelyard.compat.evalscope.config_schema import Config
from steelyard.compat.evalscope.config_tasks import CUSTOM, PlannedTask, planned_tasks
from steelyard.compat.evalscope.model_stages import FIRST, SECOND, ConfigModels, Stage
from steelyard.compat.mteb.mteb_files import MtebFolder, other_settings, settings_digest
from steelyard.compat.mteb.mteb_names import is_mteb_2
from steelyard.compat.mteb.predictions import write_predictions
from steelyard.config import Settings
from steelyard.engine.batch import Batch
from steelyard.engine.events import Advanced, Event, Listener, Planned, Started, silent
from steelyard.engine.plan import Conditions, Profile, ResultLookup, SaveRuns
from steelyard.errors import UsageError
from steelyard.files import with_home
from steelyard.results import Result, ResultStore

OWN = "steelyard"
"""The folder, below that of outputs, with our own results: all scores, intervals and provenance."""
PROFILES: dict[str, Profile] = {"1.14": "mteb-1.14", "2": "mteb-2.26"}
"""The profile of each mteb version."""
OUTPUTS = "outputs"


def ignore_note(text: str) -> None:
    """Ignore the note."""


def run_config(
    config: Config,
    folder: Path,
    *,
    version: str | None = None,
    listen: Listener = silent,
    note: Callable[[str], None] = ignore_note,
    settings: Settings | None = None,
) -> Generator[Result, None, None]:
    """Evaluate the models of the config on its tasks; yield each result when its files are in `folder`.

    `version` is the mteb version of names, formulas and files, `1.14` or `2` (default: that of the config).
    """
    mteb = version or config.version
    if mteb not in PROFILES:
        raise UsageError.invalid(
            "mteb_version", expected=f"one of {', '.join(PROFILES)}", found=mteb, option="mteb_version"
        )
    conditions = Conditions.of(
        limit=config.limits, seed=config.seed, profile=PROFILES[mteb], limit_documents=config.limits is not None
    )
    settings = config_settings(config, settings or Settings.load(defaults={"hub": default_hub()}), note)
    models = ConfigModels(config, mteb, ApiKeys(), note, settings)
    tasks = planned_tasks(config, mteb, settings)
    if models.pair is not None:
        tasks = [task.with_type(settings) for task in tasks]
    models.check(tasks)
    # With `use_cache` an earlier run is continued; EvalScope's own default is to evaluate everything again.
    anew = config.overwrite if config.overwrite is not None else config.use_cache is None
    saved: SaveRuns | None = "parquet" if models.pair is not None else None
    lookup = ResultLookup(ResultStore(folder / OWN), "always" if anew else "only-missing", saved)
    yield from _results(tasks, models, conditions, lookup, folder, listen)


def _results(
    tasks: list[PlannedTask],
    models: ConfigModels,
    conditions: Conditions,
    lookup: ResultLookup,
    folder: Path,
    listen: Listener,
) -> Generator[Result, None, None]:
    written = {name: MtebFolder(folder / name) for name in ("", FIRST, SECOND)}
    listen = _without_bars(listen, models.without_bars)
    if lookup.store is not None:
        lookup.store.clean()
        lookup.store.ready()
    listen(_plan(tasks, models))
    folders: dict[Path, set[str]] = {}
    for task in tasks:
        stages = {stage.model.name: stage for stage in models.stages(task)}
        staged = [stage.model for stage in stages.values()]
        for result in Batch(staged, [task.task], conditions, lookup, listen, models.settings).run_tasks():
            stage = stages[result.model]
            path = _write(result, stage, written[stage.folder])
            if path is not None:
                folders.setdefault(path.parent, set()).add(settings_digest(result))
            yield result
    for place, own in folders.items():
        if others := other_settings(place, own):
            models.note(f"{place} also has results of other settings or weights, from before: {', '.join(others)}")


def _write(result: Result, stage: Stage, files: MtebFolder) -> Path | None:
    path = files.add(result, stage.files, stage.previous)
    if stage.folder and result.done:
        folder = files.folder / "predictions" if is_mteb_2(result) else files.folder
        write_predictions(result, stage.files, folder)
    return path


def _without_bars(listen: Listener, models: set[str]) -> Listener:
    """Return a listener that gets no steps of these models: `show_progress_bar: false`."""
    hidden = False

    def filtered(event: Event) -> None:
        nonlocal hidden
        if isinstance(event, Started):
            hidden = event.model.rpartition(" > ")[2] in models
            event = replace(event, steps=0) if hidden else event
        if not (hidden and isinstance(event, Advanced)):
            listen(event)

    return filtered if models else listen


@dataclass(frozen=True)
class StagedPlan(Planned):
    """A plan in which not every model is evaluated on every task."""

    pairs: int = 0

    @property
    def evaluations(self) -> int:
        """The number of evaluations."""
        return self.pairs


def _plan(tasks: list[PlannedTask], models: ConfigModels) -> StagedPlan:
    count = len(models.config.models)
    searched = sum(models.pair is None or task.type in ("retrieval", "reranking") for task in tasks)
    return StagedPlan(count, len(tasks), stored=0, pairs=searched * count + (len(tasks) - searched))


def default_hub() -> str:
    """Return the hub of a config that names none: ModelScope, as in EvalScope, if its package is installed."""
    return "modelscope" if find_spec("modelscope") is not None else "huggingface"


def config_settings(config: Config, settings: Settings, note: Callable[[str], None]) -> Settings:
    """Return the settings with the hub and the data folder that the config names."""
    published = config.tasks or config.task_types or config.languages
    # The data folder of a custom task is that task's data alone.
    data = config.data_folder if CUSTOM not in config.tasks else None
    elsewhere = config.hub is None and settings.hub == "huggingface" and find_spec("modelscope") is None
    if published and elsewhere and not (config.data_folder or settings.data):
        note("data comes from Hugging Face: the package of EvalScope's default hub, modelscope, is not installed")
    return settings.updated(hub=config.hub, data=data)


def output_folder(config: Config) -> Path:
    """Return the folder of a config's files.

    `use_cache` is the folder of an earlier run. Below `work_dir` each run has a folder with its time, unless
    `no_timestamp` is true. Otherwise it is `output_folder`, or `outputs`.
    """
    if config.use_cache is not None:
        return with_home(config.use_cache)
    folder = with_home(config.work_dir or config.output_folder or OUTPUTS)
    stamped = config.work_dir is not None if config.no_timestamp is None else not config.no_timestamp
    return folder / datetime.now().strftime("%Y%m%d_%H%M%S") if stamped else folder

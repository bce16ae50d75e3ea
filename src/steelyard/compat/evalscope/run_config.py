"""A config carried out: results one by one, and after each its files, so that an interrupted run loses nothing."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path

from steelyard.compat.evalscope.config_models import ApiKeys
from steelyard.compat.evalscope.config_schema import Config
from steelyard.compat.evalscope.config_tasks import CUSTOM, Wanted, wanted
from steelyard.compat.evalscope.model_stages import FIRST, SECOND, Crew, Stage
from steelyard.compat.evalscope.output_names import Names
from steelyard.compat.evalscope.predictions import write_predictions
from steelyard.compat.mteb.files import MtebFolder
from steelyard.config import Settings
from steelyard.engine.batch import Batch
from steelyard.engine.events import Event, Listener, Planned, silent
from steelyard.engine.plan import Conditions, Profile, ResultLookup, SaveRuns
from steelyard.errors import UsageError
from steelyard.results import Result, ResultStore

OWN = "steelyard"
"""The folder, under that of outputs, with our own results: all figures, their uncertainty, how they were obtained."""
PROFILES: dict[str, Profile] = {"1.14": "mteb-1.14", "2": "mteb-2.26"}
"""By the version of mteb in whose terms to speak."""
OUTPUTS = "outputs"


def no_word(text: str) -> None:
    """What is told to someone who does not listen."""


def carry_out(
    config: Config,
    folder: Path,
    *,
    version: str | None = None,
    listen: Listener = silent,
    tell: Callable[[str], None] = no_word,
    settings: Settings | None = None,
) -> Generator[Result, None, None]:
    """Weigh what the config asks for; the results as they are ready, each with its files in `folder`.

    `version` is the mteb in whose terms to speak, `1.14` or `2`; None: the one that the config was written for.
    """
    spoken = version or config.version
    if spoken not in PROFILES:
        raise UsageError(f"unknown version {spoken!r} of mteb", hint=f"one of {', '.join(PROFILES)}")
    conditions = Conditions.of(
        limit=config.limits, seed=config.seed, profile=PROFILES[spoken], limit_documents=config.limits is not None
    )
    settings = settings_of(config, settings or Settings.load(defaults={"hub": default_hub()}), tell)
    crew = Crew(config, spoken, ApiKeys(), Names(folder / OWN / "models.json"), tell, settings)
    tasks = wanted(config, spoken, settings)
    if crew.pair is not None:
        tasks = [task.with_type(settings) for task in tasks]
    crew.check(tasks)
    # With `use_cache` an earlier run is taken up; EvalScope's own default is to do everything anew.
    anew = config.overwrite if config.overwrite is not None else config.use_cache is None
    saved: SaveRuns | None = "parquet" if crew.pair is not None else None
    lookup = ResultLookup(ResultStore(folder / OWN), "always" if anew else "only-missing", saved)
    yield from _weighed(tasks, crew, conditions, lookup, folder, listen)


def _weighed(
    tasks: list[Wanted], crew: Crew, conditions: Conditions, lookup: ResultLookup, folder: Path, listen: Listener
) -> Generator[Result, None, None]:
    written = {name: MtebFolder(folder / name) for name in ("", FIRST, SECOND)}
    listen(_planned(tasks, crew))

    def heard(event: Event) -> None:
        if not isinstance(event, Planned):  # each task is a batch of its own; the plan of all was told
            listen(event)

    for task in tasks:
        stages = {stage.model.name: stage for stage in crew.stages(task)}
        models = [stage.model for stage in stages.values()]
        for result in Batch(models, [task.task], conditions, lookup, heard, crew.settings).run():
            stage = stages[result.model]
            _write(result, stage, written[stage.folder])
            yield result


def _write(result: Result, stage: Stage, files: MtebFolder) -> None:
    files.add(result, stage.files, stage.previous)
    if stage.folder and result.done:
        write_predictions(result, stage.files, files.folder)


@dataclass(frozen=True)
class Staged(Planned):
    """A plan in which not every model is weighed on every task."""

    pairs: int = 0

    @property
    def evaluations(self) -> int:
        """So many in all."""
        return self.pairs


def _planned(tasks: list[Wanted], crew: Crew) -> Staged:
    models = len(crew.config.models)
    searched = sum(crew.pair is None or task.type in ("retrieval", "reranking") for task in tasks)
    return Staged(models, len(tasks), stored=0, pairs=searched * models + (len(tasks) - searched))


def default_hub() -> str:
    """Return the hub of a config that names none: ModelScope, as in EvalScope, if its package is installed."""
    return "modelscope" if find_spec("modelscope") is not None else "huggingface"


def settings_of(config: Config, settings: Settings, tell: Callable[[str], None]) -> Settings:
    """Return the settings with the hub and the data folder that the config names."""
    published = config.tasks or config.task_types or config.languages
    # The data folder of a custom task is that task's data alone.
    data = config.data_folder if CUSTOM not in config.tasks else None
    elsewhere = config.hub is None and settings.hub == "huggingface" and find_spec("modelscope") is None
    if published and elsewhere and not (config.data_folder or settings.data):
        tell("data comes from Hugging Face: the package of EvalScope's default hub, modelscope, is not installed")
    return settings.updated(hub=config.hub, data=data)


def output_folder(config: Config) -> Path:
    """Where a config's files go.

    `use_cache` names the folder of an earlier run; `work_dir` one under which each run has a folder with its time,
    unless `no_timestamp`; else it is `output_folder`, or `outputs`.
    """
    if config.use_cache is not None:
        return Path(config.use_cache).expanduser()
    folder = Path(config.work_dir or config.output_folder or OUTPUTS).expanduser()
    stamped = config.work_dir is not None if config.no_timestamp is None else not config.no_timestamp
    return folder / datetime.now().strftime("%Y%m%d_%H%M%S") if stamped else folder

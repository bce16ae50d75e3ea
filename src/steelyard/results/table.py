"""The one view of many results: means, leaders and ties for the console, reports, pages and Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, overload

from steelyard.errors import ResultError, UsageError
from steelyard.files import with_home
from steelyard.metrics import parse
from steelyard.results import export
from steelyard.results.display.model_labels import marked_by_weights, settings_suffix
from steelyard.results.display.text_table import failure_lines, score_rows, text_table
from steelyard.results.per_query import Column, aligned, columns, is_mean
from steelyard.results.ranking import Leaders, RankedModel, group_leaders, rank_results, task_leaders
from steelyard.results.schema import HEADLINES, TITLES, Result
from steelyard.results.store import Report, ResultStore, warn
from steelyard.results.summary import Summary, summarise
from steelyard.types.protocols import ModelSettings

CONDITIONS = ("top_k", "limit", "seed", "profile")
"""The conditions of a result that have one value each, by their names in its settings."""

Names = str | Iterable[str] | None


class Results(Sequence[Result]):
    """Results of several models on several tasks; a selection gives Results again.

    Of several results of one model on the same data, the newest counts. Different data under one task name are
    different tasks, distinguished by the hash of the data.

    >>> results = Results([Result("T/a", "bm25", {}, "1", metrics={"ndcg_at_10": 0.5}),
    ...                    Result("T/a", "dense", {}, "2", metrics={"ndcg_at_10": 0.25})])
    >>> print(results)
    nDCG@10  bm25     dense
    -------  -------  -------
    T/a      0.5000*  0.2500
    >>> results.select(models="dense")[0].score
    0.25
    """

    def __init__(self, results: Iterable[Result]) -> None:
        self._results = tuple(results)
        self._leaders: dict[tuple[str | None, str | None], Leaders | None] = {}

    # What there is

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The models, in the order of their first result."""
        return tuple(dict.fromkeys(result.model for result in self))

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """The tasks, in the order of their first result."""
        return tuple(dict.fromkeys(result.task for result in self))

    @property
    def failures(self) -> Results:
        """The results that have no scores."""
        return Results(result for result in self if not result.done)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """One name for each set of data: the task, with the hash of the data where one name is used for several."""
        return tuple(dict.fromkeys(map(self.label_of, self)))

    def label_of(self, result: Result) -> str:
        """Return the label of the data that the result was made from."""
        name, data = result.task, result.facts.data_hash
        return f"{name}@{data[:8]}" if data and len(self._data[name]) > 1 else name

    def cell(self, label: str, model: str) -> Result | None:
        """Return the newest result of a model on a task, finished or failed; None if there is none."""
        return self._cells.get(label, {}).get(model)

    def score(self, label: str, model: str, metric: str | None = None) -> float | None:
        """Return one score; without a metric, the main score of the task."""
        result = self.cell(label, model)
        return result.metrics.get(metric or result.main_metric) if result is not None and result.done else None

    # Selection

    def select(
        self, *, tasks: Names = None, models: Names = None, languages: Names = None, types: Names = None
    ) -> Results:
        """Return the results that meet every given condition; several values of one condition are alternatives.

        Tasks and models may be patterns (`NanoCLDR/*`), and a task may be a whole group (`NanoCLDR`).
        """
        return Results(
            result
            for result in self
            if _matches(result.task, tasks, group=True)
            and _matches(result.model, models)
            and _matches(result.facts.type, types)
            and _speaks(result, languages)
        )

    def filter(self, *, model: str | None = None, task: str | None = None) -> Results:
        """Return the results of exactly this model, on exactly this task, or both."""
        return Results(r for r in self if model in (None, r.model) and task in (None, r.task))

    def distinct_names(self) -> Results:
        """Return the same results, with the differing settings in the names of models that share name and data.

        An example is one model with runs saved at several depths: tables have one place for each name.
        """
        settings: dict[tuple[str, str], list[ModelSettings]] = {}
        for result in self:
            settings.setdefault((result.model, self.label_of(result)), []).append(result.settings)
        differing: dict[str, set[str]] = {model: set() for model in self.models}
        for (model, _), several in settings.items():
            names = {name for one in several for name in one}
            differing[model] |= {
                name for name in names if any(one.get(name) != several[0].get(name) for one in several)
            }
        return Results(replace(r, model=r.model + settings_suffix(r, differing[r.model], CONDITIONS)) for r in self)

    # Means

    def common_tasks(self, metric: str | None = None) -> tuple[str, ...]:
        """Return the labels of the tasks on which every model has a score; models without any score do not count."""
        metric = self._canonical(metric)
        models = self._with_scores(metric)
        return tuple(
            label for label in self.labels if models and all(self.score(label, m, metric) is not None for m in models)
        )

    def means(self, metric: str | None = None) -> dict[str, float]:
        """Return the mean of each model over the tasks that *every* model has finished, so that means are comparable.

        A model without any score has no mean and does not change the means of others. Without a metric, the main
        score of every task counts; a metric may have any spelling.
        """
        metric = self._canonical(metric)
        common = self.common_tasks(metric)
        if not common:
            return {}
        return {
            model: sum(self.score(label, model, metric) or 0.0 for label in common) / len(common)
            for model in self._with_scores(metric)
        }

    def partial_models(self, metric: str | None = None) -> dict[str, tuple[str, ...]]:
        """Return the tasks that a model lacks although another model has them; only models that lack some."""
        metric = self._canonical(metric)
        models = self._with_scores(metric)
        finished = [label for label in self.labels if any(self.score(label, m, metric) is not None for m in models)]
        missing = {m: tuple(label for label in finished if self.score(label, m, metric) is None) for m in self.models}
        return {model: labels for model, labels in missing.items() if labels}

    def summary(self) -> Summary:
        """Return the mean by task and by type of task, and the Borda rank of every model, as mteb computes them."""
        return summarise(self)

    def ranking(self, metric: str | None = None) -> tuple[RankedModel, ...]:
        """Return the models by their mean over the common tasks, with rank intervals and tie groups."""
        return rank_results(self, self._canonical(metric))

    # Leaders

    def leaders(self, label: str, metric: str | None = None) -> Leaders | None:
        """Return the model with the highest score on a task and all that cannot be distinguished from it.

        The paired randomisation test uses per-query scores; see `steelyard.results.ranking`.
        """
        metric = self._canonical(metric)
        if (label, metric) not in self._leaders:
            scores = {m: value for m in self.models if (value := self.score(label, m, metric)) is not None}
            cells = {m: cell for m in scores if (cell := self.cell(label, m))}
            known = {m: cell.intervals.get(metric or cell.main_metric) for m, cell in cells.items()}
            intervals = {m: interval for m, interval in known.items() if interval is not None}
            self._leaders[label, metric] = task_leaders(label, scores, self.query_columns(label, metric), intervals)
        return self._leaders[label, metric]

    def overall_leaders(self, metric: str | None = None) -> Leaders | None:
        """Return the model with the highest mean over the common tasks and all that cannot be distinguished from it."""
        metric = self._canonical(metric)
        if (None, metric) not in self._leaders:
            self._leaders[None, metric] = self._overall(metric)
        return self._leaders[None, metric]

    def _overall(self, metric: str | None) -> Leaders | None:
        common, models = self.common_tasks(metric), self._with_scores(metric)
        if not common:
            return None
        scores = {model: [self.score(label, model, metric) or 0.0 for label in common] for model in models}
        by_model = []
        for label in common if len(models) > 1 else ():
            columns = self.query_columns(label, metric)
            if any(model not in columns or len(columns[model].ids) < 2 for model in models):
                return group_leaders(common, scores, [])
            by_model.append(aligned({model: columns[model] for model in models}, where=label)[1])
        return group_leaders(common, scores, by_model)

    def query_columns(self, label: str, metric: str | None = None) -> dict[str, Column]:
        """Return the per-query scores of each model on a task, where the score is their mean."""
        by_model = {}
        for model in self.models:
            result = self.cell(label, model)
            if result is None or not result.done:
                continue
            name = metric or result.main_metric
            key = label, model
            if name not in self._columns.get(key, {}):
                names = dict.fromkeys([name, result.main_metric, *HEADLINES])
                with suppress(ResultError):  # a table does not fail because the file of one result is damaged
                    self._columns[key] = {**self._columns.get(key, {}), **columns(result, list(names))}
            column = self._columns.get(key, {}).get(name)
            if column is not None and is_mean(column, result.metrics.get(name)):
                by_model[model] = column
        return by_model

    # Forms

    def table(self, metric: str | None = None, *, intervals: bool = False) -> tuple[list[str], list[list[str]]]:
        """Return columns and rows: one task a row, one model a column; six or more models become rows.

        A star marks the highest score of a row and every score that cannot be distinguished from it. Half the width of
        its interval follows each score; with `intervals`, the interval itself. Without a metric, every task has its
        main score and names it where the tasks differ in it. The last row of several tasks is the mean over the tasks
        that every model has finished.
        """
        return score_rows(self, self._canonical(metric), intervals=intervals)

    def title(self, metric: str | None = None) -> str:
        """Return what people call the metric; without one, the main metric of the tasks, if they agree."""
        if metric is None and len(self._main_metrics) != 1:
            return "main score"
        return metric_title(metric or next(iter(self._main_metrics)))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the result files as values."""
        return [result.to_dict() for result in self]

    def records(self, metrics: Iterable[str] = ()) -> list[dict[str, Any]]:
        """Return one flat row for each result: the main score with its interval, sizes and costs, and more metrics."""
        names = [self._canonical(metric) or "" for metric in metrics]
        return [export.record(result, names) for result in self]

    def to_arrow(self, metrics: Iterable[str] = ()) -> Any:
        """Return `records` as a `pyarrow.Table`."""
        return export.arrow_table(self.records(metrics))

    def to_pandas(self, metrics: Iterable[str] = ()) -> Any:
        """Return `records` as a `pandas.DataFrame`."""
        export.data_frame_library("pandas")
        return self.to_arrow(metrics).to_pandas()

    def to_polars(self, metrics: Iterable[str] = ()) -> Any:
        """Return `records` as a `polars.DataFrame`."""
        return export.data_frame_library("polars").from_arrow(self.to_arrow(metrics))

    def to_markdown(self, metric: str | None = None, *, intervals: bool = False) -> str:
        """Return the table in Markdown; bold where `table` has a star."""
        return export.markdown_table(*self._bold(metric, intervals))

    def to_latex(self, metric: str | None = None, *, intervals: bool = False) -> str:
        """Return the table as a LaTeX tabular (booktabs); bold where `table` has a star."""
        return export.latex_table(*self._bold(metric, intervals))

    def _bold(self, metric: str | None, intervals: bool) -> tuple[list[str], list[list[str]]]:
        head, rows = self.table(metric, intervals=intervals)
        return head, [[f"**{cell.replace('*', '').strip()}**" if "*" in cell else cell for cell in row] for row in rows]

    @overload
    def __getitem__(self, place: int) -> Result: ...
    @overload
    def __getitem__(self, place: slice) -> Results: ...
    def __getitem__(self, place: int | slice) -> Result | Results:
        return Results(self._results[place]) if isinstance(place, slice) else self._results[place]

    def __len__(self) -> int:
        return len(self._results)

    def __str__(self) -> str:
        if not self:
            return "no results"
        lines = failure_lines(self)
        return "\n".join([text_table(*self.table()), *([""] if lines else []), *lines])

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"Results({_count(self.models, 'model')} x {_count(self.tasks, 'task')}{failed})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the same table as `str`."""
        if not self:
            return "<p>no results</p>"
        failures = "".join(f"<p>{escape(line)}</p>" for line in failure_lines(self))
        return export.html_table(*self.table()) + failures

    # Inside

    @cached_property
    def _data(self) -> dict[str, set[str]]:
        """The hashes of the data under each task name."""
        known: dict[str, set[str]] = {result.task: set() for result in self}
        for result in self:
            if result.facts.data_hash:
                known[result.task].add(result.facts.data_hash)
        return known

    @cached_property
    def _cells(self) -> Mapping[str, dict[str, Result]]:
        cells: dict[str, dict[str, Result]] = {label: {} for label in self.labels}
        for result in sorted(self, key=lambda result: result.created):
            cells[self.label_of(result)][result.model] = result
        return cells

    @cached_property
    def _columns(self) -> dict[tuple[str, str], dict[str, Column]]:
        return {}

    @cached_property
    def _main_metrics(self) -> set[str]:
        """The main metrics; that of a failure is known where its task could be read."""
        known = {result.main_metric for result in self if result.done}
        return known or {result.main_metric for result in self if result.facts.data_hash is not None}

    def _canonical(self, metric: str | None) -> str | None:
        """Return the name of the metric in results; a name that is not a metric raises UnknownName."""
        return metric if metric is None or any(metric in result.metrics for result in self) else str(parse(metric))

    def _with_scores(self, metric: str | None) -> list[str]:
        return [m for m in self.models if any(self.score(label, m, metric) is not None for label in self.labels)]


def load_results(
    folder: str | Path | None = None,
    *,
    tasks: Names = None,
    models: Names = None,
    languages: Names = None,
    types: Names = None,
    report: Report = warn,
) -> Results:
    """Read the results of a folder (default: $STEELYARD_RESULTS or `results`), all or a selection.

    Damaged files are reported, by default as a warning, and skipped.
    """
    from steelyard.config import Settings

    place = with_home(folder) if folder is not None else Settings.load().results
    if not place.is_dir():
        raise ResultError(
            f"the folder of results does not exist: {place}", hint="steelyard run MODEL -t TASK -o FOLDER writes one"
        )
    return Results(marked_by_weights(ResultStore(place).all(report))).select(
        tasks=tasks, models=models, languages=languages, types=types
    )


def metric_title(metric: str) -> str:
    """Return what people call the metric; scores of a whole task keep their own name.

    >>> metric_title("ndcg_at_10"), metric_title("ndcg_at_20"), metric_title("my_score")
    ('nDCG@10', 'nDCG@20', 'my_score')
    """
    if metric in TITLES:
        return TITLES[metric]
    try:
        return parse(metric).display
    except UsageError:
        return metric


def _count(names: Sequence[str], noun: str) -> str:
    return f"{len(names)} {noun}{'' if len(names) == 1 else 's'}"


def _matches(value: str, wanted: Names, *, group: bool = False) -> bool:
    if wanted is None:
        return True
    patterns = [wanted] if isinstance(wanted, str) else list(wanted)
    return any(
        value == pattern or fnmatchcase(value, pattern) or (group and value.startswith(f"{pattern}/"))
        for pattern in patterns
    )


def _speaks(result: Result, wanted: Names) -> bool:
    if wanted is None:
        return True
    languages = {result.facts.language, *result.facts.languages}
    known = languages | {language.replace("_", "-").partition("-")[0] for language in languages}
    return any(_matches(language, wanted) for language in known)

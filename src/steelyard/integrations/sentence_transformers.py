"""Evaluators for the trainers of sentence-transformers, and a callback for any trainer of transformers.

    from steelyard.integrations.sentence_transformers import SteelyardEvaluator
    trainer = SentenceTransformerTrainer(..., evaluator=SteelyardEvaluator(["NanoAlmanac/en"]))

The trainer's own reporting sends the metrics to TensorBoard, Weights & Biases or MLflow: an evaluator returns a
dictionary, and the trainer logs it as `eval_...`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from steelyard.config import Settings
from steelyard.engine import as_list, evaluate, expand
from steelyard.errors import MissingPart, ModelError, UsageError
from steelyard.integrations.history import Checkpoint, History
from steelyard.results import Results
from steelyard.retrievers.objects.sentence_transformer_models import family_of, live_reranker, live_retriever, unchanged
from steelyard.types import Task
from steelyard.types.protocols import Retriever
from steelyard.types.samples import AnyTask

try:
    from sentence_transformers.base.evaluation import BaseEvaluator
    from transformers import TrainerCallback
except ImportError as error:
    raise MissingPart(
        f"the integration with sentence-transformers needs version 6 of it: {error}",
        hint="pip install 'steelyard[torch]'",
    ) from error

__all__ = ["SteelyardCallback", "SteelyardCrossEncoderEvaluator", "SteelyardEvaluator"]

LOG = logging.getLogger(__name__)
TaskLike = str | Path | Task


class SteelyardEvaluator(BaseEvaluator):  # type: ignore[misc]  # mypy does not read its package
    """Evaluate a dense, sparse or multi-vector encoder on retrieval tasks while it is trained.

    Every call returns the main score of each task, their mean, and a comparison with the best confirmed checkpoint so
    far (`gain`, `p_value`, `real_gain`). `primary_metric` is the mean, for `load_best_model_at_end`. The model's mode,
    device and the random states are the same afterwards. `history` has every checkpoint.
    """

    def __init__(
        self,
        tasks: TaskLike | Iterable[TaskLike],
        *,
        name: str = "steelyard",
        limit: int | None = None,
        seed: int = 0,
        batch_size: int = 32,
        alpha: float = 0.05,
        results: str | Path | None = None,
        write_csv: bool = True,
        settings: Settings | None = None,
    ) -> None:
        super().__init__()
        if not 0 < alpha < 1:
            raise UsageError.invalid("alpha", expected="between 0 and 1", found=alpha, option="alpha")
        self.name, self.limit, self.seed, self.batch_size = name, limit, seed, batch_size
        self.folder = None if results is None else Path(results)
        self.write_csv = write_csv
        self.history = History(alpha)
        self.primary_metric = f"{name}_mean" if name else "mean"
        self.csv_file = f"{name or 'steelyard'}_evaluation_results.csv"
        self._settings = settings or Settings.load()
        self._names = expand(as_list(tasks), settings=self._settings)
        self._tasks: list[AnyTask] | None = None

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: float = -1, steps: int = -1
    ) -> dict[str, float]:
        """Evaluate the model as it is now; called by the trainer."""
        step = steps if steps >= 0 else len(self.history.checkpoints)
        label = f"{self._label(model)}@step-{step}"
        with unchanged(model):
            retriever = self._retriever(model, label)
            results = evaluate(
                retriever,
                self._loaded(),
                warn=False,
                limit=self.limit,
                seed=self.seed,
                results=self._results_folder(step, epoch),
                overwrite_strategy="always",
                settings=self._settings,
            )
        self._check(results)
        newest = self.history.add(step, float(-1 if epoch is None else epoch), results)
        if self.write_csv and output_path is not None:
            self.history.write_csv(Path(output_path) / self.csv_file)
        LOG.info("%s: %s", self.name, newest)
        metrics = self._metrics(newest)
        self.store_metrics_in_model_card_data(model, metrics, int(max(newest.epoch, 0)), step)
        return metrics

    def _retriever(self, model: Any, label: str) -> Retriever:
        return live_retriever(model, label, batch_size=self.batch_size)

    def _label(self, model: Any) -> str:
        base = getattr(getattr(model, "model_card_data", None), "base_model", None)
        return str(base or type(model).__name__).replace(" ", "-").replace("@", "-")

    def _loaded(self) -> Sequence[AnyTask]:
        """Return the tasks, read once: training evaluates them many times."""
        if self._tasks is None:
            from steelyard.datasets import load_any

            self._tasks = [
                load_any(task, settings=self._settings) if isinstance(task, str) else task for task in self._names
            ]
        return self._tasks

    def _results_folder(self, step: int, epoch: float | None) -> Path | None:
        if self.folder is None:
            return None
        return self.folder / (f"step-{step:06d}" + (f"-epoch-{epoch:.2f}" if epoch is not None and epoch >= 0 else ""))

    def _check(self, results: Results) -> None:
        if results.failures:
            first = results.failures[0]
            raise ModelError(f"the evaluation on {first.task} failed: {first.error}", hint="try it with steelyard run")

    def _metrics(self, newest: Checkpoint) -> dict[str, float]:
        """Return the metrics of the trainer's log; names of tasks have no slash, which some loggers divide at."""
        metrics = {task.replace("/", "_"): score for task, score in newest.scores.items()}
        metrics |= {
            "mean": newest.mean,
            "gain": newest.gain,
            "p_value": newest.p_value,
            "real_gain": float(newest.real),
        }
        return {f"{self.name}_{key}" if self.name else key: float(value) for key, value in metrics.items()}

    def get_config_dict(self) -> dict[str, Any]:
        """Return the settings of the evaluation for the model card."""
        return {
            "tasks": [str(task) if isinstance(task, str) else task.name for task in self._names],
            "limit": self.limit,
        }


class SteelyardCrossEncoderEvaluator(SteelyardEvaluator):
    """Evaluate a cross-encoder while it is trained: it reranks the best documents of a first stage.

    `first` is a model by name, such as `bm25`, or `candidates:NAME` for lists that the tasks bring.
    """

    def __init__(
        self, tasks: TaskLike | Iterable[TaskLike], *, first: str | Retriever = "bm25", depth: int = 50, **options: Any
    ) -> None:
        super().__init__(tasks, **options)
        if depth < 1:
            raise UsageError.invalid("depth", expected="at least 1", found=depth, option="depth")
        self.first, self.depth = first, depth

    def _retriever(self, model: Any, label: str) -> Retriever:
        return live_reranker(model, label, self.first, depth=self.depth, batch_size=self.batch_size)


class SteelyardCallback(TrainerCallback):  # type: ignore[misc]
    """Stop training when there is no real gain any more; evaluate, where the trainer has no evaluator itself.

    A gain is real if a paired test on the same queries finds the newest checkpoint better than the best confirmed one.
    After `patience` evaluations without one, training stops. Add it with `callback.attach(trainer)`, so that what it
    evaluates is sent to the trainer's own reporting.
    """

    def __init__(self, evaluator: SteelyardEvaluator, *, patience: int | None = None) -> None:
        if patience is not None and patience < 1:
            raise UsageError.invalid("patience", expected="at least 1", found=patience, option="patience")
        self.evaluator, self.patience = evaluator, patience
        self._trainer: Any = None

    def attach(self, trainer: Any) -> SteelyardCallback:
        """Add the callback to a trainer and log to where it logs; return the callback."""
        self._trainer = trainer
        trainer.add_callback(self)
        return self

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, model: Any = None, **_: Any) -> Any:
        """Evaluate unless the trainer's own evaluator has done so at this step; then decide whether to go on."""
        done = self.evaluator.history.checkpoints
        if not done or done[-1].step != state.global_step:
            scores = self.evaluator(
                self._unwrapped(model), output_path=args.output_dir, epoch=state.epoch, steps=state.global_step
            )
            named = {f"eval_{key}": value for key, value in scores.items()}
            if metrics is not None:
                metrics.update(named)  # the trainer chooses the best checkpoint by these
            if self._trainer is not None:
                self._trainer.log(named)
        if self.patience is not None and self.evaluator.history.since_real_gain >= self.patience:
            reference = self.evaluator.history.reference
            LOG.info(
                "no real gain over step %s in %s evaluations: training stops",
                reference.step if reference else None,
                self.patience,
            )
            control.should_training_stop = True
        return control

    def _unwrapped(self, model: Any) -> Any:
        """Return the model itself; trainers may pass it inside a wrapper that has it as `module`."""
        inner = getattr(model, "module", model)
        family_of(inner)
        return inner

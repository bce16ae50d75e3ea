"""One task without a corpus: a model gives vectors of its texts, and the task type makes figures of them."""

from __future__ import annotations

from steelyard.engine.measure import Clock, peak_memory_bytes, reset_peak_memory
from steelyard.engine.plan import Conditions, Evaluation
from steelyard.errors import UsageError
from steelyard.results import Result
from steelyard.tasks import texts_of, weigh
from steelyard.types.protocols import Embeds, Retriever, Tick, no_tick
from steelyard.types.samples import SampleTask


class SampleBench:
    """A task on which models are weighed by their vectors alone; stands where `Bench` stands for retrieval."""

    def __init__(self, task: SampleTask, conditions: Conditions, load_seconds: float = 0.0) -> None:
        self.task = task
        self.profile = conditions.profile
        self.load_seconds = load_seconds

    def steps(self, retriever: Retriever) -> int:
        """How many texts the model will tick."""
        return len(texts_of(self.task, self.profile)) if isinstance(retriever, Embeds) else 0

    def weigh(self, evaluation: Evaluation, tick: Tick = no_tick) -> Result:
        """The result of one model."""
        model: object = evaluation.model.retriever
        if not isinstance(model, Embeds):
            raise UsageError(
                f"{evaluation.model.name} has no vectors, by which a task of type {self.task.info.type} is weighed",
                hint="name a dense model, such as dense:ID",
            )
        clock = Clock({"load": self.load_seconds})
        reset_peak_memory()
        with clock.phase("encode"):
            texts = texts_of(self.task, self.profile)
            vectors, notes = model.embed(texts, "text", tick)
        with clock.phase("score"):
            weighed = weigh(self.task, texts, vectors, model.similarity, self.profile)
        return evaluation.result(
            main_metric=weighed.main_metric,
            metrics=weighed.metrics,
            mteb=weighed.mteb,
            intervals=weighed.intervals,
            timings={**clock.seconds, "total": sum(clock.seconds.values())},
            peak_memory_bytes=peak_memory_bytes(),
            notes={"texts": dict(notes), **weighed.notes},
            resampling=weighed.resampling,
            queries=weighed.samples,
        )

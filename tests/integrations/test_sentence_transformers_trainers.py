"""Every trainer of sentence-transformers with our evaluator, and every place that a trainer reports to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
sentence_transformers = pytest.importorskip("sentence_transformers")
pytest.importorskip("accelerate")
datasets = pytest.importorskip("datasets")

from cross_encoders import build  # noqa: E402
from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss  # noqa: E402
from sentence_transformers.multi_vector_encoder.losses import MultiVectorMultipleNegativesRankingLoss  # noqa: E402
from sentence_transformers.sparse_encoder.losses import SparseMultipleNegativesRankingLoss, SpladeLoss  # noqa: E402
from torch_models import save_bert  # noqa: E402
from training_parts import PAIRS, TASK, WORDS  # noqa: E402

from steelyard.integrations.sentence_transformers import (  # noqa: E402
    SteelyardCrossEncoderEvaluator,
    SteelyardEvaluator,
)

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def sparse(folder: Path) -> tuple[Any, Any, Any]:
    model = sentence_transformers.SparseEncoder(str(save_bert(folder, masked=True)), device="cpu")
    loss = SpladeLoss(
        model,
        SparseMultipleNegativesRankingLoss(model),
        document_regularizer_weight=1e-4,
        query_regularizer_weight=1e-4,
    )
    return model, loss, SteelyardEvaluator(TASK)


def late(folder: Path) -> tuple[Any, Any, Any]:
    model = sentence_transformers.MultiVectorEncoder(str(save_bert(folder)), device="cpu")
    return model, MultiVectorMultipleNegativesRankingLoss(model), SteelyardEvaluator(TASK)


def cross(folder: Path) -> tuple[Any, Any, Any]:
    model = sentence_transformers.CrossEncoder(str(build(folder)), device="cpu")
    return model, BinaryCrossEntropyLoss(model), SteelyardCrossEncoderEvaluator(TASK, first="bm25", depth=5)


LABELLED = {
    "query": [f"What lives near a {word}?" for word in WORDS] * 2,
    "document": [f"The {word} is a place in nature" for word in WORDS]
    + [f"The {word} is a place in nature" for word in WORDS[1:] + WORDS[:1]],
    "label": [1.0] * len(WORDS) + [0.0] * len(WORDS),
}
KINDS: dict[str, tuple[Callable[[Path], tuple[Any, Any, Any]], dict[str, list[Any]]]] = {
    "SparseEncoder": (sparse, PAIRS),
    "MultiVectorEncoder": (late, PAIRS),
    "CrossEncoder": (cross, LABELLED),
}


def train(kind: str, folder: Path, **options: Any) -> tuple[Any, Any]:
    """Train a tiny model of a kind for four steps, evaluated at steps 2 and 4; return the trainer and the evaluator."""
    parts, data = KINDS[kind]
    model, loss, evaluator = parts(folder / "model")
    arguments = getattr(sentence_transformers, f"{kind}TrainingArguments")(
        output_dir=str(folder / "out"),
        max_steps=4,
        learning_rate=5e-3,
        per_device_train_batch_size=4,
        eval_strategy="steps",
        eval_steps=2,
        save_strategy="no",
        logging_steps=1,
        use_cpu=True,
        seed=1,
        disable_tqdm=True,
        **{"report_to": []} | options,
    )
    trainer = getattr(sentence_transformers, f"{kind}Trainer")(
        model=model, args=arguments, train_dataset=datasets.Dataset.from_dict(data), loss=loss, evaluator=evaluator
    )
    trainer.train()
    return trainer, evaluator


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_of_every_kind_is_evaluated_while_it_is_trained(kind: str, own_home: Path, tmp_path: Path) -> None:
    trainer, evaluator = train(kind, tmp_path)
    assert [one.step for one in evaluator.history.checkpoints] == [2, 4]
    logged = [entry["eval_steelyard_mean"] for entry in trainer.state.log_history if "eval_steelyard_mean" in entry]
    assert logged == [one.mean for one in evaluator.history.checkpoints]
    modes = [module.training for module in trainer.model.modules()]
    again = evaluator(trainer.model, steps=5)
    assert again["steelyard_mean"] == pytest.approx(logged[-1], abs=1e-6), "the evaluator reads the trained weights"
    assert [module.training for module in trainer.model.modules()] == modes


def test_the_trainer_reports_to_tensorboard(own_home: Path, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    _, evaluator = train("SparseEncoder", tmp_path, report_to=["tensorboard"])
    (events,) = tmp_path.rglob("events.out.tfevents.*")
    accumulator = EventAccumulator(str(events.parent))
    accumulator.Reload()
    values = [(event.step, event.value) for event in accumulator.Scalars("eval/steelyard_mean")]
    assert [step for step, _ in values] == [2, 4]
    assert [value for _, value in values] == pytest.approx([one.mean for one in evaluator.history.checkpoints])


def test_the_trainer_reports_to_mlflow(own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "mlruns").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    _, evaluator = train("CrossEncoder", tmp_path, report_to=["mlflow"])
    client = mlflow.MlflowClient((tmp_path / "mlruns").as_uri())
    (run,) = client.search_runs(["0"])
    values = [(point.step, point.value) for point in client.get_metric_history(run.info.run_id, "eval_steelyard_mean")]
    assert values == [(one.step, pytest.approx(one.mean)) for one in evaluator.history.checkpoints]


def test_the_trainer_reports_to_weights_and_biases(
    own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("WANDB_SILENT", "true")
    _, evaluator = train("SparseEncoder", tmp_path, report_to=["wandb"])
    logged = wandb.run.summary["eval/steelyard_mean"]
    wandb.finish()
    assert logged == pytest.approx(evaluator.history.checkpoints[-1].mean)
    assert list(tmp_path.rglob("run-*.wandb")), "an offline run is stored"

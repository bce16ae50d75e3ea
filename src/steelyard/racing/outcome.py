"""What a race found: who is left, who was dropped when and by whom, and how much encoding it saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from steelyard.results.display.text_table import text_table


@dataclass(frozen=True)
class Dropped:
    """A model that left the race."""

    model: str
    round: int
    beaten_by: tuple[str, ...]


@dataclass(frozen=True)
class Race:
    """The result of a race."""

    models: tuple[str, ...]
    remaining: tuple[str, ...]
    """The models that are left, the highest mean first; as many as places if the race was decided."""
    best: int
    alpha: float
    rounds: int
    rounds_planned: int
    dropped: tuple[Dropped, ...] = ()
    means: Mapping[str, float] = field(default_factory=dict)
    """Mean over the tasks of the main score on the parts that the model was evaluated on."""
    encoded: Mapping[str, int] = field(default_factory=dict)
    """Documents that each model had to encode."""
    documents: int = 0
    """Documents of all tasks."""
    seed: int = 0
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def decided(self) -> bool:
        """Whether all others were dropped."""
        return len(self.remaining) <= self.best

    @property
    def saved(self) -> float:
        """Share of the encoding of documents that was not needed, against every model on every task."""
        full = self.documents * len(self.models)
        return 1 - sum(self.encoded.values()) / full if full else 0.0

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Return columns and rows: the remaining models first, then the dropped ones, the last first."""
        left = {one.model: one for one in self.dropped}
        order = [*self.remaining, *(one.model for one in reversed(self.dropped))]
        rows = []
        for model in order:
            fate = f"dropped in round {left[model].round}" if model in left else "in the race"
            beaten = ", ".join(left[model].beaten_by) if model in left else ""
            mean = self.means.get(model)
            score = "-" if mean is None else f"{mean:.4f}"
            rows.append([model, score, fate, beaten, f"{self.encoded.get(model, 0):,}"])
        return ["model", "mean on its parts", "fate", "beaten by", "documents encoded"], rows

    def sentences(self) -> list[str]:
        """Return the outcome in a few sentences."""
        risk = f"with a risk of at most {self.alpha:.0%} that one of the best {self.best} was dropped"
        if self.best == 1:
            risk = f"with a risk of at most {self.alpha:.0%} that the best model was dropped"
        used = f"{self.rounds} of {self.rounds_planned} rounds"
        if self.decided:
            names = ", ".join(self.remaining)
            lines = [f"Best: {names}, after {used}, {risk}."]
        else:
            lines = [
                f"Not decided after {used}: {len(self.remaining)} models cannot be distinguished for {self.best} "
                f"{'place' if self.best == 1 else 'places'} ({', '.join(self.remaining)}), {risk}."
            ]
        lines.append(f"{self.saved:.0%} of the encoding of documents was saved.")
        if self.saved < 0.1:
            lines.append(
                "The race did not help: models that are close need all queries. `steelyard run` costs the same."
            )
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return everything, JSON-ready."""
        return {
            "decided": self.decided,
            "remaining": list(self.remaining),
            "dropped": [
                {"model": one.model, "round": one.round, "beaten_by": list(one.beaten_by)} for one in self.dropped
            ],
            "best": self.best,
            "alpha": self.alpha,
            "rounds": self.rounds,
            "rounds_planned": self.rounds_planned,
            "means": dict(self.means),
            "documents_encoded": dict(self.encoded),
            "documents": self.documents,
            "saved": self.saved,
            "seed": self.seed,
            "failed": dict(self.failed),
            "sentences": self.sentences(),
        }

    def __str__(self) -> str:
        return "\n".join([text_table(*self.table()), "", *self.sentences()])

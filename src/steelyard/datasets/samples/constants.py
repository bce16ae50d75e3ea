"""Constants of a task besides its data: how many samples are drawn, how texts are bootstrapped, the range of scores.

The same names are used in a reference (`classification:./x?samples_per_label=16`), in `task.json` and the catalogue.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.config import TRUE_WORDS
from steelyard.errors import UnknownName, UsageError
from steelyard.types.samples import Bootstrap

SAMPLES_PER_LABEL = 8
EXPERIMENTS = 10
SHARE = 0.2
SEED = 42


@dataclass(frozen=True)
class Constants:
    """Checked values; the defaults are mteb's."""

    samples_per_label: int = SAMPLES_PER_LABEL
    experiments: int = EXPERIMENTS
    bootstrap: bool | None = None
    """None: only if labels have levels."""
    documents: int | float | None = None
    """The number or share of texts in a bootstrapped clustering."""
    stratified: int | None = None
    size: int = Bootstrap.size
    rounds: int = Bootstrap.rounds
    min_score: float | None = None
    max_score: float | None = None
    share: float = SHARE
    """The share of a single file that becomes the test texts of a classification."""
    seed: int = SEED
    with_p_values: bool = False
    """Whether a summarization averages p-values with correlations, as the first versions of mteb's tasks do."""

    @classmethod
    def of(cls, options: Mapping[str, Any], type: str, where: str) -> Constants:
        """Return the constants of a reference or `task.json`; unknown names and invalid values are UsageErrors."""
        values = {}
        for name, value in options.items():
            if name not in ALLOWED[type]:
                known = ", ".join(ALLOWED[type]) or "none"
                raise UnknownName("option", name, ALLOWED[type], hint=f"options of {where}: {known}")
            values[name] = _checked(name, value, where)
        return cls(**values)

    @property
    def sampling(self) -> Bootstrap:
        """Return how a bootstrapped clustering draws."""
        return Bootstrap(self.documents, self.stratified, self.size, self.rounds)


def known_facts(facts: Mapping[str, Any], type: str) -> dict[str, Any]:
    """Return the constants among other facts, also by their names in mteb."""
    renamed = {"experiments" if name == "n_experiments" else name: value for name, value in facts.items()}
    return {name: value for name, value in renamed.items() if name in ALLOWED[type]}


def _checked(name: str, value: Any, where: str) -> Any:
    convert, expected = FORMS[name]
    try:
        return convert(value)
    except (ValueError, TypeError, OverflowError):
        option = f"{name}={value!r}"
        raise UsageError.invalid(f"{name} of {where}", expected=expected, found=value, option=option) from None


def _positive(value: Any) -> int:
    number = int(str(value))
    if number < 1:
        raise ValueError
    return number


def _share(value: Any) -> float:
    number = float(value)
    if not 0 < number < 1:
        raise ValueError
    return number


def _amount(value: Any) -> int | float | None:
    if str(value).lower() in ("all", "none"):
        return None
    return _share(value) if "." in str(value) else _positive(value)


def _switch(value: Any) -> bool:
    word = str(value).lower()
    if word not in (*TRUE_WORDS, "0", "false", "no", "off"):
        raise ValueError
    return word in TRUE_WORDS


FORMS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "samples_per_label": (_positive, "an integer of at least 1"),
    "experiments": (_positive, "an integer of at least 1"),
    "bootstrap": (_switch, "true or false"),
    "documents": (_amount, "a number of texts, a share such as 0.04, or all"),
    "stratified": (_positive, "an integer of at least 1"),
    "size": (_positive, "an integer of at least 1"),
    "rounds": (_positive, "an integer of at least 1"),
    "min_score": (float, "a number"),
    "max_score": (float, "a number"),
    "share": (_share, "between 0 and 1"),
    "seed": (int, "an integer"),
    "with_p_values": (_switch, "true or false"),
}
ALLOWED: dict[str, tuple[str, ...]] = {
    "retrieval": (),
    "reranking": (),
    "sts": ("min_score", "max_score"),
    "pair_classification": (),
    "classification": ("samples_per_label", "experiments", "share", "seed"),
    "clustering": ("bootstrap", "documents", "stratified", "size", "rounds"),
    "bitext_mining": (),
    "multilabel_classification": ("samples_per_label", "experiments"),
    "summarization": ("with_p_values",),
    "instruction_retrieval": (),
    "instruction_reranking": (),
}
"""Which constants each type has."""

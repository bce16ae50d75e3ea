"""Model cards: `cards.csv`, one line a model, with what several have in common in `shared.toml`.

A field that is empty is one that we were not sure of. In `languages`, `@name` is a list of `shared.toml` and `*` says
that a model is for many languages without saying which, or for any.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from steelyard.errors import DataError

UNITS = {"M": 10**6, "B": 10**9}
ANY = "*"


@dataclass(frozen=True)
class Card:
    """What is known of a model; None, or nothing, where it is not known."""

    model: str
    """The id, as it stands after the family: `owner/name` of a hub, `api/NAME` of a service, or one of our own."""
    family: str
    parameters: int | None = None
    dimension: int | None = None
    matryoshka: tuple[int, ...] = ()
    """Lengths that a vector may be cut to, greatest first, as the model was trained for."""
    max_length: int | None = None
    """Tokens that the model reads of a text."""
    languages: tuple[str, ...] = ()
    licence: str | None = None
    similarity: str | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
    """What is to be put in front of a `query` and a `document`, as the model's page says."""
    needs: str | None = None
    """The extra of Steelyard that runs it: `torch`, `static`, `api`; None for the light core."""
    remote_code: bool = False
    """Whether its repository brings code of its own, which runs only where that is allowed."""
    source: str = ""
    """Where the facts are from."""

    @property
    def name(self) -> str:
        """The name to evaluate it by.

        >>> card("BAAI/bge-m3").name, card("bm25").name
        ('dense:BAAI/bge-m3', 'bm25')
        """
        return self.family if self.model == self.family else f"{self.family}:{self.model}"

    def supports(self, language: str) -> bool:
        """Whether it is for a language, by its two-letter code.

        >>> card("BAAI/bge-small-zh-v1.5").supports("zh"), card("BAAI/bge-small-zh-v1.5").supports("de")
        (True, False)
        """
        return language in self.languages or ANY in self.languages

    def facts(self) -> dict[str, Any]:
        """Every field, JSON-ready."""
        told = asdict(self)
        return told | {"matryoshka": list(self.matryoshka), "languages": list(self.languages)}


def card(id: str) -> Card | None:
    """The card of a model by its id, in whatever case; None where there is none.

    >>> card("intfloat/Multilingual-E5-Small").dimension, card("someone/something")
    (384, None)
    """
    return cards().get(id) or _folded().get(id.casefold())


def prompts_for(id: str) -> dict[str, str]:
    """The prompts that a model's page asks for, by role; none where its card has none, or there is no card.

    They are for a model that declares no prompts of its own: what it declares, and what the user asks for, come first.

    >>> prompts_for("intfloat/e5-base-v2")
    {'query': 'query: ', 'document': 'passage: '}
    >>> prompts_for("BAAI/bge-m3"), prompts_for("someone/something")
    ({}, {})
    """
    known = card(id)
    return dict(known.prompts) if known else {}


@cache
def cards() -> Mapping[str, Card]:
    """Every card by its id, in the order of the list.

    >>> len(cards()) > 100
    True
    """
    return read_cards(resources.files(__package__))


def read_cards(folder: Traversable) -> dict[str, Card]:
    """The cards of a folder with `cards.csv` and `shared.toml`; one that cannot be read is a DataError."""
    shared = tomllib.loads(folder.joinpath("shared.toml").read_text(encoding="utf-8"))
    lines = folder.joinpath("cards.csv").read_text(encoding="utf-8").splitlines()
    found: dict[str, Card] = {}
    for number, row in enumerate(csv.DictReader(lines), 2):
        where = f"cards.csv line {number}"
        try:
            made = _made(row, shared)
        except (KeyError, ValueError) as error:
            raise DataError(f"cannot read the card: {error}", where=where, hint="mend the line") from error
        if made.model in found:
            raise DataError(f"a second card of {made.model}", where=where, hint="remove one of them")
        found[made.model] = made
    return found


@cache
def _folded() -> dict[str, Card]:
    return {id.casefold(): known for id, known in cards().items()}


def _made(row: dict[str, str], shared: Mapping[str, Any]) -> Card:
    size, languages = row["parameters"], row["languages"]
    listed = shared["languages"][languages[1:]] if languages.startswith("@") else languages
    return Card(
        model=row["model"],
        family=row["family"],
        parameters=round(float(size[:-1]) * UNITS[size[-1]]) if size else None,
        dimension=int(row["dimension"]) if row["dimension"] else None,
        matryoshka=tuple(map(int, row["matryoshka"].split())),
        max_length=int(row["max_length"]) if row["max_length"] else None,
        languages=tuple(listed.split()),
        licence=row["licence"] or None,
        similarity=row["similarity"] or None,
        prompts=shared["prompts"][row["prompts"]] if row["prompts"] else {},
        needs=row["needs"] or None,
        remote_code=row["remote_code"] == "yes",
        source=shared["from"][row["from"]],
    )

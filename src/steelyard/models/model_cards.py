"""Model cards: `cards.csv` with one line per model, and `shared.toml` with lists that several models share.

An empty field is unknown. In `languages`, `@name` is a list in `shared.toml`, and `*` means many or all languages.
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
    """Facts about a model; None or empty if unknown."""

    model: str
    """The id after the family: `owner/name` of a hub, `api/NAME` of a service, or a built-in name."""
    family: str
    parameters: int | None = None
    dimension: int | None = None
    matryoshka: tuple[int, ...] = ()
    """Dimensions that the model was trained to be truncated to, largest first."""
    max_length: int | None = None
    """The most tokens of a text that the model reads."""
    languages: tuple[str, ...] = ()
    licence: str | None = None
    similarity: str | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
    """The prompts of a `query` and a `document` in the model's documentation."""
    needs: str | None = None
    """The extra that runs it: `torch`, `static`; None for the core package."""
    remote_code: bool = False
    """Whether its repository contains code that must be allowed with trust_remote_code."""
    source: str = ""
    """The source of the facts."""

    @property
    def name(self) -> str:
        """The name to use in `steelyard run`.

        >>> card("BAAI/bge-m3").name, card("bm25").name
        ('dense:BAAI/bge-m3', 'bm25')
        """
        return self.family if self.model == self.family else f"{self.family}:{self.model}"

    def supports(self, language: str) -> bool:
        """Return whether it supports a language, by its two-letter code.

        >>> card("BAAI/bge-small-zh-v1.5").supports("zh"), card("BAAI/bge-small-zh-v1.5").supports("de")
        (True, False)
        """
        return language in self.languages or ANY in self.languages

    def facts(self) -> dict[str, Any]:
        """Return every field, JSON-ready."""
        return asdict(self) | {"matryoshka": list(self.matryoshka), "languages": list(self.languages)}


def card(id: str) -> Card | None:
    """Return the card of a model by its id, ignoring case; None if there is none.

    >>> card("intfloat/Multilingual-E5-Small").dimension, card("someone/something")
    (384, None)
    """
    return cards().get(id) or _folded().get(id.casefold())


def prompts_for(id: str) -> dict[str, str]:
    """Return the prompts of a model's card by role; empty without a card.

    They are for a model that does not declare prompts: declared prompts and options take precedence.

    >>> prompts_for("intfloat/e5-base-v2")
    {'query': 'query: ', 'document': 'passage: '}
    >>> prompts_for("BAAI/bge-m3"), prompts_for("someone/something")
    ({}, {})
    """
    known = card(id)
    return dict(known.prompts) if known else {}


@cache
def cards() -> Mapping[str, Card]:
    """Return every card by its id, in the order of the list.

    >>> len(cards()) > 100
    True
    """
    return read_cards(resources.files(__package__))


def read_cards(folder: Traversable) -> dict[str, Card]:
    """Return the cards of a folder with `cards.csv` and `shared.toml`; raise a DataError for an invalid one."""
    shared = tomllib.loads(folder.joinpath("shared.toml").read_text(encoding="utf-8"))
    lines = folder.joinpath("cards.csv").read_text(encoding="utf-8").splitlines()
    read: dict[str, Card] = {}
    for number, row in enumerate(csv.DictReader(lines), 2):
        try:
            new = _card_of(row, shared)
        except (KeyError, ValueError) as error:
            raise DataError(
                f"the card cannot be read: {error}", path="cards.csv", row=number, hint="correct the line"
            ) from error
        if new.model in read:
            raise DataError(
                f"the model {new.model} has two cards",
                path="cards.csv",
                row=number,
                found=new.model,
                hint="remove one of them",
            )
        read[new.model] = new
    return read


@cache
def _folded() -> dict[str, Card]:
    return {id.casefold(): known for id, known in cards().items()}


def _card_of(row: dict[str, str], shared: Mapping[str, Any]) -> Card:
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

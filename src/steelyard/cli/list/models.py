"""The rows of `steelyard list models`: models with a card, families, and the default fusion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.cli.list.listing import Column, Listing, Row, same_names
from steelyard.errors import UnknownName

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection

    from steelyard.cli._ui.output import Output


def models(arguments: argparse.Namespace, output: Output) -> Listing:
    """Return the models that match `--family`, `-l` and `--installed`."""
    from steelyard.datasets.language_codes import same_languages
    from steelyard.retrievers import RETRIEVERS

    family = arguments.family
    if family not in (None, "fusion", *RETRIEVERS):
        raise UnknownName("model family", family, RETRIEVERS, hint=f"known: {', '.join(RETRIEVERS)}", option="--family")
    languages = same_languages(arguments.languages)
    models = [*_carded(languages), *(() if languages else _uncarded())]
    rows = [
        row for row in models if family in (None, row["family"]) and (row["installed"] or not arguments.installed_only)
    ]
    if not output.json:
        output.note("other models of a hub or folder work, too: FAMILY:ID")
    return Listing(rows, COLUMNS)


COLUMNS: dict[str, Column] = {
    **same_names("model", "dimension"),
    "size": lambda row: short_number(row.get("parameters")),
    "languages": lambda row: shown_languages(row.get("languages", ())),
    **same_names("licence", "needs"),
    "installed": lambda row: "service" if row.get("needs") == "api" else "yes" if row["installed"] else "no",
}


def _carded(languages: Collection[str]) -> list[Row]:
    from steelyard.datasets.language_codes import same_languages
    from steelyard.models import cards
    from steelyard.models.availability import installed
    from steelyard.retrievers import DEFAULT_MODELS, RETRIEVERS, canonical

    defaults = {str(canonical(name)) for name in DEFAULT_MODELS}
    return [
        {
            **card.facts(),
            "model": card.name,
            "default": card.name in defaults,
            "from": RETRIEVERS.origin(card.family),
            "installed": installed(card.family, card.model),
        }
        for card in cards().values()
        if all(language in same_languages(card.languages) or card.supports(language) for language in languages)
    ]


def _uncarded() -> list[Row]:
    """Return the families, for other models, and the fusion that is evaluated by default."""
    from steelyard.models import card
    from steelyard.models.availability import FAMILY_NEEDS, missing_modules
    from steelyard.retrievers import DEFAULT_MODELS, RETRIEVERS, canonical

    names = [(f"{name}:ID" if RETRIEVERS.origin(name) == "steelyard" else name, name) for name in RETRIEVERS]
    names = [(shown, name) for shown, name in names if card(name) is None]
    names += [(str(canonical(name)), "fusion") for name in DEFAULT_MODELS if name.startswith("[")]
    return [
        {
            "model": shown,
            "family": family,
            "default": family == "fusion",
            "from": RETRIEVERS.origin(family),
            "needs": FAMILY_NEEDS.get(family),
            "installed": not missing_modules(FAMILY_NEEDS.get(family)),
        }
        for shown, family in names
    ] + _plugged_encoders()


def _plugged_encoders() -> list[Row]:
    """Return the encoders of installed plug-ins, without importing those that are built in."""
    from steelyard.registry import Registry

    encoders: Registry[object] = Registry("encoder", "steelyard.encoders", {})
    return [
        {
            "model": f"dense:{name}",
            "family": "dense",
            "default": False,
            "from": encoders.origin(name),
            "needs": None,
            "installed": True,
        }
        for name in encoders
    ]


def short_number(number: int | None) -> str | None:
    """Return a number of parameters in short form.

    >>> short_number(118_000_000), short_number(7_110_000_000), short_number(3_780_000), short_number(None)
    ('118M', '7.11B', '3.78M', None)
    """
    if number is None:
        return None
    unit, name = (10**9, "B") if number >= 10**9 else (10**6, "M")
    return f"{number / unit:.3g}{name}"


def shown_languages(languages: Collection[str]) -> str | None:
    """Return a few languages, or their number.

    >>> shown_languages(["en"]), shown_languages(["*"]), shown_languages("ar cs de en".split()), shown_languages([])
    ('en', 'many', '4 languages', None)
    """
    if "*" in languages:
        return "many"
    return f"{len(languages)} languages" if len(languages) > 3 else ", ".join(languages) or None

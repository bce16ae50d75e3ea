"""Where published data comes from: the flags that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.cli._ui.values import Languages
from steelyard.config import HUBS, Settings
from steelyard.datasets.references import TYPES

if TYPE_CHECKING:
    import argparse

__all__ = ["RESULTS", "TYPES", "add_data_options", "add_languages", "add_place_options", "settings_of"]


RESULTS = "folder of results (default: $STEELYARD_RESULTS or results)"


def add_languages(parser: argparse.ArgumentParser, what: str = "tasks") -> None:
    """Add the flag that leaves out what is in other languages."""
    help = f"only {what} in these languages: codes such as zh de, or zh,de"
    parser.add_argument("-l", "--languages", nargs="+", action=Languages, default=[], metavar="LANG", help=help)


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    add = parser.add_argument
    add("--type", choices=TYPES, help="what a path holds (./pairs.csv --type sts); of known tasks, only that type")
    add_place_options(parser)


def add_place_options(parser: argparse.ArgumentParser) -> None:
    """Add those that tell where data is, for verbs that know one type only."""
    add = parser.add_argument
    add("--data-dir", type=Path, metavar="DIR", help="read published datasets from copies in this folder, not a hub")
    add("--hub", choices=HUBS, help="where published datasets come from (default: $STEELYARD_HUB, huggingface)")


def settings_of(arguments: argparse.Namespace, **defaults: Any) -> Settings:
    """Return the settings of a command: its flags, then the environment, `steelyard.toml` and the defaults."""
    flags = {
        "offline": getattr(arguments, "offline", None) or None,
        "hub": getattr(arguments, "hub", None),
        "data": getattr(arguments, "data_dir", None),
        "device": getattr(arguments, "device", None),
    }
    return Settings.load(defaults=defaults, **flags)

"""How models are loaded and asked: the flags that say it once for all models of a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from steelyard.spec import ModelSpec

OPTIONS = ("batch_size", "dtype", "query_prompt", "document_prompt")
"""The options of models that are flags, too."""


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """Add the flags; each is an option that a model's name may have, and the name counts before the flag."""
    add = parser.add_argument
    add("--revision", metavar="REV", help="commit, tag or branch of the model, if one is named: as ID@REV in its name")
    add(
        "--batch-size",
        metavar="N",
        help="the most texts or pairs of a batch, of every model that does not say so itself",
    )
    add("--dtype", metavar="TYPE", help="what such models compute in: float32 (default), float16, bfloat16")
    add("--query-prompt", metavar="TEXT", help="what such models read in front of every query, in place of their own")
    add("--document-prompt", metavar="TEXT", help="and in front of every document")


def with_model_options(models: Sequence[str | ModelSpec], arguments: argparse.Namespace) -> list[ModelSpec]:
    """The models with what the flags say."""
    from steelyard.retrievers.model_variants import with_shared_options

    said = {name: value for name in OPTIONS if (value := getattr(arguments, name)) is not None}
    return with_shared_options(models, said, arguments.revision)

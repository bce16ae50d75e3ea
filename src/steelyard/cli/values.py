"""Values of options that several verbs read alike."""

from __future__ import annotations

import argparse


def numbers(text: str) -> list[int]:
    """Whole numbers with commas between them.

    >>> numbers("10,20,50")
    [10, 20, 50]
    """
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected whole numbers such as 10,20,50, found {text!r}") from None


def dense_model(text: str) -> str:
    """A model that a flag for dense models names: with its family, or without.

    >>> dense_model("BAAI/bge-m3"), dense_model("dense:BAAI/bge-m3"), dense_model("dense"), dense_model("late:X")
    ('dense:BAAI/bge-m3', 'dense:BAAI/bge-m3', 'dense', 'late:X')
    """
    from steelyard.retrievers import RETRIEVERS

    family = text.partition(":")[0].partition("?")[0]
    return text if family in RETRIEVERS or text.startswith("[") else f"dense:{text}"

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


class Languages(argparse.Action):
    """Codes of languages: several words, several in one with commas, or the flag again.

    >>> parser = argparse.ArgumentParser()
    >>> _ = parser.add_argument("-l", nargs="+", action=Languages, default=[])
    >>> parser.parse_args(["-l", "zh", "ja,ko", "-l", "de"]).l
    ['zh', 'ja', 'ko', 'de']
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        """Add the codes to those that were given before."""
        assert isinstance(values, list)
        codes = [code for word in values for code in word.split(",") if code]
        setattr(namespace, self.dest, [*getattr(namespace, self.dest), *codes])


def dense_model(text: str) -> str:
    """A model that a flag for dense models names: with its family, or without.

    >>> dense_model("BAAI/bge-m3"), dense_model("dense:BAAI/bge-m3"), dense_model("dense"), dense_model("late:X")
    ('dense:BAAI/bge-m3', 'dense:BAAI/bge-m3', 'dense', 'late:X')
    """
    from steelyard.retrievers import RETRIEVERS

    family = text.partition(":")[0].partition("?")[0]
    return text if family in RETRIEVERS or text.startswith("[") else f"dense:{text}"

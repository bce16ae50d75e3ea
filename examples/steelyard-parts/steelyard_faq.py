"""A dataset format: `faq:FILE` is a text file of questions (`Q: ...`) with their answers (`A: ...`), one line each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from steelyard.datasets.options import LoadOptions
from steelyard.errors import DataError
from steelyard.types import Task

PREFIX = "faq:"


class FaqSource:
    """The source; `LoadOptions` has the settings of the evaluation, which this format does not need."""

    def __init__(self, options: LoadOptions) -> None:
        self.options = options

    def accepts(self, reference: str) -> bool:
        """Return whether a reference is one of this format."""
        return reference.startswith(PREFIX)

    def names(self, reference: str) -> Sequence[str]:
        """Return what `load` is called with, one for each task: here, a file is one task."""
        return [reference]

    def load(self, name: str) -> Task:
        """Read the file: each answer is a document, and the only relevant one of the question before it."""
        path = Path(name.removeprefix(PREFIX))
        if not path.is_file():
            raise DataError("the file does not exist", path=path, hint="write faq:PATH")
        questions: dict[str, str] = {}
        answers: dict[str, str] = {}
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            mark, _, text = line.partition(": ")
            if mark == "Q" and len(questions) == len(answers):
                questions[f"q{len(questions)}"] = text
            elif mark == "A" and len(questions) == len(answers) + 1:
                answers[f"a{len(answers)}"] = text
            elif line.strip():
                raise DataError(
                    "a line must be a question (Q: ...), then its answer (A: ...)",
                    path=path,
                    row=number,
                    found=line,
                    expected="Q: or A:",
                )
        qrels = {query: {query.replace("q", "a"): 1} for query in questions}
        return Task.of(f"FAQ/{path.stem}", answers, questions, qrels)

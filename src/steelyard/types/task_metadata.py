"""What a maintainer can record about a task: references, training data, splits, advice. Imports nothing heavy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

CONFIDENCES = ("source_uncertain", "probably_correct", "definitive_paper_link", "human_verified")
"""How certain it is that a reference is the source, from least to most."""
SYNTHETIC_PARTS = ("guidance", "document_generation", "question_generation", "answerability", "hard_negatives")
"""The parts of guidance on synthetic data; a plain text is `guidance`."""

_ARXIV = re.compile(r"arxiv\.org/(?:abs|pdf)/(\d{4}\.\d{4,5})")
_STOP_WORDS = {"a", "an", "the", "on", "of", "for", "and", "in", "to", "with"}


@dataclass(frozen=True)
class Reference:
    """A publication or page that describes the data.

    >>> print(Reference("The Belebele Benchmark", 2024, url="https://arxiv.org/abs/2308.16884").bibtex())
    @misc{belebele2024,
      title = {{The Belebele Benchmark}},
      year = {2024},
      eprint = {2308.16884},
      archivePrefix = {arXiv},
      url = {https://arxiv.org/abs/2308.16884},
    }
    """

    title: str
    year: int | None = None
    type: str = "paper"
    """`paper`, `dataset card`, `code repository`, `web page`, or any other word."""
    url: str = ""
    doi: str = ""
    confidence: str = ""
    """One of `CONFIDENCES`; empty: not recorded."""
    authors: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The key of the BibTeX entry: the first author's last name or the first word of the title, and the year."""
        words = re.findall(r"\w+", self.title.lower())
        word = next((word for word in words if word not in _STOP_WORDS), "reference")
        if self.authors:
            word = re.sub(r"\W", "", self.authors[0].partition(",")[0].split()[-1].lower()) or word
        return f"{word}{self.year or ''}"

    def bibtex(self, key: str = "") -> str:
        """Return a BibTeX entry with the recorded fields."""
        arxiv = _ARXIV.search(self.url)
        fields = {
            "title": f"{{{_escaped(self.title)}}}",
            "author": " and ".join(map(_escaped, self.authors)),
            "year": str(self.year or ""),
            "doi": self.doi,
            "eprint": arxiv[1] if arxiv else "",
            "archivePrefix": "arXiv" if arxiv else "",
            "url": self.url,
        }
        lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
        return "\n".join([f"@misc{{{key or self.key},", *lines, "}"])


def bibtex(references: Iterable[Reference]) -> str:
    """Return the BibTeX entries of several references, each once, with unique keys.

    >>> print(bibtex([Reference("On Search", 2020), Reference("Search again", 2020)]).count("@misc{search2020"))
    2
    """
    entries, keys = [], set[str]()
    for reference in dict.fromkeys(references):
        key, number = reference.key, 1
        while key in keys:
            number += 1
            key = f"{reference.key}-{number}"
        keys.add(key)
        entries.append(reference.bibtex(key))
    return "\n\n".join(entries)


def _escaped(text: str) -> str:
    """Return a text without characters that BibTeX would interpret."""
    return re.sub(r"([&%$#_])", r"\\\1", re.sub(r"[{}\\]", "", text))


@dataclass(frozen=True)
class TaskMetadata:
    """Facts and advice that no measurement gives; empty values are not recorded."""

    references: tuple[Reference, ...] = ()
    original_train_split: str = ""
    """Whether the original dataset has a train split: `available`, `not_found`, or a remark."""
    evaluation_split_origin: str = ""
    """The split of the original dataset that the queries come from: `test`, `dev`, `train` ..."""
    train_eval_overlap_audit: str = ""
    """The state of an audit of training data against this task, such as `not_audited`."""
    leakage_note: str = ""
    useful_training_data: tuple[str, ...] = ()
    synthetic_data: Mapping[str, str] = field(default_factory=dict)
    """Guidance by part: `SYNTHETIC_PARTS`."""
    multi_positive_training: str = ""
    """Advice on queries with several relevant documents."""
    retrieval_focus: str = ""
    """Queries and documents in a few words: `legal scenario to statute`."""
    language_notes: str = ""
    rerank_suitability: str = ""
    """Whether the candidate lists are a good test of rerankers, and why."""

    def __bool__(self) -> bool:
        """Return whether anything is recorded."""
        return self != TaskMetadata()

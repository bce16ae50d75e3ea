"""The texts of a Nano-set: a dataset card for hubs and the `datasets` library, and `eval.yaml`.

Generated parts of a card are between the comments `<!-- steelyard: begin NAME -->` and `<!-- steelyard: end NAME -->`.
Everything else in it is kept when the card is written again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from steelyard.datasets.formats.task_files import TaskFiles
from steelyard.types import TaskInfo

CONFIGS = re.compile(r"^configs:\n(?:[ \-].*\n)*", re.MULTILINE)
FRONT = re.compile(r"\A---\n(.*?)^---\n", re.DOTALL | re.MULTILINE)


def new_card(
    title: str, description: str, infos: Iterable[TaskInfo], licence: str, files: Mapping[str, TaskFiles]
) -> str:
    """Return a card with the YAML block that `datasets.load_dataset(folder, "corpus")` needs, without sections."""
    languages = sorted({code for info in infos for code in info.languages})
    lines = ["---"]
    if languages:
        lines += ["language:", *(f"- {_quoted(code)}" for code in languages)]
    if licence:
        # The hub accepts only identifiers as a license; other words go into license_name.
        known = re.fullmatch(r"[a-z0-9][a-z0-9.-]*", licence.lower())
        lines += (
            [f"license: {_quoted(licence.lower())}"]
            if known
            else ["license: other", f"license_name: {_quoted(licence)}"]
        )
    lines += ["task_categories:", "- text-retrieval", "tags:", "- steelyard"]
    return "\n".join(lines) + f"\n{configs(files)}---\n\n# {title}\n\n{region('description', description)}\n"


def with_configs(card: str, files: Mapping[str, TaskFiles]) -> str:
    r"""Return the card with a new list of tables; everything else is kept.

    >>> files = {"ja": TaskFiles(("corpus/ja.parquet",), ("queries/ja.parquet",), ("qrels/ja.parquet",))}
    >>> print(with_configs("---\nlicense: mit\n---\n# A set", files).splitlines()[2])
    configs:
    """
    match = FRONT.match(card)
    if match is None:
        return f"---\n{configs(files)}---\n\n{card}"
    front = CONFIGS.sub("", match[1])
    return f"---\n{front}{configs(files)}---\n" + card[match.end() :]


def with_section(card: str, heading: str, body: str) -> str:
    r"""Return the card with a generated section under that heading: in place of the old one, else at the end.

    >>> card = with_section("# A set\n\n## More\n", "Made", "old")
    >>> with_section(card + "\nBy hand.\n", "Made", "new") == (card + "\nBy hand.\n").replace("old", "new")
    True
    """
    if (updated := with_region(card, heading, body)) is not None:
        return updated
    section = f"## {heading}\n\n{region(heading, body)}\n"
    old = re.compile(rf"^## {re.escape(heading)}\n.*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)
    if old.search(card):  # of a card without marked regions
        return old.sub(lambda _: section + "\n", card).rstrip() + "\n"
    return card.rstrip() + f"\n\n{section}"


def with_front_of(card: str, other: str) -> str:
    """Return the card with the front matter and the title of another."""
    front, old = FRONT.match(other), FRONT.match(card)
    title = re.compile(r"^# .*$", re.MULTILINE)
    body = card[old.end() :] if old else card
    new_title = title.search(other)
    if new_title and title.search(body):
        body = title.sub(lambda _: new_title[0], body, count=1)
    return (front[0] if front else "") + body


def region(name: str, body: str) -> str:
    """Return a generated region of a card."""
    return f"<!-- steelyard: begin {name} -->\n{body.strip()}\n<!-- steelyard: end {name} -->"


def with_region(card: str, name: str, body: str) -> str | None:
    """Return the card with the content of a generated region replaced; None if it does not have that region."""
    begin, end = f"<!-- steelyard: begin {name} -->\n", f"\n<!-- steelyard: end {name} -->"
    start = card.find(begin)
    stop = card.find(end, start) if start >= 0 else -1
    return f"{card[: start + len(begin)]}{body.strip()}{card[stop:]}" if stop >= 0 else None


def configs(files: Mapping[str, TaskFiles]) -> str:
    """Return the `configs:` of the YAML block: one configuration per table, one split per task."""
    tables: dict[str, dict[str, tuple[str, ...]]] = {}
    for task, own in files.items():
        parts = {"corpus": own.corpus, "queries": own.queries, "qrels": own.qrels, **own.candidates}
        for config, names in parts.items():
            tables.setdefault(config, {})[task] = names
    lines = ["configs:"]
    for config, splits in tables.items():
        lines.append(f"- config_name: {_quoted(config)}")
        if config == "queries":
            lines.append("  default: true")
        lines.append("  data_files:")
        for task, names in splits.items():
            lines += [f"  - split: {_quoted(split_name(task))}", "    path:", *(f"    - {_quoted(n)}" for n in names)]
    return "\n".join(lines) + "\n"


def split_name(task: str) -> str:
    """Return the task's name for the `datasets` library, which does not accept a hyphen in the name of a split.

    >>> split_name("code-to-text")
    'code_to_text'
    """
    return re.sub(r"\W", "_", task)


def eval_yaml(title: str, description: str, tasks: Iterable[str]) -> str:
    """Return the file that declares the dataset a benchmark to the hub, with its tasks by split."""
    lines = [
        f"name: {_quoted(title)}",
        f"description: {_quoted(description)}",
        "evaluation_framework: steelyard",
        "tasks:",
    ]
    for task in tasks:
        lines += [f"- id: {_quoted(task)}", "  config: queries", f"  split: {_quoted(split_name(task))}"]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Return a YAML string; quoted, because `no` would be a boolean."""
    return json.dumps(text, ensure_ascii=False)

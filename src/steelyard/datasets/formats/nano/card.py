"""The texts of a Nano-set: a dataset card that hubs and the `datasets` library understand, and `eval.yaml`."""

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
    """A card with the YAML block that makes `datasets.load_dataset(folder, "corpus")` work, and no sections yet."""
    languages = sorted({code for info in infos for code in info.languages})
    lines = ["---"]
    if languages:
        lines += ["language:", *(f"- {_quoted(code)}" for code in languages)]
    if licence:
        # The hub takes only identifiers for a licence; any other words go beside.
        known = re.fullmatch(r"[a-z0-9][a-z0-9.-]*", licence.lower())
        lines += (
            [f"license: {_quoted(licence.lower())}"]
            if known
            else ["license: other", f"license_name: {_quoted(licence)}"]
        )
    lines += ["task_categories:", "- text-retrieval", "tags:", "- steelyard"]
    return "\n".join(lines) + f"\n{configs(files)}---\n\n# {title}\n\n{description}\n"


def with_configs(card: str, files: Mapping[str, TaskFiles]) -> str:
    r"""The card with its list of tables made anew; everything else stays as somebody wrote it.

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
    r"""The card with a section under that heading: in place of the old one, else at the end.

    >>> with_section("# A set\n\n## Made\n\nold\n\n## More\n", "Made", "new")
    '# A set\n\n## Made\n\nnew\n\n## More\n'
    """
    section = f"## {heading}\n\n{body.strip()}\n"
    old = re.compile(rf"^## {re.escape(heading)}\n.*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)
    if old.search(card):
        return old.sub(lambda _: section + "\n", card).rstrip() + "\n"
    return card.rstrip() + f"\n\n{section}"


def configs(files: Mapping[str, TaskFiles]) -> str:
    """The `configs:` of the YAML block: a configuration a table, a split a task."""
    tables: dict[str, dict[str, tuple[str, ...]]] = {}
    for task, found in files.items():
        parts = {"corpus": found.corpus, "queries": found.queries, "qrels": found.qrels, **found.candidates}
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
    """The task's name as the `datasets` library can take it, which wants no hyphen in the name of a split.

    >>> split_name("code-to-text")
    'code_to_text'
    """
    return re.sub(r"\W", "_", task)


def eval_yaml(title: str, description: str, tasks: Iterable[str]) -> str:
    """What tells the hub that the dataset is a benchmark, and which splits are its tasks."""
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
    """A YAML string; quoted, since `no` would be a truth value."""
    return json.dumps(text, ensure_ascii=False)

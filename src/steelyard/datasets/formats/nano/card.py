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

FRONT = re.compile(r"\A---\n(.*?)^---\n", re.DOTALL | re.MULTILINE)
BLOCK = re.compile(r"^[^\s#\-][^:\n]*:.*\n(?:[ \-#].*\n|\n)*", re.MULTILINE)
REGION = re.compile(r"<!-- steelyard: begin (.+?) -->\n(.*?)\n?<!-- steelyard: end \1 -->", re.DOTALL)
MIXED = "mixed"
"""The name of the licence of a set whose tasks have several."""


def new_card(
    title: str, description: str, infos: Iterable[TaskInfo], licences: Iterable[str], files: Mapping[str, TaskFiles]
) -> str:
    """Return a card with the YAML block that `datasets.load_dataset(folder, "corpus")` needs, without sections."""
    front = "".join(front_blocks(infos, licences, files).values())
    return f"---\n{front}---\n\n# {title}\n\n{region('description', description)}\n"


def front_blocks(infos: Iterable[TaskInfo], licences: Iterable[str], files: Mapping[str, TaskFiles]) -> dict[str, str]:
    """Return the generated parts of the front matter by key: languages, licence, tags, tables."""
    languages = sorted({code for info in infos for code in info.languages})
    blocks = {}
    if languages:
        blocks["language"] = "\n".join(["language:", *(f"- {_quoted(code)}" for code in languages)]) + "\n"
    blocks |= licence_blocks(licences)
    blocks["task_categories"] = "task_categories:\n- text-retrieval\n"
    blocks["tags"] = "tags:\n- steelyard\n"
    blocks["configs"] = configs(files)
    return blocks


def licence_blocks(licences: Iterable[str]) -> dict[str, str]:
    r"""Return `license` and `license_name`; several licences, or some unknown ones, are `other`, named `mixed`.

    >>> "".join(licence_blocks(["MIT", "mit"]).values()), "".join(licence_blocks(["MIT", "CC0-1.0"]).values())
    ('license: "mit"\n', 'license: other\nlicense_name: "mixed"\n')
    """
    distinct = {licence.lower(): licence for licence in licences}
    if not any(distinct):
        return {}
    # The hub accepts only identifiers as a license; other words go into license_name.
    name = MIXED if len(distinct) > 1 else next(iter(distinct.values()))
    if len(distinct) == 1 and re.fullmatch(r"[a-z0-9][a-z0-9.-]*", name.lower()):
        return {"license": f"license: {_quoted(name.lower())}\n"}
    return {"license": "license: other\n", "license_name": f"license_name: {_quoted(name)}\n"}


def with_front(card: str, blocks: Mapping[str, str]) -> str:
    r"""Return the card with these parts of its front matter; parts that were added by hand are kept.

    A licence replaces both of its keys. Tags and categories of the card are kept, as they may have been extended.

    >>> with_front("---\npretty_name: Mine\nlicense: mit\n---\n# A set\n", licence_blocks(["CC0-1.0", "MIT"]))
    '---\npretty_name: Mine\nlicense: other\nlicense_name: "mixed"\n---\n# A set\n'
    """
    match = FRONT.match(card)
    if match is None:
        return f"---\n{''.join(blocks.values())}---\n\n{card}"
    old = {block[0].partition(":")[0].strip(): block[0] for block in BLOCK.finditer(match[1])}
    lead = match[1][: first.start()] if (first := BLOCK.search(match[1])) else ""
    if "license" in blocks:
        old.pop("license_name", None)
    own = {key: block for key, block in blocks.items() if key not in ("tags", "task_categories") or key not in old}
    merged = {key: own.get(key, block) for key, block in old.items()}
    for key, block in own.items():
        if key not in merged and key == "license_name":  # next to the licence
            merged = {k: v for name, text in merged.items() for k, v in _after(name, text, "license", key, block)}
        merged.setdefault(key, block)
    return f"---\n{lead}{''.join(merged.values())}---\n" + card[match.end() :]


def _after(name: str, text: str, place: str, key: str, block: str) -> list[tuple[str, str]]:
    return [(name, text), (key, block)] if name == place else [(name, text)]


def with_title(card: str, title: str) -> str:
    """Return the card with another title; a card without one is kept as it is."""
    match = FRONT.match(card)
    front, body = (match[0], card[match.end() :]) if match else ("", card)
    return front + re.sub(r"^# .*$", lambda _: f"# {title}", body, count=1, flags=re.MULTILINE)


def title_of(card: str) -> str:
    """Return the title of a card; empty if it has none."""
    match = re.search(r"^# (.*)$", FRONT.sub("", card), re.MULTILINE)
    return match[1].strip() if match else ""


def regions(card: str) -> dict[str, str]:
    """Return the generated regions of a card by name."""
    return {match[1]: match[2] for match in REGION.finditer(card)}


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

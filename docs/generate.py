"""Write the generated pages of docs/: one for each verb, from its own parser. `--check` only compares.

A test runs this with `--check`, so that the pages always match the code.
"""

from __future__ import annotations

import ast
import dataclasses
import itertools
import os
import re
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent


def verb_page(verb: str) -> str:
    """Return the page of a verb: what `--help` prints for it and its subcommands, then docs/verbs/notes, if any."""
    from steelyard.cli import VERBS, build_parser

    parser = build_parser(verb)
    parts = [f"```text\n{parser.format_help().rstrip()}\n```\n"]
    for name, command in parser.commands.items():
        parts.append(f"\n## steelyard {verb} {name}\n\n```text\n{command.format_help().rstrip()}\n```\n")
    notes = DOCS / "verbs" / "notes" / f"{verb}.md"
    tail = f"\n{notes.read_text(encoding='utf-8').strip()}\n" if notes.exists() else ""
    return f"<!-- written by docs/generate.py -->\n# steelyard {verb}\n\n{VERBS[verb]}.\n\n{''.join(parts)}{tail}"


def pages() -> dict[Path, str]:
    """Return every generated page by its path."""
    from steelyard.cli import VERBS

    written = {DOCS / "verbs" / f"{verb}.md": verb_page(verb) for verb in VERBS}
    return written | {DOCS / "pages.md": pages_reference((DOCS / "pages.md").read_text(encoding="utf-8"))}


def pages_reference(text: str) -> str:
    """Return docs/pages.md with the thresholds and the JSON fields after their markers, from the code."""
    before, marker, rest = text.partition("<!-- thresholds: written by docs/generate.py -->\n")
    _, heading, after = rest.partition("## JSON\n")
    between, second, _ = after.partition("<!-- json: written by docs/generate.py -->\n")
    return f"{before}{marker}\n{_thresholds()}\n{heading}{between}{second}\n{_json_fields()}"


def _thresholds() -> str:
    from steelyard.reports.pages import thresholds

    notes = _notes(Path(thresholds.__file__))
    rows = [
        f"| `{name}` | {value:,} | {notes['', name]} |" for name, value in vars(thresholds).items() if name.isupper()
    ]
    return "\n".join(["| threshold | value | meaning |", "|---|---|---|", *rows, ""])


def _json_fields() -> str:
    from steelyard.reports.pages.measure import diagnosis_values, page_values, part_values

    parts = []
    for module in (part_values, diagnosis_values, page_values):
        notes = _notes(Path(module.__file__))
        for name, kind in vars(module).items():
            if dataclasses.is_dataclass(kind) and kind.__module__ == module.__name__:
                about = " ".join((kind.__doc__ or "").split())
                parts += [f"**{name}**: {about}\n", "| field | form | meaning |", "|---|---|---|"]
                parts += [_field_row(field, notes.get((name, field.name), "-")) for field in dataclasses.fields(kind)]
                parts.append("")
    return "\n".join(parts)


def _field_row(field: dataclasses.Field[Any], note: str) -> str:
    from steelyard.reports.pages.render.json_page import JSON_NAMES

    form = str(field.type).replace(" | None", " or null").replace("tuple[", "list[").replace(", ...]", "]")
    for python, json in (("Mapping[", "object["), ("Kind", "profile"), ("str", "text")):
        form = re.sub(rf"\b{re.escape(python)}", json, form)
    return f"| `{JSON_NAMES.get(field.name, field.name)}` | {form} | {note} |"


def _notes(path: Path) -> dict[tuple[str, str], str]:
    """Return the docstrings below assignments and fields, by class (empty: the module) and name."""
    notes: dict[tuple[str, str], str] = {}
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))]:
        owner = node.name if isinstance(node, ast.ClassDef) else ""
        for statement, following in itertools.pairwise(node.body):
            target = statement.target if isinstance(statement, ast.AnnAssign) else None
            if isinstance(statement, ast.Assign):
                target = statement.targets[0]
            text = following.value if isinstance(following, ast.Expr) else None
            if isinstance(target, ast.Name) and isinstance(text, ast.Constant) and isinstance(text.value, str):
                notes[owner, target.id] = " ".join(text.value.split())
    return notes


def main(arguments: list[str]) -> int:
    """Write the pages, or with --check name those that differ and return 1."""
    os.environ["COLUMNS"] = "110"  # argparse wraps to the terminal; the pages must not depend on it
    stale = []
    for path, text in pages().items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path)
            if "--check" not in arguments:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    for path in stale:
        sys.stderr.write(f"{'stale' if '--check' in arguments else 'wrote'}: {path.relative_to(DOCS.parent)}\n")
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

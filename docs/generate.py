"""Write the generated pages of docs/: one for each verb, from its own parser. `--check` only compares.

A test runs this with `--check`, so that the pages always match the code.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

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
    """Every generated page by its path."""
    from steelyard.cli import VERBS

    return {DOCS / "verbs" / f"{verb}.md": verb_page(verb) for verb in VERBS}


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

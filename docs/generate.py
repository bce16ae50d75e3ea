"""Write the generated pages of docs/: one for each verb, from its own parser. `--check` only compares.

The pages can't go stale: a test runs this with `--check`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

DOCS = Path(__file__).parent


def verb_page(verb: str) -> str:
    """What `steelyard VERB --help` prints, under the verb's one line, then the notes of docs/verbs/notes, if any."""
    from steelyard.cli import VERBS, build_parser

    parser = build_parser(verb)
    usage = parser.format_help().rstrip()
    notes = DOCS / "verbs" / "notes" / f"{verb}.md"
    tail = f"\n{notes.read_text(encoding='utf-8').strip()}\n" if notes.exists() else ""
    sentence = VERBS[verb][0].upper() + VERBS[verb][1:]
    return f"<!-- written by docs/generate.py -->\n# steelyard {verb}\n\n{sentence}.\n\n```text\n{usage}\n```\n{tail}"


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

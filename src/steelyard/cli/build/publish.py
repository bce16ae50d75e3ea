"""`steelyard build publish`: upload a finished set to the Hugging Face hub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output
    from steelyard.cli._ui.parser import Parser


def configure(parser: Parser) -> None:
    """Add the arguments of the subcommand."""
    add = parser.add_argument
    add("folder", type=Path, metavar="FOLDER", help="A set that `steelyard build sample` made.")
    add("repository", metavar="OWNER/NAME", help="The dataset on the hub; created if it does not exist.")
    add("--dry-run", action="store_true", help="Check the set and list the files without uploading.")
    add("--private", action="store_true", help="Create a private dataset (default: public).")
    add("--revision", metavar="BRANCH", help="Branch to commit to (default: main).")
    add("--message", default="", help="Message of the commit (default: generated).")


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Check the set, then upload it in one commit."""
    from steelyard.build.upload import publish

    plan, address = publish(
        arguments.folder,
        arguments.repository,
        private=arguments.private,
        revision=arguments.revision,
        message=arguments.message,
        dry_run=arguments.dry_run,
    )
    if output.json:
        output.data({"repository": plan.repository, "files": dict(plan.files), "bytes": plan.bytes, "commit": address})
        return 0
    output.table(["file", "bytes"], [[name, size] for name, size in plan.files.items()])
    total = f"{len(plan.files)} files, {plan.bytes:,} bytes"
    verb = "would be uploaded" if arguments.dry_run else "uploaded"
    output.note(f"{total} {verb} to {plan.repository}" + (f": {address}" if address else ""))
    return 0

"""`steelyard publish`: a finished set on the Hugging Face hub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from steelyard.cli._ui.output import Output


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `steelyard publish`."""
    parser.add_argument("folder", type=Path, help="a set that steelyard build made")
    parser.add_argument("repository", help="owner/name of the dataset; made if it is not there")
    parser.add_argument(
        "--dry-run", action="store_true", help="check the set and show what would be sent, and send nothing"
    )
    parser.add_argument("--private", action="store_true", help="a new dataset is private")
    parser.add_argument("--revision", metavar="BRANCH", help="the branch to commit to (default: main)")
    parser.add_argument("--message", default="", help="of the commit")


def run(arguments: argparse.Namespace, output: Output) -> int:
    """Check, then send in one commit."""
    from steelyard.build.publish import prepare, upload

    plan = prepare(
        arguments.folder,
        arguments.repository,
        private=arguments.private,
        revision=arguments.revision,
        message=arguments.message,
    )
    address = None if arguments.dry_run else upload(plan)
    if output.json:
        output.data({"repository": plan.repository, "files": dict(plan.files), "bytes": plan.bytes, "commit": address})
        return 0
    output.table(["file", "bytes"], [[name, size] for name, size in plan.files.items()])
    total = f"{len(plan.files)} files, {plan.bytes:,} bytes"
    output.note(
        f"{total} {'would go' if arguments.dry_run else 'went'} to {plan.repository}"
        + (f": {address}" if address else "")
    )
    return 0

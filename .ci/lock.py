"""Write `.ci/constraints.txt`: the exact version of every package that the tests and the docs site need.

    python .ci/lock.py                 the versions that are installed where this runs
    python .ci/lock.py REPORT.json     the versions of a report of `pip install --dry-run --report`: `make lock`

Requirements are followed from the core, the extra `cjk` and the dependency groups `dev` and `docs`, so packages that
happen to be installed as well are left out. Versions are exact; hashes are not written, because pip then refuses to
install this project in place, and because builds of torch for CPUs have other hashes than those for GPUs.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
FILE = ROOT / ".ci" / "constraints.txt"
EXTRAS = ("cjk",)
GROUPS = ("dev", "docs")
Facts = tuple[str, list[str]]
"""The version of a package and its requirements."""


def wanted(project: dict[str, Any]) -> Iterator[str]:
    """Yield the requirements of the core, of the extras and of the groups."""
    yield from project["project"]["dependencies"]
    for extra in EXTRAS:
        yield from project["project"]["optional-dependencies"][extra]
    groups = project["dependency-groups"]

    def of_group(name: str) -> Iterator[str]:
        for entry in groups[name]:
            if isinstance(entry, dict):
                yield from of_group(entry["include-group"])
            else:
                yield entry

    for group in GROUPS:
        yield from of_group(group)


def installed(name: str) -> Facts | None:
    """Return the facts of a package of this environment."""
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return None
    return found.version, found.requires or []


def resolved(report: Path) -> Callable[[str], Facts | None]:
    """Return a function that finds the facts of packages in a report of pip."""
    packages = {
        canonicalize_name(item["metadata"]["name"]): (
            item["metadata"]["version"],
            item["metadata"].get("requires_dist"),
        )
        for item in json.loads(report.read_text(encoding="utf-8"))["install"]
    }

    def facts(name: str) -> Facts | None:
        found = packages.get(canonicalize_name(name))
        return None if found is None else (found[0], found[1] or [])

    return facts


def closure(requirements: Iterable[str], facts: Callable[[str], Facts | None]) -> dict[str, str]:
    """Return the versions of packages and of all that they need here, by their normalised names."""
    versions: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [(Requirement(text), "") for text in requirements]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        found = facts(name)
        if found is None:
            raise SystemExit(f"{requirement} is needed but has no version here; install it, or pass a report of pip")
        versions[name] = Version(found[0]).public  # without the label of a build, such as +cpu
        for inner in ("", *requirement.extras):
            if (name, inner) not in seen:
                seen.add((name, inner))
                waiting += [(Requirement(text), inner) for text in found[1]]
    versions.pop("steelyard", None)
    return dict(sorted(versions.items()))


def main(arguments: list[str]) -> int:
    """Write the file; the packages come from a report, if one is named."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    versions = closure(wanted(project), resolved(Path(arguments[0])) if arguments else installed)
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    head = f"""# Exact versions for `make test` and CI on Python {python}; written by `make lock`, do not edit.
# Other versions of Python ignore these lines and install the newest versions that pyproject.toml allows, because the
# packages that they need differ. `make demo` and users are not pinned.
"""
    lines = [f'{name}=={version} ; python_version == "{python}"\n' for name, version in versions.items()]
    FILE.write_text(head + "".join(lines), encoding="utf-8")
    sys.stdout.write(f"{len(versions)} versions in {FILE.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

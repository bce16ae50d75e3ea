"""Names of models in results and folders: the last part of their path, as in EvalScope, but unique.

A folder belongs to one model with one set of settings. `models.json` in our own folder of results records its owner; a
second model with the same name gets some digits of a hash (`ckpt-100-3f2a91`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from steelyard.compat.evalscope.config_models import is_local, is_ours
from steelyard.compat.evalscope.config_schema import ModelEntry
from steelyard.files import read_cached, write_output
from steelyard.results.keys import digest, model_slug
from steelyard.spec import parse

MASTER = "master"
"""EvalScope's revision of a model that has none."""
DIGITS = 6
LONGEST = 40
"""Length up to which one of our names keeps its options."""


def label(entry: ModelEntry) -> str:
    """Return the last part of a path or id.

    >>> label(ModelEntry("", path="AI-ModelScope/m3e-base")), label(ModelEntry("", path="./runs/ckpt-100/"))
    ('m3e-base', 'ckpt-100')
    """
    if entry.path is not None and is_ours(entry.path):
        whole, spec = model_slug(entry.path), parse(entry.path)
        return whole if len(whole) <= LONGEST else model_slug(f"{spec.family}_{Path(spec.id).name}")
    path = Path(entry.id).expanduser().resolve() if is_local(entry.id) else Path(entry.id)
    return model_slug(path.name)


def identity(entry: ModelEntry, weights: str | None, *more: Any) -> str:
    """Return a hash of everything in the entry that could change a score, and of `more` values of a stage."""
    given = [entry.pooling_mode, entry.max_seq_length, entry.prompt, entry.prompts, entry.dimensions]
    encode = {name: value for name, value in entry.encode_kwargs.items() if name != "batch_size"}
    tables = [str(sorted(table.items())) for table in (entry.model_kwargs, entry.config_kwargs, encode)]
    return digest([weights or entry.id, entry.api_base, entry.revision, *given, *tables, *more])


class Names:
    """The names in a folder of results, with their owners."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._owners: dict[str, str] = self._read()

    def of(self, label: str, owner: str) -> str:
        """Return the name of a model: its label, with some digits if that belongs to another model."""
        name = label if self._owners.get(label, owner) == owner else f"{label}-{owner[:DIGITS]}"
        if self._owners.get(name) != owner:
            self._owners[name] = owner
            write_output(self.path, (json.dumps(self._owners, indent=2, sort_keys=True) + "\n").encode())
        return name

    def _read(self) -> dict[str, str]:
        return {str(name): str(owner) for name, owner in read_cached(self.path).items()}

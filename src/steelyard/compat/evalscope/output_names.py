"""What models are called in results and folders: as EvalScope does, by the last part of their path, but never alike.

A folder belongs to one model with one set of settings. `models.json` in our own folder of results remembers whose it
is; a second model of the same name gets a few digits more (`ckpt-100-3f2a91`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from steelyard.compat.evalscope.config_models import is_local, is_ours
from steelyard.compat.evalscope.config_schema import ModelEntry
from steelyard.files import write_output
from steelyard.results.keys import digest, model_slug
from steelyard.spec import parse

MASTER = "master"
"""The revision of a model that has none: EvalScope's word."""
DIGITS = 6
LONGEST = 40
"""The longest name of ours that is kept with its options."""


def label(entry: ModelEntry) -> str:
    """The last part of a path or id.

    >>> label(ModelEntry("", path="AI-ModelScope/m3e-base")), label(ModelEntry("", path="./runs/ckpt-100/"))
    ('m3e-base', 'ckpt-100')
    """
    if entry.path is not None and is_ours(entry.path):
        whole, spec = model_slug(entry.path), parse(entry.path)
        return whole if len(whole) <= LONGEST else model_slug(f"{spec.family}_{Path(spec.id).name}")
    path = Path(entry.id).expanduser().resolve() if is_local(entry.id) else Path(entry.id)
    return model_slug(path.name)


def identity(entry: ModelEntry, weights: str | None, *more: Any) -> str:
    """A hash of the model and of all in its entry that could change a figure; `more` is what a stage adds."""
    given = [entry.pooling_mode, entry.max_seq_length, entry.prompt, entry.prompts, entry.dimensions]
    encode = {name: value for name, value in entry.encode_kwargs.items() if name != "batch_size"}
    tables = [str(sorted(table.items())) for table in (entry.model_kwargs, entry.config_kwargs, encode)]
    return digest([weights or entry.id, entry.api_base, entry.revision, *given, *tables, *more])


class Names:
    """The names that a folder of results has given away."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._owners: dict[str, str] = self._read()

    def of(self, wished: str, owner: str) -> str:
        """The name of a model: the one that it has, or the wished one, or that with some digits."""
        name = wished if self._owners.get(wished, owner) == owner else f"{wished}-{owner[:DIGITS]}"
        if self._owners.get(name) != owner:
            self._owners[name] = owner
            write_output(self.path, (json.dumps(self._owners, indent=2, sort_keys=True) + "\n").encode())
        return name

    def _read(self) -> dict[str, str]:
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # not there or not whole: names are given away anew
            return {}
        return {str(name): str(owner) for name, owner in found.items()} if isinstance(found, dict) else {}

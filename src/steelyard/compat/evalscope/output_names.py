"""Names of models in results and folders: the last part of their path, as in EvalScope.

The files of a model are always in its own folder (`outputs/<model>/<revision>/`), and the newest evaluation replaces
the one before. Only models of one config that would share a folder are separated: variants of one model are in mteb's
folder `experiments`, other models with the same name have some digits of a hash (`ckpt-100-3f2a91`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.compat.evalscope.config_models import IGNORED, is_local, is_ours
from steelyard.compat.evalscope.config_schema import ModelEntry
from steelyard.results.keys import digest, model_slug
from steelyard.spec import parse

MASTER = "master"
"""EvalScope's revision of a model that has none."""
DIGITS = 6
LONGEST = 40
"""Length up to which one of our names keeps its options."""
WITHOUT_EFFECT = (*IGNORED, "batch_size", "device")
"""Arguments that change no score."""


@dataclass(frozen=True)
class OutputName:
    """The names of a model of a config."""

    name: str
    """In tables and in our own results; unique in the config."""
    folder: str
    experiment: Mapping[str, Any] = field(default_factory=dict)
    """What differs from the model of the config that has the folder itself."""


def output_names(models: Iterable[ModelEntry]) -> dict[str, OutputName]:
    """Return the names of the models of a config by their place in it.

    >>> tuned = [ModelEntry("model[0]", path="X/e5"), ModelEntry("model[1]", path="X/e5", max_seq_length=128)]
    >>> tuned.append(ModelEntry("model[2]", path="Y/e5"))
    >>> [(name.folder, name.experiment) for name in output_names(tuned).values()]
    [('e5', {}), ('e5', {'max_seq_length': 128}), ('e5-82edf3', {})]
    """
    first: dict[str, ModelEntry] = {}
    names: dict[str, OutputName] = {}
    for entry in models:
        owner = first.setdefault(label(entry), entry)
        names[entry.where] = _name(entry, owner)
    return names


def label(entry: ModelEntry) -> str:
    """Return the last part of a path or id as the user wrote it: links are not resolved.

    >>> label(ModelEntry("", path="AI-ModelScope/m3e-base")), label(ModelEntry("", path="./runs/ckpt-100/"))
    ('m3e-base', 'ckpt-100')
    """
    if entry.path is not None and is_ours(entry.path):
        whole, spec = model_slug(entry.path), parse(entry.path)
        return whole if len(whole) <= LONGEST else model_slug(f"{spec.family}_{Path(spec.id).name}")
    path = os.path.normpath(Path(entry.id).expanduser().absolute()) if is_local(entry.id) else entry.id
    return model_slug(Path(path).name)


def _name(entry: ModelEntry, owner: ModelEntry) -> OutputName:
    name, source = label(entry), (entry.id, entry.api_base)
    own, others = _settings(entry), _settings(owner)
    if source == (owner.id, owner.api_base) and own == others and entry.revision == owner.revision:
        return OutputName(name, name)
    unique = f"{name}-{digest([*source, entry.revision, str(own)])[:DIGITS]}"
    if source != (owner.id, owner.api_base):
        return OutputName(unique, unique)
    return OutputName(unique, name, {field: value for field, value in own.items() if value != others[field]})


def _settings(entry: ModelEntry) -> dict[str, Any]:
    """Return everything in the entry that could change a score of its model."""
    given = {
        name: getattr(entry, name) for name in ("pooling_mode", "max_seq_length", "prompt", "dimensions", "prompts")
    }
    tables = {
        name: {key: value for key, value in getattr(entry, name).items() if key not in WITHOUT_EFFECT}
        for name in ("model_kwargs", "config_kwargs", "encode_kwargs")
    }
    return given | tables

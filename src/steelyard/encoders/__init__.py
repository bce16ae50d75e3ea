"""Encoders by id: `load_encoder("use-multilingual-v3")`. An encoder is imported when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from steelyard.config import Settings
from steelyard.registry import Registry, with_settings

if TYPE_CHECKING:
    from steelyard.types.protocols import Encoder

__all__ = ["ENCODERS", "load_encoder"]

EncoderFactory = Callable[[str | None, Mapping[str, str]], "Encoder"]
"""Takes a revision (None: the one that is there) and options by name."""

ENCODERS: Registry[EncoderFactory] = Registry(
    "encoder",
    "steelyard.encoders",
    {"use-multilingual-v3": "steelyard.encoders.use.encoder:from_options"},
)
"""Encoders by id; plug-ins add theirs."""


def load_encoder(
    id: str,
    revision: str | None = None,
    options: Mapping[str, str] | None = None,
    settings: Settings | None = None,
) -> Encoder:
    """The encoder of that id; an unknown one, or an option that it doesn't have, is a UsageError.

    An id is a name in `ENCODERS`, `api/NAME`, a folder, `owner/name` of a model of a hub, a file of vectors, or
    `module:function`.

    >>> load_encoder("use-multilingual-v3").dimension
    512
    """
    settings = settings or Settings.load()
    if id.startswith("api/"):
        from steelyard.encoders.backends.api import from_options

        return from_options(id.removeprefix("api/"), revision, options or {}, settings)
    from steelyard.encoders import load as dense_encoders

    if id not in ENCODERS and ("backend" in (options or {}) or dense_encoders.known_by_itself(id)):
        return dense_encoders.load(id, revision, options or {}, settings)
    return with_settings(ENCODERS.get(id), settings)(revision, options or {})

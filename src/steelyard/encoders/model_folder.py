"""A model as a folder of files: one on this machine, or a repository of a hub at a commit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from steelyard.config import Settings
from steelyard.errors import DataError, HubError, MissingPart
from steelyard.files import file_hash

NOT_NEEDED = ("onnx/*", "openvino/*", "*.onnx", "*.onnx_data", "*.msgpack", "*.h5", "*.ot", "*.gguf", "*.png", "*.md")
"""Copies of the weights for other libraries, and what is for people to read."""
READ = {".safetensors", ".bin", ".json", ".txt", ".model", ".py", ".metadata"}
HUBS = ("huggingface", "modelscope")
OFFLINE = "fetch it where there is a network, or give the folder that has its files"
SPELLING = "is the name spelt owner/model, does the revision exist, does it want a token?"


@dataclass(frozen=True)
class ModelFolder:
    """The files of a model; `id` is how it was named, `revision` the commit if it came from a hub."""

    id: str
    path: Path
    revision: str | None = None
    settings: Settings = field(default_factory=Settings.load, repr=False, compare=False)

    @classmethod
    def find(
        cls,
        id: str,
        revision: str | None = None,
        *,
        hub: str = HUBS[0],
        only: Sequence[str] | None = None,
        settings: Settings | None = None,
    ) -> ModelFolder:
        """A folder by path, else a repository of the hub, fetched unless it is here already.

        Of a repository the files are fetched that match a pattern of `only`; without it, all but `NOT_NEEDED`.
        """
        settings = settings or Settings.load()
        path = Path(id).expanduser()
        if path.is_dir():
            return cls(id, path, None, settings)
        if path.is_absolute() or id.count("/") != 1 or id.startswith("."):
            raise MissingPart(
                f"there is no model folder {id}", hint="give a folder, or owner/name of a model of the hub"
            )
        fetch = _from_modelscope if hub == "modelscope" else _from_hugging_face
        wanted = {"allow_patterns": list(only)} if only else {"ignore_patterns": list(NOT_NEEDED)}
        return fetch(id, {"revision": revision, "local_files_only": settings.offline, **wanted}, settings)

    @property
    def name(self) -> str:
        """The id in a hub; of a folder its own name, so that one that is moved is the same model."""
        return self.id if self.revision is not None else self.path.resolve().name

    @cached_property
    def weights(self) -> str:
        """A hash of the names and contents of all files that a model is loaded from."""
        return self.hash_of(path for path in self.path.rglob("*") if path.suffix in READ)

    def hash_of(self, files: Iterable[Path]) -> str:
        """A hash of the names and contents of these files; hidden ones do not count."""
        digest = hashlib.blake2b(digest_size=16)
        for file in sorted(files):
            name = file.relative_to(self.path).as_posix()
            if file.is_file() and not name.startswith("."):
                digest.update(f"\0{name}\0".encode() + file_hash(file, self.settings.home))
        return digest.hexdigest()

    def json(self, name: str) -> Any:
        """A JSON file of the folder, None if it has none of that name."""
        path = self.path / name
        if not path.is_file():
            return None
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise DataError(f"not JSON: {error}", where=str(path), hint="fetch or save the model again") from error


def _from_hugging_face(id: str, wanted: dict[str, Any], settings: Settings) -> ModelFolder:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        found = snapshot_download(id, **wanted)
    except LocalEntryNotFoundError as error:
        raise HubError(
            f"the model {id} is not on this machine, and the hub is out of reach: {error}", hint=OFFLINE
        ) from error
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        raise HubError(f"the hub did not give the model {id}: {error}", hint=SPELLING) from error
    return ModelFolder(id, Path(found), Path(found).name, settings)


def _from_modelscope(id: str, wanted: dict[str, Any], settings: Settings) -> ModelFolder:
    """ModelScope's client does not tell the commit: the revision is the one asked for, the hash says the rest."""
    try:
        from modelscope.hub import errors
        from modelscope.hub.snapshot_download import snapshot_download
    except ImportError as error:
        raise MissingPart.extra("modelscope", "modelscope") from error
    own = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    troubles: tuple[type[Exception], ...] = (OSError, ValueError, *own)  # errors of its HTTP library are OSErrors
    try:
        found = snapshot_download(id, **wanted)
    except troubles as error:
        raise HubError(f"ModelScope did not give the model {id}: {error}", hint=SPELLING) from error
    return ModelFolder(id, Path(found), wanted["revision"] or "master", settings)

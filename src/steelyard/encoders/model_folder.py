"""A model as a folder of files: a local one, or a repository of a hub at a commit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from steelyard.config import Settings
from steelyard.errors import DataError, HubError, MissingPart, UsageError
from steelyard.files import file_hash, path_inside, read_cached, with_home

NOT_DOWNLOADED = (
    "onnx/*",
    "openvino/*",
    "*.onnx",
    "*.onnx_data",
    "*.msgpack",
    "*.h5",
    "*.ot",
    "*.gguf",
    "*.png",
    "*.md",
)
"""Copies of the weights for other libraries, and documentation."""
HASHED_SUFFIXES = {".safetensors", ".bin", ".json", ".txt", ".model", ".py", ".metadata"}
HUBS = ("huggingface", "modelscope")
OFFLINE_HINT = "download it with a network connection, or give the folder that contains its files"
NO_FOLDER_HINT = "give a folder, or owner/name of a hub"
SPELLING_HINT = "check the name (owner/model), the revision, and whether the model needs a token"


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
        """Return a local folder, or download a repository of the hub unless it is there already.

        Of a repository, only files that match a pattern of `only` are downloaded; by default all but
        `NOT_DOWNLOADED`.
        """
        settings = settings or Settings.load()
        path = with_home(id)
        if path.is_dir():
            return cls(id, path, None, settings)
        if path.is_absolute() or id.count("/") != 1 or id.startswith("."):
            if (earlier := earlier_folder(id, settings)) is not None:  # not a failure of the model: the name is wrong
                raise UsageError(f"the model folder does not exist: {id}", path=id, hint=f"write its path: {earlier}")
            raise MissingPart(f"the model folder does not exist: {id}", path=id, hint=NO_FOLDER_HINT)
        download = _from_modelscope if hub == "modelscope" else _from_hugging_face
        patterns = {"allow_patterns": list(only)} if only else {"ignore_patterns": list(NOT_DOWNLOADED)}
        return download(id, {"revision": revision, "local_files_only": settings.offline, **patterns}, settings)

    @property
    def name(self) -> str:
        """The id in a hub; for a folder its own name, so that a moved folder is the same model."""
        return self.id if self.revision is not None else self.path.resolve().name

    @cached_property
    def weights(self) -> str:
        """A hash of the names and contents of all files that a model is loaded from."""
        return self.hash_of(path for path in self.path.rglob("*") if path.suffix in HASHED_SUFFIXES)

    def hash_of(self, files: Iterable[Path]) -> str:
        """Return a hash of the names and contents of these files; hidden ones are skipped."""
        digest = hashlib.blake2b(digest_size=16)
        for file in sorted(files):
            name = file.relative_to(self.path).as_posix()
            if file.is_file() and not name.startswith("."):
                digest.update(f"\0{name}\0".encode() + file_hash(file, self.settings.home))
        return digest.hexdigest()

    def json(self, name: str) -> Any:
        """Return the contents of a JSON file of the folder; None if it does not exist."""
        path = path_inside(self.path, name, "modules.json")  # the only file that names others
        if not path.is_file():
            return None
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError, OSError) as error:
            cause = "too many nested values" if isinstance(error, RecursionError) else str(error)
            raise DataError(
                f"the file must be JSON, got: {cause}",
                path=path,
                expected="JSON",
                found=cause,
                hint="download or save the model again",
            ) from error

    def json_object(self, name: str) -> dict[str, Any]:
        """Return the object in a JSON file of the folder; an empty one if the file does not exist."""
        return self._json_of(name, dict, "an object") or {}

    def json_list(self, name: str) -> list[dict[str, Any]]:
        """Return the list of objects in a JSON file of the folder; an empty one if the file does not exist."""
        items = self._json_of(name, list, "a list of objects") or []
        if any(not isinstance(item, dict) for item in items):
            raise DataError.invalid("the file", expected="a list of objects", found="a list", path=self.path / name)
        return items

    def _json_of(self, name: str, kind: type[Any], expected: str) -> Any:
        content = self.json(name)
        if content is not None and not isinstance(content, kind):
            type_name = type(content).__name__
            raise DataError.invalid("the file", expected=expected, found=type_name, path=self.path / name)
        return content


DESCRIPTIONS = "models"
"""The folder of descriptions of models that were loaded (`encoders.deferred`)."""


def earlier_folder(name: str, settings: Settings) -> Path | None:
    """Return the folder that a model of this name was last loaded from: results have names of folders, not paths."""
    for file in sorted((settings.home / DESCRIPTIONS).glob("*.json"), key=lambda file: -file.stat().st_mtime_ns):
        path = read_cached(file).get("path")
        if isinstance(path, str) and Path(path).name == name and Path(path).is_dir():
            return Path(path)
    return None


def _from_hugging_face(id: str, arguments: dict[str, Any], settings: Settings) -> ModelFolder:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        folder = snapshot_download(id, **arguments)
    except LocalEntryNotFoundError as error:
        raise HubError(
            f"the model {id} is not on this machine and the hub cannot be reached: {error}", hint=OFFLINE_HINT
        ) from error
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        raise HubError(f"the model {id} cannot be downloaded: {error}", hint=SPELLING_HINT) from error
    return ModelFolder(id, Path(folder), Path(folder).name, settings)


def _from_modelscope(id: str, arguments: dict[str, Any], settings: Settings) -> ModelFolder:
    """Download from ModelScope; its client does not report the commit, so the revision is the requested one."""
    try:
        from modelscope.hub import errors
        from modelscope.hub.snapshot_download import snapshot_download
    except ImportError as error:
        raise MissingPart.extra("modelscope", "modelscope") from error
    own = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    hub_errors: tuple[type[Exception], ...] = (OSError, ValueError, *own)  # errors of its HTTP library are OSErrors
    try:
        folder = snapshot_download(id, **arguments)
    except hub_errors as error:
        raise HubError(f"the model {id} cannot be downloaded from ModelScope: {error}", hint=SPELLING_HINT) from error
    return ModelFolder(id, Path(folder), arguments["revision"] or "master", settings)

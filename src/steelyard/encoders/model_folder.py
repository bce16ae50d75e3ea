"""A model as a folder of files: one on this machine, or a repository of the hub at a commit."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from steelyard import config
from steelyard.errors import DataError, HubError, MissingPart

NOT_NEEDED = ["onnx/*", "openvino/*", "*.onnx", "*.msgpack", "*.h5", "*.ot", "*.gguf", "*.png", "*.md"]
"""Copies of the weights for other libraries, and what is for people to read."""
READ = {".safetensors", ".bin", ".json", ".txt", ".model", ".py", ".metadata"}


@dataclass(frozen=True)
class ModelFolder:
    """The files of a model; `id` is how it was named, `revision` the commit if it came from the hub."""

    id: str
    path: Path
    revision: str | None = None

    @classmethod
    def find(cls, id: str, revision: str | None = None) -> ModelFolder:
        """A folder by path, else a repository of the hub, fetched unless it is here already."""
        path = Path(id).expanduser()
        if path.is_dir():
            return cls(id, path)
        if path.is_absolute() or id.count("/") != 1 or id.startswith("."):
            raise MissingPart(
                f"there is no model folder {id}", hint="give a folder, or owner/name of a model of the hub"
            )
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

        try:
            found = snapshot_download(
                id, revision=revision, ignore_patterns=NOT_NEEDED, local_files_only=config.offline()
            )
        except LocalEntryNotFoundError as error:
            raise HubError(f"the model {id} is not on this machine, and the hub is out of reach: {error}") from error
        except (HfHubHTTPError, HFValidationError, OSError) as error:
            raise HubError(f"the hub did not give the model {id}: {error}") from error
        return cls(id, Path(found), Path(found).name)

    @cached_property
    def weights(self) -> str:
        """A hash of the names and contents of all files that a model is loaded from."""
        digest = hashlib.blake2b(digest_size=16)
        for file in sorted(self.path.rglob("*")):
            name = file.relative_to(self.path).as_posix()
            if file.suffix in READ and file.is_file() and not name.startswith("."):
                with file.open("rb") as opened:
                    digest.update(f"\0{name}\0".encode() + hashlib.file_digest(opened, "blake2b").digest())
        return digest.hexdigest()

    def json(self, name: str) -> Any:
        """A JSON file of the folder, None if it has none of that name."""
        path = self.path / name
        if not path.is_file():
            return None
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise DataError(f"not JSON: {error}", where=str(path)) from error

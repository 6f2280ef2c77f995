"""Files on their way to other machines, where they may lie elsewhere or not at all."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from anyscene.engine.loading import find_model, shipped_models
from anyscene.errors import ModelError
from anyscene.familiarity import FAMILIARITY
from anyscene.files import cache_dir, write_atomically


@dataclass(frozen=True)
class SentFile:
    """A file with all that it holds."""

    digest: str
    suffix: str
    data: bytes

    def received(self) -> str:
        """Its path on this machine."""
        path = cache_dir() / "sent" / f"{self.digest}{self.suffix}"
        if not path.exists() or path.stat().st_size != len(self.data):
            with write_atomically(path) as file:
                file.write(self.data)
        return str(path)


def send_file(path: Path, digest: str | None = None) -> SentFile:
    """Take a file along. digest : names it; None: a hash of what it holds."""
    return SentFile(digest or file_digest(path), path.suffix, path.read_bytes())


@dataclass(frozen=True)
class SentModel:
    """name : of a model that ships with anyscene, else None. files : of any other, the model first."""

    name: str | None
    digest: str
    files: tuple[SentFile, ...] = ()

    def received(self) -> str:
        """The name or path to load it by on this machine."""
        if self.name is None:
            path, *_ = (file.received() for file in self.files)
            return path
        if file_digest(find_model(self.name)) != self.digest:
            raise ModelError(
                f"the model '{self.name}' on this node is another than the driver's; "
                "install the same anyscene everywhere"
            )
        return self.name


def send_model(model: str) -> SentModel:
    """Take a model along: by name if it ships, else all of it."""
    path = find_model(model)
    digest = file_digest(path)
    shipped = {own.resolve(): name for name, own in shipped_models().items()}
    if name := shipped.get(path.resolve()):
        return SentModel(name, digest)
    # What a model is familiar with may lie beside it, under the same name.
    parts = (path, path.with_suffix(f".{FAMILIARITY}"))
    return SentModel(None, digest, tuple(send_file(part, digest) for part in parts if part.exists()))


def file_digest(path: Path) -> str:
    """What names a file by what it holds."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:32]

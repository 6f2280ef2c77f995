"""A model on its way to other machines, where its file may lie elsewhere or not at all."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from anyscene.engine.loading import SUFFIX, find_model, shipped_models
from anyscene.errors import ModelError
from anyscene.familiarity import FAMILIARITY
from anyscene.files import cache_dir, write_atomically


@dataclass(frozen=True)
class SentModel:
    """name : of a model that ships with anyscene, else None. files : by suffix, of any other model."""

    name: str | None
    digest: str
    files: dict[str, bytes]

    def received(self) -> str:
        """The name or path to load it by on this machine."""
        if self.name is not None:
            if model_digest(find_model(self.name)) != self.digest:
                raise ModelError(
                    f"this node's model '{self.name}' is another than the driver's; "
                    "install the same anyscene everywhere"
                )
            return self.name
        path = cache_dir() / "models" / f"{self.digest}{SUFFIX}"
        for suffix, data in self.files.items():
            file = path.with_suffix(suffix)
            if not file.exists() or file.stat().st_size != len(data):
                with write_atomically(file) as opened:
                    opened.write(data)
        return str(path)


def send_model(model: str) -> SentModel:
    """Take a model along: by name if it ships, else all of it."""
    path = find_model(model)
    shipped = {own.resolve(): name for name, own in shipped_models().items()}
    if name := shipped.get(path.resolve()):
        return SentModel(name, model_digest(path), {})
    beside = path.with_suffix(f".{FAMILIARITY}")
    files = {SUFFIX: path} | ({f".{FAMILIARITY}": beside} if beside.exists() else {})
    return SentModel(None, model_digest(path), {suffix: file.read_bytes() for suffix, file in files.items()})


def model_digest(path: Path) -> str:
    """What names a model, whatever its file is called."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:32]

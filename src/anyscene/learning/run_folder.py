"""The folder of a training run: what each stage made, so that a run that was killed goes on from there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from anyscene.errors import ConfigError
from anyscene.files import write_atomically
from anyscene.marks import MARK, is_ours, marked, read_sealed, refuse_foreign_folder, sealed
from anyscene.named_arrays import Arrays, read_arrays, write_arrays


class RunFolder:
    """Results of stages by name, each written whole or not at all.

    identity : all that the results depend on (settings, data, seed, version). A folder belongs to one.
    restart : delete what an earlier run made, instead of going on with it.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any], restart: bool = False) -> None:
        self.path = path
        marker = path / "run.json"
        wanted = json.loads(json.dumps(dict(identity)))
        refuse_foreign_folder(path, marker.name)
        if marker.exists() and not restart:
            found = _read_json(marker)
            changed = [key for key in wanted if found.get(key) != wanted[key]]
            if changed:
                raise ConfigError(
                    f"{path} holds a run with another {changed[0]}; go on with the same settings, "
                    "name another run folder, or begin anew with --restart (restart=True)"
                )
            return
        for stage in (*path.glob("*.safetensors"), *path.glob("*.json")):
            if is_ours(stage):
                stage.unlink()
        with write_atomically(marker) as file:
            file.write(json.dumps(marked(wanted), indent=1).encode())

    def arrays(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """The arrays of a stage; made now unless they are there as they were written."""
        found = self._read(name)
        return self._written(name, make()) if found is None else found

    def arrays_of_all(
        self, names: Sequence[str], make: Callable[[Sequence[int]], Iterable[tuple[int, Arrays]]]
    ) -> list[Arrays]:
        """The arrays of several stages that may be made at once.

        make : gets the positions of those that are not there; each is written as it comes.
        """
        there = {i: found for i, name in enumerate(names) if (found := self._read(name)) is not None}
        missing = [i for i in range(len(names)) if i not in there]
        made = make(missing) if missing else ()
        there |= {i: self._written(names[i], arrays) for i, arrays in made}
        return [there[i] for i in range(len(names))]

    def _read(self, name: str) -> Arrays | None:
        return read_arrays(self.path / f"{name}.safetensors")

    def _written(self, name: str, arrays: Arrays) -> Arrays:
        """Write the arrays of a stage, and return them as the next run will read them."""
        path = self.path / f"{name}.safetensors"
        write_arrays(path, arrays, {"comment": MARK})
        if (found := self._read(name)) is None:
            raise ConfigError(f"{path} was written and cannot be read; check the disk")
        return found

    def document(self, name: str, make: Callable[[], Mapping[str, Any]]) -> Any:
        """The JSON document of a stage; made now unless it is there as it was written."""
        path = self.path / f"{name}.json"
        found = read_sealed(path)
        if found is None:
            with write_atomically(path) as file:
                file.write(json.dumps(sealed(marked(make())), indent=1).encode())
            found = read_sealed(path)
        return found


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read ({error}); delete it to make it anew") from error

"""Files and folders anywhere that pyarrow's filesystems reach: local paths, s3://, gs://, hdfs://, file://.

A URI is taken as it is written: nothing in it is percent-encoded, and it has no query. Where a store lies
and who may use it is said by its own environment variables, such as AWS_ENDPOINT_URL and AWS_PROFILE.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from anyscene.cluster.needs import require
from anyscene.errors import ConfigError, DataError
from anyscene.files import write_atomically

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

URI = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<authority>[^/]*)/?(?P<rest>.*)", re.DOTALL)

STORES = ("s3", "gcs", "abfs")
"""Kinds of filesystems where a file appears whole, at the end of its one put. Others need a rename."""

MAGIC = re.compile(r"[*?[]")


def is_uri(text: str) -> bool:
    """Tell whether a text names a place by a URI."""
    return URI.fullmatch(text) is not None


@dataclass(frozen=True)
class Place:
    """A file or folder on some filesystem. path : as the filesystem calls it. uri : as we record it."""

    filesystem: FileSystem
    path: str
    uri: str

    def __truediv__(self, name: str) -> Place:
        return Place(self.filesystem, f"{self.path.rstrip('/')}/{name}", f"{self.uri.rstrip('/')}/{name}")

    @property
    def is_local(self) -> bool:
        """Whether it lies on this machine, as far as paths tell."""
        return bool(self.filesystem.type_name == "local")

    @property
    def is_link(self) -> bool:
        """Whether it is a link on this machine; links may go round in circles."""
        return self.is_local and os.path.islink(self.path)

    def info(self) -> FileInfo:
        """What there is: its kind, size and time."""
        with told_as_one_sentence("look at", self.uri):
            return self.filesystem.get_file_info(self.path)

    def exists(self) -> bool:
        """Tell whether there is a file."""
        return bool(self.info().is_file)

    def read(self) -> bytes:
        """All that a file holds."""
        with told_as_one_sentence("read", self.uri), self.open() as file:
            return bytes(file.read())

    def open(self) -> Any:
        """Open a file for reading anywhere in it."""
        with told_as_one_sentence("read", self.uri):
            return self.filesystem.open_input_file(self.path)

    def write(self, data: bytes) -> None:
        """Write a file, wholly or not at all; missing folders are made."""
        if self.is_local:
            with write_atomically(self.path) as file:
                file.write(data)
            return
        with told_as_one_sentence("write", self.uri):
            if self.filesystem.type_name in STORES:
                self._put(self.path, data)
                return
            folder, _, name = self.path.rpartition("/")
            partial = f"{folder}/.{secrets.token_hex(8)}-{name}.partial"
            self.filesystem.create_dir(folder, recursive=True)
            self._put(partial, data)
            self.filesystem.move(partial, self.path)

    def _put(self, path: str, data: bytes) -> None:
        with self.filesystem.open_output_stream(path) as file:
            file.write(data)

    def remove(self) -> None:
        """Remove a file; one that is gone already is no fault."""
        with suppress(FileNotFoundError), told_as_one_sentence("remove", self.uri):
            self.filesystem.delete_file(self.path)

    def files(self, recursive: bool = False) -> Iterator[tuple[Place, FileInfo]]:
        """Files in a folder, by name; hidden ones are left out, hidden folders, and links to folders."""
        from pyarrow.fs import FileSelector, FileType

        with told_as_one_sentence("list", self.uri):
            found = self.filesystem.get_file_info(FileSelector(self.path, allow_not_found=True))
            found.sort(key=lambda one: str(one.base_name))
        for info in found:
            if info.base_name.startswith("."):
                continue
            inside = self / info.base_name
            if info.type == FileType.File:
                yield inside, info
            elif recursive and info.type == FileType.Directory and not inside.is_link:
                yield from inside.files(recursive)


def place(text: str) -> Place:
    """The place that a path or URI names."""
    require("pyarrow")
    found = URI.fullmatch(text)
    if found is None or found["scheme"] == "file":
        path = os.path.abspath(os.path.expanduser(text) if found is None else f"/{found['rest']}")
        return Place(_filesystem("file", ""), path, f"file://{path}")
    scheme, authority, rest = found["scheme"], found["authority"], found["rest"]
    filesystem = _filesystem(scheme, authority)
    inside = f"{authority}/{rest}".rstrip("/") if filesystem.type_name in STORES else f"/{rest}"
    return Place(filesystem, inside, f"{scheme}://{authority}/{rest}".rstrip("/"))


@cache
def _filesystem(scheme: str, authority: str) -> FileSystem:
    import pyarrow
    from pyarrow import fs

    if scheme == "file":
        return fs.LocalFileSystem()
    uri = f"{scheme}://{authority}/"
    try:
        return fs.FileSystem.from_uri(uri.rstrip("/") if scheme in ("s3", "gs", "gcs") else uri)[0]
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise ConfigError(
            f"{uri} cannot be opened ({_short(error)}); check its name, and that this machine may use it"
        ) from error


@contextmanager
def told_as_one_sentence(verb: str, uri: str) -> Iterator[None]:
    """Make what a filesystem raises one sentence; a DataError if there is no file, else a ConfigError."""
    import pyarrow

    try:
        yield
    except FileNotFoundError as error:
        raise DataError(f"{uri}: there is no such file; check the path") from error
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        raise DataError(
            f"{_spelled(error.object)}: this is no UTF-8, which a manifest needs; rename the file"
        ) from error
    except (OSError, pyarrow.ArrowException) as error:
        reason = "no permission" if _is_denied(error) else _short(error)
        raise ConfigError(
            f"cannot {verb} {uri}: {reason}; check the address and the credentials of this machine"
        ) from error


def _spelled(name: str | bytes) -> str:
    """A name that is no UTF-8, with escapes where it is not."""
    return (os.fsencode(name) if isinstance(name, str) else name).decode(errors="backslashreplace")


def _is_denied(error: Exception) -> bool:
    return isinstance(error, PermissionError) or "ACCESS_DENIED" in str(error) or "403" in str(error)


def _short(error: Exception) -> str:
    """The first line of what a filesystem says, without its own advice."""
    text = (error.strerror if isinstance(error, OSError) and error.strerror else str(error)) or repr(error)
    return text.splitlines()[0].split(". Detail:")[0].rstrip(".")[:300]


def split_pattern(text: str) -> tuple[str, re.Pattern[str] | None]:
    """Part a pattern such as s3://bucket/*/a?.jpg into the folder to search and what paths in it look like.

    `**` stands for any folders. A text without wildcards has no pattern.
    """
    wildcard = MAGIC.search(text)
    if wildcard is None:
        return text, None
    fixed = text[: wildcard.start()].rpartition("/")[0]
    rest = text[len(fixed) :].lstrip("/")
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^]]+\])", rest)
    spelled = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return fixed or ("/" if text.startswith("/") else "."), re.compile(
        "".join(spelled.get(part) or (part if part.startswith("[") else re.escape(part)) for part in parts)
    )

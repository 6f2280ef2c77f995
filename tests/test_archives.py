"""Archives from strangers: plain zips only, that take no more memory than disk."""

import json
import os
import struct
import zipfile

import pytest

from anyscene.archives import LARGEST_MANIFEST, MANIFEST, MOST_MEMBERS, read_archive, read_manifest
from anyscene.errors import ModelError
from tests.hostile.forge import zipped


def refused(path, why):
    with pytest.raises(ModelError, match=why) as caught:
        read_archive(path, "model")
    assert str(path) in str(caught.value)


def written(path, content):
    path.write_bytes(content)
    return path


def test_members_come_back_by_name(tmp_path):
    members = {MANIFEST: b"{}", "arrays": bytes(100)}
    assert read_archive(written(tmp_path / "m", zipped(members)), "model") == members


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_is_compressed_is_refused_unread(tmp_path, method):
    refused(written(tmp_path / "m", zipped({"a": bytes(10**6)}, method)), "its members are compressed")


def test_members_that_share_their_bytes_are_refused(tmp_path):
    whole = zipped({"a": bytes(10_000)})
    at = whole.index(b"PK\x01\x02")
    entry, end = whole[at : whole.index(b"PK\x05\x06")], bytearray(whole[whole.index(b"PK\x05\x06") :])
    copies = b"".join(entry.replace(b"a", letter.encode()) for letter in "abcdef")
    end[8:16] = struct.pack("<HHI", 6, 6, len(copies))
    refused(written(tmp_path / "m", whole[:at] + copies + end), "its members are larger than the file")


def test_too_many_members_and_what_is_no_file_are_refused(tmp_path):
    refused(written(tmp_path / "m", zipped({str(k): b"" for k in range(MOST_MEMBERS + 1)})), "members")
    refused(tmp_path, "not a file")
    refused(tmp_path / "none", "No such file")
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "not a file")


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"[1]", b"{", b"[" * 10**6, b" " * (LARGEST_MANIFEST + 1), b"\xff", b'"text"'),
        *(b'{"a": NaN}', b'{"a": [-Infinity]}', b'{"a": 1e999}'),
    ],
)
def test_a_manifest_that_is_no_document_is_refused(tmp_path, text):
    with pytest.raises(ModelError, match=MANIFEST):
        read_manifest(tmp_path, {MANIFEST: text}, "model")
    assert read_manifest(tmp_path, {MANIFEST: json.dumps({"a": 1}).encode()}, "model") == {"a": 1}

"""Images in an object store, results and manifest out to it; moto's server plays the store."""

import boto3
import httpx
import pyarrow.fs
import pytest

from anyscene.cluster.places import place
from anyscene.errors import AnysceneError

moto_server = pytest.importorskip("moto.server")


@pytest.fixture(scope="module")
def bucket(pictures):
    """A bucket on this machine that holds the pictures; its address is in the environment."""
    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "testing")
        for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
            patch.setenv(name, "us-east-1")
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        store = boto3.client("s3")
        store.create_bucket(Bucket="images")
        for path in pictures.rglob("*.png"):
            store.put_object(
                Bucket="images", Key=f"in put/{path.relative_to(pictures)}", Body=path.read_bytes()
            )
        yield store
    server.stop()


def keys(store, prefix):
    pages = store.get_paginator("list_objects_v2").paginate(Bucket="images", Prefix=prefix)
    return [one["Key"] for page in pages for one in page.get("Contents", ())]


def test_results_and_manifest_go_to_the_store_and_the_job_goes_on(bucket, label):
    given = ("s3://images/in put", "-o", "s3://images/out")
    # Less CPU time than the process has taken already: the job ends after the first images.
    left = label(*given, "--cpu-hours", 1 / 3600)[1]["not_reached"]
    assert 0 < left < 40
    code, summary, _ = label(*given)
    assert (code, summary["labelled"]) == (0, left)
    assert len([key for key in keys(bucket, "out/in put/") if key.endswith(".png")]) == 40
    assert len([key for key in keys(bucket, "out/manifest/") if key.endswith(".parquet")]) == 1
    assert not keys(bucket, "out/anyscene-todo/0")
    assert label(*given)[1]["labelled_before"] == 40


def test_results_of_a_store_are_those_of_a_disk(bucket, label, pictures, tmp_path):
    label("s3://images/in put/000.png", "-o", "s3://images/one")
    label(f"file://{pictures / '000.png'}", "-o", tmp_path / "one")
    [key] = [key for key in keys(bucket, "one/") if key.endswith(".png")]
    [file] = (tmp_path / "one").glob("*.png")
    assert bucket.get_object(Bucket="images", Key=key)["Body"].read() == file.read_bytes()


@pytest.mark.parametrize("missing", ["s3://images/gone", "s3://nosuchbucket/a"])
def test_what_is_not_there_is_one_sentence(bucket, label, missing):
    with pytest.raises(AnysceneError) as raised:
        label(missing, "-o", "s3://images/never")
    assert missing.rpartition("/")[2] in str(raised.value) or "nosuchbucket" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not keys(bucket, "never")


@pytest.fixture
def closed(bucket):
    """The same store, which lets nobody in until the test is over."""

    def asks_for_rights_after(requests):
        httpx.post(f"{bucket.meta.endpoint_url}/moto-api/reset-auth", content=str(requests))

    asks_for_rights_after(0)
    yield
    asks_for_rights_after(10**9)


def test_a_store_that_lets_nobody_in_is_one_sentence(closed, bucket, label, pictures, tmp_path):
    for given in (("s3://images/in put", "-o", tmp_path / "out"), (pictures, "-o", "s3://images/shut")):
        with pytest.raises(AnysceneError, match=r"s3://images/.*no permission") as raised:
            label(*given)
        assert "\n" not in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_places_read_what_they_wrote(bucket):
    where = place("s3://images/some folder") / "a b.txt"
    where.write(b"hello")
    assert where.read() == b"hello"
    assert [file.uri for file, _ in place("s3://images/some folder").files()] == [where.uri]
    assert isinstance(where.filesystem, pyarrow.fs.S3FileSystem)
    where.remove()
    assert not where.exists()

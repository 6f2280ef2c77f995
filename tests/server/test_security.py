import shutil
import socket
import ssl
import subprocess
import sys
import time

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from anyscene.errors import ConfigError
from anyscene.server.config import Settings, check
from tests.server.conftest import PATIENT, TOKEN


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "10.0.0.1", "", "localhost:x"])
def test_a_request_that_addresses_somebody_else_is_refused(server, host):
    # A page of evil.example whose name was pointed at 127.0.0.1 sends its own name as Host.
    assert httpx.get(f"{server.url}/v1/models", headers={"host": host}).status_code in (400, 421)


@pytest.mark.parametrize("host", ["localhost", "localhost:1234", "127.0.0.1", "[::1]:80"])
def test_loopback_has_several_names(server, host):
    assert httpx.get(f"{server.url}/v1/models", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:1", "http://127.0.0.1"])
def test_pages_from_elsewhere_are_refused(server, photo, origin):
    answer = httpx.post(f"{server.url}/v1/label", content=photo, headers={"origin": origin})
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


def test_the_own_page_is_let_in(server, photo):
    answer = httpx.post(f"{server.url}/v1/label", content=photo, headers={"origin": server.url})
    assert answer.status_code == 200


def test_a_form_that_a_foreign_page_sends_is_refused(server, photo):
    headers = {"sec-fetch-site": "cross-site"}
    assert httpx.post(f"{server.url}/v1/label", content=photo, headers=headers).status_code == 403


@pytest.mark.parametrize("headers", [{"Origin": "https://evil.example"}, {"Host": "evil.example"}])
def test_websockets_are_checked_as_well(server, headers):
    with pytest.raises(InvalidStatus) as refused:
        connect(f"ws://127.0.0.1:{server.port}/v1/live", additional_headers=headers).close()
    assert refused.value.response.status_code in (403, 400)


@pytest.mark.parametrize(
    "given", [None, "Bearer wrong", "Bearer", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}"]
)
def test_without_the_token_nothing_is_told(guarded, photo, given):
    headers = {"authorization": given} if given else {}
    for path in ("/v1/models", "/metrics", "/v2/models/small"):
        assert httpx.get(f"{guarded.url}{path}", headers=headers).status_code == 401
    assert httpx.post(f"{guarded.url}/v1/label", content=photo, headers=headers).status_code == 401
    with pytest.raises(InvalidStatus):
        connect(f"ws://127.0.0.1:{guarded.port}/v1/live", additional_headers=headers).close()


def test_who_is_turned_away_is_counted(guarded):
    before = guarded.metric("anyscene_refused_total")
    httpx.get(f"{guarded.url}/v1/models")
    assert guarded.metric("anyscene_refused_total") == before + 1


def test_the_token_opens(guarded, photo):
    headers = {"authorization": f"Bearer {TOKEN}"}
    assert httpx.post(f"{guarded.url}/v1/label", content=photo, headers=headers).status_code == 200
    for path in ("/healthz", "/readyz", "/v2/health/live", "/"):
        assert httpx.get(f"{guarded.url}{path}").status_code == 200
    with connect(
        f"ws://127.0.0.1:{guarded.port}/v1/live", subprotocols=[f"anyscene.token.{TOKEN}"]
    ) as socket:
        socket.send(photo)
        assert "error" not in socket.recv()


def test_a_friend_is_let_in_with_cors(guarded, photo):
    friend = {"origin": "https://friend.example"}
    asked = httpx.options(
        f"{guarded.url}/v1/label", headers={**friend, "access-control-request-method": "POST"}
    )
    assert asked.status_code == 204
    assert "Authorization" in asked.headers["access-control-allow-headers"]
    answer = httpx.post(
        f"{guarded.url}/v1/label", content=photo, headers={**friend, "authorization": f"Bearer {TOKEN}"}
    )
    assert answer.headers["access-control-allow-origin"] == "https://friend.example"


def test_a_proxys_name_can_be_allowed(guarded):
    assert httpx.get(f"{guarded.url}/", headers={"host": "proxy.example"}).status_code == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.5", "::"])
def test_other_machines_need_a_token_or_an_explicit_word(tmp_path, host):
    settings = Settings({"small": tmp_path}, host=host)
    with pytest.raises(ConfigError, match="--token"):
        check(settings, no_auth=False)
    check(settings, no_auth=True)
    check(Settings({"small": tmp_path}, host=host, token=TOKEN), no_auth=False)


def test_the_command_refuses_to_listen_to_everybody(model_file):
    command = [sys.executable, "-m", "anyscene", "serve", "--model", str(model_file), "--host", "0.0.0.0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "--no-auth" in done.stderr


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"token": "short"}, "at least 16"),
        ({"certfile": "here"}, "--keyfile"),
        ({"certfile": "here", "keyfile": "there"}, "no such file"),
        ({"origins": ("friend.example",)}, "https://"),
    ],
)
def test_settings_that_cannot_work_are_named(tmp_path, changes, words):
    changes = {name: tmp_path / text if name.endswith("file") else text for name, text in changes.items()}
    with pytest.raises(ConfigError, match=words):
        check(Settings({"small": tmp_path}, **changes), no_auth=False)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for 127.0.0.1 that signs itself, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    subject = ["-subj", "/CN=anyscene", "-addext", "subjectAltName=IP:127.0.0.1"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    subprocess.run([*made, "-out", str(cert), "-keyout", str(key)], check=True, capture_output=True)
    return cert, key


def test_over_tls_pages_and_streams_work_and_plain_http_does_not(servers, model_file, photo, certificate):
    cert, key = certificate
    server = servers.start(
        models={"small": str(model_file)}, certfile=str(cert), keyfile=str(key), limits=PATIENT
    )
    trust = ssl.create_default_context(cafile=str(cert))
    assert server.url.startswith("https://")
    answer = httpx.post(
        f"{server.url}/v1/label", content=photo, headers={"origin": server.url}, verify=trust, timeout=60
    )
    assert answer.status_code == 200
    assert "max-age" in answer.headers["strict-transport-security"]
    with connect(
        f"wss://127.0.0.1:{server.port}/v1/live", ssl=trust, origin=server.url, open_timeout=60
    ) as socket:
        socket.send(photo)
        assert "error" not in socket.recv(timeout=60)
    with pytest.raises(httpx.TransportError):
        httpx.get(f"http://127.0.0.1:{server.port}/")


def test_a_tls_handshake_that_never_ends_is_cut_off(servers, model_file, certificate):
    cert, key = certificate
    limits = {**PATIENT, "header_seconds": 2.0}
    server = servers.start(
        models={"small": str(model_file)}, certfile=str(cert), keyfile=str(key), limits=limits
    )
    begun = time.monotonic()
    with socket.create_connection(("127.0.0.1", server.port), 10) as opened:
        opened.settimeout(40)
        assert opened.recv(1) == b""
    assert time.monotonic() - begun < 30  # asyncio alone would wait for a minute


def test_a_key_that_does_not_fit_is_told(servers, model_file, certificate, tmp_path):
    cert, _ = certificate
    command = ["--certfile", str(cert), "--keyfile", str(cert), "--port", "0"]
    done = subprocess.run(
        [sys.executable, "-m", "anyscene", "serve", "--model", str(model_file), *command],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert "are not a certificate and its key" in " ".join(done.stderr.split())

import asyncio
import json
import re
import time
from io import BytesIO

import httpx
import numpy as np
import pytest
from PIL import Image

from anyscene.server.asks import FIELDS
from anyscene.server.config import Settings
from anyscene.server.page_files import page_files
from anyscene.server.routes import counted
from anyscene.server.running import make_app
from anyscene.server.service import Service
from tests.server.conftest import packed, wait_for


def label(server, data, query="", **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.post(f"{server.url}/v1/label{query}", content=data, headers=named, timeout=30)


pytestmark = pytest.mark.usefixtures("nobody_else")


@pytest.fixture
def client(server):
    with httpx.Client(base_url=server.url, timeout=30) as opened:
        yield opened


def test_the_answer_is_a_palette_png_of_ids(server, engine, scene, photo):
    answer = label(server, photo)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "image/png"
    ids = np.asarray(Image.open(BytesIO(answer.content)))
    assert (ids == engine.label(scene).labels).mean() > 0.99


def test_headers_tell_what_was_done(server, photo):
    headers = label(server, photo, "?budget=20s").headers
    stages = dict(re.findall(r"(\w+);dur=([\d.]+)", headers["server-timing"]))
    assert list(stages) == ["queue", "decode", "label", "encode"]
    assert headers["anyscene-deadline-met"] == "true"
    assert 0 < float(headers["anyscene-confidence"]) <= 1
    assert headers["anyscene-plan"] != "none"
    assert 0 < float(headers["anyscene-label-budget-ms"]) < 20_000


def test_waiting_and_decoding_are_taken_off_the_budget(server, photo):
    headers = label(server, photo, x_request_deadline_ms="20000").headers
    stages = {name: float(ms) for name, ms in re.findall(r"(\w+);dur=([\d.]+)", headers["server-timing"])}
    assert float(headers["anyscene-label-budget-ms"]) < 20_000 - stages["queue"] - stages["decode"]


def test_time_counts_from_the_arrival_of_the_whole_request(server, photo):
    pause_ms = 1000.0

    def slowly():
        yield photo[:100]
        time.sleep(pause_ms / 1e3)
        yield photo[100:]

    def counts_from_its_last_byte():
        """Try again if the machine had other things to do for as long as the sender paused."""
        timing = label(server, slowly(), "?budget=20s").headers["server-timing"]
        return float(re.match(r"queue;dur=([\d.]+)", timing)[1]) < pause_ms / 2

    wait_for(counts_from_its_last_byte)


def test_labeling_ends_when_it_is_as_sure_as_was_asked(server, photo):
    whole, sure = (label(server, photo, query).headers for query in ("?until=1", "?until=0.01"))
    assert whole["anyscene-plan"] != "none"
    assert sure["anyscene-plan"] == "none"
    assert sure["anyscene-is-prior"] == "true"


def test_a_budget_can_count_for_labeling_alone(server, photo):
    answer = label(server, photo, "?budget=0.2ms&clock=labeling")
    assert answer.status_code == 200
    assert float(answer.headers["anyscene-label-budget-ms"]) == 0.2
    assert "anyscene-deadline-met" not in answer.headers


def test_json_npz_and_overlay_agree(server, scene, photo):
    told = label(server, photo, accept="application/json").json()
    loaded = np.load(BytesIO(label(server, photo, accept="application/x-npz").content))
    areas = {one["category_id"] - 1: one["area"] for one in told["annotations"]}
    assert areas == {index: int((loaded["labels"] == index).sum()) for index in areas}
    overlay = np.asarray(Image.open(BytesIO(label(server, photo, "?format=overlay").content)))
    assert overlay.shape == scene.shape


def test_forms_are_taken(client, photo):
    answer = client.post("/v1/label", files={"image": photo}, data={"budget": "20s", "format": "json"})
    assert answer.status_code == 200
    assert answer.json()["width"] == 120


@pytest.mark.parametrize("kind", ["JPEG", "WEBP", "GIF", "BMP"])
def test_every_usual_kind_of_picture_is_taken(server, scene, kind):
    assert label(server, packed(scene, kind)).status_code == 200


def test_a_photo_is_turned_upright(server, scene):
    exif = Image.Exif()
    exif[0x0112] = 6  # on its side
    answer = label(server, packed(scene, "JPEG", exif=exif))
    assert Image.open(BytesIO(answer.content)).size == (90, 120)
    assert answer.headers["anyscene-size"] == "90x120"


@pytest.mark.parametrize(
    ("data", "query", "status"),
    [
        (b"", "", 400),
        (b"hello", "", 415),
        (b"photo", "?budget=soon", 400),
        (b"photo", "?model=other", 404),
        (b"photo", "?file=/etc/passwd", 400),
        (b"photo", "?budget=1ms&budget=20s", 400),
    ],
)
def test_what_cannot_be_answered_is_one_clear_sentence(server, photo, data, query, status):
    answer = label(server, photo if data == b"photo" else data, query)
    assert answer.status_code == status
    assert set(answer.json()) == {"error", "reason"}
    assert "Traceback" not in answer.text


def test_a_budget_that_no_labels_fit_in_is_refused_at_once(server, photo):
    answer = label(server, photo, "?budget=0.05ms")
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) >= 1
    assert "0.05 ms" in answer.json()["error"]


def test_models_tell_their_classes_and_colours(client, engine):
    (model,) = client.get("/v1/models").json()["models"]
    assert model["name"] == "small"
    assert [one["name"] for one in model["classes"]] == list(engine.classes.names)
    assert [one["color"] for one in model["classes"]] == np.asarray(engine.classes.palette).tolist()


def test_health_and_metrics(server, client, photo):
    assert client.get("/healthz").status_code == client.get("/readyz").status_code == 200
    before = server.metric("anyscene_requests_total")
    label(server, photo, "?budget=20s")
    label(server, b"nothing")
    assert server.metric("anyscene_requests_total") == before + 2
    assert server.metric("anyscene_queue_bytes") == 0  # nothing is in hand any more
    text = client.get("/metrics").text
    for name in ("late", "refused", "queue_length", "budget_given", "budget_used", "plans", "workers"):
        assert f"anyscene_{name}" in text


def test_every_answer_has_the_security_headers(client, photo):
    answers = [client.get("/"), client.get("/nowhere"), client.post("/v1/label", content=photo)]
    for answer in answers:
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "server" not in answer.headers
        assert "access-control-allow-origin" not in answer.headers


def test_a_defect_of_ours_is_told_to_who_runs_the_server_and_not_to_the_client(model_file, capfd):
    async def broken(_):
        raise LookupError("a secret")

    service = Service(Settings({"small": model_file}))
    answer = asyncio.run(counted(service, "/broken", broken)(None))
    assert answer.status_code == 500
    assert b"secret" not in answer.body
    assert "a secret" in capfd.readouterr().err
    assert b'requests_total{route="/broken",status="500"} 1.0' in service.metrics.text()


def test_what_is_not_there_is_told_as_json(client):
    assert client.get("/nowhere").status_code == 404
    assert client.get("/page/../../../../etc/passwd").status_code == 404
    assert client.get("/v1/label").status_code == 405
    assert "error" in client.get("/nowhere").json()


def test_the_interface_is_described(client, model_file):
    described = client.get("/openapi.json").json()
    app = make_app(Service(Settings({"small": model_file})))
    served = {route.path for route in app.routes} - page_files().keys()
    same = {path for path in served if "/versions/1" in path}  # of the only version a model has
    assert described["paths"].keys() == served - same
    told = described["paths"]["/v1/label"]["post"]["parameters"]
    assert {one["name"] for one in told if one["in"] == "query"} == FIELDS
    page = client.get("/docs").text
    assert not re.search(r"(src|href)=\"https?://", page)
    assert json.loads(json.dumps(described))["openapi"].startswith("3.")

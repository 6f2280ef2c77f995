"""The Open Inference Protocol, with Triton's own client."""

import json
from contextlib import suppress
from types import SimpleNamespace

import httpx
import numpy as np
import pytest

from anyscene.server.asks import Refusal
from anyscene.server.config import Settings
from anyscene.server.inference_v2 import _understand
from anyscene.server.service import Service
from tests.hostile.mutators import ODD_VALUES

httpclient = pytest.importorskip("tritonclient.http", reason="tritonclient[http] is not installed")
from tritonclient.utils import InferenceServerException  # noqa: E402

pytestmark = pytest.mark.usefixtures("nobody_else")


@pytest.fixture
def client(server):
    opened = httpclient.InferenceServerClient(f"127.0.0.1:{server.port}")
    yield opened
    opened.close()


ONE_PIXEL = b'{"inputs": [{"name": "image", "datatype": "UINT8", "shape": [1, 1, 3], "data": [1, 2, 3]}]}'


def image_input(image):
    given = httpclient.InferInput("image", list(image.shape), "UINT8")
    given.set_data_from_numpy(image)
    return given


def test_the_server_and_its_models_are_described(client):
    assert client.is_server_live()
    assert client.is_server_ready()
    assert client.is_model_ready("small")
    assert not client.is_model_ready("other")
    assert client.get_server_metadata()["name"] == "anyscene"
    described = client.get_model_metadata("small")
    assert described["inputs"] == [{"name": "image", "datatype": "UINT8", "shape": [-1, -1, 3]}]


def test_labels_are_those_of_the_engine(client, engine, scene):
    found = client.infer("small", [image_input(scene)])
    labels = found.as_numpy("labels")
    assert labels.dtype == np.int16
    assert (labels == engine.label(scene).labels).mean() > 0.99


def test_a_batch_of_one_keeps_its_shape(client, scene):
    found = client.infer("small", [image_input(scene[None])])
    assert found.as_numpy("labels").shape == (1, *scene.shape[:2])


def test_confidence_comes_when_asked_for(client, scene):
    outputs = [httpclient.InferRequestedOutput(name) for name in ("labels", "confidence")]
    found = client.infer("small", [image_input(scene)], outputs=outputs)
    assert 0 < found.as_numpy("confidence").mean() <= 1
    assert found.as_numpy("labels").shape == scene.shape[:2]


def test_json_tensors_are_understood(client, scene):
    given = httpclient.InferInput("image", list(scene.shape), "UINT8")
    given.set_data_from_numpy(scene, binary_data=False)
    outputs = [httpclient.InferRequestedOutput("labels", binary_data=False)]
    assert client.infer("small", [given], outputs=outputs).as_numpy("labels").shape == scene.shape[:2]


def test_tritons_timeout_is_the_budget(client, scene):
    found = client.infer("small", [image_input(scene)], timeout=20_000_000, priority=1)
    assert found.get_response()["parameters"] == {"deadline_met": True}
    with pytest.raises(InferenceServerException, match=r"no labels can be there within 0\.05 ms"):
        client.infer("small", [image_input(scene)], timeout=50)


def test_wrong_tensors_are_told(client, server, scene):
    wrong = httpclient.InferInput("image", [*scene.shape], "FP32")
    wrong.set_data_from_numpy(scene.astype(np.float32))
    with pytest.raises(InferenceServerException, match="UINT8"):
        client.infer("small", [wrong])
    grey = httpclient.InferInput("image", [90, 120], "UINT8")
    grey.set_data_from_numpy(np.ascontiguousarray(scene[..., 0]))
    with pytest.raises(InferenceServerException, match="height, width, 3"):
        client.infer("small", [grey])
    with pytest.raises(InferenceServerException, match="no model 'other'"):
        client.infer("other", [image_input(scene)])
    with pytest.raises(InferenceServerException, match="no output 'depth'"):
        client.infer("small", [image_input(scene)], outputs=[httpclient.InferRequestedOutput("depth")])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"inputs": 3}',
        b"[" * 100_000,
        b'{"inputs": [{"name": "image", "datatype": "UINT8", "shape": [1, 1, 3], "data": [1, 2, 999]}]}',
        b'{"inputs": [{"name": "image", "datatype": "UINT8", "shape": [9, 9, 3], "data": [1, 2]}]}',
        b'{"inputs": [{"name": "image", "datatype": "UINT8", "shape": [99999, 99999, 3], "data": []}]}',
        b'{"inputs": [{"name": "image", "datatype": "UINT8", "shape": [1, 1, 3], "data": [1, 2, 3]}], '
        b'"parameters": {"priority": "x"}}',
        ONE_PIXEL.replace(b"[1, 1, 3]", b"[1, Infinity, 3]"),
        ONE_PIXEL.replace(b'"data"', b'"parameters": {"binary_data_size": Infinity}, "data"'),
        ONE_PIXEL[:-1] + b', "parameters": {"timeout": 1' + b"0" * 400 + b"}}",
        ONE_PIXEL[:-1] + rb', "parameters": {"priority": "\ud800"}}',
        ONE_PIXEL[:-1] + rb', "outputs": [{"name": "\ud800"}]}',
    ],
)
def test_hostile_bodies_are_refused(server, body):
    answer = httpx.post(f"{server.url}/v2/models/small/infer", content=body)
    assert answer.status_code in (400, 413)
    assert "error" in answer.json()


def test_whatever_is_asked_is_understood_or_refused(model_file):
    service = Service(Settings({"small": model_file}))
    service.models = {"small": {}}
    values = (*ODD_VALUES, "\ud800", 10**400, [[[]]], {"binary_data_size": float("inf")})
    random = np.random.default_rng(0)
    for _ in range(3000):
        pixel = {"name": "image", "datatype": "UINT8", "shape": [1, 1, 3], "data": [1, 2, 3]}
        outputs = [{"name": "labels", "parameters": {"binary_data": True}}]
        asked = {"id": "1", "parameters": {"timeout": 9, "priority": 1}, "outputs": outputs}
        parts = [pixel, pixel["shape"], asked, asked["parameters"], outputs[0], outputs[0]["parameters"]]
        part = parts[random.integers(len(parts))]
        keys = list(part) if isinstance(part, dict) else range(len(part))
        part[keys[random.integers(len(keys))]] = values[random.integers(len(values))]
        document = json.dumps({**asked, "inputs": [pixel]}).encode()
        with suppress(Refusal):
            _understand(SimpleNamespace(headers={}), document, "small", service)


@pytest.mark.parametrize("length", ["²", "9" * 5000, "-1", "0x10", "7"])
def test_a_wrong_length_of_the_json_is_refused(server, length):
    headers = {"inference-header-content-length": length.encode("latin-1")}
    answer = httpx.post(f"{server.url}/v2/models/small/infer", content=ONE_PIXEL, headers=headers)
    assert answer.status_code == 400
    assert "error" in answer.json()

"""The Open Inference Protocol, version 2, for the same models: what KServe and Triton speak over HTTP.

Tensors come as binary data behind a JSON header (`Inference-Header-Content-Length`), as Triton's clients send
them, or inside of the JSON if they are small.
"""

from __future__ import annotations

import json
import re
from array import array
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

import anyscene
from anyscene.server.asks import (
    Picture,
    Refusal,
    Wish,
    check_pixels,
    checked_budget,
    priority_of,
    wish_from,
)
from anyscene.server.bodies import body_of
from anyscene.server.responses import answer_headers
from anyscene.server.routes import LabelingEndpoint, counted, is_gone, is_met
from anyscene.server.service import Answer, Service

HEADER_LENGTH = "inference-header-content-length"

MOST_JSON_BYTES = 256 * 1024
"""Reading JSON holds up everybody else; larger tensors must come as binary data."""

MOST_JSON_PIXELS = 2**16
"""Of outputs that are wanted as JSON, for the same reason."""

INPUT = {"name": "image", "datatype": "UINT8", "shape": [-1, -1, 3]}
OUTPUTS = {
    "labels": {"name": "labels", "datatype": "INT16", "shape": [-1, -1]},
    "confidence": {"name": "confidence", "datatype": "FP32", "shape": [-1, -1]},
}
SIZES = {"INT16": 2, "FP32": 4}
LETTERS = {"INT16": "h", "FP32": "f"}


@dataclass(frozen=True)
class Inference:
    """A request that was understood. outputs : names, and whether each is wanted as binary data."""

    wish: Wish
    picture: Picture
    outputs: dict[str, bool]
    id: str | None
    batched: bool


def routes(service: Service) -> list[BaseRoute]:
    """All routes of the protocol."""

    async def live(_: Request) -> Response:
        return PlainTextResponse("")

    async def ready(_: Request) -> Response:
        return PlainTextResponse("", 200 if service.ready_links and not service.is_stopping else 503)

    async def about(_: Request) -> Response:
        extensions = ["binary_tensor_data", "schedule_policy"]
        return JSONResponse({"name": "anyscene", "version": anyscene.__version__, "extensions": extensions})

    async def model(request: Request) -> Response:
        name = _model(service, request)
        return JSONResponse(
            {
                "name": name,
                "versions": ["1"],
                "platform": "anyscene",
                "inputs": [INPUT],
                "outputs": list(OUTPUTS.values()),
                "parameters": {"classes": ", ".join(service.models[name]["classes"])},
            }
        )

    async def model_ready(request: Request) -> Response:
        _model(service, request)
        return await ready(request)

    infer = LabelingEndpoint(service, "/v2/infer", _infer)
    paths = ("/v2/models/{name}", "/v2/models/{name}/versions/1")
    return [
        Route("/v2", counted(service, "/v2", about)),
        Route("/v2/health/live", live),
        Route("/v2/health/ready", ready),
        *(Route(path, counted(service, "/v2/models", model)) for path in paths),
        *(Route(f"{path}/ready", counted(service, "/v2/models", model_ready)) for path in paths),
        *(Route(f"{path}/infer", infer, methods=["POST"]) for path in paths),
    ]


def _model(service: Service, request: Request) -> str:
    name = str(request.path_params["name"])
    if name not in service.models:
        known = ", ".join(service.models)
        raise Refusal(404, "wrong", f"there is no model '{name[:80]}' here; there are {known}")
    return name


async def _infer(service: Service, request: Request) -> tuple[Answer, Response]:
    """Answer `POST /v2/models/NAME/infer`."""
    model = _model(service, request)
    async with body_of(request, service) as body:
        wanted = _understand(request, body.data, model, service)
        answer = await service.label(wanted.wish, wanted.picture, body.arrived, is_gone(request))
    return answer, _response(wanted, answer)


def _understand(request: Request, body: bytes, model: str, service: Service) -> Inference:
    """Read an inference request; raise a Refusal that says what is wrong with it."""
    header, tail = _split(request, body)
    try:
        (given,) = header["inputs"]
        shape = [int(side) for side in given["shape"]]
        named, kind = given["name"], given["datatype"]
        parameters = dict(header.get("parameters", {}))
        outputs = _outputs(header, parameters)
        size = given.get("parameters", {}).get("binary_data_size")
        data = tail[: int(size)] if size is not None else _flat(given["data"])
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError):
        raise Refusal(
            400, "wrong", "an inference request has one input with name, datatype, shape and data"
        ) from None
    if named != INPUT["name"] or kind != INPUT["datatype"]:
        raise Refusal(400, "wrong", "the input is called 'image' and its datatype is UINT8")
    batched = len(shape) == 4 and shape[0] == 1
    if batched:
        shape = shape[1:]
    if len(shape) != 3 or shape[2] != 3 or min(shape) < 1:
        raise Refusal(400, "wrong", f"the input's shape is [height, width, 3], found {shape[:8]}")
    height, width, _ = shape
    check_pixels(width, height, service.settings.limits.pixels)
    if len(data) != height * width * 3:
        raise Refusal(
            400, "wrong", f"the input has {len(data)} bytes, its shape asks for {height * width * 3}"
        )
    if width * height > MOST_JSON_PIXELS and not all(outputs.values()):
        raise Refusal(
            413,
            "too large",
            f"JSON is written for up to {MOST_JSON_PIXELS} pixels; ask for outputs as binary data",
        )
    wish = _wish(request, parameters, model, service)
    return Inference(wish, Picture(data, "raw", width, height), outputs, header.get("id"), batched)


def _split(request: Request, body: bytes) -> tuple[dict[str, Any], bytes]:
    """The JSON of a request, and the binary data after it."""
    length = request.headers.get(HEADER_LENGTH, str(len(body)))
    if not re.fullmatch(r"[0-9]{1,9}", length) or int(length) > len(body):
        raise Refusal(400, "wrong", "Inference-Header-Content-Length is the length of the JSON in the body")
    if int(length) > MOST_JSON_BYTES:
        raise Refusal(
            413,
            "too large",
            f"JSON is taken up to {MOST_JSON_BYTES // 1024} KiB; send tensors as binary data behind it",
        )
    try:
        header = json.loads(body[: int(length)])
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise Refusal(400, "wrong", "the body is not the JSON of an inference request")
    return header, body[int(length) :]


def _flat(data: Any) -> bytes:
    """Bytes of numbers that may be nested by rows and pixels."""
    while data and isinstance(data[0], list):
        data = [number for part in data for number in part]
    return bytes(data)


def _outputs(header: dict[str, Any], parameters: dict[str, Any]) -> dict[str, bool]:
    all_binary = bool(parameters.get("binary_data_output", False))
    asked = header.get("outputs") or [{"name": "labels"}]
    outputs = {
        str(one["name"]): bool(one.get("parameters", {}).get("binary_data", all_binary)) for one in asked
    }
    for name in outputs:
        if name not in OUTPUTS:
            raise Refusal(400, "wrong", f"there is no output '{name[:40]}'; there are {', '.join(OUTPUTS)}")
    return outputs


def _wish(request: Request, parameters: dict[str, Any], model: str, service: Service) -> Wish:
    """Triton's timeout is in microseconds, and its priority 0 is the usual one."""
    headers = wish_from(
        {}, {**request.headers, "accept": "*/*"}, service.models, service.settings.default_model
    )
    budgets = [] if headers.budget_ms is None else [headers.budget_ms]
    if parameters.get("timeout"):
        try:
            budgets.append(checked_budget(float(parameters["timeout"]) / 1e3))
        except (TypeError, ValueError, OverflowError):
            raise Refusal(400, "wrong", "timeout is a number of microseconds") from None
    priority = priority_of(parameters.get("priority", 0))
    return Wish(model, min(budgets, default=None), priority=priority, answer="tensor")


def _response(wanted: Inference, answer: Answer) -> Response:
    width, height = answer.head["size"]
    pixels = width * height
    split = pixels * SIZES["INT16"]
    data = {"labels": answer.body[:split], "confidence": answer.body[split:]}
    outputs, tail = [], b""
    for name, binary in wanted.outputs.items():
        kind = str(OUTPUTS[name]["datatype"])
        output: dict[str, Any] = {
            "name": name,
            "datatype": kind,
            "shape": [1, height, width] if wanted.batched else [height, width],
        }
        if binary:
            output["parameters"] = {"binary_data_size": len(data[name])}
            tail += data[name]
        else:
            output["data"] = array(LETTERS[kind], data[name]).tolist()
        outputs.append(output)
    met = is_met(answer)
    document: dict[str, Any] = {
        "model_name": answer.job.wish.model,
        "model_version": "1",
        "outputs": outputs,
        "parameters": {} if met is None else {"deadline_met": met},
    }
    if wanted.id is not None:
        document["id"] = str(wanted.id)
    text = json.dumps(document).encode()
    headers = answer_headers(answer, met)
    if tail:
        headers["inference-header-content-length"] = str(len(text))
    return Response(
        text + tail, media_type="application/octet-stream" if tail else "application/json", headers=headers
    )

"""A worker process: all models loaded and warm, one request at a time; decodes, labels, encodes."""

from __future__ import annotations

import contextlib
import gc
import io
import math
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from anyscene.data.images import decode_image
from anyscene.engine import Engine, load
from anyscene.errors import AnysceneError, ImageError
from anyscene.features.hypercolumn.watchdog import GivenUp
from anyscene.labeling import Labeling
from anyscene.processes import end_with_parent
from anyscene.server import wire
from anyscene.server.answers import encode, mean_confidence
from anyscene.server.asks import FORMATS
from anyscene.server.estimates import SURE_DEVIATIONS, Estimates, high_of_sum
from anyscene.server.live_state import LiveStates, networks_of
from anyscene.server.turns import take_short_turns

PICTURE_KINDS = ("PNG", "JPEG", "WEBP", "GIF", "BMP")
"""What is decoded; Pillow knows more, with older and less tested decoders."""

WARM_SIZES = ((160, 120, 3), (480, 360, 3), (1600, 1200, 1))
"""Pictures that stages are measured with before the first request: width, height, and how often."""

WARM_BUDGETS_MS = (
    *(0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0),
    *(8.0, 10.0, 12.0, 16.0, 20.0, 24.0, 32.0, 64.0, 128.0),
)
"""The first of these within which there are labels is what first labels take; and so with a first look."""

FULL_COLLECTION = 500
"""After so many requests all garbage is collected, not only the youngest."""


ENDING_SECONDS = 2e-4
"""A network's run is ended again after this time: it may have been just about to begin."""


def run(end: socket.socket, way: socket.socket, models: Mapping[str, str], most_pixels: int) -> None:
    """Serve until the other end of the connection closes. way : tells which request is to give way."""
    # Signals are meant for the parent, which lets us finish what was taken.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()
    _silence_libraries()
    try:
        engines = {name: load(path) for name, path in models.items()}
        worker = _Worker(engines, most_pixels)
        measured = worker.warm_up()
    except AnysceneError as error:
        end.sendall(wire.pack({"failed": str(error)}))
        return
    gc.collect()
    gc.freeze()  # what is loaded stays; collections need not look at it
    gc.disable()
    threading.Thread(target=worker.give_way, args=(way,), daemon=True).start()
    about = {name: _about(engine) for name, engine in engines.items()}
    end.sendall(wire.pack({"ready": about, "measured": measured}))
    with contextlib.suppress(EOFError, ConnectionError, BrokenPipeError):
        served = 0
        while True:
            head, data = wire.receive(end)
            received = time.perf_counter()
            if "close" in head:
                worker.live.close(head["close"])
                continue
            worker.live.make_way(head["session"])
            reply, body = worker.serve(head, data, received)
            end.sendall(wire.pack({**reply, "id": head["id"], "sent": time.perf_counter()}, body))
            del data, body
            served += 1
            gc.collect(2 if served % FULL_COLLECTION == 0 else 1)  # between requests, never inside of one


def _silence_libraries() -> None:
    """Keep decoders from writing a line for each damaged picture; what this process itself says stays."""
    sys.stderr = os.fdopen(os.dup(2), "w", buffering=1)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)


def _about(engine: Engine) -> dict[str, Any]:
    classes = engine.classes
    return {"classes": list(classes.names), "palette": np.asarray(classes.palette).tolist()}


class _Worker:
    """What a worker keeps from request to request."""

    def __init__(self, engines: Mapping[str, Engine], most_pixels: int) -> None:
        self.live = LiveStates(engines)
        self._engines = engines
        self._most_pixels = most_pixels
        self._estimates = Estimates()
        self._networks = networks_of(engines.values())
        self._labels: int | None = None  # the request that is being labelled
        self._gives_way: int | None = None

    def warm_up(self) -> list[tuple[str, str, int, float]]:
        """Run all that requests run, and measure it: (stage, kind, pixels, milliseconds)."""
        measured = []
        for width, height, rounds in WARM_SIZES:
            image = _scene(width, height)
            pixels = width * height
            for name in ("JPEG", "PNG", "WEBP", "BMP"):
                data = _packed(image, name)
                ms = _time(partial(decode_image, data, self._most_pixels, PICTURE_KINDS), rounds)
                measured.append(("decode", name.lower(), pixels, ms))
            for name, engine in self._engines.items():
                first_ms, look_ms = _first_budgets_ms(engine, image)
                measured.append(("first", name, pixels, first_ms))
                measured.append(("look", name, pixels, look_ms))
                labeling = engine.label(image)
                measured.append(("whole", name, pixels, labeling.cost))
            for answer in (*FORMATS, "tensor"):
                ms = _time(partial(encode, labeling, image, answer), rounds)
                measured.append(("encode", answer, pixels, ms))
        self._estimates = Estimates(measured)
        return measured

    def serve(self, head: dict[str, Any], data: bytearray, received: float) -> tuple[dict[str, Any], bytes]:
        """Answer one request; whatever is wrong with it is told, not raised."""
        try:
            image = self._decode(head, data)
        except ImageError as error:
            return {"error": str(error), "status": 400, "reason": "wrong"}, b""
        try:
            return self._answer(head, image, received)
        except GivenUp:
            return {"gave_way": True}, b""
        except AnysceneError as error:
            return {"error": str(error), "status": 400, "reason": "wrong"}, b""
        except MemoryError:
            message = "there is too little memory for this picture; scale it down"
            return {"error": message, "status": 413, "reason": "too large"}, b""
        except Exception as error:  # a defect of ours: told to whoever runs the server, not to the client
            print(f"anyscene: a request failed: {error!r}", file=sys.stderr, flush=True)
            return {"error": "the server failed on this request", "status": 500, "reason": "failed"}, b""

    def _decode(self, head: dict[str, Any], data: bytearray) -> NDArray[np.uint8]:
        if head["kind"] == "raw":
            return np.frombuffer(data, np.uint8).reshape(head["height"], head["width"], 3)
        return decode_image(bytes(data), self._most_pixels, PICTURE_KINDS)

    def _answer(
        self, head: dict[str, Any], image: NDArray[np.uint8], received: float
    ) -> tuple[dict[str, Any], bytes]:
        decoded = time.perf_counter()
        pixels, answer = image.shape[0] * image.shape[1], head["answer"]
        budget = self._budget(head, pixels, decoded)
        labeling = self._label(head, image, budget, received)
        given = min(budget, head["aim_ms"])
        labelled = time.perf_counter()
        confidence = mean_confidence(labeling)
        body = encode(labeling, image, answer)
        encoded = time.perf_counter()
        stages = {
            "decode": (decoded - received) * 1e3,
            "label": (labelled - decoded) * 1e3,
            "encode": (encoded - labelled) * 1e3,
        }
        self._estimates.note("encode", answer, pixels, stages["encode"])
        if budget < math.inf:
            self._estimates.note("overrun", "", 1, max(0.0, stages["label"] - budget))
        return {
            "received": received,
            "stages": stages,
            "pixels": pixels,
            "size": [image.shape[1], image.shape[0]],
            "budget_ms": given if given < math.inf else None,
            "plan": [step.action for step in labeling.trace],
            "steps": [round(step.actual_ms, 3) for step in labeling.trace],
            "confidence": confidence,
            "is_prior": labeling.is_prior,
            "age_ms": labeling.age_ms,
        }, body

    def _budget(self, head: dict[str, Any], pixels: int, now: float) -> float:
        """What is left for labeling, in milliseconds; infinity for as long as it pays."""
        after = (self._estimates.of("encode", head["answer"], pixels), self._estimates.of("overrun", ""))
        left_ms = (head["finish_by"] - now) * 1e3 - high_of_sum(after, SURE_DEVIATIONS)
        return float(min(head["label_ms"], max(0.0, left_ms)))

    def _label(
        self, head: dict[str, Any], image: NDArray[np.uint8], budget: float, received: float
    ) -> Labeling:
        if head["session"] is not None:
            within = min(budget, head["aim_ms"])
            return self.live.label(head["session"], head["model"], image, received, within)
        self._labels = head["id"]
        try:
            if self._gives_way == self._labels:
                raise GivenUp
            engine = self._engines[head["model"]]
            return engine.label(
                image, _spelled(budget), until=head["until"], confidence=True, aim_ms=head["aim_ms"]
            )
        finally:
            self._labels = None

    def give_way(self, way: socket.socket) -> None:
        """Give up the requests that are named, one after the other, until the connection closes."""
        take_short_turns()  # or the run that is to be ended would first finish its own turn
        while number := way.recv(wire.NUMBER.size):
            (self._gives_way,) = wire.NUMBER.unpack(number)
            while self._labels == self._gives_way:
                for network in self._networks:
                    network.end_runs(GivenUp)
                time.sleep(ENDING_SECONDS)


def _spelled(budget: float) -> str | None:
    """A budget with its unit: bare numbers below one look like seconds, and are warned of."""
    return None if budget == math.inf else f"{budget:.3f}ms"


def _time(call: Callable[[], object], rounds: int) -> float:
    """The median of some calls, in milliseconds, after one that does not count."""
    call()
    spent = []
    for _ in range(rounds):
        begun = time.perf_counter()
        call()
        spent.append((time.perf_counter() - begun) * 1e3)
    return float(np.median(spent))


def _first_budgets_ms(engine: Engine, image: NDArray[np.uint8]) -> tuple[float, float]:
    """The shortest budgets for first labels, and for better ones: with the smallest look of a network."""
    first_ms, first = math.inf, set[str]()
    for budget in WARM_BUDGETS_MS:
        traces = [engine.label(image, _spelled(budget), confidence=True).trace for _ in range(3)]
        last = {trace[-1].action for trace in traces if trace}
        if first and not last & first:
            return first_ms, budget
        if not first and all(traces):
            first_ms, first = budget, last
    whole_ms = engine.label(image).cost
    return min(first_ms, whole_ms), whole_ms


def _scene(width: int, height: int) -> NDArray[np.uint8]:
    """A picture that compresses about as photos do: coarse shapes under fine noise."""
    random = np.random.default_rng(0)
    coarse = Image.fromarray(random.integers(0, 256, (9, 12, 3), dtype=np.uint8)).resize((width, height))
    noise = random.normal(0, 8, (height, width, 1))
    return np.clip(np.asarray(coarse) + noise, 0, 255).astype(np.uint8)


def _packed(image: NDArray[np.uint8], kind: str) -> bytes:
    file = io.BytesIO()
    Image.fromarray(image).save(file, kind)
    return file.getvalue()

"""The rival of `bench server`: LitServe with the same network, run whole at full size for each request.

.venv-bench/bin/python benchmarks/litserve_rival.py MODEL PORT
"""

from __future__ import annotations

import base64
import sys
from typing import Any

import cv2
import litserve
import numpy as np
from fastapi import Response

from anyscene.data.images import decode_image
from anyscene.engine import load
from anyscene.features import View
from anyscene.features.hypercolumn.ladder import RungScores
from anyscene.features.hypercolumn.rung import Rung

FULL_SIZE = Rung(1.0)


class FullSize(litserve.LitAPI):
    """Decode, one run of the network, labels as a PNG."""

    def setup(self, device: str) -> None:
        """Load the network on one thread."""
        engine = load(sys.argv[1])
        rungs = (known for known in engine.feature_sets if isinstance(known, RungScores))
        self.rung = next(rungs).at(FULL_SIZE)
        self.classes = len(engine.classes)

    def decode_request(self, request):  # type: ignore[no-untyped-def]  # LitServe takes annotations for schemas
        """Read the picture, which LitServe takes as base64 in JSON."""
        return decode_image(base64.b64decode(request["image"]))

    def predict(self, image: Any) -> Any:
        """Label it."""
        scores = self.rung.extract(View(image))[..., : self.classes]
        height, width = image.shape[:2]
        large = cv2.resize(scores, (width, height), interpolation=cv2.INTER_LINEAR)
        return large.reshape(height, width, -1).argmax(axis=2).astype(np.uint8)

    def encode_response(self, output: Any) -> Response:
        """Write the ids as a grey PNG."""
        data = cv2.imencode(".png", output, [cv2.IMWRITE_PNG_COMPRESSION, 1])[1].tobytes()
        return Response(data, media_type="image/png")


if __name__ == "__main__":
    server = litserve.LitServer(FullSize(), accelerator="cpu", workers_per_device=1, timeout=False)
    server.run(host="127.0.0.1", port=int(sys.argv[2]), generate_client_file=False, log_level="warning")

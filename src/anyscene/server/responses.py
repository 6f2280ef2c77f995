"""HTTP responses of the server: labels with their headers, refusals as one JSON sentence."""

from __future__ import annotations

import math
import sys

from starlette.responses import JSONResponse, Response

from anyscene.server.asks import FORMATS, Refusal
from anyscene.server.service import Answer

MOST_CHARACTERS = 1500
"""Of a header: proxies refuse answers whose headers have more than 4 KiB together."""


def refusal_response(refusal: Refusal) -> Response:
    """Say in one sentence why there are no labels."""
    headers = {}
    if refusal.retry_s is not None:
        headers["retry-after"] = str(math.ceil(refusal.retry_s))
    if refusal.status == 401:
        headers["www-authenticate"] = "Bearer"
    if refusal.status in (408, 413):
        headers["connection"] = "close"  # what is left of the body is not read
    body = {"error": refusal.message, "reason": refusal.reason}
    return JSONResponse(body, refusal.status, headers)


def failed_response(error: Exception) -> Response:
    """A defect of ours: told to whoever runs the server, not to the client."""
    print(f"anyscene: a request failed: {error!r}", file=sys.stderr, flush=True)
    return refusal_response(Refusal(500, "failed", "the server failed on this request"))


def answer_headers(answer: Answer, is_met: bool | None) -> dict[str, str]:
    """What the headers tell of an answer. is_met : whether the deadline is, None if there is none."""
    head = answer.head
    headers = {
        "server-timing": ", ".join(f"{name};dur={ms:.3f}" for name, ms in answer.stages.items()),
        "anyscene-model": answer.job.wish.model,
        "anyscene-plan": _cut("; ".join(head["plan"])) or "none",
        "anyscene-steps-ms": _cut(", ".join(map(str, head["steps"]))),
        "anyscene-confidence": f"{head['confidence']:.4f}",
        "anyscene-is-prior": str(head["is_prior"]).lower(),
        "anyscene-size": "x".join(map(str, head["size"])),
        "cache-control": "no-store",
    }
    if head["budget_ms"] is not None:
        headers["anyscene-label-budget-ms"] = f"{head['budget_ms']:.3f}"
    if is_met is not None:
        headers["anyscene-deadline-met"] = str(is_met).lower()
    return {name: value.encode("ascii", "replace").decode() for name, value in headers.items()}


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 3]}..."


def label_response(answer: Answer, is_met: bool | None) -> Response:
    """The labels, as the request asked for them."""
    media = FORMATS[answer.job.wish.answer]
    return Response(answer.body, media_type=media, headers=answer_headers(answer, is_met))

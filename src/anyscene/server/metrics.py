"""What the server counts, for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.process_collector import ProcessCollector

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
"""Bounds of the histograms."""

MOST_PLANS = 64
"""Sequences that are counted by name; further ones count as "other", so that memory stays bounded."""


class Metrics:
    """All counters of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self.requests = self._counter("requests", "Requests by route and status.", "route", "status")
        self.late = self._counter("late", "Answers that came after their deadline.", "model")
        self.refused = self._counter("refused", "Requests that were not labelled, by reason.", "reason")
        self.restarts = self._counter("worker_restarts", "Workers that ended and were replaced.")
        self.put_back = self._counter("put_back", "Requests that gave way to one that could not wait.")
        self.queue = Gauge("anyscene_queue_length", "Requests that wait.", registry=self._registry)
        self.queue_bytes = Gauge(
            "anyscene_queue_bytes", "Bytes of all bodies in hand.", registry=self._registry
        )
        self.workers = Gauge("anyscene_workers", "Workers that are ready.", registry=self._registry)
        self.live = Gauge("anyscene_live_streams", "Live streams that are open.", registry=self._registry)
        self.given = self._histogram("budget_given_seconds", "Budgets of requests.", "model")
        self.used = self._histogram("budget_used_seconds", "From arrival to the last byte.", "model")
        self.stages = self._histogram("stage_seconds", "Time in queue, decode, label, encode.", "stage")
        self._plans = self._counter("plans", "Sequences of actions that were taken.", "model", "plan")
        self._seen: set[tuple[str, str]] = set()

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"anyscene_{name}", text, labels, registry=self._registry)

    def _histogram(self, name: str, text: str, *labels: str) -> Histogram:
        return Histogram(f"anyscene_{name}", text, labels, registry=self._registry, buckets=SECONDS)

    def note_refused(self, reason: str) -> None:
        """A request was refused."""
        self.refused.labels(reason).inc()

    def note_plan(self, model: str, plan: str) -> None:
        """A request was labelled by this sequence."""
        if (model, plan) not in self._seen:
            if len(self._seen) >= MOST_PLANS:
                plan = "other"
            else:
                self._seen.add((model, plan))
        self._plans.labels(model, plan).inc()

    def text(self) -> bytes:
        """All counters, as Prometheus reads them."""
        return generate_latest(self._registry)

from pathlib import Path

from anyscene.server.config import Settings
from anyscene.server.service import Service


def test_a_server_that_was_starved_does_not_refuse_for_ever():
    service = Service(Settings({"small": Path("small.anyscene")}))
    usual = service.returning.high
    for _ in range(50):
        service.returning.note(400.0)  # answers waited that long for the processor
    assert service.returning.high > 100 * usual
    for _ in range(200):  # requests that seem not to fit, though nobody else is served
        service._forget()
    assert service.returning.high < 2 * usual

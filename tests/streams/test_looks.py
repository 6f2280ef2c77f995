"""What a stream may look by."""

from anyscene.engine.loading import bank_of
from anyscene.modelfile import load_model
from anyscene.streams.looks import rungs_to_look_by


def test_streams_look_by_the_first_network_alone(two_networks_file):
    rungs = rungs_to_look_by(bank_of(load_model(two_networks_file)).values())
    assert [rung.name for rung in rungs] == ["hypercolumn@250", "hypercolumn@375"]

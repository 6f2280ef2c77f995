import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.server import wire

messages = st.tuples(st.dictionaries(st.text(max_size=5), st.integers(), max_size=3), st.binary(max_size=300))


@given(st.lists(messages, max_size=8), st.integers(1, 50))
def test_messages_come_out_as_they_went_in_however_they_are_cut(sent, step):
    found = []
    reader = wire.Reader(lambda head, body: found.append((head, body)))
    data = b"".join(wire.pack(*message) for message in sent)
    for start in range(0, len(data), step):
        reader.feed(data[start : start + step])
    assert found == sent


def test_large_messages_pass_between_two_ends():
    ours, theirs = wire.connected_pair()
    body = bytes(5_000_000)
    sender = threading.Thread(target=ours.sendall, args=(wire.pack({"id": 1}, body),))
    sender.start()
    assert wire.receive(theirs) == ({"id": 1}, body)
    sender.join()
    ours.close()
    with pytest.raises(EOFError):
        wire.receive(theirs)

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.server.asks import FIRST, LAST, MOST_PARTS, USUAL, Refusal, form_from, picture_from, wish_from
from tests.server.conftest import packed

MODELS = {"small": {}, "other": {}}


def wish(fields=None, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return wish_from(fields or {}, named, MODELS, "small")


def test_without_a_word_it_is_the_default_model_and_no_limit():
    assert wish() == wish_from({}, {"accept": "*/*"}, MODELS, "small")
    assert wish().model == "small"
    assert wish().budget_ms is None


@pytest.mark.parametrize(("text", "ms"), [("20ms", 20), ("1.5s", 1500), ("30", 30), ("500us", 0.5)])
def test_budgets_are_read_as_everywhere(text, ms):
    assert wish({"budget": text}).budget_ms == ms


@given(st.integers(1, 10**6), st.integers(1, 99_999_999))
def test_the_tightest_deadline_counts(ms, micros):
    found = wish(x_request_deadline_ms=str(ms), grpc_timeout=f"{micros}u")
    assert found.budget_ms == pytest.approx(min(ms, micros / 1e3))


@pytest.mark.parametrize(
    ("fields", "headers"),
    [
        ({"budget": "soon"}, {}),
        ({"budget": "0"}, {}),
        ({"budget": "1e999s"}, {}),
        ({"budget": "-3ms"}, {}),
        ({"until": "1.5"}, {}),
        ({"until": "nan"}, {}),
        ({"priority": "12"}, {}),
        ({"clock": "wall"}, {}),
        ({"format": "tiff"}, {}),
        ({"path": "/etc/passwd"}, {}),
        ({}, {"grpc_timeout": "5x"}),
        ({}, {"x_request_deadline_ms": "soon"}),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(fields, headers):
    with pytest.raises(Refusal) as refused:
        wish(fields, **headers)
    assert refused.value.status == 400
    assert len(refused.value.message) > 20


def test_an_unknown_model_is_not_found():
    with pytest.raises(Refusal, match="there are other, small") as refused:
        wish({"model": "../../etc/passwd"})
    assert refused.value.status == 404


@pytest.mark.parametrize(
    ("accept", "answer"),
    [
        ("*/*", "ids"),
        ("image/*", "ids"),
        ("image/png;profile=overlay", "overlay"),
        ("application/json", "json"),
        ("application/x-npz", "npz"),
        ("text/html, application/json;q=0.5, image/png;q=0.9", "ids"),
        ("image/png;q=0, application/*", "json"),
    ],
)
def test_the_answer_is_what_accept_prefers(accept, answer):
    assert wish(accept=accept).answer == answer


def test_what_nobody_can_accept_is_refused():
    with pytest.raises(Refusal) as refused:
        wish(accept="text/html")
    assert refused.value.status == 406


def test_priorities_are_those_of_triton():
    assert [wish({"priority": text}).priority for text in ("0", "1", "9")] == [USUAL, FIRST, LAST]


def form(parts, boundary="xyz"):
    body = b"".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'.encode() + value + b"\r\n"
        for name, value in parts
    )
    return f"multipart/form-data; boundary={boundary}", body + f"--{boundary}--\r\n".encode()


@given(st.binary(max_size=300), st.text("abc09.", max_size=10))
def test_forms_carry_a_picture_and_fields(data, budget):
    image, fields = form_from(*form([("image", data), ("budget", budget.encode())]))
    assert image == data
    assert fields == {"budget": budget}


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("multipart/form-data", b""),
        form([("picture", b"abc")]),
        form([(f"n{n}", b"") for n in range(40)]),
        (form([])[0], form([("image", b"abc")])[1][:40]),
        (form([])[0], b"\xff" * 100),
        (form([])[0], b"--xyz"),
        (form([])[0], b"--xyz\r\nno end of the head"),
        (form([])[0], b"x" + form([("image", b"abc")])[1]),
        (f"multipart/form-data; boundary={'x' * 300}", form([("image", b"abc")])[1]),
    ],
)
def test_damaged_forms_are_refused(kind, body):
    with pytest.raises(Refusal) as refused:
        form_from(kind, body)
    assert refused.value.status == 400


@pytest.mark.parametrize("almost", [b"\r\n--xyz\r", b"\r\n--xy", b"\r\n"])
def test_a_form_of_what_looks_like_boundaries_takes_no_seconds(almost):
    head = b"--xyz\r\ncontent-disposition: form-data; name=image\r\n\r\n"
    body = head + almost * (2**25 // len(almost))
    begun = time.process_time()
    with pytest.raises(Refusal):
        form_from("multipart/form-data; boundary=xyz", body)
    assert time.process_time() - begun < 1.5


def test_a_form_has_a_bounded_number_of_parts():
    fields = [(f"n{number}", b"") for number in range(MOST_PARTS - 1)]
    assert form_from(*form([("image", b"abc"), *fields]))[0] == b"abc"
    with pytest.raises(Refusal, match="more than"):
        form_from(*form([("image", b"abc"), *fields, ("one more", b"")]))


@pytest.mark.parametrize("field", ["model", "clock", "format", "budget", "until", "priority", "x" * 5000])
def test_a_refusal_does_not_repeat_all_that_was_sent(field):
    with pytest.raises(Refusal) as refused:
        wish({field: "x" * 5000})
    assert len(refused.value.message) < 300


def test_pictures_are_judged_by_their_first_bytes(scene):
    picture = picture_from(packed(scene, "JPEG"), 10**6)
    assert (picture.kind, picture.width, picture.height) == ("jpeg", 120, 90)
    with pytest.raises(Refusal, match="120x90") as refused:
        picture_from(packed(scene), 100)
    assert refused.value.status == 413
    with pytest.raises(Refusal) as refused:
        picture_from(b"%PDF-1.4", 100)
    assert refused.value.status == 415


def test_a_jpeg_of_endless_scans_is_refused(scene):
    data = packed(scene, "JPEG")
    with pytest.raises(Refusal, match="scans"):
        picture_from(data + b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00" * 100, 10**6)

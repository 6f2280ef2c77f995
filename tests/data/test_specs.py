import pickle

import pytest

from anyscene import data
from anyscene.errors import DataError
from tests.data import trees


@pytest.fixture
def every_layout(tmp_path):
    trees.segnet(tmp_path / "camvid", {"train": ["0001TP_006690"]})
    trees.stanford(tmp_path / "stanford", ["one"])
    trees.siftflow(tmp_path / "siftflow", ["set/one"])
    trees.folder(tmp_path / "folder", ["one"])
    return tmp_path


KINDS = ("camvid", "stanford", "siftflow", "folder")


@pytest.mark.parametrize("kind", KINDS)
def test_a_path_that_is_another_layout_is_told_what_was_expected(every_layout, kind):
    for other in KINDS:
        if other == kind:
            assert len(data.open(f"{kind}:{every_layout / other}").split("all")) == 1
            continue
        with pytest.raises(DataError, match=rf"{other}: not .*; expected .* in it"):
            data.open(f"{kind}:{every_layout / other}")


@pytest.mark.parametrize("kind", KINDS)
def test_an_open_data_set_can_be_sent_to_another_process(every_layout, kind):
    dataset = pickle.loads(pickle.dumps(data.open(f"{kind}:{every_layout / kind}")))
    assert dataset.split("all")[0].truth is not None


def test_generated_scenes_can_be_drawn_in_another_process():
    streets = data.open("streets:2?size=8x6")
    sent = pickle.loads(pickle.dumps(streets))
    assert (sent.split("all")[1].image == streets.split("all")[1].image).all()


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_setting_is_refused(every_layout, kind):
    with pytest.raises(DataError, match=f"{kind} has no setting 'depth'"):
        data.open(f"{kind}:{every_layout / kind}?depth=3")


@pytest.mark.parametrize("kind", KINDS)
def test_a_tree_without_images_is_refused(every_layout, kind):
    for path in every_layout.rglob("*.*"):
        if path.suffix in (".jpg", ".png") and "abel" not in str(path) and "annot" not in str(path):
            path.unlink()
    with pytest.raises(DataError, match="holds no images"):
        data.open(f"{kind}:{every_layout / kind}")


@pytest.mark.parametrize("spec", ["", "camvid", "/some/path", "pascal:/some/path", "CamVid:x"])
def test_what_is_no_specification_is_told_the_form(spec):
    with pytest.raises(DataError, match="write KIND:PATH, where KIND: is one of camvid:, stanford:"):
        data.open(spec)


def test_a_missing_path_is_named(tmp_path):
    with pytest.raises(DataError, match="'camvid:' names no folder; write camvid:PATH"):
        data.open("camvid:")
    with pytest.raises(DataError, match="gone: there is no such folder"):
        data.open(f"camvid:{tmp_path / 'gone'}")


def test_a_tilde_is_the_home_folder(every_layout, monkeypatch):
    monkeypatch.setenv("HOME", str(every_layout))
    assert data.open("stanford:~/stanford").name == "stanford"

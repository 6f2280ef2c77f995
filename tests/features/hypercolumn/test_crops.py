import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anyscene.data import open as open_data
from anyscene.features.hypercolumn.backbone import read_backbone, shipped_backbone
from anyscene.features.hypercolumn.crops import best_crops, crop_scores, margin_at, reading
from anyscene.features.hypercolumn.network import OUTPUT_STRIDE, STRIDE, Network, input_size
from anyscene.features.view import Rect
from anyscene.hierarchy import fit

FRAME = (360, 480)


def doubt_at(*places):
    doubt = np.zeros((90, 120), np.float32)
    for top, left, bottom, right in places:
        doubt[top // 4 : bottom // 4, left // 4 : right // 4] = 1
    return doubt


def test_the_crop_holds_the_doubt():
    (crop,) = best_crops(doubt_at((240, 40, 320, 160)), FRAME, 1.0, 0.75)
    assert crop.held > 0.99
    assert crop.cost < 0.6
    assert crop.rect.top <= 240
    assert crop.rect.bottom >= 320
    assert crop.rect.left <= 40
    assert crop.rect.right >= 160


def test_doubt_in_two_corners_takes_two_crops():
    crops = best_crops(doubt_at((0, 0, 60, 80), (300, 400, 360, 480)), FRAME, 1.0, 0.5, count=2)
    assert len(crops) == 2
    assert sum(crop.held for crop in crops) > 0.99
    assert sum(crop.cost for crop in crops) < 0.8


def test_a_crop_that_holds_all_doubt_leaves_nothing_for_a_second():
    assert len(best_crops(doubt_at((0, 0, 60, 80)), FRAME, 1.0, 0.75, count=2)) == 1


def test_nothing_in_doubt_needs_no_crop():
    assert best_crops(np.zeros((9, 12), np.float32), FRAME, 0.5, 0.5) == ()


def test_at_the_border_less_is_read():
    corner, middle = Rect(0, 0, 120, 160), Rect(120, 160, 240, 320)
    assert reading(corner, FRAME, 1.0).read.area < reading(middle, FRAME, 1.0).read.area


def test_the_whole_frame_is_read_as_it_is():
    for scale in (0.25, 0.5, 0.75, 1.0):
        height, width = input_size(*FRAME, scale)
        whole = reading(Rect(0, 0, *FRAME), FRAME, scale)
        assert whole.read == (0, 0, height, width)
        assert whole.kept == (0, 0, height // OUTPUT_STRIDE, width // OUTPUT_STRIDE)


frames = st.tuples(st.integers(20, 700), st.integers(20, 700))
scales = st.sampled_from([0.25, 0.5, 0.75, 1.0])


@given(frames, scales, st.sampled_from([0.3, 0.5, 1.0]), st.integers(1, 2), st.integers(0, 99))
def test_crops_lie_in_the_frame_and_cost_what_they_read(frame, scale, largest, count, seed):
    doubt = np.random.default_rng(seed).random((17, 23)).astype(np.float32)
    crops = best_crops(doubt, frame, scale, largest, count)
    assert len(crops) <= count
    assert sum(crop.held for crop in crops) <= 1 + 1e-6
    height, width = input_size(*frame, scale)
    for crop in crops:
        assert 0 <= crop.rect.top < crop.rect.bottom <= frame[0]
        assert 0 <= crop.rect.left < crop.rect.right <= frame[1]
        assert crop.held > 0
        assert crop.cost <= largest
        # The constant makes a crop dearer than its share of the frame; it never reads more than it pays for.
        assert reading(crop.rect, frame, scale).read.area / (height * width) <= crop.cost + 1e-9


@given(frames, scales, st.data())
def test_what_is_read_lies_on_the_grid_and_holds_the_margin(frame, scale, data):
    top, left = data.draw(st.integers(0, frame[0] - 1)), data.draw(st.integers(0, frame[1] - 1))
    rect = Rect(
        top, left, data.draw(st.integers(top + 1, frame[0])), data.draw(st.integers(left + 1, frame[1]))
    )
    read, kept = reading(rect, frame, scale)
    height, width = input_size(*frame, scale)
    assert all(side % STRIDE == 0 for side in read)
    assert 0 <= read.top < read.bottom <= height
    assert 0 <= read.left < read.right <= width
    assert 0 <= kept.top < kept.bottom <= read.height // OUTPUT_STRIDE
    assert 0 <= kept.left < kept.right <= read.width // OUTPUT_STRIDE
    margin = margin_at(scale, frame)
    assert read.top == 0 or kept.top * OUTPUT_STRIDE >= margin
    assert read.left == 0 or kept.left * OUTPUT_STRIDE >= margin
    assert read.bottom == height or read.height - kept.bottom * OUTPUT_STRIDE >= margin
    assert read.right == width or read.width - kept.right * OUTPUT_STRIDE >= margin


@pytest.mark.parametrize("scale", [0.5, 1.0])
def test_labels_inside_a_crop_are_nearly_those_of_the_whole_run(scale):
    backbone = read_backbone(shipped_backbone())
    network, head = Network(backbone.graphs["train"]), backbone.heads["train", "camvid"]
    image = open_data("streets:1?size=480x360").split("all").image(0)
    fitted = fit(image, input_size(*FRAME, scale))
    whole = network.scores(fitted, head)
    (crop,) = best_crops(doubt_at((200, 0, 360, 240)), FRAME, scale, 0.75)
    part = crop_scores(network, head, fitted, reading(crop.rect, FRAME, scale))
    assert part.size < whole.size
    top = round(crop.rect.top * whole.shape[0] / FRAME[0])
    left = round(crop.rect.left * whole.shape[1] / FRAME[1])
    same_place = whole[top : top + part.shape[0], left : left + part.shape[1]]
    best, expected = (scores[:, :, : head.classes].argmax(axis=2) for scores in (part, same_place))
    # Generated streets are not what the network was trained on, and it is less sure of them.
    assert (best == expected).mean() > 0.9

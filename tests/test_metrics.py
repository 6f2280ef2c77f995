import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, jaccard_score

from anyscene import metrics
from anyscene.data.classes import Classes
from anyscene.errors import DataError

N = 4
MAPS = st.tuples(
    arrays.arrays(np.int16, (5, 6), elements=st.integers(-1, N - 1)),
    arrays.arrays(np.int16, (5, 6), elements=st.integers(-1, N - 1)),
)


def count_in_plain_numpy(truth, labels, n_classes):
    counts = np.zeros((n_classes, n_classes + 1), np.int64)
    known = truth >= 0
    np.add.at(counts, (truth[known], np.where(labels[known] < 0, n_classes, labels[known])), 1)
    return counts


@given(MAPS)
def test_counts_equal_those_of_plain_numpy(maps):
    np.testing.assert_array_equal(metrics.count(*maps, N), count_in_plain_numpy(*maps, N))


def test_counts_of_a_whole_scene_equal_those_of_plain_numpy(streets):
    one, other = (streets.split("val").truth(index) for index in (0, 1))
    n = len(streets.classes)
    np.testing.assert_array_equal(metrics.count(one, other, n), count_in_plain_numpy(one, other, n))


@pytest.mark.filterwarnings("ignore::UserWarning:sklearn")
@given(MAPS)
def test_counts_and_scores_equal_those_of_scikit_learn(maps):
    truth, labels = maps
    known = truth >= 0
    if not known.any():
        return
    y, z = truth[known], labels[known]
    present = np.unique(y)
    counts = metrics.count(truth, labels, N)

    np.testing.assert_array_equal(counts[:, :N], confusion_matrix(y, z, labels=[*range(N), -1])[:N, :N])
    assert metrics.pixel_accuracy(counts) == pytest.approx((y == z).mean())
    ious = jaccard_score(y, z, labels=present, average=None, zero_division=0)
    assert metrics.mean_iou(counts) == pytest.approx(ious.mean())
    assert metrics.class_accuracy(counts) == pytest.approx(balanced_accuracy_score(y, z))


@given(MAPS, MAPS)
def test_counts_of_two_maps_add_up_to_the_counts_of_both(one, other):
    together = metrics.count(np.vstack([one[0], other[0]]), np.vstack([one[1], other[1]]), N)
    np.testing.assert_array_equal(metrics.count(*one, N) + metrics.count(*other, N), together)


@given(MAPS)
def test_only_pixels_of_known_truth_count(maps):
    truth, labels = maps
    counts = metrics.count(truth, labels, N)
    assert counts.sum() == (truth >= 0).sum()
    elsewhere = np.where(truth >= 0, labels, (labels + 2) % N).astype(np.int16)
    np.testing.assert_array_equal(counts, metrics.count(truth, elsewhere, N))


@given(MAPS)
def test_scores_lie_between_0_and_1_and_iou_never_exceeds_accuracy(maps):
    counts = metrics.count(*maps, N)
    for score in metrics.per_class(counts, Classes(tuple("abcd"), np.zeros((N, 3), np.uint8))):
        if score.pixels:
            assert 0 <= score.iou <= score.accuracy <= 1


@given(MAPS, st.permutations(range(N)))
def test_scores_do_not_depend_on_how_classes_are_numbered(maps, order):
    renamed = [np.append(order, -1).astype(np.int16)[ids] for ids in maps]
    before, after = metrics.count(*maps, N), metrics.count(*renamed, N)
    for score in (metrics.pixel_accuracy, metrics.class_accuracy, metrics.mean_iou):
        assert score(before) == pytest.approx(score(after), nan_ok=True)


def test_a_perfect_labeling_scores_1_whatever_classes_are_absent():
    truth = np.array([[0, 2, -1]], np.int16)
    counts = metrics.count(truth, truth, N)
    assert (metrics.pixel_accuracy(counts), metrics.class_accuracy(counts), metrics.mean_iou(counts)) == (
        1,
        1,
        1,
    )


def test_a_class_absent_from_the_truth_is_left_out_of_means_even_when_it_was_answered():
    truth = np.array([[0, 0, 1, 1]], np.int16)
    labels = np.array([[0, 3, 1, 1]], np.int16)
    counts = metrics.count(truth, labels, N)
    assert metrics.class_accuracy(counts) == pytest.approx(0.75)
    assert metrics.mean_iou(counts) == pytest.approx(0.75)
    absent = metrics.per_class(counts, Classes(tuple("abcd"), np.zeros((N, 3), np.uint8)))[3]
    assert absent.pixels == 0
    assert np.isnan([absent.accuracy, absent.iou]).all()


def test_no_answer_is_a_wrong_answer():
    truth = np.array([[0, 0, 1, 1]], np.int16)
    labels = np.array([[0, -1, 1, -1]], np.int16)
    counts = metrics.count(truth, labels, N)
    assert metrics.pixel_accuracy(counts) == metrics.class_accuracy(counts) == metrics.mean_iou(counts) == 0.5


def test_nothing_known_gives_nan_and_no_warning(recwarn):
    void = np.full((3, 3), -1, np.int16)
    counts = metrics.count(void, void, N)
    assert np.isnan(
        [metrics.pixel_accuracy(counts), metrics.class_accuracy(counts), metrics.mean_iou(counts)]
    ).all()
    assert not recwarn.list


@pytest.mark.parametrize(("truth", "label"), [(N, 0), (0, N), (-2, 0), (0, -2), (255, 0)])
def test_ids_that_are_no_class_are_refused(truth, label):
    with pytest.raises(DataError, match=r"1 pixels hold ids outside -1\.\.3"):
        metrics.count(np.array([[truth]], np.int16), np.array([[label]], np.int16), N)


def test_maps_of_different_sizes_are_refused():
    with pytest.raises(DataError, match="one size"):
        metrics.count(np.zeros((2, 3), np.int16), np.zeros((3, 2), np.int16), N)

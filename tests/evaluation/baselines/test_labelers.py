"""The conformance suite that every full-cost baseline passes, and what tells them apart."""

from dataclasses import replace

import numpy as np
import pytest

from anyscene.errors import DataError, ModelError
from anyscene.evaluation.baselines.classifier import ClassifierSettings, TrainingRows, cross_fit
from anyscene.evaluation.baselines.crf_labeler import PixelCrfLabeler, RegionCrfLabeler
from anyscene.evaluation.baselines.data_term import Stacked
from anyscene.evaluation.baselines.evidence import gather
from anyscene.evaluation.baselines.feature_selection import FeatureSelection, choose_sequence
from anyscene.evaluation.baselines.fitted import BASELINES, load_labeler, save_labeler
from anyscene.evaluation.baselines.inference_machine import InferenceMachine, with_context
from anyscene.evaluation.baselines.labeler import BeliefMap, best_temperature, soften
from anyscene.features import RegionFeatures, View
from anyscene.features.sets import bank_from_arrays
from anyscene.hierarchy import Tree, working_frame
from tests.evaluation.baselines.scenes import CLASSES, labeled_image, labeled_images

FAST = ClassifierSettings(trees=15, samples=3000)
TRAIN = labeled_images(8)
NEW = labeled_images(3, first_seed=100)


@pytest.fixture(scope="module", params=sorted(BASELINES))
def labeler(request):
    return BASELINES[request.param].fit(TRAIN, CLASSES, np.random.default_rng(0), FAST)


def accuracy(labeler, images):
    known = [image.truth >= 0 for image in images]
    labels = [labeler.label(image.evidence).labels() for image in images]
    right = [(own == image.truth)[k] for own, image, k in zip(labels, images, known, strict=True)]
    return np.concatenate(right).mean()


class TestConformance:
    def test_beliefs_are_distributions_of_the_promised_shape(self, labeler):
        evidence = NEW[0].evidence
        found = labeler.label(evidence)
        assert found.cells.shape == evidence.regions.shape
        assert found.belief.shape == (found.cells.max() + 1, CLASSES)
        assert found.belief.dtype == np.float32
        assert found.belief.min() >= 0
        np.testing.assert_allclose(found.belief.sum(axis=1), 1, atol=1e-5)

    def test_labels_are_classes_at_the_frame_size(self, labeler):
        labels = labeler.label(NEW[0].evidence).labels()
        assert labels.shape == NEW[0].truth.shape
        assert labels.dtype == np.int16
        assert 0 <= labels.min() <= labels.max() < CLASSES

    def test_labeling_is_deterministic_and_leaves_the_evidence_alone(self, labeler):
        evidence = labeled_image(50).evidence
        first, second = (labeler.label(evidence).belief for _ in range(2))
        np.testing.assert_array_equal(first, second)
        untouched = labeled_image(50).evidence
        np.testing.assert_array_equal(evidence.image, untouched.image)
        for ours, theirs in zip(evidence.features, untouched.features, strict=True):
            np.testing.assert_array_equal(ours, theirs)

    def test_learning_is_deterministic(self, labeler):
        again = type(labeler).fit(TRAIN, CLASSES, np.random.default_rng(0), FAST).arrays()
        for name, array in labeler.arrays().items():
            np.testing.assert_array_equal(array, again[name])

    def test_a_file_holds_all_of_it(self, labeler, tmp_path):
        save_labeler(labeler, tmp_path / "baseline.safetensors")
        again = load_labeler(tmp_path / "baseline.safetensors")
        assert type(again) is type(labeler)
        for image in NEW:
            expected = labeler.label(image.evidence).belief
            np.testing.assert_array_equal(again.label(image.evidence).belief, expected)

    def test_it_learned_something(self, labeler):
        assert accuracy(labeler, NEW) > 0.7  # the prior's is below a half

    def test_it_beats_its_data_term_on_noisy_features(self, labeler):
        if labeler.name in ("HIM", "F-SM"):
            pytest.skip("has no data term of its own")
        noisy = [labeled_image(seed, noise=1.5) for seed in range(200, 204)]
        right = []
        for image in noisy:
            alone = labeler.data_term.predict(image.evidence.features[-1]).argmax(axis=1)
            right.append((alone[image.evidence.regions] == image.truth)[image.truth >= 0])
        assert accuracy(labeler, noisy) > np.concatenate(right).mean()

    def test_images_of_one_fold_get_one_clear_sentence(self, labeler):
        with pytest.raises(DataError, match="two folds"):
            type(labeler).fit(labeled_images(2, folds=1), CLASSES, np.random.default_rng(0), FAST)


@pytest.mark.parametrize("kind", [RegionCrfLabeler, PixelCrfLabeler])
def test_a_crf_that_does_not_surely_help_is_left_out(kind):
    """Pure regions and beliefs that are right everywhere: smoothing could only harm."""
    labels = [image.counts(CLASSES)[-1].argmax(axis=1).astype(np.int16) for image in TRAIN]
    pure = [
        replace(image, truth=own[image.evidence.regions]) for image, own in zip(TRAIN, labels, strict=True)
    ]
    beliefs = [0.6 * np.eye(CLASSES, dtype=np.float32)[own] + np.float32(0.4 / CLASSES) for own in labels]
    classifier = kind.fit(TRAIN[::4], CLASSES, np.random.default_rng(0), FAST).data_term
    found = kind.on_data_term(Stacked(classifier, beliefs), pure)
    assert found.parameters == kind.no_crf
    evidence = NEW[0].evidence
    np.testing.assert_array_equal(found.label(evidence).labels(), found.label_without_crf(evidence).labels())


def test_feature_selection_takes_what_tells_most_for_its_cost_and_answers_at_every_stage():
    chosen = FeatureSelection.fit(TRAIN, CLASSES, np.random.default_rng(0), FAST)
    assert chosen.sequence[0] == "telling"
    evidence = NEW[0].evidence
    last = chosen.label_at(len(chosen.stages) - 1, evidence)
    np.testing.assert_array_equal(chosen.label(evidence).belief, last.belief)
    for stage in range(len(chosen.stages)):
        assert chosen.label_at(stage, evidence).labels().shape == NEW[0].truth.shape


def test_a_dear_feature_set_comes_after_a_cheap_one_that_tells_less():
    """Both sets tell the classes; the second, less clearly, for a thousandth of the cost."""

    def twice(image):
        evidence = image.evidence
        features = tuple(
            np.hstack([table[:, :CLASSES], table[:, :CLASSES] * 0.5]) for table in evidence.features
        )
        widths = {"dear": CLASSES, "cheap": CLASSES}
        doubled = type(evidence)(evidence.image, evidence.regions, evidence.parents, features, widths)
        return type(image)(doubled, image.truth, image.fold)

    def cost_of(sets):
        return sum({"dear": 1000.0, "cheap": 1.0}[name] for name in sets)

    images = [twice(image) for image in TRAIN]
    sequence = choose_sequence(images, CLASSES, np.random.default_rng(0), FAST, cost_of)
    assert sequence[0] == "cheap"


def test_opinions_are_where_trees_start_from():
    """A set that gives class probabilities is believed from the first tree on, others need trees."""
    random = np.random.default_rng(0)
    truth = random.integers(0, CLASSES, 400)
    counts = np.eye(CLASSES, dtype=np.int64)[truth] * 10
    opinion = 0.7 * np.eye(CLASSES)[truth] + 0.1
    x = np.hstack([random.normal(size=(400, 2)), opinion]).astype(np.float32)
    rows = TrainingRows(x, counts, np.arange(400) % 2, opinions=(2,))
    classifier, belief = cross_fit(rows, ClassifierSettings(trees=0), random)
    assert (belief.argmax(axis=1) == truth).all()
    assert classifier.trust[0] > 1  # the truth is surer than the opinion
    np.testing.assert_allclose(classifier.predict(x).sum(axis=1), 1, atol=1e-4)


def test_a_layer_below_the_top_sees_its_parents_beliefs():
    evidence = NEW[0].evidence
    above = np.random.default_rng(0).dirichlet(np.ones(CLASSES), len(evidence.parents[1])).astype(np.float32)
    expected = np.hstack([evidence.features[2], above[evidence.parents[2]]])
    np.testing.assert_array_equal(with_context(evidence, 2, above), expected)


def test_context_helps_the_inference_machine():
    """Finest features that say nothing: what is right comes from the parents."""

    def blind(image):
        *upper, finest = image.evidence.features
        noise = np.random.default_rng(len(upper)).normal(size=finest.shape).astype(np.float32)
        evidence = image.evidence
        blinded = type(evidence)(
            evidence.image, evidence.regions, evidence.parents, (*upper, noise), evidence.widths
        )
        return type(image)(blinded, image.truth, image.fold)

    machine = InferenceMachine.fit([blind(image) for image in TRAIN], CLASSES, np.random.default_rng(0), FAST)
    assert accuracy(machine, [blind(image) for image in NEW]) > 0.6


def test_the_loss_of_a_belief_map_is_its_cross_entropy_and_unknown_pixels_do_not_count():
    belief = BeliefMap(np.float32([[0.5, 0.5], [0.1, 0.9]]), np.array([[0, 1], [1, 1]], np.int32))
    truth = np.array([[0, 1], [-1, 0]], np.int16)
    assert belief.loss(truth) == pytest.approx(-np.mean(np.log([0.5, 0.9, 0.1])))
    assert belief.accuracy(truth) == pytest.approx(2 / 3)
    unknown = np.full((2, 2), -1, np.int16)
    assert belief.loss(unknown) == belief.accuracy(unknown) == 0


def test_softening_keeps_labels_and_the_best_temperature_undoes_overconfidence():
    random = np.random.default_rng(0)
    honest = random.dirichlet(np.ones(3), 3000).astype(np.float32)
    truth = np.array([[random.choice(3, p=row / row.sum()) for row in honest.astype(float)]], np.int16)
    cells = np.arange(3000, dtype=np.int32)[None]
    overconfident = honest**2 / (honest**2).sum(axis=1, keepdims=True)
    temperature = best_temperature([BeliefMap(overconfident, cells)], [truth])
    assert temperature == 2
    softened = soften(overconfident, temperature)
    np.testing.assert_allclose(softened, honest, atol=0.01)
    np.testing.assert_array_equal(softened.argmax(axis=1), honest.argmax(axis=1))


def test_evidence_is_gathered_from_region_features(streets):
    scene = streets.split("train")[0]
    frame = working_frame(scene.image)
    bank = bank_from_arrays(["color", "position"], {})
    names = ["color", "position"]
    evidence = gather(RegionFeatures(bank, View(frame), Tree(frame)), names, len(streets.classes))
    assert evidence.regions.shape == frame.shape[:2]
    assert evidence.regions.max() + 1 == len(evidence.parents[-1])
    width = sum(bank[name].dimensions for name in bank)
    for parents, features in zip(evidence.parents, evidence.features, strict=True):
        assert features.shape == (len(parents), width)
    assert set(evidence.ancestors(0)) == {0}
    np.testing.assert_array_equal(evidence.columns(names), evidence.features[-1])
    np.testing.assert_array_equal(
        evidence.columns(["position"]), evidence.features[-1][:, bank["color"].dimensions :]
    )
    finest = gather(RegionFeatures(bank, View(frame), Tree(frame)), names, 11, finest_only=True)
    np.testing.assert_array_equal(finest.features[-1], evidence.features[-1])
    assert finest.features[0].shape == (1, 0)


@pytest.mark.parametrize("content", [b"", b"not a model", None])
def test_damaged_files_get_one_clear_sentence(tmp_path, content):
    path = tmp_path / "baseline.safetensors"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError, match="fit it again"):
        load_labeler(path)


def test_files_of_something_else_are_told_apart(tmp_path):
    from safetensors.numpy import save_file

    path = tmp_path / "other.safetensors"
    save_file({"a": np.zeros(1)}, path)
    with pytest.raises(ModelError, match="holds no baseline"):
        load_labeler(path)

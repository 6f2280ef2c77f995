"""What the network's training makes small."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.train

from anyscene.data import VOID  # noqa: E402
from anyscene.learning.backbone.losses import kin_loss, labeling_loss, overlap_loss, thin  # noqa: E402


def sure(truths, classes, right=True):
    """Scores of a network that is sure of the truth, or sure of the next class."""
    answers = truths.clamp(min=0) if right else (truths.clamp(min=0) + 1) % classes
    return 50.0 * torch.nn.functional.one_hot(answers, classes).permute(0, 3, 1, 2).float()


def lovasz_by_hand(scores, truths):
    """The definition: errors in falling order, each weighed by what it adds to 1 - IoU."""
    chances = torch.softmax(scores, 1).permute(0, 2, 3, 1).reshape(-1, scores.shape[1]).numpy()
    marks = truths.reshape(-1).numpy()
    losses = []
    for label in np.unique(marks):
        hit = marks == label
        errors = np.abs(hit - chances[:, label])
        order = np.argsort(-errors, kind="stable")
        before, loss = 0.0, 0.0
        for count in range(1, len(order) + 1):
            wrong = order[:count]
            kept = hit.sum() - hit[wrong].sum()
            jaccard = 1 - kept / (hit.sum() + (~hit[wrong]).sum())
            loss += errors[order[count - 1]] * (jaccard - before)
            before = jaccard
        losses.append(loss)
    return np.mean(losses)


def test_overlap_is_lost_by_wrong_answers_only():
    truths = torch.tensor([[[0, 1], [1, 2]]])
    assert float(overlap_loss(sure(truths, 3), truths)) == pytest.approx(0, abs=1e-6)
    assert float(overlap_loss(sure(truths, 3, right=False), truths)) == pytest.approx(1, abs=1e-6)


def test_overlap_loss_is_the_lovasz_extension():
    random = torch.Generator().manual_seed(0)
    scores = torch.randn(2, 4, 3, 5, generator=random)
    truths = torch.randint(0, 3, (2, 3, 5), generator=random)
    assert float(overlap_loss(scores, truths)) == pytest.approx(lovasz_by_hand(scores, truths), abs=1e-5)


def test_void_pixels_do_not_count():
    random = torch.Generator().manual_seed(1)
    scores = torch.randn(1, 3, 4, 4, generator=random)
    truths = torch.randint(0, 3, (1, 16, 16), generator=random)
    truths[:, 8:] = VOID
    other = scores.clone()
    other[:, :, 3:] += 5 * torch.randn(1, 3, 1, 4, generator=random)
    weights = torch.ones(3)
    losses = [float(overlap_loss(s, thin(truths, 4, (0, 0)))) for s in (scores, other)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-6)
    empty = torch.full((1, 16, 16), VOID)
    assert float(labeling_loss(scores, empty, weights, 1.0, (0.0, 0.0))) == 0


def test_every_pixel_counts_in_some_phase():
    truths = torch.arange(64).reshape(1, 8, 8)
    phases = [(i / 4, j / 4) for i in range(4) for j in range(4)]
    seen = torch.cat([thin(truths, 4, phase).reshape(-1) for phase in phases])
    assert sorted(seen.tolist()) == list(range(64))


def test_a_word_of_another_data_set_is_met_by_any_of_its_meanings():
    random = torch.Generator().manual_seed(2)
    scores = torch.randn(2, 4, 3, 5, generator=random)
    truths = torch.randint(-1, 3, (2, 12, 20), generator=random)
    weights = torch.tensor([1.0, 2.0, 3.0])
    meanings = torch.tensor([[1.0, 0, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0]])
    total, known = 0.0, 0
    chances = scores.softmax(1)
    for image in range(2):
        for y in range(3):
            for x in range(5):
                word = int(truths[image, 4 * y + 1, 4 * x + 2])
                known += word != VOID
                if word != VOID and meanings[word].any():
                    chance = float(chances[image, :, y, x] @ meanings[word])
                    total -= float(weights[word]) * np.log(chance)
    found = kin_loss(scores, truths, weights, meanings, (0.25, 0.5))
    assert float(found) == pytest.approx(total / known, rel=1e-4)

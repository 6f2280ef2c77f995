"""Learning from a teacher: its probabilities, their cache, and the loss; all of it needs torch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from anyscene.apps.main import app
from anyscene.errors import ConfigError, ModelError

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.train

from anyscene.learning.backbone.batches import Source, draw_batch  # noqa: E402 - needs torch
from anyscene.learning.backbone.lessons import Cutout, overlaps, prepare_lessons  # noqa: E402
from anyscene.learning.backbone.losses import lesson_loss  # noqa: E402
from anyscene.learning.backbone.network import SceneNetwork  # noqa: E402
from anyscene.learning.backbone.part_files import Part, read_part, write_part  # noqa: E402
from anyscene.learning.backbone.recipe import Recipe  # noqa: E402

TINY = "steps = 4\nbatch = 2\nwarm_up = 1\nlong_side = 64\nsmallest = 0.5\ndistill = 1.0\n"


def noise(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def teacher():
    torch.manual_seed(5)
    network = SceneNetwork({"some": 3, "other": 2}).eval()
    with torch.no_grad():
        for head in network.heads.values():
            head.weight.mul_(50)
    return network


def lessons_of(teacher, images, path, heads=("some",)):
    return prepare_lessons(teacher, images, heads, 128, path, lambda done: None)


@given(st.floats(0, 0.8), st.floats(0.05, 0.2), st.integers(1, 20), st.integers(1, 40), st.integers(0, 2**31))
def test_pooling_keeps_the_mean_of_what_is_in_view(start, length, bins, cells, seed):
    weights = overlaps(start, start + length, bins, cells)
    assert weights.shape == (bins, cells)
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-5)
    values = np.random.default_rng(seed).random(cells)
    whole = overlaps(start, start + length, 1, cells) @ values
    np.testing.assert_allclose((weights @ values).mean(), whole[0], atol=1e-4)


def test_a_student_that_sees_all_at_full_size_hears_the_teachers_own_probabilities(teacher, tmp_path):
    image = noise(64, 96)
    lessons = lessons_of(teacher, [image], tmp_path / "lessons")
    heard = lessons.seen(Cutout(0, 0, 0, 64, 96, False), (64, 96), (16, 24), "some")
    planes = (torch.from_numpy(image).permute(2, 0, 1)[None].float() - 127) / 128
    with torch.inference_mode():
        plain = teacher(planes, "some").softmax(1)
        mirrored = teacher(planes.flip(3), "some").softmax(1).flip(3)
    assert (plain - mirrored).abs().max() > 0.01
    np.testing.assert_allclose(heard, ((plain + mirrored) / 2)[0].numpy(), atol=2e-3)


def test_lessons_follow_the_view(teacher, tmp_path):
    lessons = lessons_of(teacher, [noise(64, 96)], tmp_path / "lessons")
    whole = lessons.seen(Cutout(0, 0, 0, 64, 96, False), (64, 96), (16, 24), "some")
    part = lessons.seen(Cutout(0, 16, 32, 32, 48, True), (64, 96), (8, 12), "some")
    np.testing.assert_allclose(part, whole[:, 4:12, 8:20][:, :, ::-1], atol=1e-6)
    coarse = lessons.seen(Cutout(0, 0, 0, 64, 96, False), (64, 96), (8, 12), "some")
    np.testing.assert_allclose(coarse, whole.reshape(3, 8, 2, 12, 2).mean(axis=(2, 4)), atol=1e-5)


def test_a_batch_holds_lessons_for_just_what_its_images_show(teacher, tmp_path):
    image = noise(128, 128)
    image[:, :, 1:] = image[:, :, :1]
    truth = np.zeros((128, 128), np.int16)
    truth[:, 64:] = 1
    source = Source("some", [image], [truth], lessons_of(teacher, [image], tmp_path / "lessons"))
    # A teacher that says exactly what the truth says: then lessons and truths of any view must agree.
    page = np.stack([truth[2::4, 2::4] == 0, truth[2::4, 2::4] == 1], axis=2).astype(np.float16)

    class Pages:
        def get_tensor(self, name):
            return page

    source.lessons._file = Pages()
    recipe = Recipe(long_side=128, aspect=0.3, squeeze=0.6, crop=0.5, batch=3, smallest=0.4)
    rng = np.random.default_rng(0)
    for _ in range(10):
        batch = draw_batch([source], recipe, rng)
        lesson = batch.lessons["some"]
        assert lesson.shape == (len(batch.images), 2, batch.images.shape[2] // 4, batch.images.shape[3] // 4)
        shown = (batch.truths == 1).reshape(*batch.truths.shape[:1], lesson.shape[2], 4, lesson.shape[3], 4)
        np.testing.assert_allclose(lesson[:, 1].mean(), shown.mean(), atol=0.05)
        assert np.abs(lesson[:, 1] - shown.mean(axis=(2, 4))).mean() < 0.05


def test_the_teacher_labels_once_and_only_for_whom_it_was_asked(teacher, tmp_path):
    images, path, told = [noise(32, 64), noise(64, 32, 1)], tmp_path / "lessons", []
    for _ in range(2):
        prepare_lessons(teacher, images, ("some", "other"), 64, path, told.append)
    assert told == [1, 2]
    with pytest.raises(ModelError, match="another teacher or other images"):
        lessons_of(teacher, images[::-1], path)
    other = SceneNetwork({"some": 3, "other": 2}).eval()
    with pytest.raises(ModelError, match="another teacher or other images"):
        prepare_lessons(other, images, ("some", "other"), 64, path, told.append)
    path.write_bytes(b"torn")
    with pytest.raises(ModelError, match="cannot be read"):
        lessons_of(teacher, images, path)


def test_the_loss_is_nothing_for_a_student_who_agrees_and_grows_with_disagreement():
    scores = torch.randn(2, 5, 3, 4, generator=torch.Generator().manual_seed(0))
    lesson = scores.softmax(1)
    weights = torch.ones(5)
    assert lesson_loss(scores, lesson, weights).item() == pytest.approx(0, abs=1e-5)
    away = torch.randn(2, 5, 3, 4, generator=torch.Generator().manual_seed(1))
    losses = [lesson_loss(scores + step * away, lesson, weights).item() for step in (0.0, 0.3, 1.0, 3.0)]
    assert losses == sorted(losses)
    assert losses[1] > 0.001
    sure = torch.eye(5)[0].reshape(1, 5, 1, 1).expand_as(scores)
    assert np.isfinite(lesson_loss(scores, sure, weights).item())
    first = torch.tensor([3.0, 1, 1, 1, 1])
    assert lesson_loss(scores, sure, first).item() == pytest.approx(
        3 * lesson_loss(scores, sure, weights).item()
    )


def run(tmp_path, folder, *more):
    (tmp_path / "tiny.toml").write_text(TINY)
    command = ["train-backbone", "--data", "streets:30?size=64x64", "--part", "a", "--threads", "1"]
    return CliRunner().invoke(
        app, [*command, "--recipe", str(tmp_path / "tiny.toml"), "--run", str(tmp_path / folder), *more]
    )


def streets_teacher(folder, seed=1):
    from anyscene.data import open as open_data

    names = open_data("streets:30?size=64x64").classes.names
    torch.manual_seed(seed)
    write_part(
        Part(SceneNetwork({"streets": len(names)}), {"streets": names}, ("taught",), {}), folder / "a.weights"
    )
    return folder


def test_each_part_learns_from_the_teachers_part_and_owns_up_to_what_that_has_seen(tmp_path):
    one, other = (streets_teacher(tmp_path / name, seed) for seed, name in enumerate(("one", "other")))
    for folder, teacher in (("first", one), ("again", one), ("else", other)):
        result = run(tmp_path, folder, "--teacher", str(teacher))
        assert result.exit_code == 0, result.output
    first, again, other = (
        (tmp_path / name / "a.weights").read_bytes() for name in ("first", "again", "else")
    )
    assert first == again != other
    assert "taught" in read_part(tmp_path / "first" / "a.weights").seen
    assert (tmp_path / "first" / "a.lessons" / "streets").exists()


def test_a_teacher_without_a_weight_and_a_weight_without_a_teacher_are_one_sentence(tmp_path):
    result = run(tmp_path, "run")
    assert isinstance(result.exception, ConfigError)
    assert "both a teacher and a recipe" in str(result.exception)


def test_a_checkpoint_of_another_teacher_is_refused(tmp_path, monkeypatch):
    from anyscene.learning.backbone import parts

    one, other = (streets_teacher(tmp_path / name, seed) for seed, name in enumerate(("one", "other")))

    def kill(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(parts, "write_part", kill)  # the run stops between its last checkpoint and its end
        run(tmp_path, "run", "--teacher", str(one))
    (tmp_path / "run" / "a.lessons" / "streets").unlink()
    result = run(tmp_path, "run", "--teacher", str(other))
    assert isinstance(result.exception, ModelError)
    assert "another recipe, seed, teacher or data" in str(result.exception)

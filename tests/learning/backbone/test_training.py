"""The network, its training and its export; all of it needs torch."""

import numpy as np
import pytest
from typer.testing import CliRunner

from anyscene.apps.main import app
from anyscene.errors import AnysceneError, ConfigError, ModelError
from anyscene.features.hypercolumn.backbone import read_backbone
from anyscene.features.hypercolumn.image_keys import image_key
from anyscene.features.hypercolumn.network import Head, Network

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.train

TINY = """
steps = 4
batch = 2
warm_up = 1
long_side = 64
smallest = 0.5
drop = 0.5
dropout = 0.2
"""


@pytest.fixture(scope="module", autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def network():
    from anyscene.learning.backbone.network import SceneNetwork, load_imagenet

    torch.manual_seed(0)
    network = SceneNetwork({"some": 5})
    load_imagenet(network, "lite0")
    return network.eval()


def noise(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def head_of(network):
    layer = network.heads["some"]
    return Head(layer.weight.detach().numpy()[:, :, 0, 0].copy(), layer.bias.detach().numpy().copy(), 5)


def test_training_leaves_out_at_random_and_labeling_does_not():
    from anyscene.learning.backbone.network import SceneNetwork

    torch.manual_seed(0)
    network, images = SceneNetwork({"some": 5}, drop=0.5, dropout=0.2), torch.rand(2, 3, 64, 64)
    plain = SceneNetwork({"some": 5})
    plain.load_state_dict(network.state_dict())
    assert not torch.equal(network(images, "some"), network(images, "some"))
    assert torch.equal(network.eval()(images, "some"), plain(images, "some"))


def test_folding_batch_normalisation_changes_nothing(network):
    from anyscene.learning.backbone.network import imagenet_weights

    weights = imagenet_weights("lite0")
    x = torch.rand(1, 3, 32, 32)
    plain = torch.nn.functional.conv2d(x, weights["_conv_stem.weight"], stride=2, padding=1)
    keys = ("_bn0.running_mean", "_bn0.running_var", "_bn0.weight", "_bn0.bias")
    plain = torch.nn.functional.batch_norm(plain, *(weights[key] for key in keys), eps=1e-3)
    torch.testing.assert_close(network.stem(x), plain, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("size", [(32, 32), (64, 160), (96, 128)])
def test_the_exported_graph_gives_torchs_scores_at_any_size(network, size):
    from anyscene.learning.backbone.export import export_graph
    from anyscene.learning.backbone.rebuild import torch_scores

    graph, head, image = export_graph(network), head_of(network), noise(*size)
    scores = Network(graph).scores(image, head)
    assert scores.shape == (size[0] // 4, size[1] // 4, 5)
    np.testing.assert_allclose(scores, torch_scores(graph, head)(image), atol=1e-3)


@pytest.mark.parametrize("name", ["lite0", "lite1", "lite2"])
def test_every_network_of_the_family_comes_back_whole_from_its_file_and_its_graph(tmp_path, name):
    from anyscene.learning.backbone.family import FAMILY
    from anyscene.learning.backbone.network import SceneNetwork, load_imagenet, shape_of
    from anyscene.learning.backbone.pack import pack, unpack
    from anyscene.learning.backbone.part_files import Part, read_part, write_part

    network = SceneNetwork({"some": 5}, shape=FAMILY[name])
    load_imagenet(network, name)
    part = Part(network.eval(), {"some": tuple("abcde")}, (), {})
    write_part(part, tmp_path / "a.weights")
    stored = read_part(tmp_path / "a.weights")
    backbone = pack({"a": stored})
    packed = unpack(backbone, "a")
    assert shape_of(stored.network.state_dict()) == shape_of(packed.network.state_dict()) == FAMILY[name]
    image, head = noise(64, 96), head_of(stored.network)
    planes = (torch.from_numpy(image).permute(2, 0, 1)[None].float() - 127) / 128
    scores = stored.network(planes, "some")[0].permute(1, 2, 0).detach().numpy()
    np.testing.assert_allclose(packed.network(planes, "some")[0].permute(1, 2, 0).detach(), scores, atol=1e-3)
    graph = backbone.graphs["a"]
    np.testing.assert_allclose(Network(graph).scores(image, head), scores, atol=1e-3)


def test_a_larger_network_learns_by_its_recipe_and_is_no_start_for_a_smaller_one(tmp_path):
    from anyscene.learning.backbone.family import FAMILY
    from anyscene.learning.backbone.network import shape_of
    from anyscene.learning.backbone.part_files import read_part

    (tmp_path / "large.toml").write_text(f'{TINY}\nbackbone = "lite2"')
    (tmp_path / "small.toml").write_text(TINY)
    command = ["train-backbone", "--data", "streets:10?size=64x64", "--part", "train", "--threads", "1"]
    large = ["--recipe", str(tmp_path / "large.toml"), "--run", str(tmp_path / "large")]
    result = CliRunner().invoke(app, [*command, *large])
    assert result.exit_code == 0, result.output
    learned = read_part(tmp_path / "large" / "train.weights").network
    assert shape_of(learned.state_dict()) == FAMILY["lite2"]
    small = ["--recipe", str(tmp_path / "small.toml"), "--run", str(tmp_path / "small")]
    result = CliRunner().invoke(app, [*command, *small, "--start", str(tmp_path / "large")])
    assert isinstance(result.exception, ConfigError)
    assert "do not hold the recipe" in str(result.exception)


def test_a_crop_far_from_its_border_sees_what_the_whole_sees(network):
    from anyscene.learning.backbone.export import export_graph

    image, head = noise(32, 1024), head_of(network)
    runner = Network(export_graph(network))
    whole = runner.scores(image, head)
    crop = runner.scores(np.ascontiguousarray(image[:, 32 * 8 : 32 * 24]), head)
    middle = slice(8 * 7, 8 * 9)
    np.testing.assert_allclose(crop[:, middle], whole[:, 8 * 8 :][:, middle], atol=0.05)


def sources():
    from anyscene.data import open as open_data
    from anyscene.learning.backbone.batches import Source

    scenes = list(open_data("streets:10?size=64x64").split("train"))
    return [Source("streets", [scene.image for scene in scenes], [scene.truth for scene in scenes])]


def fit(recipe, checkpoint, report=lambda progress: None):
    from anyscene.learning.backbone.trainer import train

    return train(
        sources(),
        {"streets": [str(label) for label in range(11)]},
        recipe,
        checkpoint,
        3,
        report,
        lambda network: "",
    )


def tiny_recipe(tmp_path):
    from anyscene.learning.backbone.recipe import read_recipe

    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    return read_recipe(path)


def test_a_killed_run_resumes_to_the_same_weights_bit_for_bit(tmp_path, monkeypatch):
    from anyscene.learning.backbone import trainer

    monkeypatch.setattr(trainer, "CHECKPOINT_SECONDS", 0.0)
    recipe = tiny_recipe(tmp_path)
    through = fit(recipe, tmp_path / "through")

    class Killed(Exception):
        pass

    def kill(progress):
        if progress.step == 3:
            raise Killed

    with pytest.raises(Killed):
        fit(recipe, tmp_path / "killed", kill)
    resumed = fit(recipe, tmp_path / "killed")
    for name, value in through.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[name]), name


def test_training_lowers_the_loss(tmp_path):
    losses = []
    recipe = tiny_recipe(tmp_path).model_copy(update={"steps": 30})
    fit(recipe, tmp_path / "checkpoint", lambda progress: losses.append(progress.loss))
    assert losses[-1] < losses[0]


def test_a_checkpoint_of_another_recipe_is_refused(tmp_path):
    recipe = tiny_recipe(tmp_path)
    fit(recipe, tmp_path / "checkpoint")
    with pytest.raises(ModelError, match="another recipe, seed, teacher or data"):
        fit(recipe.model_copy(update={"batch": 3}), tmp_path / "checkpoint")


def test_a_torn_checkpoint_is_refused(tmp_path):
    (tmp_path / "checkpoint").write_bytes(b"torn")
    with pytest.raises(ModelError, match="delete it to start anew"):
        fit(tiny_recipe(tmp_path), tmp_path / "checkpoint")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("steps = 0", "wrong value for steps:"),
        ("stepz = 3", "'stepz'"),
        ("steps = ", "not valid TOML"),
        ('backbone = "lite3"', "wrong value for backbone:"),
        ('backbone = "lite2"\nblocks = [1, 3, 3, 4, 4, 6, 1]', "for blocks:.*each from 1 to"),
        ("blocks = [1, 2, 2, 3, 3, 4]", "for blocks:.*7 numbers"),
        ("blocks = [1, 2, 2, 3, 3, 5, 1]", "for blocks:.*each from 1 to"),
        ("blocks = [1, 2, 2, 3, 0, 4, 1]", "for blocks:.*each from 1 to"),
    ],
)
def test_a_wrong_recipe_is_one_sentence(tmp_path, text, words):
    from anyscene.learning.backbone.recipe import read_recipe

    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=words):
        read_recipe(path)


def test_rare_classes_weigh_more_and_a_pixel_weighs_one_on_average():
    from anyscene.learning.backbone.batches import class_weights

    truth = np.zeros((10, 10), np.int16)
    truth[0, :5] = 1
    truth[1] = -1
    weights = class_weights([truth], 3, 0.3)
    assert weights[1] > weights[0] > 0
    assert weights[2] == 0
    known = truth[truth >= 0]
    assert weights[known].mean() == pytest.approx(1)


def test_the_command_trains_all_parts_and_writes_a_backbone(tmp_path):
    (tmp_path / "tiny.toml").write_text(TINY)
    spec = "streets:30?size=64x64"
    out = tmp_path / "small.backbone"
    command = ["train-backbone", "--data", spec, "--run", str(tmp_path / "run"), "-o", str(out)]
    result = CliRunner().invoke(app, [*command, "--recipe", str(tmp_path / "tiny.toml"), "--threads", "1"])
    assert result.exit_code == 0, result.output
    backbone = read_backbone(out)
    assert set(backbone.graphs) == {"train", "a", "b"}
    from anyscene.data import open as open_data

    for scene in open_data(spec).split("train"):
        part = backbone.part_for(image_key(scene.image))
        assert part in {"a", "b"}
        head = backbone.heads[part, "streets"]
    scores = Network(backbone.graphs["train"]).scores(noise(64, 64), head)
    assert scores.shape == (16, 16, len(head.bias))


def test_training_goes_on_from_a_backbone_file_as_from_the_run_that_made_it(tmp_path):
    (tmp_path / "tiny.toml").write_text(TINY)
    command = ["train-backbone", "--data", "streets:10?size=64x64", "--recipe", str(tmp_path / "tiny.toml")]
    command += ["--part", "train", "--threads", "1"]
    first = ["--run", str(tmp_path / "first"), "-o", str(tmp_path / "first.backbone")]
    assert CliRunner().invoke(app, [*command, *first]).exit_code == 0
    weights = []
    for start in ("first", "first.backbone"):
        run = tmp_path / f"from-{start}"
        result = CliRunner().invoke(app, [*command, "--run", str(run), "--start", str(tmp_path / start)])
        assert result.exit_code == 0, result.output
        weights.append((run / "train.weights").read_bytes())
    assert weights[0] == weights[1]


def test_training_can_leave_blocks_out_but_not_put_any_in(tmp_path):
    from anyscene.learning.backbone.network import shape_of
    from anyscene.learning.backbone.pack import unpack

    fewer = [1, 2, 1, 2, 3, 1, 1]
    (tmp_path / "whole.toml").write_text(TINY)
    (tmp_path / "fewer.toml").write_text(f"{TINY}\nblocks = {fewer}\n")

    def run(recipe, start=None):
        out = tmp_path / f"{recipe}-{'again' if start else 'first'}.backbone"
        command = ["train-backbone", "--data", "streets:10?size=64x64", "--part", "train", "--threads", "1"]
        command += [
            "--recipe",
            str(tmp_path / f"{recipe}.toml"),
            "--run",
            str(out.with_suffix("")),
            "-o",
            str(out),
        ]
        return CliRunner().invoke(app, command + (["--start", str(start)] if start else [])), out

    result, whole = run("whole")
    assert result.exit_code == 0, result.output
    result, small = run("fewer", whole)
    assert result.exit_code == 0, result.output
    network = unpack(read_backbone(small), "train").network
    assert list(shape_of(network.state_dict()).blocks) == fewer
    graph, head = read_backbone(small).graphs["train"], read_backbone(small).heads["train", "streets"]
    assert len(graph) < len(read_backbone(whole).graphs["train"])
    from anyscene.learning.backbone.rebuild import torch_scores

    image = noise(64, 96)
    np.testing.assert_allclose(
        Network(graph).scores(image, head), torch_scores(graph, head)(image), atol=1e-3
    )
    result, _ = run("whole", small)
    assert isinstance(result.exception, ConfigError)
    assert "do not hold the recipe" in str(result.exception)


def test_a_part_that_a_backbone_file_does_not_have_is_one_sentence(tmp_path):
    from anyscene.features.hypercolumn.backbone import Backbone, write_backbone

    alone = Backbone({}, {"train": b""}, {}, {"train": frozenset()}, {"train": {}})
    write_backbone(tmp_path / "empty.backbone", alone)
    command = ["train-backbone", "--data", "streets:10?size=64x64", "--run", str(tmp_path / "run")]
    result = CliRunner().invoke(app, [*command, "--part", "a", "--start", str(tmp_path / "empty.backbone")])
    assert isinstance(result.exception, ConfigError)
    assert "the backbone has no part 'a'" in str(result.exception)


def test_every_head_learns_from_images_whose_classes_are_kin(tmp_path):
    from anyscene.learning.backbone.batches import Source
    from anyscene.learning.backbone.trainer import train

    names = {"camvid": ("sky", "road"), "stanford": ("sky", "road", "grass")}
    image = noise(64, 64)
    truth = np.zeros((64, 64), np.int16)
    sources = [Source(name, [image], [truth]) for name in names]
    recipe = tiny_recipe(tmp_path).model_copy(update={"shares": {"camvid": 1.0, "stanford": 0.0}})
    moved = []
    for kin in (0.0, 1.0):
        kind = recipe.model_copy(update={"kin": kin})
        trained = train(sources, names, kind, tmp_path / f"{kin}", 3, lambda progress: None, lambda n: "")
        moved.append(trained.heads["stanford"].weight.detach().clone())
    torch.manual_seed(3)
    from anyscene.learning.backbone.network import SceneNetwork

    untouched = SceneNetwork({name: len(classes) for name, classes in names.items()}).heads["stanford"].weight
    assert torch.equal(moved[0], untouched)
    assert not torch.allclose(moved[1], moved[0])


def test_an_unknown_part_is_refused(tmp_path):
    command = ["train-backbone", "--data", "streets:10", "--run", str(tmp_path), "--part", "c"]
    result = CliRunner().invoke(app, command)
    assert isinstance(result.exception, AnysceneError)
    assert "no part 'c'" in str(result.exception)


def test_native_steps_show_pixels_as_they_are():
    from anyscene.learning.backbone.batches import Source, draw_batch
    from anyscene.learning.backbone.recipe import Recipe

    random = np.random.default_rng(0)
    image = random.integers(0, 256, (64, 96, 3), np.uint8)
    source = Source("x", [image], [np.zeros((64, 96), np.int16)])
    recipe = Recipe(native=1.0, crop=1.0, jitter=0.0, batch=1)
    shown = draw_batch([source], recipe, random).images[0].transpose(1, 2, 0) * 128 + 127
    assert any(np.allclose(shown, each, atol=1e-3) for each in (image, image[:, ::-1]))

import numpy as np
from PIL import Image
from typer.testing import CliRunner

from anyscene.apps.main import app
from anyscene.apps.tree import ZOOM


def test_each_layer_is_drawn_in_mean_colors(tmp_path):
    image = np.zeros((60, 80, 3), np.uint8)
    image[:, 40:] = (200, 100, 40)
    Image.fromarray(image).save(tmp_path / "two.png")
    result = CliRunner().invoke(app, ["tree", str(tmp_path / "two.png"), "-o", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    pictures = [np.asarray(Image.open(tmp_path / "out" / f"layer-{layer}.png")) for layer in range(8)]
    assert all(picture.shape == (60 * ZOOM, 80 * ZOOM, 3) for picture in pictures)
    assert (pictures[0] == (100, 50, 20)).all()
    assert (pictures[7][:, : 40 * ZOOM] == 0).all()
    assert (pictures[7][:, 40 * ZOOM + 1 :] == (200, 100, 40)).all()


def test_a_file_that_is_no_image_is_named(tmp_path):
    (tmp_path / "not.png").write_text("hello")
    result = CliRunner().invoke(app, ["tree", str(tmp_path / "not.png"), "-o", str(tmp_path / "out")])
    assert result.exit_code != 0
    assert "not.png" in str(result.exception)
    assert not (tmp_path / "out").exists()

"""Annotations as tools export them: what they say is what is learned from; what is wrong is one sentence."""

import base64
import io
import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import anyscene
from anyscene import Labeling
from anyscene.apps.main import app
from anyscene.data import runs
from anyscene.data.classes import Classes
from anyscene.data.shapes import Shape, box, draw_shapes
from anyscene.errors import DataError
from anyscene.exports.coco import LabeledFile, coco_document

NAMES = ("road", "sky", "tree")
CLASSES = Classes(NAMES, np.array([[90, 90, 90], [0, 0, 200], [0, 150, 0]], np.uint8))


@pytest.fixture
def truths():
    """Label maps of blocks, by name."""
    found = {}
    for index in range(12):
        labels = np.full((48, 64), 1, np.int16)
        labels[24:] = 0
        labels[10 : 30 + index, 20:40] = 2
        labels[:3] = -1
        found[f"scene{index:02d}"] = labels
    return found


@pytest.fixture
def images(truths, tmp_path):
    """The images of those maps, in a folder `images`."""
    folder = tmp_path / "images"
    folder.mkdir()
    for name, labels in truths.items():
        Image.fromarray(CLASSES.palette[labels]).save(folder / f"{name}.png")
    return folder


def check(spec, truths, exact=True):
    """Every scene of a data set has its truth, and `data check` finds nothing wrong."""
    data = anyscene.data.open(spec)
    assert {"train", "val", "a", "b"} <= set(data.splits)
    assert data.classes.names == NAMES
    scenes = data.split("all")
    assert len(scenes) == len(truths)
    for scene in scenes:
        expected = truths[scene.id.rpartition("/")[2]]
        agreeing = (scene.truth == expected).mean()
        assert agreeing == 1 if exact else agreeing > 0.9, scene.id
    done = CliRunner().invoke(app, ["data", "check", spec])
    assert done.exit_code == 0, done.output
    return data


def polygons_of(labels):
    labeling = Labeling(labels, CLASSES)
    for name, parts in labeling.polygons(0).items():
        for part in parts:
            yield NAMES.index(name), part[0]


@pytest.mark.parametrize("as_list", [False, True])
def test_coco_with_run_lengths(truths, images, tmp_path, as_list):
    files = [LabeledFile(f"{name}.png", labels) for name, labels in truths.items()]
    document = coco_document(files, CLASSES)
    if as_list:
        for mark in document["annotations"]:
            code = mark["segmentation"]
            code["counts"] = runs.unpack_counts(code["counts"])
    (tmp_path / "annotations").mkdir()
    path = tmp_path / "annotations/instances.json"
    path.write_text(json.dumps(document))
    data = check(f"coco:{path}", truths)
    np.testing.assert_array_equal(data.classes.palette, CLASSES.palette)


def test_a_model_is_learned_from_annotations(truths, tmp_path):
    files = []
    for name, labels in truths.items():
        files.append(LabeledFile(f"{name}.png", labels.repeat(3, 0).repeat(3, 1)))
        Image.fromarray(CLASSES.palette[files[-1].labels]).save(tmp_path / files[-1].file_name)
    (tmp_path / "marks.json").write_text(json.dumps(coco_document(files, CLASSES)))
    config, model = tmp_path / "quick.toml", tmp_path / "m.anyscene"
    config.write_text('sets = ["color"]\nsteps = 2\nclusters = 0\niterations = 1\nbundles = [1]\n')
    given = ["--data", f"coco:{tmp_path}", "--config", str(config), "--without-network", "-o", str(model)]
    done = CliRunner().invoke(app, ["train", *given])
    assert done.exit_code == 0, done.output
    out = anyscene.load(model).label(tmp_path / files[0].file_name)
    assert out.classes.names == NAMES
    known = files[0].labels >= 0
    assert np.mean(out.labels[known] == files[0].labels[known]) > 0.75


def test_coco_with_polygons_in_a_folder(truths, images, tmp_path):
    marks = []
    for number, labels in enumerate(truths.values(), 1):
        for label, ring in polygons_of(labels):
            area = float((labels == label).sum())
            marks.append(
                {
                    "id": len(marks) + 1,
                    "image_id": number,
                    "category_id": label + 5,
                    "segmentation": [ring.ravel().tolist()],
                    "area": area,
                }
            )
    document = {
        "images": [{"id": n, "file_name": f"{name}.png"} for n, name in enumerate(truths, 1)],
        "annotations": marks,
        "categories": [{"id": index + 5, "name": name} for index, name in enumerate(NAMES)],
    }
    (tmp_path / "coco.json").write_text(json.dumps(document))
    check(f"coco:{tmp_path}", truths, exact=False)


def test_labelme(truths, images):
    for name, labels in truths.items():
        shapes = [
            {"label": NAMES[label], "points": ring.tolist(), "shape_type": "polygon"}
            for label, ring in polygons_of(labels)
        ]
        # Trees come last, so that they lie on top of what surrounds them.
        shapes.sort(key=lambda one: one["label"] == "tree")
        document = {"version": "5.0", "imagePath": f"{name}.png", "shapes": shapes}
        (images / f"{name}.json").write_text(json.dumps(document))
    check(f"labelme:{images}", truths, exact=False)


def test_labelme_masks_boxes_and_circles(images):
    name = "scene00"
    packed = io.BytesIO()
    Image.fromarray(np.full((4, 6), 255, np.uint8)).save(packed, "PNG")
    shapes = [
        {"label": "road", "points": [[50, 40], [10, 20]], "shape_type": "rectangle"},
        {"label": "sky", "points": [[30, 30], [34, 30]], "shape_type": "circle"},
        {
            "label": "tree",
            "points": [[0, 0], [5, 3]],
            "shape_type": "mask",
            "mask": base64.b64encode(packed.getvalue()).decode(),
        },
    ]
    (images / f"{name}.json").write_text(json.dumps({"imagePath": f"{name}.png", "shapes": shapes}))
    truth = anyscene.data.open(f"labelme:{images}").split("all")[0].truth
    assert (truth[:4, :6] == 2).all()
    assert truth[30, 30] == 1
    assert truth[25, 12] == 0
    assert truth[5, 60] == -1


@pytest.mark.parametrize("with_masks", [False, True])
def test_cvat(truths, images, tmp_path, with_masks):
    lines = ["<annotations><meta><task><labels>"]
    lines += [
        f"<label><name>{name}</name><color>#0000{i:02x}</color></label>" for i, name in enumerate(NAMES)
    ]
    lines.append("</labels></task></meta>")
    for name, labels in truths.items():
        lines.append(f'<image id="0" name="{name}.png" width="64" height="48">')
        for label, ring in polygons_of(labels):
            z = int(NAMES[label] == "tree")
            points = ";".join(f"{x:.2f},{y:.2f}" for x, y in ring)
            if with_masks:
                flat = np.concatenate([[False], (labels == label).ravel(), [False]])
                ends = np.flatnonzero(flat[1:] != flat[:-1])
                counts = [*np.diff(ends, prepend=0).tolist(), labels.size - int(ends[-1])]
                rle = ", ".join(map(str, counts))
                lines.append(
                    f'<mask label="{NAMES[label]}" rle="{rle}" left="0" top="0" width="64" height="48" '
                    f'z_order="{z}"/>'
                )
            else:
                lines.append(f'<polygon label="{NAMES[label]}" points="{points}" z_order="{z}"/>')
        lines.append("</image>")
    lines.append("</annotations>")
    (tmp_path / "annotations.xml").write_text("\n".join(lines))
    data = check(f"cvat:{tmp_path}", truths, exact=with_masks)
    assert data.classes.palette[2].tolist() == [0, 0, 2]


def test_cityscapes(tmp_path):
    ids = np.zeros((8, 16), np.uint8)
    ids[4:] = 7
    ids[:2] = 23
    for split in ("train", "val", "test"):
        for city in ("aachen", "bochum", "ulm", "jena"):
            for kind, end, picture in (
                ("leftImg8bit", "leftImg8bit", np.zeros((8, 16, 3), np.uint8)),
                ("gtFine", "gtFine_labelIds", ids),
            ):
                folder = tmp_path / kind / split / city
                folder.mkdir(parents=True)
                Image.fromarray(picture).save(folder / f"{city}_000000_000019_{end}.png")
    data = anyscene.data.open(f"cityscapes:{tmp_path}")
    assert {"train", "val", "test", "a", "b"} <= set(data.splits)
    scene = data.split("val")[0]
    names = data.classes.names
    assert (scene.truth[4:] == names.index("road")).all()
    assert (scene.truth[:2] == names.index("sky")).all()
    assert (scene.truth[2:4] == -1).all()
    assert data.split("test")[0].truth is None
    assert CliRunner().invoke(app, ["data", "check", f"cityscapes:{tmp_path}"]).exit_code == 0


WRONG = {
    "no JSON": ("coco", "a.json", "{", "not JSON"),
    "no COCO": ("coco", "a.json", "{}", "not a COCO file"),
    "COCO without its images": (
        "coco",
        "a.json",
        '{"images": [{"id": 1, "file_name": "x.jpg"}], "annotations": [], "categories": []}',
        "put it there",
    ),
    "no XML": ("cvat", "annotations.xml", "<", "not XML"),
    "entities": ("cvat", "annotations.xml", '<!DOCTYPE a [<!ENTITY b "c">]><a/>', "was not read"),
    "empty": ("labelme", "a.json", '{"shapes": 1, "imagePath": "a.png"}', "save it again"),
    "no Labelme": ("labelme", "a.json", "[]", "no Labelme files"),
    "no Cityscapes": ("cityscapes", "a.txt", "", "not Cityscapes"),
}


@pytest.mark.parametrize(("kind", "name", "text", "told"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_one_sentence(tmp_path, kind, name, text, told):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=told):
        anyscene.data.open(f"{kind}:{tmp_path}")


def test_shapes_beyond_the_image_are_cut_off():
    mask = np.ones((4, 4), bool)
    shapes = [
        Shape(1, mask=mask, corner=(-2, -2)),
        Shape(2, mask=mask, corner=(6, 6)),
        Shape(3, (box(-1e30, 4, 2, 1e30),)),
    ]
    truth = draw_shapes(shapes, 8, 8)
    assert (truth[:2, :2] == 1).all()
    assert (truth[6:, 6:] == 2).all()
    assert (truth[5:, :2] == 3).all()
    assert truth[0, 7] == -1


def test_a_word_that_is_nearly_right_is_guessed():
    with pytest.raises(DataError, match="did you mean 'labelme'"):
        anyscene.data.open("labelm:x")
    with pytest.raises(DataError, match="did you mean 'size'"):
        anyscene.data.open("streets:4?sise=9x9")

"""`anyscene demo`: generated street scenes, and how far one gets without looking at them.

Two priors, learned by counting, label scenes that they have not seen: the most frequent class everywhere,
and the most frequent class at each place of the frame. They are the floor that every model must rise above.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from anyscene.apps.console import JsonOption, console, emit_json, table, track

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from anyscene.data import Classes, SceneList
    from anyscene.labeling import Labeling
    from anyscene.metrics import Counts

SPEC = "streets:100?size=480x360"
SHOWN = 4


class Score(NamedTuple):
    """How well one prior labels the scenes that it was not learned on."""

    pixel_accuracy: float
    class_accuracy: float
    mean_iou: float


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(demo)


def demo(
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder for the page and its pictures.")
    ] = Path("demo"),
    json: JsonOption = None,
) -> None:
    """Generate street scenes, label them by what is usual where, and write a page that shows it."""
    import anyscene

    dataset = anyscene.data.open(SPEC)
    frequencies = _class_frequencies(dataset.split("train"), len(dataset.classes))
    everywhere = frequencies.mean(axis=(1, 2), keepdims=True) + 0 * frequencies
    priors = {
        "prior, everywhere the same": _most_frequent(everywhere, dataset.classes),
        "prior at each place": _most_frequent(frequencies, dataset.classes),
    }
    scenes = dataset.split("val")
    scores = _score(priors, scenes, dataset.classes)
    _write_page(output, priors, scores, scenes[:SHOWN], dataset.classes)

    screen = console(json)
    rows = [(name, *(f"{value:.1%}" for value in score)) for name, score in scores.items()]
    title = f"{len(scenes)} generated scenes"
    screen.print(table(title, ("labeling", "pixel accuracy", "class accuracy", "mean IoU"), rows))
    screen.print(f"Open {output / 'index.html'}", markup=False, soft_wrap=True)
    emit_json({name: score._asdict() for name, score in scores.items()}, json)


def _class_frequencies(scenes: SceneList, n_classes: int) -> NDArray[np.float32]:
    """How often each class is seen at each pixel, float32[classes, H, W]; the classes of a pixel sum to 1."""
    import numpy as np

    # One sight of each class to begin with, so that places where little was seen stay unsure.
    seen = np.ones((n_classes, *scenes.image(0).shape[:2]), np.float32)
    for scene in track(scenes, "learning the priors"):
        seen += scene.truth == np.arange(n_classes)[:, None, None]
    frequencies: NDArray[np.float32] = seen / seen.sum(axis=0)
    return frequencies


def _most_frequent(frequencies: NDArray[np.float32], classes: Classes) -> Labeling:
    import numpy as np

    from anyscene.labeling import Labeling

    return Labeling(frequencies.argmax(axis=0).astype(np.int16), frequencies.max(axis=0), classes)


def _score(priors: Mapping[str, Labeling], scenes: SceneList, classes: Classes) -> dict[str, Score]:
    import numpy as np

    from anyscene import metrics

    size = len(classes)
    totals: dict[str, Counts] = {name: np.zeros((size, size + 1), np.int64) for name in priors}
    for scene in track(scenes, "scoring"):
        if scene.truth is not None:
            for name, prior in priors.items():
                totals[name] += metrics.count(scene.truth, prior.labels, size)
    return {
        name: Score(metrics.pixel_accuracy(total), metrics.class_accuracy(total), metrics.mean_iou(total))
        for name, total in totals.items()
    }


def _write_page(
    out: Path,
    priors: Mapping[str, Labeling],
    scores: Mapping[str, Score],
    scenes: SceneList,
    classes: Classes,
) -> None:
    """Write `index.html` and the pictures that it shows, and the label maps as PNGs of ids."""
    import numpy as np

    from anyscene.apps.contact_sheet import save_picture
    from anyscene.files import write_atomically
    from anyscene.labeling import Labeling

    def show(picture: NDArray[np.uint8], name: str, caption: str) -> str:
        save_picture(picture, out / name)
        words = escape(caption)
        return f'<figure><img src="{name}" alt="{words}"><figcaption>{words}</figcaption></figure>'

    learned = []
    for index, (name, prior) in enumerate(priors.items()):
        prior.save(out / f"prior-{index}-ids.png")
        learned.append(show(prior.color(), f"prior-{index}.png", name))
        confidence = (prior.confidence * 255).astype(np.uint8)
        learned.append(
            show(confidence, f"prior-{index}-confidence.png", f"{name}: confidence, white is sure")
        )

    seen = []
    for index, scene in enumerate(scenes):
        seen.append(show(scene.image, f"scene-{index}.png", f"scene {scene.id}"))
        if scene.truth is not None:
            truth = Labeling(scene.truth, np.ones(scene.truth.shape, np.float32), classes)
            truth.save(out / f"scene-{index}-truth-ids.png")
            seen.append(show(truth.color(), f"scene-{index}-truth.png", "truth"))
            seen.append(
                show(truth.overlay(scene.image), f"scene-{index}-overlay.png", "truth over the scene")
            )

    rows = "".join(
        f"<tr><td>{escape(name)}</td>{''.join(f'<td>{value:.1%}</td>' for value in score)}</tr>"
        for name, score in scores.items()
    )
    legend = "".join(
        f'<span style="border-left: 1em solid rgb({red},{green},{blue})">{escape(name)}</span>'
        for name, (red, green, blue) in zip(classes.names, classes.palette.tolist(), strict=True)
    )
    page = PAGE.format(rows=rows, legend=legend, learned="".join(learned), seen="".join(seen))
    with write_atomically(out / "index.html") as file:
        file.write(page.encode())


PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>anyscene: generated scenes and their priors</title>
<style>
  body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 90em; margin: 2em auto; padding: 0 1em; }}
  figure {{ display: inline-block; margin: 0 .5em 1em 0; }}
  img {{ width: 24em; max-width: 100%; display: block; }}
  td, th {{ padding: .2em 1em; text-align: right; }}
  td:first-child {{ text-align: left; }}
  span {{ padding-left: .4em; margin-right: 1em; }}
</style>
<h1>anyscene</h1>
<p>Street scenes that anyscene generated, with a true class for every pixel, and what two priors make of
scenes that they were not learned on. Neither looks at the image: a model has to do better than this.</p>
<table>
<tr><th></th><th>pixel accuracy</th><th>class accuracy</th><th>mean IoU</th></tr>
{rows}
</table>
<h2>The priors</h2>
{learned}
<h2>Scenes</h2>
<p>{legend}</p>
{seen}
</html>
"""

"""`anyscene tree`: pictures of the layers of an image's tree, for people to judge it by."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anyscene.apps.console import check_outputs, console, table, track

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from anyscene.hierarchy import Tree

ZOOM = 2
"""Pictures are drawn larger than the working frame, so that outlines leave something to be seen."""

INKS = (235, 30)
"""Outlines are light in dark regions and dark in light ones."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(tree)


def tree(
    image: Annotated[
        Path, typer.Argument(metavar="IMAGE", help="The image to partition.", show_default=False)
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Where the pictures go.")],
) -> None:
    """Draw each layer of an image's tree: regions in their mean colors, with outlines."""
    from anyscene.apps.contact_sheet import save_picture
    from anyscene.data.images import read_image
    from anyscene.hierarchy import LAYERS, Tree, working_frame

    paths = [output / f"layer-{layer}.png" for layer in range(LAYERS)]
    check_outputs(None, *paths, inputs=[image])
    frame = working_frame(read_image(image))
    made = Tree(frame)
    rows = []
    for layer, path in enumerate(track(paths, "Drawing layers")):
        made.grow(layer + 1)
        save_picture(draw_layer(made, layer, frame), path)
        rows.append((layer, len(made.areas[layer]), made.strides[layer], path))
    height, width = made.size
    title = f"{image} at {width}x{height}"
    console().print(table(title, ("layer", "regions", "stride", "picture"), rows))


def draw_layer(made: Tree, layer: int, frame: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Draw a layer in hand, uint8[ZOOM * h, ZOOM * w, 3]: mean colors and outlines.

    frame: the image that the tree is of.
    """
    import numpy as np

    stride, (height, width) = made.strides[layer], made.size
    regions = made.region_map(layer).repeat(stride, 0).repeat(stride, 1)[:height, :width]
    sums = [np.bincount(regions.ravel(), channel.ravel()) for channel in np.moveaxis(frame, 2, 0)]
    means = np.stack(sums, axis=1) / made.areas[layer][:, None]
    regions = regions.repeat(ZOOM, 0).repeat(ZOOM, 1)
    outlines = np.zeros(regions.shape, bool)
    outlines[:, 1:] |= regions[:, 1:] != regions[:, :-1]
    outlines[1:] |= regions[1:] != regions[:-1]
    inks = np.where(means.mean(axis=1) < np.mean(INKS), *INKS)
    picture = means[regions].round().astype(np.uint8)
    picture[outlines] = inks[regions[outlines], None]
    return picture

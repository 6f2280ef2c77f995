"""Draw the pictures of docs/concepts.md.

python docs/scripts/drawings.py     # writes docs/images/concept-*.svg
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from pathlib import Path

IMAGES = Path(__file__).parents[1] / "images"
INK, GREY, MARK = "#263238", "#90a4ae", "#d84315"
SKY, TREE, ROAD = "#64b5f6", "#66bb6a", "#a1887f"
CLASSES = (SKY, TREE, ROAD)


def text(x: float, y: float, words: str, size: int = 13, color: str = INK, anchor: str = "middle") -> str:
    """Words, centred on x unless said otherwise."""
    look = f'font-size="{size}" fill="{color}" text-anchor="{anchor}"'
    return f'<text x="{x}" y="{y}" {look}>{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, fill: str = "white", ink: str = INK) -> str:
    """A rectangle with an outline."""
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="3" fill="{fill}" stroke="{ink}"/>'


def line(x: float, y: float, to_x: float, to_y: float, ink: str = INK, dashed: bool = False) -> str:
    """A straight line."""
    dashes = ' stroke-dasharray="5 4"' if dashed else ""
    return f'<line x1="{x}" y1="{y}" x2="{to_x}" y2="{to_y}" stroke="{ink}" stroke-width="1.5"{dashes}/>'


def arrow(x: float, y: float, to_x: float, to_y: float, ink: str = INK) -> str:
    """A straight line with a head."""
    return line(x, y, to_x, to_y, ink).replace("/>", ' marker-end="url(#head)"/>')


def bars(x: float, y: float, shares: Sequence[float], colors: Sequence[str] = CLASSES) -> str:
    """Upright bars on the line y, 50 high where the share is 1."""
    return "".join(
        f'<rect x="{x + 16 * place}" y="{y - 50 * share}" width="13" height="{50 * share}" fill="{color}"/>'
        for place, (share, color) in enumerate(zip(shares, colors, strict=True))
    ) + line(x - 3, y, x + 16 * len(shares), y)


def scene(x: float, y: float, cuts: int) -> str:
    """A small landscape that is cut into 1, 3 or 5 regions."""
    parts = {
        1: [(0, 0, 120, 80, GREY)],
        3: [(0, 0, 120, 28, SKY), (0, 28, 120, 24, TREE), (0, 52, 120, 28, ROAD)],
        5: [
            (0, 0, 70, 28, SKY),
            (70, 0, 50, 28, SKY),
            (0, 28, 45, 24, TREE),
            (45, 28, 75, 24, TREE),
            (0, 52, 120, 28, ROAD),
        ],
    }[cuts]
    return "".join(box(x + left, y + top, w, h, fill, "white") for left, top, w, h, fill in parts)


def tree() -> str:
    """Regions within regions."""
    coarse = {"whole image": (240, 40)}
    middle = {"sky": (90, 120), "trees": (240, 120), "road": (390, 120)}
    fine = {"": (50, 195), " ": (130, 195), "  ": (200, 195), "   ": (280, 195)}
    links = [(240, 40, x, 120) for x, _ in middle.values()]
    links += [(90, 120, 50, 195), (90, 120, 130, 195), (240, 120, 200, 195), (240, 120, 280, 195)]
    colors = {"sky": SKY, "trees": TREE, "road": ROAD, "": SKY, " ": SKY, "  ": TREE, "   ": TREE}
    nodes = "".join(
        f'<circle cx="{x}" cy="{y}" r="13" fill="{colors.get(name, GREY)}" stroke="{INK}"/>'
        + text(x + 18, y + 5, name.strip(), anchor="start")
        for name, (x, y) in (coarse | middle | fine).items()
    )
    pictures = scene(500, 10, 1) + scene(500, 100, 3) + scene(500, 190, 5)
    names = text(640, 55, "layer 0", anchor="start") + text(640, 145, "layer 1", anchor="start")
    return (
        "".join(line(*link) for link in links)
        + nodes
        + pictures
        + names
        + text(640, 235, "layer 2", anchor="start")
    )


def beliefs() -> str:
    """What is believed of three leaves."""
    names = text(330, 250, "a bar for each class: sky, tree, road", color=GREY)
    leaves = ((110, "surely sky", (0.94, 0.04, 0.02)), (330, "tree or sky", (0.40, 0.52, 0.08)))
    drawn = [bars(x - 24, 170, shares) + text(x, 200, what) for x, what, shares in leaves]
    drawn += [bars(526, 170, (0.03, 0.07, 0.90)) + text(550, 200, "surely road")]
    marks = text(330, 222, "uncertain: its entropy is high", 12, MARK)
    return (
        text(330, 60, "Each leaf of the tree holds a probability for each class", 15)
        + "".join(drawn)
        + names
        + marks
    )


def actions() -> str:
    """A split and an update."""
    split = text(165, 35, "split: open uncertain leaves", 15) + scene(30, 60, 3) + arrow(160, 100, 190, 100)
    split += scene(200, 60, 5) + text(175, 170, "children inherit the beliefs of their parent", 12, GREY)
    update = text(520, 35, "update: look, and learn from it", 15) + bars(420, 140, (0.45, 0.42, 0.13))
    update += arrow(490, 115, 560, 115) + text(525, 105, "texture", 12) + bars(580, 140, (0.12, 0.80, 0.08))
    return (
        split
        + update
        + text(520, 170, "beliefs of active leaves become surer", 12, GREY)
        + text(340, 215, "what each action costs in milliseconds is measured beforehand")
    )


def policy() -> str:
    """The action of most gain for its time."""
    offers = (("split", 0.35), ("update by texture", 0.55), ("network, small", 1.0), ("network, large", 0.7))
    rows = "".join(
        text(330, 75 + 36 * row, name, anchor="end")
        + box(345, 60 + 36 * row, 220 * gain, 20, MARK if gain == 1 else GREY, "white")
        for row, (name, gain) in enumerate(offers)
    )
    state = (
        box(20, 85, 130, 70, "#eceff1") + text(85, 115, "state") + text(85, 135, "leaves, beliefs", 12, GREY)
    )
    return (
        state
        + arrow(155, 120, 195, 120)
        + rows
        + text(455, 40, "expected gain for each millisecond", 15)
        + text(455, 220, "the policy takes the largest, and asks again", 12, GREY)
    )


def plans() -> str:
    """The best plan that fits a budget."""
    points = ((80, 190), (150, 150), (240, 112), (350, 86), (500, 70))
    steps = "".join(
        line(x, y, next_x, y, GREY) + line(next_x, y, next_x, next_y, GREY)
        for (x, y), (next_x, next_y) in pairwise(points)
    )
    dots = "".join(f'<circle cx="{x}" cy="{y}" r="6" fill="{MARK if x == 240 else INK}"/>' for x, y in points)
    axes = (
        arrow(50, 215, 630, 215) + arrow(50, 215, 50, 40) + text(600, 236, "time") + text(90, 34, "accuracy")
    )
    budget = line(310, 215, 310, 50, MARK, dashed=True) + text(310, 42, "your budget", color=MARK)
    return axes + steps + dots + budget + text(236, 100, "this plan is carried out", 12, MARK, "end")


def deadlines() -> str:
    """One call, from the image to the labels."""
    parts = ((40, 40, "shrink", "#eceff1"), (80, 110, "small network", "#b2dfdb"))
    parts += ((190, 250, "larger network", "#80cbc4"), (440, 60, "paint", "#eceff1"))
    drawn = "".join(
        box(x, 90, width, 46, fill) + text(x + width / 2, 118, name, 12) for x, width, name, fill in parts
    )
    shown = text(190, 70, "labels to fall back on", 12) + line(190, 76, 190, 90)
    stop = line(430, 90, 430, 155, MARK, dashed=True) + text(430, 172, "stopped here if it is slow", 12, MARK)
    end = line(560, 60, 560, 165, MARK) + text(560, 50, "deadline", color=MARK)
    return text(40, 70, "call", anchor="start") + arrow(30, 136, 620, 136) + drawn + shown + stop + end


def streams() -> str:
    """Frames, and what is done between them."""
    frames = (60, 250, 440)
    drawn = "".join(
        line(x, 70, x, 150)
        + text(x, 60, "frame")
        + box(x, 100, 22, 36, "#ffe0b2")
        + box(x + 30, 100, 130, 36, "#80cbc4")
        + text(x + 95, 122, "a closer look", 12)
        + text(x + 5, 92, "labels", 11, MARK, "start")
        for x in frames
    )
    moved = "".join(arrow(x + 165, 155, x + 205, 155) for x in frames[:2])
    told = text(330, 180, "what is believed moves along with the image", 12, GREY)
    return (
        arrow(30, 136, 640, 136)
        + drawn
        + moved
        + told
        + text(330, 215, "labels come right after a frame; the network works between frames")
    )


HEIGHTS = {tree: 285, beliefs: 265, actions: 230, policy: 240, plans: 245, deadlines: 190, streams: 230}


def main() -> None:
    """Write all drawings."""
    head = (
        f'<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0 0L10 5L0 10z" fill="{INK}"/></marker></defs>'
    )
    for draw, height in HEIGHTS.items():
        (IMAGES / f"concept-{draw.__name__}.svg").write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 {height}" font-family="sans-serif">'
            f'<rect width="700" height="{height}" rx="8" fill="#fafafa"/>{head}{draw()}</svg>\n'
        )


if __name__ == "__main__":
    main()

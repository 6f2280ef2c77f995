"""Plain pieces of a page that needs no other file: its frame, tables, pictures."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
:root { --ink: #1f2328; --soft: #59636e; --line: #d8dee4; --wash: #f6f8fa; --mark: #d1242f; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: #fff;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
header { background: #14202e; color: #fff; padding: 2.2rem 1rem 2rem; }
header > div, main, footer { max-width: 1120px; margin: 0 auto; padding: 0 1rem; }
header h1 { margin: 0 0 .3rem; font-size: 1.9rem; letter-spacing: -.01em; }
header p { margin: 0; color: #c5d0dc; }
section { margin: 2.4rem 0; }
h2 { margin: 0 0 .3rem; font-size: 1.35rem; letter-spacing: -.01em; }
h3 { margin: 1.4rem 0 .4rem; font-size: 1.05rem; }
p.lead { margin: 0 0 1rem; color: var(--soft); max-width: 78ch; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(205px, 1fr)); gap: .8rem;
  margin: 1.6rem 0; }
.card { border: 1px solid var(--line); border-radius: 10px; padding: .9rem 1rem; background: var(--wash); }
.card b { display: block; font-size: 1.6rem; line-height: 1.2; }
.card span { color: var(--soft); font-size: .88rem; }
.note { border-left: 4px solid #d4a72c; background: #fff8c5; padding: .6rem .9rem; border-radius: 4px; }
figure { margin: 0; border: 1px solid var(--line); border-radius: 10px; padding: .8rem; background: #fff; }
figure img { width: 100%; height: auto; display: block; }
figcaption { color: var(--soft); font-size: .88rem; padding: .5rem .2rem 0; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(420px, 1fr)); gap: 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { padding: .38rem .6rem; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap; }
th:first-child, td:first-child { text-align: left; white-space: normal; }
thead th { border-bottom: 2px solid #afb8c1; font-weight: 600; }
.pair table { font-size: .86rem; }
.pair th, .pair td { padding: .3rem .4rem; }
.prose td, .prose th { white-space: normal; min-width: 7.5rem; }
.prose td:first-child { min-width: 16rem; }
tr.ours td { background: #fff4f3; font-weight: 600; }
tr.published td { color: var(--soft); font-style: italic; }
.strip { display: grid; grid-auto-flow: column; grid-auto-columns: minmax(165px, 1fr); gap: .6rem;
  overflow-x: auto; }
.strip img { width: 100%; border-radius: 6px; display: block; }
.strip div { font-size: .82rem; color: var(--soft); }
.strip b { color: var(--ink); display: block; margin-top: .25rem; }
.strip ol { margin: .2rem 0 0; padding-left: 1.2rem; }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1rem; font-size: .88rem; margin: .6rem 0 1rem; }
.legend i { display: inline-block; width: 1em; height: 1em; border-radius: 3px; margin-right: .4em;
  vertical-align: -.12em; }
footer { color: var(--soft); font-size: .85rem; padding-bottom: 2.5rem; }
"""


def html_page(title: str, subtitle: str, body: str, footer: str = "") -> str:
    """A whole page around a body."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="generator" content="written by anyscene">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>"
        f"<header><div><h1>{escape(title)}</h1><p>{escape(subtitle)}</p></div></header>"
        f"<main>{body}</main><footer>{escape(footer)}</footer></body></html>\n"
    )


def section(title: str, lead: str, body: str) -> str:
    """A part of the page with its heading and a sentence on how to read it."""
    return f'<section><h2>{escape(title)}</h2><p class="lead">{escape(lead)}</p>{body}</section>'


def html_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], marks: Sequence[str] | None = None
) -> str:
    """A table of plain text. marks : a class for each row, "" for none."""
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    lines = []
    for index, row in enumerate(rows):
        mark = f' class="{marks[index]}"' if marks and marks[index] else ""
        lines.append(f"<tr{mark}>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>")
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def picture(data: bytes, kind: str, alt: str) -> str:
    """A picture inside the page. kind : such as "svg+xml" or "jpeg"."""
    text = base64.b64encode(data).decode()
    return f'<img alt="{escape(alt)}" src="data:image/{kind};base64,{text}">'


def framed(image: str, caption: str) -> str:
    """A picture with its caption."""
    return f"<figure>{image}<figcaption>{escape(caption)}</figcaption></figure>"

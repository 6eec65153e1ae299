# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A terminal as an animated picture (SVG, styles without scripts): its lines come one after the other, again and again.

A viewer that does not animate, or whose user wants no motion, shows all lines.
"""

from __future__ import annotations

import re
from html import escape
from xml.etree import ElementTree

from recording import SAID, Line

COLUMN, ROW, MARGIN, TOP = 8.4, 20, 18, 40  # of the picture, in its units
FASTEST, CHAPTER, TYPED, LAST = 0.35, 1.8, 1.0, 5.0  # seconds that a line stays alone: in general, and of some kinds
NAMESPACE = "{http://www.w3.org/2000/svg}"
STYLE = """
    text { font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1f2328; white-space: pre; }
    .back { fill: #f6f8fa; stroke: #d1d9e0; }
    .dot { fill: #d1d9e0; }
    .chapter { fill: #59636e; font-style: italic; }
    .name { fill: #0969da; }
    .typed { font-weight: bold; }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc; }
      .back { fill: #0d1117; stroke: #3d444d; }
      .dot { fill: #3d444d; }
      .chapter { fill: #9198a1; }
      .name { fill: #4493f8; }
    }
"""


def beginnings(lines: list[Line]) -> tuple[list[float], float]:
    """Returns the second in which each line comes, and the length of the whole: as they came, but no faster than a
    reader can follow."""
    times, now = [], 0.5
    for line, following in zip(lines, [*lines[1:], None], strict=True):
        times.append(now)
        pause = CHAPTER if line.chapter else TYPED if line.is_command else FASTEST
        now += max(pause, following.at - line.at) if following else LAST
    return times, now


def drawn(line: Line) -> str:
    """The line with its kinds of words marked."""
    if line.chapter:
        return f'<tspan class="chapter">{escape(line.text)}</tspan>'
    said = SAID.fullmatch(line.text)
    if not said:
        return escape(line.text)
    text = escape(said["text"])
    typed = f'<tspan class="typed">{text}</tspan>' if line.is_command else text
    return f'  <tspan class="name">{escape(said["name"])}</tspan> {escape(said["way"])} {typed}'


def picture(lines: list[Line], title: str, description: str) -> str:
    """Returns the text of an SVG file."""
    times, length = beginnings(lines)
    width = round(2 * MARGIN + COLUMN * max(len(line.text) for line in lines))
    height = TOP + ROW * len(lines) + MARGIN
    shown = [index for index, line in enumerate(lines) if line.text]
    frames = [
        f"@keyframes k{index} {{ 0% {{ opacity: 0 }} {100 * times[index] / length:.2f}% {{ opacity: 1 }} }}"
        for index in shown
    ]
    rules = [f".l{index} {{ animation: k{index} {length:.1f}s step-end infinite }}" for index in shown]
    moving = "\n      ".join([*frames, *rules])
    texts = [
        f'  <text class="l{index}" x="{MARGIN}" y="{TOP + ROW * (index + 1) - 6}">{drawn(lines[index])}</text>'
        for index in shown
    ]
    dots = "".join(f'<circle class="dot" cx="{MARGIN + 6 + 18 * index}" cy="20" r="6"/>' for index in range(3))
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" \
aria-labelledby="title desc">
  <title id="title">{escape(title)}</title>
  <desc id="desc">{escape(description)}</desc>
  <style>{STYLE}    @media (prefers-reduced-motion: no-preference) {{
      {moving}
    }}
  </style>
  <rect class="back" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>
  {dots}
{chr(10).join(texts)}
</svg>
"""


def lines_of(svg: str) -> list[Line]:
    """Returns the lines that a picture shows, without their times."""
    texts = ElementTree.fromstring(svg).iter(f"{NAMESPACE}text")
    return [Line(0, re.sub(r"\n", "", "".join(text.itertext()))) for text in texts]

"""HTML building blocks for a page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources

from nandlab.report.theme import Drawing, scripts
from nandlab.writing.visible import visible

MARK = "h"
CHART = "chart"
"""The class of elements with a chart's specification."""

LANDSCAPE = 150
"""A table with this many letters in a line is printed across the page."""
WRAPPED = 24
"""Letters before a wrapping cell's words wrap."""

_GROUP = ' class="group"'


@dataclass(frozen=True)
class Wide:
    """The text in a cell that spans several."""

    text: str
    columns: int


@dataclass(frozen=True)
class Mark:
    """A word on a background for its kind."""

    text: str
    kind: str

    def __str__(self) -> str:
        """The element."""
        return f'<span class="mark {self.kind}">{escape(self.text)}</span>'


@dataclass(frozen=True)
class Named:
    """A name, and words in any length below it."""

    text: str
    words: str


Cell = str | Wide | Mark | Named
"""A table cell's content."""


def page(title: str, subtitle: str, body: Iterable[str]) -> str:
    """A whole page."""
    style = resources.files("nandlab.report").joinpath("style.css").read_text(encoding="utf-8")
    content = visible("\n".join(body))
    title, subtitle = visible(title), visible(subtitle)
    drawing = _scripts() if f'class="{CHART}"' in content else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        f'<h1>{escape(title)}</h1>\n<p class="subtitle">{escape(subtitle)}</p>\n'
        f"{content}\n</main>\n{drawing}</body>\n</html>\n"
    )


def _scripts() -> str:
    """What draws the charts anew, behind the page that it finds."""
    found = scripts()
    return (
        f'<script type="application/json" id="look">{found.config}</script>\n'
        f"<script>\n{found.library}</script>\n<script>\n{found.own}</script>\n"
    )


def section(title: str, *parts: str, note: str = "") -> str:
    """A heading with its content; empty without content."""
    inner = "\n".join(part for part in parts if part)
    if not inner:
        return ""
    explanation = f'<p class="note">{prose(note)}</p>\n' if note else ""
    return f"<section>\n<h2>{escape(title)}</h2>\n{explanation}{inner}\n</section>"


def titled(title: str, inner: str) -> str:
    """A smaller heading with its content; empty without content."""
    return f"<h3>{escape(title)}</h3>\n{inner}" if inner else ""


def folded(title: str, inner: str) -> str:
    """Content that opens on a click, and on paper always."""
    return f"<details>\n<summary>{escape(title)}</summary>\n{inner}\n</details>"


def prose(text: str) -> str:
    """Plain text for a page; text in backticks is code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", escape(text))


def paragraph(text: str, kind: str = "") -> str:
    """A plain-text paragraph."""
    return f'<p class="{kind}">{prose(text)}</p>' if kind else f"<p>{prose(text)}</p>"


def conclusions(sentences: Sequence[str]) -> str:
    """What the page says first; empty without sentences."""
    said = "\n".join(f"<li>{prose(sentence)}</li>" for sentence in sentences)
    return section("Conclusions", f'<ul class="said">\n{said}\n</ul>' if said else "")


def code(text: str) -> str:
    """Text as it is."""
    return f"<pre><code>{escape(text)}</code></pre>"


def tiles(figures: Iterable[tuple[str | Mark, str, str]]) -> str:
    """Figures side by side, each large: name, value and explanation."""
    return (
        '<dl class="tiles">'
        + "\n".join(
            f"<div><dt>{name if isinstance(name, Mark) else escape(name)}</dt>"
            f"<dd>{escape(value)}</dd><dd>{escape(words)}</dd></div>"
            for name, value, words in figures
        )
        + "</dl>"
    )


def table(
    titles: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    right: Iterable[int] = (),
    heat: Sequence[Sequence[float]] | None = None,
    groups: Iterable[int] = (),
    kind: str = "",
) -> str:
    """A table.

    Args:
        titles: Column heads; none for a table without.
        rows: Cell texts.
        right: Number columns.
        heat: A share from 0 to 1 for each cell, shown as its background.
        groups: Rows with a line above them.
        kind: The table's class, for the style.

    """
    numbers, starts = set(right), set(groups)
    head = "".join(_cell("th", at, title, numbers) for at, title in enumerate(titles))
    lines = [f"<thead><tr>{head}</tr></thead>" if titles else "", "<tbody>"]
    drawn = list(rows)
    for line, row in enumerate(drawn):
        shares = heat[line] if heat else ()
        cells = (
            _cell("th" if at == 0 else "td", at, text, numbers, shares[at] if at < len(shares) else 0.0)
            for at, text in enumerate(row)
        )
        lines.append(f"<tr{_GROUP if line in starts else ''}>{''.join(cells)}</tr>")
    wraps = () if titles else range(2, 100)
    start = f'<table class="{kind}">' if kind else "<table>"
    return scrolled(start + "\n".join(lines) + "</tbody></table>", titles, drawn, wraps)


def scrolled(
    table: str, titles: Sequence[str], rows: Sequence[Sequence[Cell]], wraps: Iterable[int] = ()
) -> str:
    """A table in a box that scrolls on a screen and says, for paper, how many letters stand side by side.

    Args:
        table: The element.
        titles: Column heads; their words wrap on paper.
        rows: Cell texts.
        wraps: Columns whose words wrap.

    """
    wide = letters(titles, rows, wraps)
    kind = "scroll broad" if wide > LANDSCAPE else "scroll"
    return f'<div class="{kind}" style="--letters:{wide}">{table}</div>'


def letters(titles: Sequence[str], rows: Sequence[Sequence[Cell]], wraps: Iterable[int] = ()) -> int:
    """A table's width in letters: columns side by side, with the room between them.

    >>> letters(["write latency", "n"], [["12", "7"], ["page", "128"]])
    14
    """
    widths: dict[int, int] = {}
    for at, title in enumerate(titles):
        widths[at] = max(map(len, title.split()), default=0)
    short = set(wraps)
    for row in rows:
        for at, cell in enumerate(row):
            if not isinstance(cell, Wide):
                wide = len(cell if isinstance(cell, str) else cell.text)
                wide = max(wide, WRAPPED) if isinstance(cell, Named) else wide
                length = min(wide, WRAPPED) if at in short else wide
                widths[at] = max(widths.get(at, 0), length)
    return sum(width + 2 for width in widths.values())


def _cell(tag: str, at: int, text: Cell, numbers: set[int], share: float = 0.0) -> str:
    if isinstance(text, Wide):
        return f'<{tag} class="wide" colspan="{text.columns}">{prose(text.text)}</{tag}>'
    if isinstance(text, Mark):
        return f"<{tag}>{text}</{tag}>"
    if isinstance(text, Named):
        words = f'<span class="words">{prose(text.words)}</span>'
        return f'<{tag} scope="row">{prose(text.text)}{words}</{tag}>'
    kind = ' class="number"' if at in numbers else ""
    style = f' style="--{MARK}:{share * 100:.0f}%"' if share > 0 else ""
    scope = ' scope="row"' if tag == "th" and at == 0 else ""
    return f"<{tag}{kind}{style}{scope}>{prose(text)}</{tag}>"


def figure(svg: str, caption: str = "") -> str:
    """A chart with its caption; a `Drawing` has its specification beside it, for the page's script."""
    words = f"<figcaption>{prose(caption)}</figcaption>" if caption else ""
    live = ""
    if isinstance(svg, Drawing):
        chart = f'<script type="application/json" class="{CHART}">{svg.data()}</script>'
        live = f'<div class="live"></div>{chart}'
    return f'<figure><div class="scroll">{svg}</div>{live}{words}</figure>'

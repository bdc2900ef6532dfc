"""Tables and JSON on stdout."""

from __future__ import annotations

import itertools
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

import click

from nandlab.writing.visible import Visible, visible

RULE = "─"
"""Below titles."""
FIRST_COMBINING = "\u0300"
"""All letters before it take one column."""
COMFORTABLE = 110
"""Fewest terminal columns for tables with wide gaps."""


def terminal(stream: TextIO) -> TextIO:
    """The stream for what moves the cursor and sets colours."""
    stream.flush()
    return stream.whole if isinstance(stream, Visible) else stream


def print_json(document: Any) -> None:  # noqa: ANN401 - JSON
    """One JSON document."""
    click.echo(json.dumps(document, ensure_ascii=False, indent=2))


def print_table(
    rows: Sequence[Sequence[str]],
    titles: Sequence[str] = (),
    right: Sequence[int] = (),
    *,
    to_stderr: bool = False,
) -> None:
    """A table; the columns in `right` hold numbers: they are aligned to the right and never broken.

    On a terminal too narrow for them the table is turned: a line for each such column.
    """
    stream = sys.stderr if to_stderr else sys.stdout
    if not stream.isatty():
        # Lines are for programs, and are not wrapped.
        click.echo("\n".join(lines(rows, titles, right)), err=to_stderr)
        return
    width = _columns(stream)
    gap = 2 if width >= COMFORTABLE or not titles else 0
    columns = max(map(len, [titles, *rows]), default=0)
    rows = [[visible(cell) for cell in row] + [""] * (columns - len(row)) for row in rows]
    titles = [*titles, *[""] * (columns - len(titles))] if titles else ()
    if titles and _narrowest(rows, titles, right, gap) > width:
        gap = 0
    tables: Iterable[tuple[Sequence[Sequence[str]], Sequence[str], Sequence[int]]] = [(rows, titles, right)]
    if titles and len(right) > 1 and _narrowest(rows, titles, right, gap) > width:
        turned = _turned(width, rows, titles, right)
        tables = ((part, heads, range(1, len(heads))) for part, heads in turned)
    for part, heads, numbers in tables:
        told = lines(part, heads, numbers, gap, width)
        if heads and os.environ.get("TERM", "dumb") not in ("dumb", "unknown"):
            rule = next(at for at, line in enumerate(told) if line.startswith(RULE))
            told[:rule] = [click.style(line, bold=True) for line in told[:rule]]
        print("\n".join(told), file=terminal(stream))


def lines(
    rows: Sequence[Sequence[str]],
    titles: Sequence[str] = (),
    right: Sequence[int] = (),
    gap: int = 2,
    width: int | None = None,
) -> list[str]:
    """A table's lines; where a width is given, the widest columns of words are broken until it fits.

    With titles, columns have one more space than `gap` between them.

    >>> lines([["a", "12"], ["bcd", "3"]], ["name", "count"], right=[1])
    ['name   count', '────────────', 'a         12', 'bcd        3']
    >>> lines([["one two three", "4"]], right=[1], width=10)
    ['one two  4', 'three']
    """
    table = [[visible(cell).expandtabs().split("\n") for cell in row] for row in [titles, *rows]]
    widths = [_width(itertools.chain(*column)) for column in itertools.zip_longest(*table, fillvalue=[])]
    between = " " * (gap + bool(titles))
    if width is not None:
        widths = _narrowed(widths, right, width - len(between) * (len(widths) - 1))
        table = [
            [[part for line in cell for part in _broken(line, widths[at])] for at, cell in enumerate(row)]
            for row in table
        ]
    told = []
    for at, row in enumerate(table):
        height = max(map(len, row), default=0)
        # Titles end on the same line, cells begin on it.
        cells = [[""] * (height - len(cell)) + cell if at == 0 else cell for cell in row]
        for parts in itertools.zip_longest(*cells, fillvalue=""):
            room = [" " * (widths[column] - _letters(part)) for column, part in enumerate(parts)]
            line = [
                space + part if column in right else part + space
                for column, (part, space) in enumerate(zip(parts, room, strict=True))
            ]
            told.append(between.join(line).rstrip())
        if at == 0 and titles:
            told.append(RULE * (sum(widths) + len(between) * (len(widths) - 1)))
    return told


def _narrowed(widths: Sequence[int], right: Sequence[int], room: int) -> list[int]:
    """The widths with the widest columns of words made narrower until all have room."""
    narrowed = [*widths]
    words = [at for at in range(len(narrowed)) if at not in right and narrowed[at]]
    while sum(narrowed) > room and words:
        widest = max(words, key=lambda at: narrowed[at])
        if narrowed[widest] == 1:
            break
        narrowed[widest] -= 1
    return narrowed


def _broken(line: str, width: int) -> list[str]:
    """A line in pieces of at most `width` columns, broken between words where there are any."""
    pieces = []
    line = line.rstrip()
    while line:
        fits, taken = 0, 0
        while fits < len(line) and (fits == 0 or taken + _letters(line[fits]) <= width):
            taken += _letters(line[fits])
            fits += 1
        indent = len(line) - len(line.lstrip())
        space = line.rfind(" ", indent + 1, fits + 1)
        end = len(line) if fits == len(line) else space if space > 0 else fits
        pieces.append(line[:end].rstrip())
        line = line[end:].lstrip()
    return pieces or [""]


def _letters(text: str) -> int:
    """How many columns of a terminal it takes."""
    if max(text, default="") < FIRST_COMBINING:
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        for letter in text
    )


def _columns(stream: TextIO) -> int:
    """How wide a terminal is."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given) > 0:
        return int(given)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80


APART = 2
"""Spaces between two columns, at least."""
READABLE = 10
"""Fewest letters in a shrunken text column."""


def _width(cells: Iterable[str]) -> int:
    return max((_letters(cell) for cell in cells), default=0)


def _narrowest(rows: Sequence[Sequence[str]], titles: Sequence[str], right: Sequence[int], gap: int) -> int:
    """How wide a table is when its words are broken and its numbers are not."""
    cells = [
        [part for text in column for part in text.split("\n")] for column in zip(titles, *rows, strict=True)
    ]
    widths = [_width(column) for column in cells]
    least = [width if at in right else min(width, READABLE) for at, width in enumerate(widths)]
    return sum(least) + (gap + 1) * (len(least) - 1)


def _turned(
    width: int, rows: Sequence[Sequence[str]], titles: Sequence[str], right: Sequence[int]
) -> Iterator[tuple[list[list[str]], list[str]]]:
    """Tables with a line for each number column, and as many row columns as fit."""
    words = [at for at in range(len(titles)) if at not in right]
    named = [", ".join(row[at] for at in words if row[at]) for row in rows]
    wide = [_width([name, *(row[at] for at in right)]) + APART for name, row in zip(named, rows, strict=True)]
    # Column titles may have two lines.
    lines = {at: titles[at].replace("\n", " ") for at in right}
    left = _width(lines.values()) + APART
    start = 0
    while start < len(rows):
        end, taken = start + 1, left + wide[start]
        while end < len(rows) and taken + wide[end] <= width:
            taken += wide[end]
            end += 1
        heads = [", ".join(titles[at] for at in words), *named[start:end]]
        yield [[lines[at], *(row[at] for row in rows[start:end])] for at in right], heads
        start = end


BEGINS = r"\s*(?:[*-] |\d+\. |#)"
"""A line that begins something: a list item, a heading."""
AS_IT_IS = r"\s*\||.*\S {2,}\S| {4}|#"
"""A table row, text set in columns, code, a heading: in pieces it would be unreadable."""


def wrapped(text: str, width: int) -> str:
    r"""Text with its paragraphs set anew if one line is longer than `width`.

    >>> print(wrapped("* one two\nthree\n\nfour", 8))
    * one
      two
      three
    <BLANKLINE>
    four
    """
    parts: list[tuple[bool, list[str]]] = []
    is_code = False
    for line in text.split("\n"):
        is_fence = line.lstrip().startswith("```")
        is_code ^= is_fence
        is_prose = bool(line.strip()) and not (is_code or is_fence or re.match(AS_IT_IS, line))
        if is_prose and parts and parts[-1][0] and not re.match(BEGINS, line):
            parts[-1][1].append(line)
        else:
            parts.append((is_prose, [line]))
    return "\n".join(_set_anew(lines, width) if is_prose else lines[0] for is_prose, lines in parts)


def _set_anew(lines: list[str], width: int) -> str:
    if max(map(len, lines)) <= width:
        return "\n".join(lines)
    begin = re.match(r"\s*(?:[*-] |\d+\. )?", lines[0])
    under = " " * len(begin[0]) if begin else ""
    text = " ".join([lines[0], *map(str.strip, lines[1:])])
    import textwrap

    return textwrap.fill(text, width, subsequent_indent=under, break_long_words=False, break_on_hyphens=False)


def echo_wrapped(text: str) -> None:
    """Text on stdout, no wider than the terminal; unchanged into a file or to a program."""
    import shutil

    click.echo(wrapped(text, shutil.get_terminal_size().columns) if sys.stdout.isatty() else text)


def as_command() -> str:
    """The command as it was given, for a report."""
    import shlex

    return shlex.join(["nandlab", *sys.argv[1:]])


def say_path(path: str, as_json: bool) -> None:
    """The report's path: part of the result, but not part of a JSON document."""
    click.echo(f"\nreport: {path}", err=as_json)


def say(text: str) -> None:
    """A line on stderr, beside the result."""
    click.echo(text, err=True)

"""Tables and JSON on stdout."""

from __future__ import annotations

import io
import json
import re
import shlex
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

from nandlab.writing.visible import Visible, visible

UNLIMITED = 10_000
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
    from rich.console import Console

    if not (sys.stderr if to_stderr else sys.stdout).isatty():
        # Lines are for programs, and are not wrapped.
        text = io.StringIO()
        console = Console(file=text, width=UNLIMITED, highlight=False)
        console.print(_table(console, rows, titles, right))
        click.echo(
            "\n".join(line.rstrip() for line in text.getvalue().rstrip("\n").split("\n")), err=to_stderr
        )
        return
    console = Console(highlight=False, file=terminal(sys.stderr if to_stderr else sys.stdout))
    if titles and len(right) > 1 and _narrowest(rows, titles, right) > console.width:
        for part, heads in _turned(console.width, rows, titles, right):
            console.print(_table(console, part, heads, range(1, len(heads))))
        return
    console.print(_table(console, rows, titles, right))


def _table(
    console: Console, rows: Sequence[Sequence[str]], titles: Sequence[str], right: Sequence[int]
) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    box = SIMPLE_HEAD if titles else None
    # The box sets its columns apart by itself.
    gap = 2 if console.width >= COMFORTABLE or box is None else 0
    table = Table(box=box, show_header=bool(titles), show_edge=False, pad_edge=False, padding=(0, gap, 0, 0))
    columns = max([len(titles), *(len(row) for row in rows)], default=0)
    for at in range(columns):
        number = at in right
        table.add_column(
            Text(visible(titles[at]) if titles else ""),
            justify="right" if number else "left",
            no_wrap=number,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    return table


APART = 2
"""Spaces between two columns, at least."""
READABLE = 10
"""Fewest letters in a shrunken text column."""


def _width(cells: Iterable[str]) -> int:
    return max((len(cell) for cell in cells), default=0)


def _narrowest(rows: Sequence[Sequence[str]], titles: Sequence[str], right: Sequence[int]) -> int:
    """How wide a table is when its words are broken and its numbers are not."""
    cells = [[*title.split("\n"), *(row[at] for row in rows)] for at, title in enumerate(titles)]
    widths = [_width(column) for column in cells]
    return sum((width if at in right else min(width, READABLE)) + APART for at, width in enumerate(widths))


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


BEGINS = re.compile(r"\s*(?:[*-] |\d+\. |#)")
"""A line that begins something: a list item, a heading."""
AS_IT_IS = re.compile(r"\s*\||.*\S {2,}\S| {4}|#")
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
        is_prose = bool(line.strip()) and not (is_code or is_fence or AS_IT_IS.match(line))
        if is_prose and parts and parts[-1][0] and not BEGINS.match(line):
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
    return textwrap.fill(text, width, subsequent_indent=under, break_long_words=False, break_on_hyphens=False)


def echo_wrapped(text: str) -> None:
    """Text on stdout, no wider than the terminal; unchanged into a file or to a program."""
    import shutil

    click.echo(wrapped(text, shutil.get_terminal_size().columns) if sys.stdout.isatty() else text)


def as_command() -> str:
    """The command as it was given, for a report."""
    return shlex.join(["nandlab", *sys.argv[1:]])


def say_path(path: str, as_json: bool) -> None:
    """The report's path: part of the result, but not part of a JSON document."""
    click.echo(f"\nreport: {path}", err=as_json)


def say(text: str) -> None:
    """A line on stderr, beside the result."""
    click.echo(text, err=True)

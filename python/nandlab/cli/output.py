"""Tables and JSON on stdout."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from typing import Any

import click

UNLIMITED = 10_000
COMFORTABLE = 110
"""Columns of a terminal from which on tables are set with wide gaps."""


def print_json(document: Any) -> None:  # noqa: ANN401 - JSON
    """One JSON document."""
    click.echo(json.dumps(document, ensure_ascii=False, indent=2))


def print_table(rows: Sequence[Sequence[str]], titles: Sequence[str] = (), right: Sequence[int] = ()) -> None:
    """A table; the columns whose numbers are in `right` are aligned to the right and never broken."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    terminal = sys.stdout.isatty()
    # Where stdout is no terminal, lines are for programs, and are not wrapped.
    text = io.StringIO()
    console = Console(highlight=False) if terminal else Console(file=text, width=UNLIMITED, highlight=False)
    box = SIMPLE_HEAD if titles else None
    # The box sets its columns apart by itself.
    gap = 2 if console.width >= COMFORTABLE or box is None else 0
    table = Table(box=box, show_header=bool(titles), show_edge=False, pad_edge=False, padding=(0, gap, 0, 0))
    columns = max([len(titles), *(len(row) for row in rows)], default=0)
    for at in range(columns):
        number = at in right
        table.add_column(
            Text(titles[at] if titles else ""),
            justify="right" if number else "left",
            no_wrap=number,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)
    if not terminal:
        click.echo("\n".join(line.rstrip() for line in text.getvalue().rstrip("\n").split("\n")))


def say_path(path: str, as_json: bool) -> None:
    """Where the report is: part of the result, but not of a JSON document."""
    click.echo(f"\nreport: {path}", err=as_json)


def say(text: str) -> None:
    """A line on stderr, beside the result."""
    click.echo(text, err=True)

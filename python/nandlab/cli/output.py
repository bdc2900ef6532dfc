"""Tables and JSON on stdout."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Sequence
from typing import Any

import click

UNLIMITED = 10_000
"""Width where stdout is no terminal: lines are then for programs, and are not wrapped."""


def print_json(document: Any) -> None:  # noqa: ANN401 - JSON
    """One JSON document."""
    click.echo(json.dumps(document, ensure_ascii=False, indent=2))


def print_table(rows: Sequence[Sequence[str]], titles: Sequence[str] = (), right: Sequence[int] = ()) -> None:
    """A table; the columns whose numbers are in `right` are aligned to the right."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    columns = max([len(titles), *(len(row) for row in rows)], default=0)
    table = Table(
        box=SIMPLE_HEAD if titles else None, show_header=bool(titles), pad_edge=False, padding=(0, 2, 0, 0)
    )
    for at in range(columns):
        title = titles[at] if titles else ""
        table.add_column(Text(title), justify="right" if at in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    if sys.stdout.isatty():
        Console(highlight=False).print(table)
        return
    text = io.StringIO()
    Console(file=text, width=UNLIMITED, highlight=False).print(table)
    click.echo("\n".join(line.rstrip() for line in text.getvalue().strip("\n").split("\n")))


def say(text: str) -> None:
    """A line on stderr, beside the result."""
    click.echo(text, err=True)

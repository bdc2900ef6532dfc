"""A comparison's table, made with Great Tables; a page has it without their style."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape
from typing import Any

import great_tables
import polars as pl

from nandlab.report import html
from nandlab.report.html import MARK

Table = Any
"""A `great_tables.GT`."""


def comparison(  # noqa: PLR0913 - the parts of a table
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: Sequence[int],
    heat: Sequence[Sequence[float]],
    best: Sequence[Sequence[bool]],
    groups: Sequence[str],
) -> Table:
    """Runs beside each other.

    Args:
        titles: Column heads.
        rows: Cell texts.
        numbers: Number columns.
        heat: A share from 0 to 1 for each cell, shown as its background.
        best: Whether a cell holds its group's best figure.
        groups: Each row's group; empty for a single group.

    """
    keys = [f"c{at}" for at in range(len(titles))]
    marked = [
        [f"★ {text}" if is_best else text for text, is_best in zip(row, marks, strict=True)]
        for row, marks in zip(rows, best, strict=True)
    ]
    frame = pl.DataFrame(marked, schema=dict.fromkeys(keys, str), orient="row")
    grouped = any(groups)
    if grouped:
        frame = frame.with_columns(pl.Series("group", list(groups)))
    table = great_tables.GT(frame, groupname_col="group" if grouped else None, id="comparison")
    table = table.cols_label(dict(zip(keys, titles, strict=True)))
    table = table.cols_align("right", [keys[at] for at in numbers])
    for line, (shares, marks) in enumerate(zip(heat, best, strict=True)):
        for at in numbers:
            rules = [f"--{MARK}:{100 * shares[at]:.0f}%"] if shares[at] > 0 else []
            rules += ["font-weight:700"] if marks[at] else []
            if rules:
                here = great_tables.loc.body(columns=keys[at], rows=[line])
                table = table.tab_style(great_tables.style.css(";".join(rules)), here)
    return table


def in_page(table: Table) -> str:
    """A table for a page, in the page's own table style."""
    text = re.sub(r"<style>.*?</style>", "", table.as_raw_html(), flags=re.DOTALL)
    found = re.search(r"<table.*</table>", text, re.DOTALL)
    inner = found[0] if found else ""
    lines = [
        [
            unescape(re.sub(r"<[^>]*>", "", cell))
            for cell in re.findall(r"<t[hd]\b[^>]*>(.*?)</t[hd]>", line, re.DOTALL)
        ]
        for line in re.findall(r"<tr\b.*?</tr>", inner, re.DOTALL)
    ]
    # A one-cell line heads a group or is a note: its words wrap.
    rows = [line for line in lines if len(line) > 1]
    titles = rows[:1] if "<thead" in inner else []
    wraps = [len(rows[0]) - 1] if rows else []
    return html.scrolled(inner, titles[0] if titles else [], rows[len(titles) :], wraps)

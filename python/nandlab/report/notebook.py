"""What a notebook shows of a result: its conclusions and a short table, in the notebook's own type."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from nandlab.figures import conclusions, summary
from nandlab.figures.headline import headline
from nandlab.record.record import Record

MOST = 12
"""Most rows of a table; the frame has all."""


def shown(title: str, said: Sequence[str], titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A heading, sentences and a table as HTML without a style of its own."""
    sentences = "".join(f"<li>{escape(each)}</li>" for each in said)
    head = "".join(f"<th>{escape(each)}</th>" for each in titles)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows[:MOST]
    )
    more = f"<p>and {len(rows) - MOST:,} more rows</p>" if len(rows) > MOST else ""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>" if rows else ""
    listed = f"<ul>{sentences}</ul>" if said else ""
    return f"<div><strong>{escape(title)}</strong>{listed}{table}{more}</div>"


def of_result(result: Record) -> str:
    """One run: what it comes to, and its first figures."""
    rows = headline(result)
    return shown(summary.title(result), conclusions.of_run(result), ("figure", "value", "parts"), rows)


def of_results(results: dict[str, Record], errors: dict[str, str]) -> str:
    """Several runs by their names."""
    columns = summary.columns(list(results.values())) if results else []
    rows = [[name, *(column.cell(result) for column in columns)] for name, result in results.items()]
    said = conclusions.of_comparison({"": {name: [result] for name, result in results.items()}})
    said += [f"{name}: {why}" for name, why in errors.items()]
    return shown("Comparison", said, ("design", *(column.title for column in columns)), rows)

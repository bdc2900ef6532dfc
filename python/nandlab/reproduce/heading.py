"""The fields every table and figure in a paper's file has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from nandlab.reproduce.document import Table
from nandlab.reproduce.words import Why, parse_why


@dataclass(frozen=True)
class Headed:
    """A table or figure with its heading."""

    name: str
    """Name for its files in a bundle."""
    title: str
    caption: Why
    labels: dict[str, str]
    """Names for runs, columns or origins."""


class Heading(TypedDict):
    """The fields for `Headed`."""

    name: str
    title: str
    caption: Why
    labels: dict[str, str]


def parse_heading(table: Table) -> Heading:
    """Reads an entry's heading.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    name = table.text("name")
    if not name.replace("-", "").isalnum():
        raise table.error("name", f"expected letters, digits and -, given {name!r}")
    return {
        "name": name,
        "title": table.text("title"),
        "caption": table.read("caption", table.text("caption", ""), parse_why),
        "labels": {key: str(value) for key, value in table.plain("labels").items()},
    }

"""What every table and figure of a paper's file has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

from nandlab.reproduce.document import Table
from nandlab.reproduce.words import Why, parse_why


@dataclass(frozen=True)
class Headed:
    """A table or figure with its heading."""

    name: str
    """Of its files in a bundle."""
    title: str
    caption: Why
    labels: dict[str, str]
    """What runs, columns or origins are called."""


class Heading(TypedDict):
    """The fields of `Headed`."""

    name: str
    title: str
    caption: Why
    labels: dict[str, str]


def parse_heading(table: Table) -> Heading:
    """Reads the heading of an entry.

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

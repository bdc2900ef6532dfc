"""The fields every table and figure in a paper's file has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypedDict, TypeVar

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


H = TypeVar("H", bound=Headed)


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
        "labels": parse_labels(table),
    }


def parse_labels(table: Table) -> dict[str, str]:
    """Names for runs and columns, of an entry or of a whole paper."""
    return {key: str(value) for key, value in table.plain("labels").items()}


def labelled(labels: Mapping[str, str], parts: Iterable[H]) -> tuple[H, ...]:
    """The same with a paper's labels where they have none of their own."""
    return tuple(replace(part, labels={**labels, **part.labels}) for part in parts)

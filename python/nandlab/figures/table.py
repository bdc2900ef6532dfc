"""Table columns, described once for the terminal, for pages and for JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")


class Column(Generic[Item]):
    """A column: its title, its value for an item, the value's text, and whether high is good."""

    def __init__(
        self,
        title: str,
        value: Callable[[Item], Any],
        text: Callable[[Any], str],
        *,
        high: bool = False,
        is_number: bool = True,
    ) -> None:
        self.title, self.value, self.text = title, value, text
        self.high, self.is_number = high, is_number

    def cell(self, item: Item) -> str:
        """The column's value for an item, as text."""
        return self.text(self.value(item))

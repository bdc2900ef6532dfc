"""A TOML document read table by table; errors come with file, line and key."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from nandlab._native import ConfigError, toml_to_json

T = TypeVar("T")

_WORDS = {str: "a text", bool: "true or false", int: "a whole number", list: "a list", dict: "a table"}


class Table:
    """A table whose keys are taken one after the other; `end()` refuses the rest."""

    def __init__(self, source: str, lines: Mapping[str, int], path: str, values: dict[str, Any]) -> None:
        self._source, self._lines, self._path = source, lines, path
        self._values, self._taken = values, list[str]()

    @classmethod
    def parse(cls, text: str, source: str) -> Table:
        """A document's top; `source` names it in errors.

        Raises:
            ConfigError: It is not TOML.

        """
        document = json.loads(toml_to_json(text, source))
        return cls(source, document["lines"], "", document["tree"])

    def _at(self, key: str) -> str:
        return f"{self._path}.{key}" if self._path else key

    def error(self, key: str, message: str) -> ConfigError:
        """An error about a key in this table; the key may be missing."""
        path = self._at(key) if key else self._path
        line = self._lines.get(path, self._lines.get(self._path))
        place = self._source if line is None else f"{self._source}, line {line}"
        error = ConfigError(f"{place}: {path}: {message}")
        error.file, error.line, error.key = self._source, line, path
        return error

    def holds(self, path: str) -> bool:
        """Whether the document has something at a key path, from this table down."""
        tree: Any = self._values
        for key in path.split("."):
            if not isinstance(tree, dict) or key not in tree:
                return False
            tree = tree[key]
        return True

    def line_of(self, path: str) -> int | None:
        """The line of a key path from the document's top, or else its table's line."""
        while path and path not in self._lines:
            path = path.rpartition(".")[0]
        return self._lines.get(path)

    def has(self, key: str) -> bool:
        """Whether the table has this key."""
        return key in self._values

    def keys(self) -> list[str]:
        """Every key, in text order."""
        return list(self._values)

    def _take(self, key: str, kind: type[T], default: T | None) -> T:
        self._taken.append(key)
        if key not in self._values:
            if default is None:
                raise self.error(key, f"expected {_WORDS[kind]}, and there is none")
            return default
        value = self._values[key]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.error(key, f"expected {_WORDS[kind]}, given {json.dumps(value, ensure_ascii=False)}")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """A text."""
        return self._take(key, str, default)

    def whole(self, key: str, default: int | None = None) -> int:
        """A whole number, at least 1."""
        value = self._take(key, int, default)
        if value < 1:
            raise self.error(key, f"expected a whole number from 1 on, given {value}")
        return value

    def truth(self, key: str, default: bool) -> bool:
        """True or false."""
        return self._take(key, bool, default)

    def number(self, key: str) -> float:
        """A number."""
        self._taken.append(key)
        value = self._values.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(key, f"expected a number, given {json.dumps(value, ensure_ascii=False)}")
        return value

    def values(self, key: str, default: list[Any] | None = None) -> list[Any]:
        """A list with at least one entry, of any type."""
        found: list[Any] = self._take(key, list, default)
        if not found and default is None:
            raise self.error(key, "expected a list with at least one entry")
        return found

    def texts(self, key: str) -> list[str]:
        """A text, or a list of texts; empty if the key is missing."""
        self._taken.append(key)
        value = self._values.get(key, [])
        found = [value] if isinstance(value, str) else value
        if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
            raise self.error(key, f"expected a text or a list of texts, given {json.dumps(value)}")
        return found

    def chosen(self, key: str, among: tuple[str, ...], default: str | None = None) -> str:
        """One of several words."""
        value = self.text(key, default)
        if value not in among:
            raise self.error(key, f"expected one of {', '.join(among)}, given {value!r}")
        return value

    def plain(self, key: str) -> dict[str, Any]:
        """A table as it is; an empty one if there is none."""
        return self._take(key, dict, {})

    def table(self, key: str) -> Table:
        """A table below this one; an empty one if there is none."""
        return Table(self._source, self._lines, self._at(key), self._take(key, dict, {}))

    def tables(self, key: str) -> list[Table]:
        """A list of tables, `[[key]]`; empty if there is none."""
        found: list[Any] = self._take(key, list, [])
        if not all(isinstance(each, dict) for each in found):
            raise self.error(key, f"expected tables, each under a head [[{self._at(key)}]]")
        return [
            Table(self._source, self._lines, f"{self._at(key)}[{at}]", each) for at, each in enumerate(found)
        ]

    def read(self, key: str, text: str, parse: Callable[[str], T]) -> T:
        """Parses `text`, found under `key`; a `ValueError` gets its place."""
        try:
            return parse(text)
        except ValueError as error:
            raise self.error(key, str(error)) from None

    def end(self) -> None:
        """Refuses keys nobody asked for."""
        for key in self._values:
            if key not in self._taken:
                near = difflib.get_close_matches(key, self._taken, 1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(self._taken)}"
                raise self.error(key, f"there is no such key; {hint}")

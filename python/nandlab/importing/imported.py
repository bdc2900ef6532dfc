"""An import's result: an experiment, the table, and sentences for people."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nandlab.importing.keys import DIFFERS, FATES, TOLD, Row
from nandlab.writing.toml_text import toml_text

WIDTH = 116


@dataclass(frozen=True)
class Imported:
    """An experiment, and the fate of each key behind it."""

    simulator: str
    sources: tuple[str, ...]
    flat: Mapping[str, Any]
    """The experiment: values by their whole keys, such as "device.shape.channels"."""
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    """Sentences about the whole: additions, and comparable figures."""

    @property
    def tree(self) -> dict[str, Any]:
        """The experiment in tables.

        >>> Imported("x", (), {"seed": 1, "ftl.page": {}, "device.shape.channels": 2}, (), ()).tree
        {'seed': 1, 'ftl': {'page': {}}, 'device': {'shape': {'channels': 2}}}
        """
        tree: dict[str, Any] = {}
        for path, value in self.flat.items():
            *tables, last = path.split(".")
            table = tree
            for name in tables:
                table = table.setdefault(name, {})
            table[last] = value
        return tree

    def told(self) -> list[Row]:
        """Keys without counterpart, but with an effect on results."""
        return [row for row in self.rows if row.fate == TOLD]

    def text(self) -> str:
        """The experiment as TOML; a comment at its head names every key with another meaning or none."""
        head = [f"Imported from {self.simulator}: {', '.join(self.sources)}", *self.notes]
        head += _section("Differs in meaning", [row for row in self.rows if row.fate == DIFFERS])
        head += _section("Has no counterpart here, and matters", self.told())
        return "\n".join(map(_comment, head)) + "\n\n" + toml_text(self.tree)

    def counts(self) -> str:
        """The table in a line."""
        by_fate = {fate: sum(row.fate == fate for row in self.rows) for fate in FATES}
        defaults = sum(row.is_default for row in self.rows)
        parts = [f"{number} {fate}" for fate, number in by_fate.items() if number]
        end = f"; {defaults} not in the file, their defaults taken" if defaults else ""
        return f"{len(self.rows)} keys: {'; '.join(parts)}{end}"

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {
            "simulator": self.simulator,
            "sources": list(self.sources),
            "experiment": self.tree,
            "keys": [
                {
                    "key": row.key,
                    "value": row.value,
                    "default": row.is_default,
                    "fate": row.fate,
                    "here": row.here,
                    "note": row.note,
                }
                for row in self.rows
            ],
            "notes": list(self.notes),
        }


def _section(title: str, rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []
    # Flows have the same keys.
    lines = dict.fromkeys(f"* {row.key} {row.value}: {row.note}" for row in rows)
    return ["", f"{title}:", *lines]


def _comment(line: str) -> str:
    under = "  " if line.startswith("* ") else ""
    parts = textwrap.wrap(line, WIDTH, subsequent_indent=under, break_long_words=False) or [""]
    return "\n".join(f"# {part}".rstrip() for part in parts)

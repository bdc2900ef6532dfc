"""Pictures of each block's contents on the flash, at some moments in a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nandlab.reproduce.document import Table
from nandlab.reproduce.heading import Headed, parse_heading
from nandlab.reproduce.timeline import at_path


@dataclass(frozen=True)
class BlockMap(Headed):
    """A number for each block, by address, with the first seed: columns are runs, rows are moments."""

    runs: tuple[str, ...]
    path: str
    """The list of moments: a key in the record, names joined by full stops."""
    moments: tuple[Any, ...]
    """The moments to draw, by their first figure."""
    values: str
    """The list with a number for each block, a moment's key."""
    moment_title: str
    """The first figure's title, such as `transactions`."""
    y_title: str

    @property
    def columns(self) -> list[str]:
        """The runs' names."""
        return [self.labels.get(run, run) for run in self.runs]

    @property
    def rows(self) -> list[str]:
        """The moments' names."""
        return [self._row(moment) for moment in self.moments]

    def _row(self, moment: int) -> str:
        return f"{moment:,} {self.moment_title}"

    def points(self, run: str, record: Mapping[str, Any]) -> list[dict[str, Any]]:
        """A run's blocks: `column`, `row`, `x` (the address), `y`; none for a moment without a list."""
        column = self.labels.get(run, run)
        found = {next(iter(entry.values())): entry for entry in at_path(record, self.path) or ()}
        return [
            {"column": column, "row": self._row(moment), "x": x, "y": y}
            for moment in self.moments
            for x, y in enumerate(at_path(found.get(moment), self.values) or ())
        ]


def parse_block_map(table: Table) -> BlockMap:
    """Reads an entry in `[[block_maps]]`.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    drawn = BlockMap(
        **parse_heading(table),
        runs=tuple(table.texts("runs")),
        path=table.text("list"),
        moments=tuple(table.values("moments")),
        values=table.text("values"),
        moment_title=table.text("moment_title"),
        y_title=table.text("y_title"),
    )
    for moment in drawn.moments:
        if not isinstance(moment, int):
            raise table.error("moments", f"expected whole numbers, given {moment!r}")
    table.end()
    return drawn

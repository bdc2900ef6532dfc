"""Pictures of what each block of the flash holds, at some moments of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nandlab.reproduce.document import Table
from nandlab.reproduce.heading import Headed, parse_heading
from nandlab.reproduce.timeline import at_path


@dataclass(frozen=True)
class BlockMap(Headed):
    """Numbers of each block by address: a column for each run, a row for each moment; of the first seed."""

    runs: tuple[str, ...]
    path: str
    """The list of moments: a key of the record, names joined by full stops."""
    moments: tuple[Any, ...]
    """Which of them are drawn, by their first figure."""
    values: str
    """The list with a number for each block, a key of a moment."""
    moment_title: str
    """What is counted by the first figure, such as `transactions`."""
    y_title: str

    @property
    def columns(self) -> list[str]:
        """The names of the runs."""
        return [self.labels.get(run, run) for run in self.runs]

    @property
    def rows(self) -> list[str]:
        """The names of the moments."""
        return [self._row(moment) for moment in self.moments]

    def _row(self, moment: int) -> str:
        return f"{moment:,} {self.moment_title}"

    def points(self, run: str, record: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The blocks of a run: `column`, `row`, `x` (the address), `y`; none of a moment without a list."""
        column = self.labels.get(run, run)
        found = {next(iter(entry.values())): entry for entry in at_path(record, self.path) or ()}
        return [
            {"column": column, "row": self._row(moment), "x": x, "y": y}
            for moment in self.moments
            for x, y in enumerate(at_path(found.get(moment), self.values) or ())
        ]


def parse_block_map(table: Table) -> BlockMap:
    """Reads an entry of `[[block_maps]]`.

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

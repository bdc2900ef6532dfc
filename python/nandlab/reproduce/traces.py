"""Recorded traces in place of a paper's generators, if somebody has them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nandlab.reproduce.document import Table


@dataclass(frozen=True)
class Recorded:
    """A trace for a part to play, if a folder has it."""

    part: str
    files: tuple[str, ...]
    """Possible places in the folder; the first existing one counts."""
    options: dict[str, Any]
    """Options for `[workload.trace]`."""
    words: str
    """A description."""

    def found(self, folder: Path) -> str | None:
        """Its path for an experiment; None without a file."""
        paths = (folder / name for name in self.files)
        there = next((path for path in paths if path.is_file()), None)
        return None if there is None else str(there.resolve())

    def workload(self, path: str) -> dict[str, Any]:
        """The `[workload]` table to play it."""
        return {"trace": {"path": path, **self.options}}


def parse_traces(table: Table) -> tuple[Recorded, ...]:
    """A paper's tables `[traces.<part>]`.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    found = []
    for part in table.keys():  # noqa: SIM118 - a Table is no dictionary
        one = table.table(part)
        found.append(Recorded(part, tuple(one.texts("files")), one.plain("options"), one.text("words", "")))
        if not found[-1].files:
            raise one.error("files", "expected names of files, relative to the folder of traces")
        one.end()
    return tuple(found)

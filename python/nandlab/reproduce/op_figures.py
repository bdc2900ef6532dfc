"""Figures from a run's operations: single blocks before and after a recycling, or write addresses."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nandlab._native import NandlabError
from nandlab.experiment import Experiment
from nandlab.experiment.result import Result
from nandlab.report.device_charts import FREE, INVALID
from nandlab.reproduce.document import Table
from nandlab.reproduce.heading import Headed, parse_heading
from nandlab.running.batch import run_all

SHOWN = ("blocks", "writes")
IN_A_ROW = 16
"""A block's pages side by side."""

Cells = list[dict[str, Any]]


@dataclass(frozen=True)
class OpFigure(Headed):
    """A figure from one run with the first seed.

    `blocks`: every page in data block, log block and erased block, before and after a recycling. `writes`:
    the address of each page the host wrote, one after the other.
    """

    run: str
    shows: str
    cause: str
    """The recycling: its copies' cause, as in a record's matrix."""
    number: int
    """The recycling's number, counted from 1."""

    def named(self, origin: str) -> str:
        """An origin's name."""
        return self.labels.get(origin, origin.replace("_", " "))

    def draw_from(self, log: Path, result: Result) -> Cells:
        """The run's drawing: page cells, or points; empty if the run has no such recycling."""
        with log.open(newline="") as file:
            rows = csv.DictReader(file)
            if self.shows == "blocks":
                return self._blocks(rows, result.device.pages_per_block)
            return self._writes(rows, result.device.page_bytes // 512)

    def _writes(self, rows: Iterable[dict[str, str]], sectors: int) -> Cells:
        written = (row for row in rows if row["phase"] == "workload" and row["cause"] == "host")
        programs = (row for row in written if row["operation"] == "program")
        return [
            {"x": at, "y": int(row["lpn"]) * sectors, "colour": self.named(row["origin"])}
            for at, row in enumerate(programs, 1)
        ]

    def _blocks(self, rows: Iterable[dict[str, str]], pages: int) -> Cells:
        before, after, moves = self._around(rows, pages)
        if not moves:
            return []
        # A migration leaves the data block alone: the blocks are found by their contents.
        own = {int(row["lpn"]) // pages for row in moves}
        holders = {page // pages for lpn, page in before.newest.items() if lpn // pages in own}
        target = int(moves[0]["block"])
        sources = {int(row["from_page"]) // pages for row in moves}
        log = max(sorted(sources), key=lambda block: before.states(block, self).count(INVALID))
        data = min(holders - {log, target}, default=None)
        names = {data: "data block", log: "log block", target: "erased block"}
        return [
            {"block": name, "when": when, "column": at % IN_A_ROW, "row": at // IN_A_ROW, "state": state}
            for when, flash in (("before", before), ("after", after))
            for block, name in names.items()
            if block is not None
            for at, state in enumerate(flash.states(block, self))
        ]

    def _around(
        self, rows: Iterable[dict[str, str]], pages: int
    ) -> tuple[_Flash, _Flash, list[dict[str, str]]]:
        """The flash before and after the first logical block's recycling, and its copies."""
        flash, before, seen, moves = _Flash(pages), _Flash(pages), 0, list[dict[str, str]]()
        for row in rows:
            is_move = row["operation"] == "copy" and row["cause"] == self.cause and int(row["lpn"]) < pages
            if moves and not (is_move and row["block"] == moves[0]["block"]):
                seen += 1
                if seen == self.number:
                    return before, flash, moves
                moves = []
            if is_move:
                if not moves:
                    before = flash.copy()
                moves.append(row)
            flash.take(row)
        return before, flash, []


class _Flash:
    """Each page's contents, from the log."""

    def __init__(self, pages: int) -> None:
        self.pages = pages
        self.held: dict[int, tuple[int, str]] = {}
        """By page: its logical page, and its origin."""
        self.newest: dict[int, int] = {}

    def copy(self) -> _Flash:
        """The same, for later."""
        other = _Flash(self.pages)
        other.held, other.newest = dict(self.held), dict(self.newest)
        return other

    def take(self, row: dict[str, str]) -> None:
        """An operation."""
        if row["operation"] == "erase":
            first = int(row["block"]) * self.pages
            for page in range(first, first + self.pages):
                self.held.pop(page, None)
        elif row["operation"] in ("program", "copy") and row["lpn"]:
            page, lpn = int(row["page"]), int(row["lpn"])
            self.held[page] = (lpn, row["origin"])
            # The block map's pages have their own numbers.
            if row["origin"] != "ftl":
                self.newest[lpn] = page

    def states(self, block: int, figure: OpFigure) -> list[str]:
        """Each page in a block: free, invalid, or the author of its valid contents."""
        found = []
        for page in range(block * self.pages, (block + 1) * self.pages):
            lpn, origin = self.held.get(page, (-1, ""))
            is_valid = self.newest.get(lpn) == page
            found.append(FREE if lpn < 0 else figure.named(origin) if is_valid else INVALID)
        return found


def measured(figure: OpFigure, experiment: Experiment) -> tuple[Cells, Result | None, str | None, bool]:
    """The drawing for a figure's run, its result, its error, and whether it was stopped."""
    with tempfile.TemporaryDirectory(prefix="nandlab-") as folder:
        log = Path(folder) / "ops.csv"
        (outcome,), stopped = run_all([experiment], op_log=str(log))
        if outcome.result is None or outcome.error is not None or stopped:
            return [], None, None if outcome.error is None else str(outcome.error), stopped
        try:
            return figure.draw_from(log, outcome.result), outcome.result, None, False
        except OSError as error:
            raise NandlabError(f"the log of operations cannot be read again: {error}") from None


def parse_op_figure(table: Table) -> OpFigure:
    """Reads an entry in `[[op_figures]]`.

    Raises:
        ConfigError: With `file`, `line` and `key`.

    """
    shows = table.chosen("shows", SHOWN)
    figure = OpFigure(
        **parse_heading(table),
        run=table.text("run"),
        shows=shows,
        cause=table.text("cause") if shows == "blocks" else "",
        number=table.whole("number", 1) if shows == "blocks" else 1,
    )
    table.end()
    return figure

"""Draws docs/images/migration-*.png: what the FTL `migration` does to real blocks, and what FAT writes.

`python docs/images/migration.py` runs experiments of papers/migration.toml with an operation log and
replays it.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator
from pathlib import Path

import vl_convert

from nandlab import Experiment
from nandlab.reproduce import load

HERE = Path(__file__).parent
PAGES = 128
COLOURS = {
    "free": "#ffffff",
    "invalid": "#c9cdd3",
    "FAT": "#2f6fb0",
    "root directory": "#d97706",
    "boot sector": "#8452a8",
    "file data and directories": "#3a8f5c",
    "never used by the volume": "#e7dcc3",
}
NAMES = {
    "boot": "boot sector",
    "fat": "FAT",
    "root_directory": "root directory",
    "host": "never used by the volume",
}
Rows = list[dict[str, object]]


def operations(run: str, transactions: int) -> Iterator[dict[str, str]]:
    """The operations of a run of the paper, format included, in their order."""
    tree = load("migration").tree(run)
    next(iter(tree["workload"].values()))["transactions"] = transactions
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ops.csv"
        Experiment(**tree).run(op_log=path)
        with path.open(newline="") as file:
            yield from csv.DictReader(file)


class Flash:
    """Pages and what they hold, as the log tells it."""

    def __init__(self) -> None:
        self.pages: dict[int, tuple[int, str]] = {}
        self.newest: dict[int, int] = {}

    def take(self, row: dict[str, str]) -> None:
        """An operation."""
        if row["operation"] == "erase":
            first = int(row["block"]) * PAGES
            for page in range(first, first + PAGES):
                self.pages.pop(page, None)
        elif row["operation"] in ("program", "copy"):
            page, lpn = int(row["page"]), int(row["lpn"] or -1)
            self.pages[page] = (lpn, row["origin"])
            if row["origin"] != "ftl":
                self.newest[lpn] = page

    def block(self, block: int) -> Rows:
        """The pages of a block, 16 in a row."""
        found: Rows = []
        for at in range(PAGES):
            page = block * PAGES + at
            lpn, origin = self.pages.get(page, (-1, ""))
            state = "free"
            if lpn >= 0:
                valid = self.newest[lpn] == page
                state = NAMES.get(origin, "file data and directories") if valid else "invalid"
            found.append({"column": at % 16, "row": at // 16, "state": state})
        return found


def recycling(run: str, cause: str, number: int) -> tuple[Rows, str]:
    """Blocks before and after a recycling of the first logical block, and how much was copied."""
    flash, seen, moves = Flash(), 0, list[dict[str, str]]()
    before = Flash()
    for row in operations(run, 60):
        is_move = row["operation"] == "copy" and row["cause"] == cause and int(row["lpn"]) < PAGES
        ends = bool(moves) and (not is_move or row["block"] != moves[0]["block"])
        if ends:
            seen += 1
            if seen == number:
                break
            moves = []
        if is_move and not moves:
            before.pages, before.newest = dict(flash.pages), dict(flash.newest)
        if is_move:
            moves.append(row)
        flash.take(row)
    sources = sorted({int(row["from_page"]) // PAGES for row in moves})
    own = {int(row["lpn"]) // PAGES for row in moves}
    # A migration leaves the data block alone; it is found by what it holds.
    holders = {page // PAGES for lpn, page in before.newest.items() if lpn // PAGES in own}
    log = max(sources, key=lambda block: sum(cell["state"] == "invalid" for cell in before.block(block)))
    target = int(moves[0]["block"])
    data = min(holders - {log, target})
    names = {data: "data block", log: "log block", target: "erased block"}
    cells: Rows = [
        {**cell, "block": name, "when": when}
        for when, state in (("before", before), ("after", flash))
        for block, name in names.items()
        for cell in state.block(block)
    ]
    return cells, f"{len(moves)} pages copied"


def blocks(cells: Rows, title: str) -> dict[str, object]:
    """The drawing of blocks before and after."""
    states = [state for state in COLOURS if any(cell["state"] == state for cell in cells)]
    return {
        "title": title,
        "data": {"values": cells},
        "facet": {
            "row": {"field": "when", "sort": ["before", "after"], "title": None},
            "column": {"field": "block", "sort": ["data block", "log block", "erased block"], "title": None},
        },
        "spec": {
            "width": 208,
            "height": 104,
            "mark": {"type": "rect", "stroke": "#8a9099", "strokeWidth": 0.6},
            "encoding": {
                "x": {"field": "column", "type": "ordinal", "axis": None},
                "y": {"field": "row", "type": "ordinal", "axis": None},
                "color": {
                    "field": "state",
                    "type": "nominal",
                    "title": "page",
                    "scale": {"domain": states, "range": [COLOURS[state] for state in states]},
                    "legend": {"orient": "bottom", "symbolStrokeColor": "#8a9099", "symbolType": "square"},
                },
            },
        },
    }


def pattern() -> dict[str, object]:
    """The drawing of where FAT writes: files of 1 MB, one after the other."""
    written = [
        row
        for row in operations("large.macro", 5)
        if row["phase"] == "workload" and row["cause"] == "host" and row["operation"] == "program"
    ]
    points = [
        {"write": at, "sector": int(row["lpn"]) * 4, "what": NAMES.get(row["origin"], "file data")}
        for at, row in enumerate(written, 1)
    ]
    shown = ["FAT", "root directory", "file data"]
    colours = [COLOURS["FAT"], COLOURS["root directory"], COLOURS["file data and directories"]]
    return {
        "width": 640,
        "height": 260,
        "data": {"values": points},
        "mark": {"type": "point", "filled": True, "size": 7},
        "encoding": {
            "x": {"field": "write", "type": "quantitative", "title": "page write"},
            "y": {"field": "sector", "type": "quantitative", "title": "address (512-byte sectors)"},
            "color": {
                "field": "what",
                "type": "nominal",
                "title": None,
                "scale": {"domain": shown, "range": colours},
                "legend": {"orient": "top", "symbolSize": 60},
            },
        },
    }


def main() -> None:
    """Makes every picture."""
    merge, merged = recycling("small.merge", "full_merge", 4)
    moved, migrated = recycling("small.limit.l8", "migration", 11)
    drawings = {
        "merge": blocks(merge, f"Merge: {merged}, two blocks to erase"),
        "migration": blocks(moved, f"Migration: {migrated}, one block to erase"),
        "pattern": pattern(),
    }
    for name, drawing in drawings.items():
        drawing["background"] = "#ffffff"
        drawing["padding"] = 12
        (HERE / f"migration-{name}.png").write_bytes(vl_convert.vegalite_to_png(drawing, scale=1.6))


if __name__ == "__main__":
    main()

"""Sections shared by reports on one run and on several."""

from __future__ import annotations

from collections.abc import Sequence

from nandlab.figures.summary import LATENCY_TITLES, controller, latency_table, plain
from nandlab.record.record import Record
from nandlab.report import html
from nandlab.writing import units
from nandlab.writing.toml_text import toml_text

WINDOWED = "Each point covers the requests since the point before; points are about equal host writes apart."


def matrix(result: Record) -> str:
    """Programs, erases and reads by origin and cause, each as a table."""
    tables = []
    for operation, unit in (
        ("programs", "pages programmed"),
        ("erases", "blocks erased"),
        ("reads", "pages read"),
    ):
        inner = _matrix_of(result, operation)
        if inner:
            tables.append(f"<div>{html.titled(unit, inner)}</div>")
    return f'<div class="pair">{"".join(tables)}</div>' if tables else ""


def _matrix_of(result: Record, operation: str) -> str:
    cells = {(cell.origin, cell.cause): getattr(cell, operation) for cell in result.matrix}
    used = [place for place, number in cells.items() if number]
    if not used:
        return ""
    origins = list(dict.fromkeys(origin for origin, _ in used))
    causes = list(dict.fromkeys(cause for _, cause in used))
    largest = max(cells.values())
    rows, heat = [], []
    for origin in origins:
        line = [cells.get((origin, cause), 0) for cause in causes]
        rows.append([plain(origin), *(number(each) for each in line), number(sum(line))])
        heat.append([0.0, *(each / largest for each in line)])
    sums = [sum(cells.get((origin, cause), 0) for origin in origins) for cause in causes]
    rows.append(["sum", *(number(each) for each in sums), number(sum(sums))])
    heat.append([])
    titles = ["origin \\ cause", *(plain(cause) for cause in causes), "sum"]
    return html.table(titles, rows, right=range(1, len(titles)), heat=heat)


def number(value: float) -> str:
    """A count, with a digit after the point if it has parts."""
    # An erase is shared by the origins whose pages it cleared, so it may come in parts.
    return units.count(value) if float(value).is_integer() else f"{value:,.1f}"


def latencies(result: Record) -> str:
    """Percentiles by request kind."""
    rows = latency_table(result)
    titles = ["request", *LATENCY_TITLES[1:]]
    return html.table(titles, rows, right=range(1, len(titles))) if rows else ""


def ram(result: Record) -> str:
    """Memory by structure."""
    rows = [
        [plain(name), memory, units.count(number), units.size(number)]
        for memory, structures in (("SRAM", result.ram.sram), ("DRAM", result.ram.dram))
        for name, number in structures.items()
    ]
    total = result.ram.total_bytes
    rows.append(["sum", "", units.count(total), units.size(total)])
    table = html.table(["structure", "memory", "bytes", ""], rows, right=(2, 3))
    if result.ram.controller is None:
        return table
    shares, sizes = controller(result.ram.controller)
    return table + html.paragraph(f"Of the controller's memory: {shares} ({sizes}).")


def remake(command: str | None, results: Sequence[Record]) -> str:
    """How to get the same figures again."""
    first = results[0]
    seeds = sorted({result.seed for result in results})
    words = f"nandlab {first.version}, seed {', '.join(str(seed) for seed in seeds)}. " + (
        "The same experiment with the same seed gives the same figures on every machine."
    )
    return html.paragraph(words) + (html.code(command) if command else "")


def experiment(result: Record) -> str:
    """The experiment with all defaults, as a file for `nandlab run`."""
    return html.code(toml_text(result.experiment))


def stopped(result: Record) -> str:
    """How far a stopped run came, and why it stopped; empty for a complete run."""
    return "" if result.stopped is None else f"partial: stopped {result.stopped.message}"

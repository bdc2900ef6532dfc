"""The report of a probe: quantities with their intervals, and the measured jobs beside the found drive."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from nandlab._native import version
from nandlab.calibrate.probe.found import Found
from nandlab.calibrate.probe.jobs import ALIGNMENTS, BURST_BYTES, BURSTS, SIZES, short
from nandlab.calibrate.probe.profile import interval_text, value_text
from nandlab.calibrate.probe.quantity import Quantity
from nandlab.calibrate.probe.repeat import WARNED, Repeat, sentence, worst
from nandlab.report import charts, html
from nandlab.writing import units
from nandlab.writing.new_file import readable, write_page

MEASURED, SIMULATED = "measured", "found drive"
READ_PANELS = {
    "single reads, by size": {f"read.{short(size)}.qd1": size for size in SIZES},
    "reads at depth 256, by distance": {f"align.{short(size)}": size for size in ALIGNMENTS},
}
WRITE_PANELS = {
    f"bursts of {short(size)} writes, by length": {
        f"burst.{short(size)}.{length}m": length * 2**20 for length in BURSTS
    }
    for size in BURST_BYTES
}
"""For each panel its jobs, with their size, distance or length in bytes."""
JOBS = (
    "Found: the same figure on the found drive. Deviation: the largest of requests a second, mean latency, "
    "and mean time of a flush."
)


def write_probe(found: Found, path: str | os.PathLike[str], folder: str, command: str | None = None) -> None:
    """Writes the report of the results in `folder`; `command` remakes it. Raises as `write_calibration`."""
    charts.require_vl_convert()
    write_page(path, probe_page(found, folder, command))


def probe_page(found: Found, folder: str, command: str | None) -> str:
    """The page as text; see `write_probe`."""
    most = worst(found.repeats)
    said, is_warning = sentence(found.repeats), most is not None and abs(most[2]) > WARNED
    known = [each for each in found.quantities if each.value is not None]
    unknown = [each for each in found.quantities if each.value is None]
    counted = f"{len(known)} of {len(found.quantities)} quantities are known."
    drawn = [
        html.figure(each)
        for title, panels in (("size or distance (KiB)", READ_PANELS), ("length (KiB)", WRITE_PANELS))
        if (each := _curves(found, title, panels)) is not None
    ]
    return html.page(
        f"A drive probed with fio: {readable(folder)}",
        f"Results: {', '.join(map(readable, found.results.files))}. nandlab {version()}.",
        [
            html.paragraph(said, "warning") if is_warning else "",
            html.conclusions(
                [each for each in (counted, "" if is_warning else said, found.unrepeated) if each]
            ),
            html.section("Quantities", _known(known), note="The interval is for each quantity alone."),
            html.section("What cannot be known from these jobs", _unknown(unknown)),
            html.section(
                "Measured jobs beside the found drive",
                *drawn,
                _jobs(found.repeats) if found.repeats else "",
                note=JOBS if found.repeats else "",
            ),
            html.section(
                "Make it again",
                html.paragraph("The same results give the same numbers on every machine."),
                html.code(command) if command else "",
            ),
        ],
    )


def _known(quantities: list[Quantity]) -> str:
    rows = [
        [each.name, value_text(each, each.value), each.unit, interval_text(each) or "exact", each.why]
        for each in quantities
    ]
    titles = ["quantity", "found", "unit", "interval", "remark"]
    return html.table(titles, rows, right=(1, 3), kind="explained") if rows else ""


def _unknown(quantities: list[Quantity]) -> str:
    rows = [[each.name, each.why] for each in quantities]
    return html.table(["quantity", "reason"], rows, kind="explained") if rows else ""


def _jobs(repeats: tuple[Repeat, ...]) -> str:
    rows, heat = [], []
    for each in repeats:
        _, error = each.worst
        cells = [each.job]
        for name in ("iops", "mean_us", "sync_us"):
            for measures in (each.measured, each.simulated):
                cells.append(_figure(name, getattr(measures, name)))
        rows.append([*cells, f"{100 * error:+.1f} %"])
        heat.append([0.0] * len(cells) + [min(1.0, abs(error) / (2 * WARNED))])
    titles = [each for name in ("requests/s", "mean (us)", "flush (us)") for each in (name, "found")]
    return html.table(["job", *titles, "deviation"], rows, right=range(1, len(titles) + 2), heat=heat)


def _figure(name: str, value: float | None) -> str:
    return "" if value is None else units.count(round(value)) if name == "iops" else f"{value:,.1f}"


def _curves(found: Found, title: str, panels: Mapping[str, Mapping[str, int]]) -> charts.Drawing | None:
    """Mean latencies of jobs that differ in one size; None without repeats."""
    by_name = {each.job: each for each in found.repeats}
    rows: list[dict[str, Any]] = []
    for panel, jobs in panels.items():
        for name, size in jobs.items():
            if (each := by_name.get(name)) is not None:
                for colour, measures in ((MEASURED, each.measured), (SIMULATED, each.simulated)):
                    rows.append({"panel": panel, "colour": colour, "x": size, "y": measures.mean_us})
    if not rows:
        return None
    axes = charts.Axes(title, "mean latency (us)", True, True, True, own=True)
    return charts.curves(rows, [MEASURED, SIMULATED], list(dict.fromkeys(row["panel"] for row in rows)), axes)

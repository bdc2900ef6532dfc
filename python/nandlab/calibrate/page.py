"""The report of `nandlab calibrate`: fitted numbers, rows beside the fit, and what no row tells."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from nandlab._native import version
from nandlab.calibrate import Calibration, Line
from nandlab.calibrate.flat import Flat
from nandlab.calibrate.pictures import drawings
from nandlab.calibrate.profile import profile_text
from nandlab.calibrate.words import title, value_text
from nandlab.report import charts, html
from nandlab.writing import units
from nandlab.writing.new_file import readable, write_page

CURVE = "Points of the rows and of the same jobs on the fitted device. Predicted: not used by the fit."
FREE = (
    "Known to within: how far the number alone can move before some figure changes by its accuracy. The "
    "interval is as wide to both sides, within the range."
)
TOGETHER = (
    "Numbers that move together from the first to the second value, while no figure changes more than said."
)


def write_calibration(
    found: Calibration, path: str | os.PathLike[str], profile: str, command: str | None = None
) -> None:
    """Writes the report.

    Args:
        found: The calibration.
        path: The report's file.
        profile: The profile's file; its text is in the report.
        command: The command line that remakes the report.

    Raises:
        NandlabError: A package that draws is missing.
        OSError: As `write_page`.

    """
    charts.require_vl_convert()
    write_page(path, calibration_page(found, profile, command))


def calibration_page(found: Calibration, profile: str, command: str | None) -> str:
    """The page as text; see `write_calibration`."""
    plan = found.plan
    files = ", ".join(map(readable, plan.rows.files))
    spent = units.counted(found.spent, "parameter set")
    flat = () if found.known is None else found.known.flat
    curves = [html.titled(title(figure), html.figure(svg)) for figure, svg in drawings(found).items()]
    return html.page(
        f"A device fitted to {units.counted(len(plan.rows.rows), 'measured row')}",
        f"Rows: {files}. {spent}, seed {plan.seed}. nandlab {version()}.",
        [
            html.paragraph(STOPPED, "warning") if found.stopped else "",
            html.conclusions(conclusions(found)),
            html.section("Free numbers", _numbers(found), note=FREE),
            html.section("Measured beside fitted", lines_table("fitted", found.lines)),
            html.section("Measured beside predicted", lines_table("predicted", found.predicted)),
            html.section("What the rows cannot tell apart", *map(_flat, flat), note=TOGETHER if flat else ""),
            html.section("Over the queue depth", *curves, note=CURVE),
            html.section(
                "Make it again",
                html.paragraph("The same rows, experiment and seed give the same numbers on every machine."),
                html.code(command) if command else "",
                html.folded(f"The profile {readable(profile)}", html.code(_profile(found, profile))),
            ),
        ],
    )


STOPPED = "The search was stopped: these are the best numbers until then. Held-out rows may have no result."


def conclusions(found: Calibration) -> list[str]:
    """The largest errors, then the sentences of the calibration."""
    told = [_largest("Fitted", found.lines), _largest("Predicted", found.predicted)]
    return [*(sentence for sentence in told if sentence), *found.sentences]


def _largest(what: str, lines: Sequence[Line]) -> str:
    """The line with the largest error, in a sentence; empty without lines."""
    known = [line for line in lines if line.error is not None]
    if not known:
        return ""
    worst = max(known, key=lambda line: abs(line.error or 0.0))
    return (
        f"{what} figures are at most {100 * abs(worst.error or 0.0):.1f} % off, in "
        f"{worst.row.name} ({title(worst.figure)})."
    )


def _numbers(found: Calibration) -> str:
    rows = []
    for at, (free, value) in enumerate(zip(found.plan.free, found.values, strict=True)):
        known, alone = found.known, None if found.known is None else found.known.alone[at]
        within, interval = "", ""
        if known is not None and alone is None:
            within = "the whole range"
        elif alone is not None:
            within = f"{alone:.3g}"
            interval = f"{max(free.low, value - alone):.5g} to {min(free.high, value + alone):.5g}"
        rows.append([free.key, f"{free.low:g} to {free.high:g}", f"{value:g}", within, interval])
    titles = ["number", "range", "fitted", "known to within", "interval"]
    return html.table(titles, rows, right=(2, 3, 4))


def lines_table(simulated: str, lines: Sequence[Line]) -> str:
    """Rows with their measured and simulated figures; `simulated` heads the latter. Empty without lines."""
    if not lines:
        return ""
    most = max((abs(line.error) for line in lines if line.error is not None), default=0.0)
    rows, heat = [], []
    for line in lines:
        told = "no result" if line.simulated is None else value_text(line.figure, line.simulated)
        error = "" if line.error is None else f"{100 * line.error:+.1f} %"
        rows.append([line.row.name, title(line.figure), value_text(line.figure, line.measured), told, error])
        # An error below 1 % needs no colour.
        share = 0.0 if line.error is None else abs(line.error) / max(most, 0.01)
        heat.append([0.0, 0.0, 0.0, 0.0, share])
    return html.table(["row", "figure", "measured", simulated, "error"], rows, right=(2, 3, 4), heat=heat)


def _flat(each: Flat) -> str:
    rows = [[key, f"{low:.4g}", f"{high:.4g}"] for key, low, high in each.moves]
    change = f"Largest change of a figure: {100 * each.change:.2g} %."
    return html.table(["number", "from", "to"], rows, right=(1, 2)) + html.paragraph(change, "note")


def _profile(found: Calibration, profile: str) -> str:
    return profile_text(found, Path(profile).stem)

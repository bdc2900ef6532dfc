"""Measured and simulated curves over the queue depth."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from nandlab.calibrate import Calibration, Line
from nandlab.calibrate.rows import ACCURACY
from nandlab.calibrate.words import title
from nandlab.report import charts
from nandlab.report.plots import write_texts

MEASURED, SIMULATED, PREDICTED = "measured", "simulated", "predicted"


def drawings(found: Calibration) -> dict[str, charts.Drawing]:
    """A drawing for each measured figure, by its name in `ACCURACY`; a panel for each kind and size."""
    lines = [*((False, line) for line in found.lines), *((True, line) for line in found.predicted)]
    return {
        figure: _drawn(figure, chosen)
        for figure in ACCURACY
        if (chosen := [(is_held, line) for is_held, line in lines if line.figure == figure])
    }


def pictures(found: Calibration) -> dict[str, str]:
    """The drawings as SVG by their files' names."""
    return {figure.removesuffix("_us"): svg for figure, svg in drawings(found).items()}


def write_pictures(found: Calibration, folder: str | os.PathLike[str]) -> list[Path]:
    """Writes each picture as SVG and as PNG into `folder`; raises OSError with a sentence."""
    charts.require_vl_convert()
    import vl_convert

    texts = {name: charts.standalone(text) for name, text in pictures(found).items()}
    paths = write_texts(texts, folder)
    for name, text in texts.items():
        path = Path(folder) / f"{name}.png"
        path.write_bytes(vl_convert.svg_to_png(text, scale=2))
        paths.append(path)
    return paths


def _drawn(figure: str, lines: Iterable[tuple[bool, Line]]) -> charts.Drawing:
    rows: list[dict[str, Any]] = []
    for is_held, line in lines:
        panel = replace(line.row.job, iodepth=1).label.replace(".qd1", "").replace(".", " ")
        if line.row.name.endswith(f".{line.row.direction}"):
            panel += f" {line.row.direction}s"
        place = {"panel": panel, "x": line.row.job.iodepth}
        rows.append({**place, "colour": MEASURED, "y": line.measured})
        if line.simulated is not None:
            rows.append({**place, "colour": SIMULATED, "y": line.simulated})
            if is_held:
                rows.append({**place, "colour": PREDICTED, "y": line.simulated})
    rows.sort(key=lambda row: (row["panel"], row["colour"], row["x"]))
    depths = {row["x"] for row in rows}
    axes = charts.Axes("queue depth", title(figure), x_log=len(depths) > 1, y_log=True, x_is_size=False)
    colours = [
        each for each in (MEASURED, SIMULATED, PREDICTED) if any(row["colour"] == each for row in rows)
    ]
    return charts.curves(rows, colours, list(dict.fromkeys(row["panel"] for row in rows)), axes)

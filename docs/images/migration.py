"""Draws docs/images/migration-merge.png, -migration.png and -pattern.png, Fig. 1 to 3 in the report.

`python docs/images/migration.py` runs the experiments in papers/migration.toml behind them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import vl_convert

from nandlab.reproduce import load, reproduce
from nandlab.reproduce.page import figures

HERE = Path(__file__).parent


def main() -> None:
    """Makes every picture."""
    paper = load(str(HERE.parents[1] / "papers" / "migration.toml"))
    found = reproduce(replace(paper, claims=(), figures=(), grids=(), timelines=()), seeds=1)
    for name, drawing in figures(found).items():
        (HERE / f"migration-{name}.png").write_bytes(vl_convert.svg_to_png(drawing, scale=1.6))


if __name__ == "__main__":
    main()

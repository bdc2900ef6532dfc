"""Draws docs/images/sector-map-banks.png, -footprint.png, -maps.png and -fig4-depth.png.

`python docs/images/sector_map.py` runs the experiments in papers/sector-map.toml behind them.
With names such as `fig4-depth` it draws only these figures.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import vl_convert

from nandlab.reproduce import load, reproduce
from nandlab.reproduce.page import figures

HERE = Path(__file__).parent
PICTURES = {"depth-banks": "banks", "footprint": "footprint", "maps": "maps", "fig4-depth": "fig4-depth"}


def main(names: list[str]) -> None:
    """Draws the figures with these names, or all."""
    paper = load(str(HERE.parents[1] / "papers" / "sector-map.toml"))
    wanted = tuple(each for each in paper.figures if each.name in (names or PICTURES))
    bare = replace(paper, figures=wanted, grids=(), timelines=(), conclusions=())
    for name, drawing in figures(reproduce(bare, seeds=1)).items():
        (HERE / f"sector-map-{PICTURES[name]}.png").write_bytes(vl_convert.svg_to_png(drawing, scale=1.6))


if __name__ == "__main__":
    main(sys.argv[1:])

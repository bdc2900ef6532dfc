"""Draws docs/images/fdp.png and prints the table for docs/hosts.md: `python docs/images/fdp.py`.

The runs come from experiments/fdp-*.toml, each with several placements.
"""

from __future__ import annotations

from pathlib import Path

import altair as alt
import polars as pl

import nandlab
from nandlab.report import theme

HERE = Path(__file__).parent
EXPERIMENTS = HERE.parents[1] / "experiments"
WORKLOADS = {"cachelib": "CacheLib", "fat": "PostMark on FAT", "btree": "B+tree updates"}
FDP = "ftl.page.placement.fdp"
PLACEMENTS = {
    "one handle": (f"{FDP}.origins={{}}",),
    "by origin": ("ftl.page.placement=origin",),
    "handles, initial": (),
    "handles, persistent": (f"{FDP}.persistent=all",),
}
"""Each placement and its changes to the experiment."""


def run(workload: str, placement: str) -> nandlab.Result:
    """Runs the experiment for a workload with a placement."""
    sets = [*PLACEMENTS[placement]]
    if workload == "cachelib" and placement == "one handle":
        sets.append("workload.cachelib.placement=false")
    return nandlab.Experiment.from_toml(EXPERIMENTS / f"fdp-{workload}.toml", sets=sets).run()


def amplification(result: nandlab.Result) -> float:
    """Pages programmed for each page that was not moved."""
    flash = result.flash
    return flash.programs / (flash.programs - flash.copies)


def row(name: str, found: list[float]) -> str:
    """The row of a workload in the table."""
    return f"| {name} | {' | '.join(f'{each:.3f}' for each in found)} |"


def handles(result: nandlab.Result) -> list[str]:
    """Pages written, pages moved and their sum over the first, for each handle in use but the default one."""
    used = [handle for handle in result.fdp.handles[1:] if handle.host_pages]
    return [f"| {handle.host_pages:,} | {handle.moved_pages:,} | {handle.waf:.3f} |" for handle in used]


def main() -> None:
    """Prints the table and draws the picture."""
    rows = []
    print(f"| | {' | '.join(PLACEMENTS)} |")
    print("|---|---|---|---|---|")
    for workload, name in WORKLOADS.items():
        found = [amplification(run(workload, placement)) for placement in PLACEMENTS]
        print(row(name, found))
        rows += [(name, *pair) for pair in zip(PLACEMENTS, found, strict=True)]
    schema = {"workload": str, "placement": str, "programmed": float}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    names = list(PLACEMENTS)
    x = alt.X("programmed:Q", title="pages programmed / pages written", axis=alt.Axis(tickCount=5))
    y = alt.Y("placement:N", sort=names, title=None)
    chart = alt.Chart(frame, width=420, height=alt.Step(22))
    bars = chart.mark_bar(color=theme.COLOURS[0]).encode(x=x, y=y)
    words = chart.mark_text(align="left", dx=5).encode(x=x, y=y, text=alt.Text("programmed:Q", format=".3f"))
    sort = list(WORKLOADS.values())
    above = alt.Header(labelOrient="top", labelAnchor="start")
    facets = (bars + words).facet(row=alt.Row("workload:N", title=None, sort=sort, header=above))
    (HERE / "fdp.png").write_bytes(theme.png(facets.to_dict()))


if __name__ == "__main__":
    main()

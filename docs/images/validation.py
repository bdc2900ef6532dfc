"""Draws docs/images/validation/*.svg and prints the tables beside them in docs/validation.md.

`python docs/images/validation.py` measures every claim of papers/theory.toml (some minutes), as
`nandlab reproduce theory` does. Lines are closed forms, points are measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import altair as alt
import polars as pl

from nandlab.report import theme
from nandlab.report.pictures import Picture
from nandlab.reproduce import load, reproduce

HERE = Path(__file__).parent / "validation"
PAPER = Path(__file__).parents[2] / "papers" / "theory.toml"
PAGES = 64
BLOCKS = 4096 - 2 - 1
"""Blocks for data: all but the reserve and the block being filled."""

LOGICAL = {7: 244_814, 12: 233_885, 20: 218_293, 50: 174_634}
"""Logical pages at an over-provisioning in per cent."""


@dataclass(frozen=True)
class Value:
    """A claim: its closed form's value, and the measured one."""

    form: float
    measured: float

    def cell(self, digits: int = 4) -> str:
        """A table cell: measured, and in parentheses the form."""
        return f"{self.measured:.{digits}g} ({self.form:.{digits}g})"


Values = Mapping[str, Value]


def greedy(op: float, pages: int = PAGES) -> float:
    """Greedy write amplification for uniform writes; docs/validation.md has the source."""
    rho = 1 / (1 + op)
    harmonic = [0.0]
    for n in range(1, pages + 1):
        harmonic.append(harmonic[-1] + 1 / n)
    for m in range(1, pages):
        beyond = rho * pages * (harmonic[-1] - harmonic[m]) - (pages - m)
        f = beyond / (1 - rho * pages / m)
        if 0 <= f < 1:
            return pages / (pages - m + f)
    return 1.0


def d_choices(op: float, choices: int, pages: int = PAGES) -> float:
    """The emptiest victim among `choices` drawn (Van Houdt 2013); one choice is random."""
    rho = 1 / (1 + op)

    def freed(h: float) -> float:
        at_least, total = 0.0, 0.0
        for valid in range(pages, 0, -1):
            flow = rho * pages / (h * valid)

            def enough(share: float, flow: float = flow, above: float = at_least) -> float:
                return share - flow * (1 - (above + share) ** choices)

            at_least += root(0.0, 1.0 - at_least, enough)
            total += at_least**choices
        return pages - total

    return pages / root(0.01, float(pages), lambda h: h - freed(h))


def fifo(op: float) -> float:
    """Fifo write amplification for uniform writes (Desnoyers 2014)."""
    return root(1 + 1e-9, 1e3, lambda waf: waf - 1 / (1 - math.exp(-(1 + op) / waf)))


def root(low: float, high: float, rises: Callable[[float], float]) -> float:
    """A function's zero, from negative to positive."""
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if rises(middle) < 0 else (low, middle)
    return (low + high) / 2


def fifo_mixed(op: float, writes: float, pages: float) -> float:
    """Fifo if a share of the writes goes to a share of the pages, all in one frontier (Desnoyers 2014)."""

    def part(r: float, f: float, waf: float) -> float:
        return r / (1 - math.exp(-(1 + op) * r / (waf * f)))

    return root(1 + 1e-9, 1e3, lambda waf: waf - part(writes, pages, waf) - part(1 - writes, 1 - pages, waf))


def separated(op: int, hot: int, share: float) -> float:
    """Greedy with two pools: the hot one gets `share` of the spare space and `hot` per cent of the writes."""
    writes, pages, all_spare = hot / 100, 1 - hot / 100, BLOCKS * PAGES / LOGICAL[op] - 1
    cold = all_spare * (1 - share) / (1 - pages)
    return writes * greedy(all_spare * share / pages) + (1 - writes) * greedy(cold)


def measured() -> Values:
    """Every claim with a number, by its id."""
    found = reproduce(load(str(PAPER)))
    return {
        judged.claim.id: Value(judged.claim.published, judged.measured)
        for judged in found.claims
        if isinstance(judged.claim.published, int | float) and judged.measured is not None
    }


def layered(
    lines: pl.DataFrame, points: pl.DataFrame, x: alt.X, y: alt.Y, series: list[str], title: str
) -> alt.LayerChart:
    """Closed forms as lines and measured values as points, a colour for each series."""
    colours = alt.Scale(domain=series, range=list(theme.COLOURS[: len(series)]))
    colour = alt.Color("series:N", title=title, scale=colours)
    shape = alt.Shape("series:N", title=title, scale=alt.Scale(domain=series))
    line = alt.Chart(lines, width=560, height=260).mark_line().encode(x=x, y=y, color=colour)
    point = alt.Chart(points).mark_point(size=60, strokeWidth=1.8)
    return line + point.encode(x=x, y=y, color=colour, shape=shape)


def frame(rows: list[tuple[str, float, float]]) -> pl.DataFrame:
    """Series, x and y."""
    return pl.DataFrame(rows, schema={"series": str, "x": float, "y": float}, orient="row")


def pools(values: Values) -> Picture:
    """Write amplification over the hot pool's share of the spare space."""
    cases = {"80 % on 20 %, OP 20 %": (80, 20), "90 % on 10 %, OP 7 %": (90, 7)}
    lines, points = [], []
    for name, (hot, op) in cases.items():
        lines += [(name, share, separated(op, hot, share / 100)) for share in range(8, 91)]
        begins = f"separated.greedy.{hot}.op{op}."
        for claim, value in values.items():
            if claim.startswith(begins):
                points.append((name, share_of(claim.removeprefix(begins), op, hot), value.measured))
    drawn = [row for row in lines if row[2] < 9]
    x = alt.X("x:Q", title="spare space of the hot pool (%)", scale=alt.Scale(domain=[0, 100]))
    y = alt.Y("y:Q", title="write amplification (ratio)", scale=alt.Scale(zero=True))
    return Picture(layered(frame(drawn), frame(points), x, y, list(cases), "writes on pages"))


def share_of(label: str, op: int, hot: int) -> float:
    """A claim's share of the spare space, in per cent: from its name, or at the form's minimum."""
    if label.startswith("s"):
        return float(label[1:])
    return min((share / 10 for share in range(50, 951)), key=lambda at: separated(op, hot, at / 100))


Form = Callable[[float], float]


def policies(values: Values, forms: Mapping[str, tuple[str, Form]], title: str) -> Picture:
    """Write amplification for uniform writes over the over-provisioning; a claim and a form for each name."""
    lines, points = [], []
    for name, (claim, form) in forms.items():
        lines += [(name, op, form(op / 100)) for op in (6, 6.5, *range(7, 16), *range(16, 61, 2))]
        points += [(name, op, values[f"{claim}.op{op}"].measured) for op in (7, 12, 20, 50)]
    ticks = alt.Axis(values=[6, 7, 10, 12, 15, 20, 30, 40, 50, 60])
    x = alt.X("x:Q", title="over-provisioning (%)", scale=alt.Scale(type="log", domain=[6, 60]), axis=ticks)
    marks = alt.Axis(values=[1, 1.5, 2, 3, 4, 5, 7, 10, 15, 20])
    highest = max(row[2] for row in lines)
    scale = alt.Scale(type="log", domain=[1.3, 10 if highest < 10 else 20])
    y = alt.Y("y:Q", title="write amplification (ratio)", scale=scale, axis=marks)
    return Picture(layered(frame(lines), frame(points), x, y, list(forms), title))


def by_pages(values: Values) -> Picture:
    """Greedy by pages per block, and fifo; greedy approaches it with large blocks."""
    forms: dict[str, tuple[str, Form]] = {
        f"greedy, {pages}": (f"greedy.{pages}", partial(greedy, pages=pages)) for pages in (32, 64, 128, 256)
    }
    return policies(values, forms | {"fifo": ("fifo", fifo)}, "policy, pages a block")


def by_choices(values: Values) -> Picture:
    """From random victims to greedy ones, by blocks drawn."""
    forms: dict[str, tuple[str, Form]] = {"random": ("random", partial(d_choices, choices=1))}
    forms |= {f"{many} choices": (f"d{many}", partial(d_choices, choices=many)) for many in (2, 5, 10)}
    return policies(values, forms | {"greedy": ("greedy.64", greedy)}, "policy, 64 pages a block")


def mixed(values: Values) -> Picture:
    """Write amplification with hot and cold pages in one frontier over the over-provisioning."""
    series = [f"{hot} % on {100 - hot} %" for hot in (80, 90, 95)]
    lines, points = [], []
    for hot, name in zip((80, 90, 95), series, strict=True):
        shares = (hot / 100, 1 - hot / 100)
        lines += [(name, op, fifo_mixed(op / 100, *shares)) for op in range(6, 56)]
        points += [(name, op, values[f"mixed.fifo.{hot}.op{op}"].measured) for op in (7, 12, 20, 50)]
    x = alt.X("x:Q", title="over-provisioning (%)", scale=alt.Scale(domain=[0, 60]))
    y = alt.Y("y:Q", title="write amplification (ratio)", scale=alt.Scale(zero=True))
    return Picture(layered(frame(lines), frame(points), x, y, series, "writes on pages, fifo"))


def depths(values: Values) -> Picture:
    """Requests a second over the queue depth."""
    names = {
        "c4w1.read_in_turn": "4 x 1, sequential reads",
        "c4w1.read_anywhere": "4 x 1, random reads",
        "c4w1.write_in_turn": "4 x 1, writes",
        "c2w8.read_in_turn": "2 x 8, sequential reads",
        "c2w8.write_in_turn": "2 x 8, writes",
    }
    lines, points = [], []
    for key, name in names.items():
        for depth in (1, 2, 4, 8, 16, 32, 64):
            value = values[f"queue.{key}.{depth}"]
            lines.append((name, depth, value.form / 1000))
            points.append((name, depth, value.measured / 1000))
    ticks = alt.Axis(values=[1, 2, 4, 8, 16, 32, 64])
    x = alt.X("x:Q", title="queue depth", scale=alt.Scale(type="log", base=2), axis=ticks)
    marks = alt.Axis(values=[1, 2, 5, 10, 20, 50, 100, 200])
    rate = alt.Scale(type="log", domain=[1, 250])
    y = alt.Y("y:Q", title="thousand requests a second", scale=rate, axis=marks)
    return Picture(
        layered(frame(lines), frame(points), x, y, list(names.values()), "channels x dies of each")
    )


def table(values: Values) -> None:
    """Prints the optima for two pools, and the other splits."""
    for policy in ("fifo", "greedy"):
        for hot in (80, 90, 95):
            cells = [
                values[f"separated.{policy}.{hot}.op{op}.best_{policy}"].cell() for op in (7, 12, 20, 50)
            ]
            print(f"| {policy} | {hot} % on {100 - hot} % | {' | '.join(cells)} |")
    for claim, value in values.items():
        if claim.startswith("separated."):
            print(f"{claim}: {value.cell()}, {100 * (value.measured / value.form - 1):+.2f} %")


def main() -> None:
    """Makes every picture."""
    values = measured()
    table(values)
    HERE.mkdir(exist_ok=True)
    drawn = {"pages": by_pages, "choices": by_choices, "pools": pools, "mixed": mixed, "depths": depths}
    for name, draw in drawn.items():
        picture = draw(values)
        (HERE / f"{name}.svg").write_bytes(picture.file("svg"))


if __name__ == "__main__":
    main()

"""A picture of a report: a chart with its caption, and what charts have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from nandlab.report import theme
from nandlab.report.theme import COLOURS

Chart = Any
"""An altair chart in any class."""

WIDTH, STEP = 560, 22
"""A chart's width and a row's height, in pixels."""

INK, LINE, SOFT = "var(--ink)", "var(--line)", "var(--soft)"


@dataclass(frozen=True)
class Picture:
    """A chart, its caption, and the names beside it."""

    chart: Chart
    caption: str = ""
    names: Sequence[str] = ()
    narrow: Chart | None = None
    """The chart for a telephone, where it needs more than less wide plots."""

    def svg(self) -> theme.Drawing:
        """For a page: colours are its variables."""
        return theme.svg(*self.drawn())

    def drawn(self) -> tuple[theme.Spec, Sequence[str], theme.Spec | None]:
        """What `theme.svg` draws."""
        return self.spec(), self.names, None if self.narrow is None else _spec(self.narrow)

    def spec(self) -> theme.Spec:
        """The chart as Vega-Lite."""
        return _spec(self.chart)

    def file(self, form: str, colours: theme.Theme = "light") -> bytes:
        """For a file of its own, `svg` or `png`."""
        if form == "png":
            return theme.png(self.spec(), colours)
        return theme.standalone(self.svg(), colours).encode()

    def themed(self, colours: theme.Theme = "light") -> Chart:
        """The chart with plain colours, as a notebook shows it."""
        return alt.Chart.from_dict(theme.themed(self.spec(), colours))


def _spec(chart: Chart) -> theme.Spec:
    with theme.unchecked():
        spec: theme.Spec = chart.to_dict(validate=False)
    return spec


def colour(field: str, order: Sequence[str], title: str | None = None, **more: Any) -> alt.Color:  # noqa: ANN401 - options
    """A colour for each value in `field`, in this order."""
    names = list(order)
    scale = alt.Scale(domain=names, range=[COLOURS[at % len(COLOURS)] for at in range(len(names))])
    return alt.Color(field, type="nominal", title=title, sort=names, scale=scale, **more)


def rows_of(field: str, order: Sequence[str]) -> alt.Y:
    """A row for each value in `field`, in this order."""
    return alt.Y(field, type="nominal", sort=list(order), title=None)


def log_time(title: str) -> dict[str, Any]:
    """Options for a logarithmic axis in microseconds."""
    return {
        "title": title,
        "scale": alt.Scale(type="log", nice=False, padding=12),
        "axis": alt.Axis(tickCount=8, labelExpr=theme.TIME_LABELS, labelSeparation=8),
    }

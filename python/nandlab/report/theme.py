"""How charts look: colours, sizes, and the way to SVG and PNG.

Charts name colours as the page's CSS variables (`style.css`), so that one drawing serves light, dark and
paper. A picture outside the page has a theme's plain colours.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

from nandlab._native import NandlabError

Spec = dict[str, Any]
"""A Vega-Lite specification."""

Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")

COLOURS = tuple(f"var(--c{at})" for at in range(8))

DASHES: tuple[list[int], ...] = ([1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [14, 3])
"""Line patterns; their count has no divisor in common with the colours', so that 40 lines all differ."""

TIME_LABELS = (
    "indexof([1, 2, 5], round(datum.value / pow(10, floor(log(datum.value) / LN10 + 1e-9)))) < 0"
    " ? '' "
    ": datum.value >= 1e6 ? datum.value / 1e6 + ' s' "
    ": datum.value >= 1e3 ? datum.value / 1e3 + ' ms' : datum.value + ' µs'"
)
"""Labels for a logarithmic axis in microseconds, with their unit."""

SCALE = 2
"""PNG pixels per chart pixel."""

TELEPHONE = 260
"""The width of a plot on a telephone, in pixels: no page of today's makes it less wide."""

HALO = "var(--paper)"
"""Stroke colour around words over lines; it is drawn below the letters."""

_TEXT = {"labelColor": "var(--ink)", "titleColor": "var(--ink)", "labelFontSize": 12, "titleFontSize": 12}
_CONFIG = {
    "background": "transparent",
    "font": "Arial, Helvetica, Liberation Sans, sans-serif",
    "view": {"stroke": None},
    "text": {"color": "var(--ink)", "fontSize": 11},
    "title": {"color": "var(--ink)", "fontSize": 12.5, "anchor": "start", "fontWeight": "bold"},
    "axis": {
        **_TEXT,
        "titleFontWeight": "normal",
        "gridColor": "var(--grid)",
        "domainColor": "var(--line)",
        "tickColor": "var(--line)",
        "tickCount": 8,
        "labelSeparation": 8,
        "labelLimit": 320,
        # The title stands beyond the longest label.
        "maxExtent": 340,
    },
    # A legend beside the chart would take a narrow page's width.
    "legend": {
        **_TEXT,
        "titleFontWeight": "bold",
        "labelLimit": 320,
        "orient": "top",
        "direction": "horizontal",
        "columns": 5,
    },
    "header": {**_TEXT, "labelFontWeight": "bold", "labelFontSize": 13, "labelAnchor": "start"},
    "range": {"category": list(COLOURS)},
    "line": {"strokeWidth": 1.8},
}


def require_vl_convert() -> None:
    """Says how to install the drawing packages, before a run whose report would fail without them."""
    for module, what in (
        ("vl_convert", "vl-convert: pip install vl-convert-python"),
        ("altair", "altair: pip install altair"),
        ("great_tables", "Great Tables: pip install great-tables"),
        ("polars", "polars: pip install polars"),
    ):
        if importlib.util.find_spec(module) is None:
            raise NandlabError(f"a report needs {what}")


@contextlib.contextmanager
def unchecked() -> Iterator[None]:
    """Builds altair charts without its schema check, as slow as the drawing; tests check the schema."""
    from altair.utils.schemapi import debug_mode

    with debug_mode(False):
        yield


class Drawing(str):
    """A chart as SVG, and the specifications with which a page's script draws it anew in the width it has."""

    wide: Spec
    narrow: Spec | None

    @classmethod
    def of(cls, text: str, wide: Spec, narrow: Spec | None = None) -> Drawing:
        """The SVG of `wide`; `narrow` is for a telephone, where it needs more than less wide plots."""
        drawn = cls(text)
        drawn.wide, drawn.narrow = wide, narrow
        return drawn

    def data(self) -> str:
        """The specifications as JSON for a page; no text in them can end its element."""
        found = {"wide": _bare(self.wide)}
        if self.narrow is not None:
            found["narrow"] = _bare(self.narrow)
        return inline_json(found)


def _bare(spec: Spec) -> Spec:
    """Without the look, which a page has once."""
    return {key: value for key, value in spec.items() if key not in ("config", "$schema")}


def inline_json(value: object) -> str:
    """JSON for an element of a page: without `<`, which could end the element."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


@dataclass(frozen=True)
class Scripts:
    """What a page with charts needs besides them, once."""

    library: str
    own: str
    config: str


@cache
def scripts() -> Scripts:
    """Vega, Vega-Lite and Vega-Embed as one script, the page's own script, and the look of charts as JSON."""
    import vl_convert

    own = resources.files("nandlab.report").joinpath("live.js").read_text(encoding="utf-8")
    library = vl_convert.javascript_bundle()  # type: ignore[call-arg] # the stub has no default
    # Inside of a script these two would begin or end an element; in JavaScript they are the same text.
    library = library.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    # Their licences ask that a copy has their texts.
    texts = resources.files("nandlab.report").joinpath("vega-licences.txt").read_text(encoding="utf-8")
    return Scripts(f"/*\n{texts}*/\n{library}", own, inline_json(_CONFIG))


_UNDRAWABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML cannot have; a file's name can."""


def drawable(part: Any) -> Any:  # noqa: ANN401 - any part of a specification
    """The part with a sign for each character that no picture can have: drawing one would end the process."""
    if isinstance(part, str):
        return _UNDRAWABLE.sub("\ufffd", part)
    if isinstance(part, dict):
        return {drawable(key): drawable(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [drawable(each) for each in part]
    return part


def svg(spec: Spec, names: Iterable[str] = (), narrow: Spec | None = None) -> Drawing:
    """Draws a specification.

    Args:
        spec: The chart, whose plots may get wider in a page.
        names: Texts on its left and on its right.
        narrow: The chart for a telephone, where it needs more than less wide plots.

    """
    require_vl_convert()
    import vl_convert

    # The reader's fonts may be wider than the measured ones.
    room = 10 + max((len(name) for name in names), default=0)
    padding = {"left": room, "right": room + 20, "top": 5, "bottom": 5}
    text = vl_convert.vegalite_to_svg(drawable({**spec, "padding": padding, "config": _CONFIG}))
    text = text.replace(f'stroke="{HALO}"', f'stroke="{HALO}" paint-order="stroke"')
    # On a narrower page the chart takes the page's width; its own size is in the view box.
    text = re.sub(r"(<svg [^>]*?)\s*xmlns:xlink=\"[^\"]*\"", r"\1", text, count=1)
    return Drawing.of(text, spec, narrow)


@cache
def colours(theme: Theme) -> dict[str, str]:
    """A theme's colours by their variables' names."""
    style = resources.files("nandlab.report").joinpath("style.css").read_text(encoding="utf-8")
    light, dark = style.split("@media", 2)[:2]
    return dict(re.findall(r"(--\w+): (#[0-9a-f]{6});", light if theme == "light" else dark))


def _plain(text: str, theme: Theme) -> str:
    return re.sub(r"var\((--\w+)\)", lambda found: colours(theme)[found[1]], text)


def themed(spec: Spec, theme: Theme = "light") -> Spec:
    """A specification with a theme's plain colours, for its own file or for a notebook."""
    config = {**_CONFIG, "background": "var(--paper)", "padding": 12}
    return json.loads(_plain(json.dumps({**spec, "config": config}), theme))


def png(spec: Spec, theme: Theme = "light") -> bytes:
    """A specification as PNG, `SCALE` pixels for each chart pixel."""
    require_vl_convert()
    import vl_convert

    return vl_convert.vegalite_to_png(drawable(themed(spec, theme)), scale=SCALE)


def standalone(text: str, theme: Theme = "light") -> str:
    """A drawing for its own file: a theme's plain colours, for every program."""
    paper = f'<rect width="100%" height="100%" fill="{colours(theme)["--paper"]}"/>'
    return re.sub(r"(<svg [^>]*>)", lambda found: found[1] + paper, _plain(text, theme), count=1)

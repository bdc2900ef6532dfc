"""Pictures of a trace: addresses over time, sizes, gaps, and the most written pages."""

from __future__ import annotations

from typing import Any

from nandlab.report.charts import COLOURS, Rows, Spec, standalone, svg
from nandlab.writing import units

WIDTH, HEIGHT = 640, 320

KINDS = ("read", "write")


def pictures(found: dict[str, Any]) -> dict[str, str]:
    """The pictures for `nandlab.traces.trace_file.info` with `pictures=True`, as SVG by name."""
    drawn = {"sizes": _sizes(found), "heat": _heat(found), "skew": _skew(found)}
    gaps = found["inter_arrival_us"]
    if gaps is not None:
        drawn["gaps"] = _gaps(gaps)
    for at, kind in enumerate(KINDS):
        drawn[f"addresses-{kind}s"] = _addresses(found, kind, at)
    return {name: standalone(text) for name, text in drawn.items()}


def _quantity(field: str, title: str, **more: object) -> Spec:
    return {"field": field, "type": "quantitative", "title": title, **more}


def _chart(rows: Rows, mark: Spec, encoding: Spec, height: int = HEIGHT) -> str:
    data = {"values": list(rows)}
    return svg({"data": data, "width": WIDTH, "height": height, "mark": mark, "encoding": encoding})


def _unit(most: float) -> tuple[str, int]:
    """The binary unit that makes such an address a number over 1, and its bytes.

    >>> _unit(16 * 2**20), _unit(2**40)
    (('MiB', 1048576), ('GiB', 1073741824))
    """
    known = [(name, size) for name, size in UNITS if most > size]
    return known[-1] if known else UNITS[0]


UNITS = (("KiB", 2**10), ("MiB", 2**20), ("GiB", 2**30))


def _end(found: dict[str, Any]) -> int:
    """The highest address's end in bytes."""
    return max(found["end_sector"] * 512, 1)


def _addresses(found: dict[str, Any], kind: str, at: int) -> str:
    grid = found["pictures"]
    unit, unit_bytes = _unit(_end(found))
    cell_s, cell = grid["cell_s"], grid["cell_bytes"] / unit_bytes
    rows = [
        {
            "x": column * cell_s,
            "x2": (column + 1) * cell_s,
            "y": row * cell,
            "y2": (row + 1) * cell,
            "bytes": sectors[at] * 512 / 2**20,
        }
        for column, row, *sectors in grid["cells"]
        if sectors[at] > 0
    ]
    ramp = {
        "type": "log",
        "range": ["#b9cfe4" if at == 0 else "#f1c9a5", "#123a63" if at == 0 else "#7a2d00"],
    }
    encoding: Spec = {
        "x": _quantity("x", "time since the first request (s)"),
        "x2": {"field": "x2"},
        "y": _quantity("y", f"address of the {kind}s ({unit})"),
        "y2": {"field": "y2"},
        "color": _quantity("bytes", f"MiB {kind if kind == 'read' else 'written'} in a cell", scale=ramp),
    }
    return _chart(rows, {"type": "rect"}, encoding)


def _sizes(found: dict[str, Any]) -> str:
    rows = [
        {"size": units.size(upper), "bytes": upper, "requests": number, "kind": kind}
        for kind, sizes in found["size_bytes"].items()
        for upper, number in sizes["buckets"]
    ]
    order = [units.size(upper) for upper in sorted({row["bytes"] for row in rows})]
    encoding: Spec = {
        "x": {"field": "size", "type": "nominal", "sort": order, "title": "size of a request, up to"},
        "xOffset": {"field": "kind", "type": "nominal"},
        "y": _quantity("requests", "requests"),
        "color": {
            "field": "kind",
            "type": "nominal",
            "title": None,
            "scale": {"domain": list(KINDS), "range": list(COLOURS[:2])},
        },
    }
    return _chart(rows, {"type": "bar"}, encoding)


def _gaps(gaps: dict[str, Any]) -> str:
    rows = [
        {"gap": units.time_us(upper), "us": upper, "requests": number} for upper, number in gaps["buckets"]
    ]
    order = [row["gap"] for row in sorted(rows, key=lambda row: row["us"])]
    encoding: Spec = {
        "x": {
            "field": "gap",
            "type": "nominal",
            "sort": order,
            "title": "time since the request before, up to",
        },
        "y": _quantity("requests", "requests"),
    }
    return _chart(rows, {"type": "bar", "color": COLOURS[0]}, encoding)


def _heat(found: dict[str, Any]) -> str:
    unit, unit_bytes = _unit(_end(found))
    rows = [{"address": at / unit_bytes, "writes": writes} for at, writes in found["pictures"]["heat"]]
    page = units.size(found["page_bytes"])
    # By default the axis would begin below 0, without any address there.
    scale = {"domain": [0, _end(found) / unit_bytes], "nice": False, "padding": 0}
    encoding: Spec = {
        "x": _quantity("address", f"address ({unit})", scale=scale),
        "y": _quantity("writes", f"mean writes of a written page of {page}"),
    }
    return _chart(rows, {"type": "bar", "color": COLOURS[1], "width": 2.5}, encoding, HEIGHT * 2 // 3)


def _skew(found: dict[str, Any]) -> str:
    rows = [{"pages": 0.0, "writes": 0.0}] + [
        {"pages": 100 * pages, "writes": 100 * writes} for pages, writes in found["skew"]
    ]
    encoding: Spec = {
        "x": _quantity("pages", "most written pages (% of the written pages)"),
        "y": _quantity("writes", "writes that they take (%)"),
    }
    return _chart(rows, {"type": "line", "point": True, "color": COLOURS[1]}, encoding, HEIGHT * 2 // 3)

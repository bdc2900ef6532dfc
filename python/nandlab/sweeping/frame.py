"""A sweep's points as a polars frame, and as a Parquet file's bytes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nandlab.record.numbers import numbers as numbers
from nandlab.sweeping.work import as_json

if TYPE_CHECKING:
    import polars

    from nandlab.sweeping import Sweep

_TYPES = {bool: "Boolean", int: "Int64", float: "Float64", str: "String"}


def frame_of(sweep: Sweep) -> polars.DataFrame:
    """A row for each point, in the sweep's order.

    First the varied keys, then every number in the record by its path (lists left out; prefixed with
    `result.` if a varied key has the same name), then `above_optimum` if somebody asked for it, `error` (why
    a point has no result), `record` (the whole record as JSON) and `key` (it tells whether a point is
    finished).
    """
    import polars

    columns: dict[str, list[Any]] = {}
    for at, axis in enumerate(sweep.axes):
        meant = dict(zip(axis.values, axis.meant(), strict=True))
        columns[axis.key] = [meant[point.texts[at]] for point in sweep.points]
    flat = [dict(numbers(point.record, "")) if point.record is not None else {} for point in sweep.points]
    for name in dict.fromkeys(name for figures in flat for name in figures):
        title = f"result.{name}" if name in columns else name
        columns[title] = [figures.get(name) for figures in flat]
    if any(point.optimum is not None for point in sweep.points):
        columns["above_optimum"] = [point.above_optimum for point in sweep.points]
    columns["error"] = [point.error for point in sweep.points]
    columns["record"] = [None if point.record is None else as_json(point.record) for point in sweep.points]
    columns["key"] = [point.key for point in sweep.points]
    return polars.DataFrame(
        [polars.Series(name, values, _type(name, values)) for name, values in columns.items()]
    )


def parquet_of(sweep: Sweep) -> bytes:
    """The frame as a Parquet file: the same bytes for the same points."""
    whole = io.BytesIO()
    frame_of(sweep).write_parquet(whole, compression="zstd")
    return whole.getvalue()


def _type(name: str, values: Sequence[Any]) -> Any:  # noqa: ANN401 - a class of polars
    import polars

    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        kinds = {float}
    if kinds == {int} and any(value is not None and abs(value) >= 2**63 for value in values):
        return polars.UInt64
    if len(kinds) > 1:
        raise AssertionError(f"{name} has values of several types")
    # A column empty for all points, such as an error, is text.
    return getattr(polars, _TYPES[kinds.pop() if kinds else str])

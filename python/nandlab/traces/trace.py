"""A trace as an object: its contents, its requests as a frame, and the workload to replay it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from nandlab._native import NandlabError
from nandlab.traces import trace_file
from nandlab.writing.new_file import readable
from nandlab.writing.plain import plain
from nandlab.writing.toml_text import toml_value

if TYPE_CHECKING:
    import polars

    from nandlab.traces.trace_file import Watch

COLUMNS = ("time_us", "op", "sector", "sectors", "origin", "placement", "device")


class Trace:
    """A file with recorded requests, in any format listed by `nandlab list traces`.

    The contents tell the format. An `Experiment` takes a trace as its workload:

    >>> import nandlab
    >>> trace = nandlab.Trace("workloads/sqlite/wal.csv.gz")
    >>> trace.format
    'csv'
    >>> trace.frame(count=2)["op"].to_list()
    ['write', 'flush']
    >>> experiment = nandlab.Experiment(workload=trace, ftl=nandlab.ftl.page())
    >>> experiment.resolve()["workload"]["trace"]["path"]
    'workloads/sqlite/wal.csv.gz'

    Args:
        path: The file; gzip, zstd and tar are read as they are.
        options: Options for `[workload.trace]`, such as `format="spc"`, `device="1"` or
            `columns={"op": 2, "address": 3, "size": 4}`. They count in every method and in an experiment.

    Raises:
        ConfigError: An option has a value no file could hold.

    """

    def __init__(self, path: str | os.PathLike[str], **options: Any) -> None:  # noqa: ANN401 - as in TOML
        self.path = Path(path)
        self.options: dict[str, Any] = plain(
            {name: value for name, value in options.items() if value is not None}
        )

    def to_dict(self) -> dict[str, Any]:
        """The `[workload]` table to replay it."""
        return {"trace": {"path": os.fspath(self.path), **self.options}}

    def _overrides(self) -> list[str]:
        return [f"{name}={toml_value(value)}" for name, value in self.options.items()]

    @property
    def format(self) -> str:
        """Its format's name.

        Raises:
            TraceError: No format fits, or several formats fit and read it differently.

        """
        return str(trace_file.head(self.path, self._overrides(), {"count": 1})["format"])

    def info(
        self, page_bytes: int = 4096, pictures: bool = False, watch: Watch | None = None
    ) -> dict[str, Any]:
        """Its contents: requests, sizes, times, footprint, overwrites, skew; see `docs/traces.md`.

        Args:
            page_bytes: Unit for footprint, overwrites, alignment and skew.
            pictures: Whether to add `pictures`; this takes a second pass.
            watch: Called with the count of records read so far.

        Raises:
            TraceError: The file cannot be read, or a record is wrong; with file, line and column.
            ConfigError: An option is wrong.

        """
        return trace_file.info(self.path, self._overrides(), page_bytes, pictures, watch)

    def frame(
        self,
        count: int = 100_000,
        skip: int = 0,
        from_s: float | None = None,
        to_s: float | None = None,
    ) -> polars.DataFrame:
        """Its requests: `time_us`, `op`, `sector`, `sectors`, `origin`, `placement`, `device`.

        `op` is read, write, trim or flush. A placement is a handle such as `5`, or group and handle such as
        `1:5`; null for requests without one.

        Args:
            count: So many at most.
            skip: So many left out at the start.
            from_s: From this time on, in seconds after the first request.
            to_s: Before this time.

        Raises:
            TraceError: As `info`.

        """
        import polars

        part = {"count": count, "skip": skip, "from_s": from_s, "to_s": to_s}
        rows = trace_file.head(self.path, self._overrides(), part)["requests"]
        types = {"time_us": polars.Float64, "sector": polars.Int64, "sectors": polars.Int64}
        return polars.DataFrame(rows, schema={name: types.get(name, polars.String) for name in COLUMNS})

    def frames(self, page_bytes: int = 4096) -> dict[str, polars.DataFrame]:
        """The data behind the pictures from `plots`.

        `sizes` (requests by kind up to a size), `gaps` (requests up to a time since the one before), `skew`
        (the most written pages' share of the writes), `heat` (mean writes of a written page by
        address), `cells` (bytes by time and address), and `devices`.

        Raises:
            TraceError: As `info`.

        """
        import polars

        found = self.info(page_bytes, pictures=True)
        grid, gaps = found["pictures"], found["inter_arrival_us"] or {"buckets": []}
        sizes = [(kind, *pair) for kind, one in found["size_bytes"].items() for pair in one["buckets"]]
        cells = [
            (column * grid["cell_s"], row * grid["cell_bytes"], *(sectors * 512 for sectors in moved))
            for column, row, *moved in grid["cells"]
        ]
        shapes: dict[str, tuple[list[Any], dict[str, type]]] = {
            "sizes": (sizes, {"request": str, "up_to_bytes": int, "requests": int}),
            "gaps": (gaps["buckets"], {"up_to_us": float, "requests": int}),
            "skew": (found["skew"], {"pages_share": float, "writes_share": float}),
            "heat": (grid["heat"], {"address_bytes": int, "mean_writes": float}),
            "cells": (
                cells,
                {"time_s": float, "address_bytes": float, "read_bytes": int, "written_bytes": int},
            ),
            "devices": (
                [(each["name"], each["requests"]) for each in found["devices"]],
                {"device": str, "requests": int},
            ),
        }
        return {
            name: polars.DataFrame(rows, schema=columns, orient="row", strict=False)
            for name, (rows, columns) in shapes.items()
        }

    def plots(
        self, folder: str | os.PathLike[str], page_bytes: int = 4096, form: Literal["svg"] = "svg"
    ) -> list[Path]:
        """Draws addresses over time, sizes, gaps, write heat and skew into SVG files in `folder`.

        Raises:
            TraceError: As `info`.
            OSError: With a sentence; the folder is then as it was.

        """
        from nandlab.report.plots import write_texts
        from nandlab.report.trace import pictures

        found = self.info(page_bytes, pictures=True)
        return write_texts(pictures(found) if found["requests"] else {}, folder, form)

    def convert(
        self,
        to: str | os.PathLike[str],
        format: Literal["native", "csv", "fio"] | None = None,  # noqa: A002 - the name of the option
        **part: float | None,
    ) -> dict[str, Any]:
        """Writes it, or a part, as another file: `requests`, `dropped` and `notices`.

        Args:
            to: The new file; its name tells the format unless `format` does, `.gz` packs.
            format: The format.
            part: `skip`, `count`, `from_s`, `to_s` as for `frame`.

        Raises:
            TraceError: As `info`.
            ConfigError: The format is not known.
            OSError: With a sentence; nothing half-written is left.

        """
        chosen = {name: value for name, value in part.items() if value is not None}
        return trace_file.convert(self.path, to, format, self._overrides(), chosen)

    def _repr_html_(self) -> str:
        """What a notebook shows: requests, bytes and times; a file that cannot be read says why."""
        from nandlab.report.notebook import shown

        try:
            found = self.info()
        except (NandlabError, OSError) as error:
            return shown(repr(self), [str(error)], (), [])
        rows = [
            [name, f"{value:,}" if isinstance(value, int) else str(value)]
            for name, value in found.items()
            if isinstance(value, int | float | str) and not isinstance(value, bool)
        ]
        return shown(repr(self), [], ("figure", "value"), rows)

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"Trace({readable(self.path)!r}{options})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trace):
            return NotImplemented
        return os.path.realpath(self.path) == os.path.realpath(other.path) and self.options == other.options

    __hash__ = None  # type: ignore[assignment] # options may hold tables

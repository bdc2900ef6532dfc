"""A run's result: its record, with reports, pictures and frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from nandlab.record.record import Record

if TYPE_CHECKING:
    import os
    from pathlib import Path

    import pandas
    import polars

    from nandlab.report.pictures import Picture


class Result(Record):
    """A run's result: every figure in the record, and ways to show it.

    `nandlab.record.record.Record` explains the figures. Results are equal if all but `speed` is.
    """

    def __init__(self, data: dict[str, Any], folder: str | None = None) -> None:
        super().__init__(data)
        vars(self)["_folder"] = folder

    @property
    def folder(self) -> str | None:
        """The folder for its experiment's relative paths, if this process knows it; a record does not say."""
        return vars(self)["_folder"]

    def report(self, path: str, command: str | None = None) -> None:
        """Writes a self-contained HTML report.

        Args:
            path: The file; an old one is replaced once the new one is whole.
            command: The command line that remakes the report, printed in it.

        Raises:
            NandlabError: The drawing package, vl-convert, is not installed.
            OSError: With a sentence; an older file at `path` is then as it was.

        """
        from nandlab.report import write_run

        write_run(self, path, command)

    def frames(self) -> dict[str, polars.DataFrame]:
        """The data behind every picture and table in the report, as polars frames.

        `nandlab.figures.frames` describes them.

        >>> import nandlab
        >>> experiment = nandlab.Experiment(
        ...     workload=nandlab.workload.uniform(requests=20_000),
        ...     ftl=nandlab.ftl.page(),
        ...     device=nandlab.Device(capacity="16 MiB", over_provisioning=0.25),
        ... )
        >>> frames = experiment.run().frames()
        >>> frames["latency"].columns[:4]
        ['request', 'count', 'mean_us', 'p50_us']
        >>> frames["matrix"]["programs"].sum() == experiment.run().flash.programs
        True

        """
        from nandlab.figures import frames

        return {name: frames.frame(self, name) for name in frames.FRAMES}

    def to_pandas(self) -> pandas.DataFrame:
        """One row with every number in the record, as a pandas frame; `frames()` has tables in polars.

        Columns are record paths, such as `waf` (flash programs / host writes), `flash.erases`
        (blocks), `flash.programs` (pages), `time_us`, `latency_us.write.p99` and `ram.total_bytes`. A unit
        ends the name: `_us` microseconds, `_j` joules, `_bytes` bytes, `_per_s` for each second.
        Names without one count pages, blocks, requests or sectors of 512 bytes; docs/record.md lists
        all. Lists are left out.

        Raises:
            ImportError: pandas is not installed: `pip install 'nandlab[pandas]'`.

        """
        from nandlab.record.numbers import numbers
        from nandlab.writing.pandas_frame import pandas_frame

        return pandas_frame({path: [value] for path, value in numbers(self.to_dict(), "")})

    def pictures(self) -> dict[str, Picture]:
        """The report's pictures by name; `.themed()` turns one into a Vega-Altair chart for a notebook.

        Pictures with nothing to show are left out, such as latencies without time.
        """
        from nandlab.report.theme import require_vl_convert

        require_vl_convert()
        from nandlab.report.pictures import of_run

        return of_run(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: what the run comes to, and its first figures."""
        from nandlab.report.notebook import of_result

        return of_result(self)

    def plots(
        self,
        folder: str | os.PathLike[str],
        form: Literal["svg", "png"] = "svg",
        colours: Literal["light", "dark"] = "light",
    ) -> list[Path]:
        """Draws the report's pictures into files in `folder`, made if missing.

        Returns:
            The files.

        Raises:
            OSError: With a sentence; the folder is then as it was.

        """
        from nandlab.report.plots import write_pictures

        return write_pictures(self.pictures(), folder, form, colours)

"""Options of commands that run many points: `sweep` and `search`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from nandlab.cli.options import writable


def _points_file(_ctx: click.Context, _parameter: click.Parameter, path: str | None) -> str | None:
    if path is not None:
        if not path.endswith(".parquet"):
            raise click.BadParameter(f"{path}: the points of a sweep are a .parquet file")
        writable(path)
        from nandlab.sweeping.store import require_polars

        require_polars()
    return path


def _executor(_ctx: click.Context, _parameter: click.Parameter, name: str) -> str:
    from nandlab.sweeping.engines import check_name

    check_name(name)
    return name


def goal_option(several: str) -> Callable[..., Any]:
    """The option --goal; `several` says what several goals have."""
    return click.option(
        "--goal",
        "goals",
        metavar="NAME[:max]",
        multiple=True,
        default=("waf",),
        show_default=True,
        help=f"A figure that should be small, or large with :max. {several}",
    )


def points_options(point: str, points: str, goes_on: str, at_once: str = "") -> Callable[..., Any]:
    """The options --output, --fresh, --executor and --jobs.

    Args:
        point: What the command calls one of its points.
        points: What it calls several.
        goes_on: When the same command goes on from a file.
        at_once: How many points run at once.

    """
    options = [
        click.option(
            "--output",
            metavar="FILE.parquet",
            callback=_points_file,
            help=f"Keep every {point} as it ends, to go on {goes_on}.",
        ),
        click.option("--fresh", is_flag=True, help=f"Begin anew where --output holds {points}."),
        click.option(
            "--executor",
            metavar="KIND",
            default="threads",
            show_default=True,
            callback=_executor,
            help="threads, processes, dask (on this machine) or dask=ADDRESS.",
        ),
        click.option(
            "--jobs",
            metavar="N",
            type=click.IntRange(min=1),
            help=f"Runs at once{at_once}; default: one for each processor.",
        ),
    ]

    def decorated(command: Any) -> Any:  # noqa: ANN401 - as click's
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


def require_drawing(report: str | None) -> None:
    """Says what drawing a report needs, before any run."""
    if report is not None:
        from nandlab.sweeping.charts import require_altair

        require_altair()

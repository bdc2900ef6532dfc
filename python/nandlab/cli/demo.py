"""`nandlab demo`: the designs of the README under the traces that come with the package."""

from __future__ import annotations

import click

from nandlab.cli.example import example
from nandlab.cli.options import Axis, report_option_of


@example("nandlab demo")
@click.command("demo")
@report_option_of("demo.html")
@click.option(
    "--jobs", metavar="N", type=click.IntRange(min=1), help="Runs at once; default: one for each processor."
)
def command(report: str, jobs: int | None) -> int:
    """Run ten designs under two traces of a real SQLite.

    The command writes a report. Designs and traces come with nandlab, so it works in any folder. `nandlab
    examples FOLDER` copies them.
    """
    from nandlab import bundled
    from nandlab.cli.compare import compare

    traces = tuple(map(str, bundled.demo_traces()))
    files = tuple(map(str, bundled.demo_designs()))
    return compare(files, [Axis("workload.trace.path", traces)], report=report, jobs=jobs)

"""`nandlab demo`: the designs of the README under the traces that come with the package."""

from __future__ import annotations

import click

from nandlab.cli.example import example
from nandlab.cli.options import jobs_option, report_option_of


@example("nandlab demo")
@click.command("demo")
@report_option_of("demo.html")
@jobs_option
def command(report: str, jobs: int | None) -> int:
    """Run ten designs under two traces of a real SQLite.

    The command writes a report. Designs and traces come with nandlab, so it works in any folder. `nandlab
    examples FOLDER` copies them.
    """
    from nandlab import bundled
    from nandlab.cli.compare import compare
    from nandlab.cli.points import Given

    traces = tuple(map(str, bundled.demo_traces()))
    files = tuple(map(str, bundled.demo_designs()))
    return compare(files, {"workload.trace.path": traces}, Given(report=report, jobs=jobs))

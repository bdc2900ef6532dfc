"""`nandlab import SIMULATOR FILE...`: an experiment from another simulator's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nandlab.cli.example import example
from nandlab.cli.options import json_option, refuse_overwriting, written
from nandlab.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from nandlab.importing import Imported

SIMULATORS = ("mqsim", "simplessd", "flashsim", "femu", "nvmevirt")
TITLES = ("key", "value", "here", "what becomes of it", "how, or why")


def _instead(_ctx: click.Context, _parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    for key, sign, _ in pairs:
        if not sign or not key:
            raise click.BadParameter(f"{key!r} is not of the form KEY=VALUE, as in FTL_IMPLEMENTATION=2")
    return {key: value for key, _, value in pairs}


class ImportCommand(click.Command):
    """Takes "-device femu,..." as it stands on a command line, though it begins like an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, without its dash."""
        return super().parse_args(
            ctx, [arg.lstrip("-") if arg.startswith("-device ") else arg for arg in args]
        )


@example("nandlab import mqsim ssdconfig.xml workload.xml -o mine.toml")
@click.command("import", cls=ImportCommand)
@click.argument("simulator", type=click.Choice(SIMULATORS))
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--output",
    "-o",
    metavar="FILE.toml",
    callback=written("an experiment", ".toml"),
    help="Write the experiment into a file.",
)
@click.option(
    "--scenario",
    metavar="N",
    type=click.IntRange(min=1),
    default=1,
    help="Scenario of MQSim's workload; default: the first.",
)
@click.option("--model", metavar="NAME", help="Drive of NVMeVirt's ssd_config.h, such as SAMSUNG_970PRO.")
@click.option(
    "--instead",
    metavar="KEY=VALUE",
    multiple=True,
    callback=_instead,
    help="Another value for a key of the file. Repeatable.",
)
@json_option
def command(  # noqa: PLR0913 - one for each option
    simulator: str,
    files: tuple[str, ...],
    output: str | None,
    scenario: int,
    model: str | None,
    instead: dict[str, str],
    as_json: bool,
) -> None:
    """Write the experiment for a configuration of another simulator.

    A table says what became of each key. FILE is ssdconfig.xml and workload.xml for mqsim, FILE.cfg for
    simplessd (SSD and standalone), ssd.conf for flashsim, "-device femu,..." or a script with it for femu,
    ssd_config.h for nvmevirt.

    The experiment goes to stdout and the table to stderr; with --output, the table goes to stdout.
    """
    from pathlib import Path

    from nandlab.importing import Request, import_files

    paths = [Path(file) for file in files if Path(file).exists()] if simulator != "femu" else []
    refuse_overwriting({"--output": output}, paths)
    folder = str(Path(output).parent) if output else "."
    found = import_files(simulator, Request(files, folder, scenario, model, instead))
    if output is not None:
        from nandlab.writing.new_file import write_whole

        write_whole(output, found.text().encode())
    if as_json:
        print_json(found.to_dict())
        return
    if output is None:
        click.echo(found.text(), nl=False)
    _print_table(found, to_stderr=output is None)
    if output is not None:
        click.echo(f"\nexperiment: {output}")


def _print_table(found: Imported, to_stderr: bool) -> None:
    rows = [
        (row.key, f"{row.value} (default)" if row.is_default else row.value, row.here, row.fate, row.note)
        for row in found.rows
    ]
    print_table(rows, TITLES, to_stderr=to_stderr)
    lines = ["", found.counts(), *found.notes]
    for line in lines:
        say(line) if to_stderr else click.echo(line)

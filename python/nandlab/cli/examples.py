"""`nandlab examples`: lists or copies the examples that come with the package."""

from __future__ import annotations

from pathlib import Path

import click

from nandlab.cli.example import example
from nandlab.cli.options import json_option
from nandlab.cli.output import print_json, print_table


@example("nandlab examples my-folder")
@click.command("examples")
@click.argument("folder", metavar="[FOLDER]", required=False, type=click.Path(file_okay=False))
@json_option
def command(folder: str | None, as_json: bool) -> None:
    """List the examples, or copy them into a folder.

    FOLDER must be new or empty. The examples are experiments of every kind, the SQLite traces, the profiles
    of devices and memories, firmware in C, jobs of fio for your own drive, and notebooks. In FOLDER the
    commands of the documentation find their files.
    """
    from nandlab import bundled

    names = bundled.files() if folder is None else bundled.copy(Path(folder))
    if as_json:
        print_json({"folder": folder or str(bundled.EXAMPLES), "files": [str(name) for name in names]})
    elif folder is None:
        print_table([[str(name), bundled.first_line(name)] for name in names])
    else:
        click.echo(f"{len(names)} examples: {folder}")

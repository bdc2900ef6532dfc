"""`nandlab check FILE`: what an experiment comes down to, without running it."""

from __future__ import annotations

from typing import Any

import click

from nandlab.cli.background import interruptible
from nandlab.cli.example import example
from nandlab.cli.options import (
    Pair,
    change_options,
    experiment_argument,
    json_option,
    read,
)
from nandlab.cli.output import print_json


@example("nandlab check experiment.toml")
@click.command("check")
@experiment_argument()
@change_options
@json_option
def command(file: str, sets: list[Pair], as_json: bool) -> None:
    """Check an experiment, and print it with every default.

    The command checks FILE, its trace, and whether they fit. What it prints is an experiment again; sizes are
    comments.
    """
    experiment = read(file, sets)
    resolved = experiment.resolve()
    # A long trace takes some seconds to read.
    sizes = interruptible(experiment.inspect)
    if as_json:
        print_json({"experiment": resolved, **sizes})
        return
    from nandlab.writing.toml_text import toml_text

    click.echo(toml_text(resolved))
    for line in _sizes(sizes):
        click.echo(f"# {line}")


def _sizes(sizes: dict[str, Any]) -> list[str]:
    from nandlab.writing import units

    device = sizes["device"]
    if not device["blocks"]:
        return ["no device: the directory is there, and empty", *sizes["notices"]]
    dies = "1 die" if device["dies"] == 1 else f"{device['dies']} dies"
    lines = [
        f"device: {device['blocks']:,} blocks of {device['pages_per_block']} pages of "
        f"{units.size(device['page_bytes'])} on {dies}, {units.size(device['physical_bytes'])}",
        f"host: {units.size(device['logical_bytes'])}, over-provisioning "
        f"{units.percent(device['over_provisioning'])}",
    ]
    trace = sizes["trace"]
    if trace is not None:
        lines.append(
            f"trace: {units.counted(trace['requests'], 'request')}; "
            f"{units.counted(trace['reads'], 'read')}, {units.counted(trace['writes'], 'write')}, "
            f"{trace['trims']:,} trims, {trace['flushes']:,} flushes"
        )
        lines.append(
            f"trace: {units.size(trace['read_sectors'] * 512)} read, "
            f"{units.size(trace['written_sectors'] * 512)} written, "
            f"{units.size(trace['trimmed_sectors'] * 512)} trimmed, "
            f"the highest address at {units.size(trace['end_sector'] * 512)}"
        )
    if sizes["operations"] is not None:
        lines.append(f"keys: {sizes['operations']:,} operations")
    return lines + [f"note: {notice}" for notice in sizes["notices"]]

"""`nandlab mount`: a simulated device's files, in a directory on this machine."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import click

from nandlab.cli.disk_output import IMAGE, Watch, opened, print_stats, serving_options, wait
from nandlab.cli.example import example
from nandlab.cli.options import choice_option, json_option
from nandlab.cli.output import print_json, say


class MountPoint(click.Path):
    """A directory; a dead mount by a killed process counts as one."""

    def __init__(self) -> None:
        """For an existing directory."""
        super().__init__(exists=True, file_okay=False)

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """Lets a dead mount through; `stat` cannot see into it."""
        try:
            Path(value).stat()
        except OSError as error:
            if error.errno == errno.ENOTCONN:
                return value
        return super().convert(value, param, ctx)


@example("nandlab mount card.image files")
@click.command("mount")
@click.argument("image", type=IMAGE)
@click.argument("directory", type=MountPoint())
@choice_option(
    "--cache",
    ["writeback", "through"],
    "writeback: the kernel gathers small writes until close or fsync; through: it does not.",
)
@click.option(
    "--allow-other",
    is_flag=True,
    help="Let other users in; FUSE asks for root or `user_allow_other`.",
)
@serving_options
@json_option
def command(image: str, directory: str, as_json: bool, **options: Any) -> None:  # noqa: ANN401 - as click gives them
    """Show the files in an image in a directory.

    The command ends with Ctrl-C or SIGTERM, and prints what the requests cost. `nandlab disk create` makes
    IMAGE with a table [fs.yaffs], [fs.minv] or [fs.fat]. A FAT volume made by another program on a disk is
    mounted, too. No root is needed.
    """
    disk = opened(image, options)
    watch = Watch(disk)
    try:
        disk.answer()
        fs = disk.mount(directory, options["allow_other"], options["cache"])
        page = ""
        if options["http"] is not None:
            disk.http(options["http"])
            page = f", with a page at {options['http']}"
        say(f"{fs} of {image} is in {directory}{page}; Ctrl-C ends it")
        wait(watch.look)
    except KeyboardInterrupt:
        say("ending: everything is being flushed")
    disk.end()
    watch.look()
    found = json.loads(disk.stats())
    watch.close()
    if as_json:
        print_json(found)
    else:
        print_stats(found)
    watch.end()

"""`nandlab disk`: a simulated device in an image, for real programs."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nandlab import reading
from nandlab.cli import FAILED, trying
from nandlab.cli.background import interruptible
from nandlab.cli.disk_output import (
    IMAGE,
    Watch,
    opened,
    print_stats,
    serving_options,
    text_of,
    wait,
)
from nandlab.cli.example import example
from nandlab.cli.options import EXPERIMENT, Pair, choice_option, json_option, sets_option
from nandlab.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from nandlab._native import Disk


@example('nandlab disk try -- sqlite3 my.db "create table t (a)"')
@click.group("disk")
def command() -> None:
    """Keep a device in an image, and let real programs use it.

    `create` makes the image, `serve` turns it into a disk, and the others look at it. `try` does all of it
    for one command.
    """


command.add_command(trying.command)


@example("nandlab disk create my.image experiment.toml")
@command.command("create")
@click.argument("image", type=click.Path())
@click.argument("file", type=EXPERIMENT, required=False, metavar="[FILE]")
@sets_option
@json_option
def create(image: str, file: str | None, sets: list[Pair], as_json: bool) -> None:
    """Make an image of a new device.

    The device is that of the experiment FILE, or of `--set` alone. A workload in FILE has no effect: programs
    make the requests.
    """
    from nandlab import _native

    text = text_of(file, sets)
    notices = interruptible(lambda: _native.disk_create(text, image))
    for notice in notices:
        say(f"note: {notice}")
    if as_json:
        print_json(_info(image))
    else:
        _print_info(image, _info(image))


def _info(image: str) -> dict[str, Any]:
    from nandlab import _native

    info: dict[str, Any] = json.loads(interruptible(lambda: _native.disk_info(image)))
    return info


@example("nandlab disk info my.image")
@command.command("info")
@click.argument("image", type=IMAGE)
@json_option
def info(image: str, as_json: bool) -> None:
    """Describe an image, and all work on it since it was made."""
    found = _info(image)
    for notice in found["notices"]:
        say(f"warning: {notice}")
    if as_json:
        print_json(found)
    else:
        _print_info(image, found)


def _print_info(image: str, found: dict[str, Any]) -> None:
    from nandlab.writing import units

    all_, host, flash = found["in_all"], found["in_all"]["host"], found["in_all"]["flash"]
    used, whole = units.size(found["allocated_bytes"]), units.size(found["file_bytes"])
    blocks = f"{found['blocks']:,} blocks of {found['pages_per_block']} pages"
    ftl = found["ftl"] or "none, files are on bare flash"
    rows = [
        ["image", f"{image}, {used} of {whole} used"],
        ["FTL", ftl + (f" under the buffer {found['buffer']}" if found["buffer"] else "")],
        *([["file system", found["fs"]]] if found["fs"] else []),
        ["disk", f"{units.size(found['bytes'])}, pages of {units.size(found['page_bytes'])}"],
        ["flash", f"{units.size(found['physical_bytes'])}: {blocks}"],
        ["opened", units.counted(all_["sessions"], "time") + (", in use now" if found["in_use"] else "")],
        ["read", units.size(host["read_sectors"] * 512)],
        ["written", units.size(host["written_sectors"] * 512)],
        ["programs", f"{flash['programs']:,}"],
        ["erases", f"{flash['erases']:,}"],
        ["simulated time", f"{all_['time_ns'] / 1e9:,.3f} s"],
    ]
    print_table(rows)
    if all_["unsaved"]["kills"] > 0:
        say(_unsaved(all_["unsaved"]))


def _unsaved(unsaved: dict[str, Any]) -> str:
    """The image's unknowns after its serving process was killed."""
    from nandlab.writing import units

    flash = unsaved["flash"]
    programs, erases = units.counted(flash["programs"], "program"), units.counted(flash["erases"], "erase")
    return (
        f"note: the serving process was killed {units.counted(unsaved['kills'], 'time')}. Programs and "
        f"erases are exact; who asked for {programs} and {erases} of them is not known. Requests and "
        f"simulated time lack at most {units.size(unsaved['written_bytes_at_most'])} of writes and what was "
        f"asked within {units.counted(unsaved['seconds_at_most'], 'second')}, and the requests under way"
    )


@example("nandlab disk check my.image")
@command.command("check")
@click.argument("image", type=IMAGE)
@json_option
def check(image: str, as_json: bool) -> None:
    """Check every FTL invariant and every page checksum of an image.

    The exit status is 1 if something is broken.
    """
    from nandlab import _native

    disk = interruptible(lambda: _native.Disk(image))
    found = json.loads(interruptible(disk.check))
    if as_json:
        print_json(found)
    else:
        click.echo(f"{found['pages']:,} pages have the bytes that were written to them")
        for page in found["spoilt_pages"]:
            click.echo(f"page {page} cannot be read: its bytes do not fit its checksum")
        for notice in found["notices"]:
            click.echo(notice)
        if found["broken"]:
            click.echo(f"an invariant is broken: {found['broken']}")
        else:
            click.echo("every invariant holds")
    if not found["sound"]:
        raise SystemExit(FAILED)


def _ask(image: str, question: str) -> dict[str, Any] | None:
    from nandlab import _native

    answer = interruptible(lambda: _native.disk_ask(image, question))
    if answer is None:
        return None
    found: dict[str, Any] = json.loads(answer)
    if set(found) == {"error"}:
        raise _native.NandlabError(found["error"])
    return found


@example("nandlab disk stats my.image")
@command.command("stats")
@click.argument("image", type=IMAGE)
@json_option
def stats(image: str, as_json: bool) -> None:
    """Print the measurements of an image that is being served.

    The names are those of a run's record. If no process serves IMAGE, the counts are those since IMAGE was
    made.
    """
    found = _ask(image, "stats")
    if as_json:
        print_json(found if found is not None else {"in_all": _info(image)["in_all"]})
        return
    if found is None:
        say("no process serves the image: these are the counts since it was made")
        _print_info(image, _info(image))
        return
    print_stats(found)


@example("nandlab disk record my.image --output trace.nltr")
@command.command("record")
@click.argument("image", type=IMAGE)
@click.option(
    "--output", required=True, type=click.Path(), metavar="FILE.nltr", help="The trace, a new file."
)
def record(image: str, output: str) -> None:
    """Record every request to an image that is being served.

    The recording ends with Ctrl-C. The trace has each request's time and origin; `nandlab run` and `nandlab
    compare` replay it.
    """
    from nandlab import _native

    if _ask(image, f"record {Path(output).resolve()}") is None:
        raise _native.NandlabError(f"no process serves {image}: start one with `nandlab disk serve {image}`")
    say(f"recording into {output}; Ctrl-C ends it")
    with contextlib.suppress(KeyboardInterrupt):
        wait()
    ended = _ask(image, "end-record")
    if ended is None or ended["requests"] is None:
        raise _native.NandlabError(f"the process that served {image} has ended, and the trace with it")
    click.echo(f"{ended['requests']:,} requests are in {output}")


@example("nandlab disk export my.image disk.raw")
@command.command("export")
@click.argument("image", type=IMAGE)
@click.argument("file", type=click.Path())
@json_option
def export(image: str, file: str, as_json: bool) -> None:
    """Copy the contents of the disk in an image into a new file.

    IMAGE stays as it is. Byte ranges that cannot be read are listed and left out; the exit status is then 1.

    If the FTL cannot be mounted, FILE gets the newest copy of each sector on flash, and the exit status is 1.
    Such a sector may hold a write that was never flushed, or its contents before a trim.
    """
    from nandlab import _native

    refused = None
    try:
        disk = interruptible(lambda: _native.Disk(image, read_only=True))
    except _native.NandlabError as error:
        refused = str(error)
        notices, bad = _rescued(image, file, error)
    else:
        notices = disk.notices()
        bad = interruptible(lambda: disk.export(file))
    for notice in notices:
        say(f"warning: {notice}")
    if as_json:
        ranges = [{"start": start, "end": end} for start, end in bad]
        print_json({"notices": notices, "refused": refused, "unreadable": ranges})
    else:
        for start, end in bad:
            click.echo(f"bytes {start} to {end - 1} cannot be read")
    if bad or refused:
        raise SystemExit(1)


def _rescued(image: str, file: str, error: Exception) -> tuple[list[str], list[tuple[int, int]]]:
    """Copies what is on flash, without a mount; raises `error` again if IMAGE tells nothing."""
    from nandlab import _native

    try:
        found = interruptible(lambda: _native.disk_rescue(image, file))
    except _native.NandlabError as why:
        if str(why).startswith("cannot write"):
            raise
        raise error from None
    say(f"warning: {error}")
    return found


@example("nandlab disk serve my.image --nbd disk.sock")
@command.command("serve")
@click.argument("image", type=IMAGE)
@click.option("--nbd", metavar="SOCKET", help="Serve it by NBD on this unix socket.")
@click.option("--fuse", metavar="DIR", help="Serve it as the file `disk` in DIR.")
@click.option(
    "--nvme",
    metavar="127.0.0.1:PORT",
    help="Serve it as an NVMe drive over TCP, for this machine alone.",
)
@choice_option("--nvme-block", ["512", "4096"], "Bytes of a logical block over NVMe.")
@serving_options
@click.option(
    "--record", "trace", type=click.Path(), metavar="FILE.nltr", help="Record every request into a new file."
)
@click.option(
    "--regions",
    type=click.Path(),
    metavar="auto|FILE",
    help="Origins: auto for ext2, ext3, ext4 and XFS, or a file with lines `sector, sectors, origin`.",
)
@json_option
def serve(image: str, as_json: bool, **options: Any) -> None:  # noqa: ANN401 - as click gives them
    """Serve an image as a disk until Ctrl-C or SIGTERM.

    At the end the command prints what the requests cost.
    """
    if all(options[way] is None for way in ("nbd", "nvme", "fuse")):
        raise click.UsageError(
            "say how programs are to reach the disk: --nbd SOCKET, --nvme 127.0.0.1:PORT, --fuse DIR, or "
            "several"
        )
    disk = opened(image, options)
    if options["regions"] is not None:
        _set_regions(disk, options["regions"])
    if options["trace"] is not None:
        disk.record(options["trace"])
    watch = Watch(disk)
    _serve_until_stopped(image, disk, options, watch)
    watch.look()
    found = json.loads(disk.stats())
    watch.close()
    if as_json:
        print_json(found)
    else:
        print_stats(found)
    watch.end()


def _set_regions(disk: Disk, regions: str) -> None:
    if regions != "auto":
        try:
            disk.regions(reading.text(regions))
        except (OSError, UnicodeDecodeError) as error:
            raise click.UsageError(f"the regions in {regions} cannot be read: {error}") from None
        return
    found = interruptible(disk.follow_regions)
    if found is None:
        say("no ext2, ext3, ext4 or XFS is on the disk yet: its regions count from when one is made")
    else:
        say(f"regions of {found[0]}")


def _serve_until_stopped(image: str, disk: Disk, options: dict[str, Any], watch: Watch) -> None:
    try:
        disk.answer()
        ways = []
        if options["nbd"] is not None:
            disk.nbd(options["nbd"])
            ways.append(f"by NBD on {options['nbd']}")
        if options["nvme"] is not None:
            say(disk.nvme(options["nvme"], int(options["nvme_block"])))
            ways.append(f"by NVMe at {options['nvme']}")
        if options["fuse"] is not None:
            disk.fuse(options["fuse"])
            ways.append(f"as {Path(options['fuse']) / 'disk'}")
        if options["http"] is not None:
            disk.http(options["http"])
            ways.append(f"with a page at {options['http']}")
        say(f"serving {image} {' and '.join(ways)}; Ctrl-C ends it")
        wait(watch.look)
    except KeyboardInterrupt:
        say("ending: everything is being flushed")

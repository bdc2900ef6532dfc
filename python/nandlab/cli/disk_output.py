"""Shared by the commands in `nandlab disk`: a device's description, and its cost table."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nandlab import reading
from nandlab.cli import FAILED
from nandlab.cli.options import Pair, RegularFile, together
from nandlab.cli.output import print_table, say
from nandlab.running.varied import override

if TYPE_CHECKING:
    from nandlab._native import Disk

IMAGE = RegularFile()
serving_options = together(
    click.option(
        "--http", metavar="127.0.0.1:PORT", help="Show it at work on a page, for this machine alone."
    ),
    click.option("--pace", is_flag=True, help="Answer when a request's simulated time is over."),
    click.option(
        "--durable",
        is_flag=True,
        help="Flushed data also survives an end of this machine: erases wait for its disk.",
    ),
    click.option("--read-only", is_flag=True, help="Refuse writes, as for a damaged image."),
    click.option(
        "--rescue",
        is_flag=True,
        help="As --read-only, also for old or missing parts. What is read may be wrong.",
    ),
    click.option(
        "--epoch",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Keep how much was done to IMAGE in FILE too, and refuse an IMAGE that is older. FILE "
        "belongs on another disk.",
    ),
)
"""What an image is opened with for programs, and how it is shown."""


POLL_S = 0.2
"""Seconds between two looks for Ctrl-C."""


def opened(image: str, options: dict[str, Any]) -> Any:  # noqa: ANN401 - a class of the compiled module
    """The disk in `image` for programs, as these options say; its warnings are printed.

    Raises:
        NandlabError: There is no such image, or it may not be used so.

    """
    from nandlab import _native
    from nandlab.cli.background import interruptible

    words = ("pace", "durable", "read_only", "rescue", "epoch")
    disk = interruptible(lambda: _native.Disk(image, *(options[word] for word in words)))
    for notice in disk.notices():
        say(f"warning: {notice}")
    return disk


def wait(each: Callable[[], object] = lambda: None) -> None:
    """Sleeps until Ctrl-C or SIGTERM; both raise KeyboardInterrupt. Calls `each` between two looks."""
    while True:
        each()
        time.sleep(POLL_S)


class Watch:
    """Looks whether the file of a served image is still whole, and tells each fault once."""

    def __init__(self, disk: Disk) -> None:
        """For an open disk."""
        self._disk = disk
        self._told = 0

    def look(self) -> None:
        """Prints new faults."""
        faults = self._disk.faults()
        for fault in faults[self._told :]:
            say(f"warning: {fault}")
        self._told = len(faults)

    def close(self) -> None:
        """Closes the disk; an error behind a fault adds nothing to it."""
        from nandlab._native import NandlabError

        try:
            self._disk.close()
        except NandlabError as error:
            self.look()
            if self._told == 0:
                raise
            say(f"the disk was not closed: {error}")

    def end(self) -> None:
        """A last look; the command fails if there was a fault."""
        self.look()
        if self._told > 0:
            raise SystemExit(FAILED)


def text_of(file: str | None, pairs: list[Pair]) -> Any:  # noqa: ANN401 - a class of the compiled module
    """A device's description: the experiment `file`, or nothing, with the keys in `pairs` changed."""
    from nandlab import _native
    from nandlab.writing.new_file import readable

    sets = [override(pair, file) if file else f"{pair[0]}={pair[1]}" for pair in pairs]
    if file is None:
        return _native.Text("", "toml", "", ".", sets)
    path = Path(file)
    try:
        text = reading.text(path)
    except UnicodeDecodeError as error:
        raise _native.ConfigError(f"{readable(path)}: byte {error.start} is not UTF-8 text") from None
    form = "json" if path.suffix == ".json" else "toml"
    return _native.Text(text, form, str(path), str(path.parent), sets)


def print_stats(found: dict[str, Any]) -> None:
    """Counts, times, and the ten pairs of origin and cause with the longest busy time."""
    from nandlab.writing import units

    host, flash = found["host"], found["flash"]
    waf = "nothing was written" if found["waf"] is None else f"{found['waf']:.3f}"
    rows = [
        ["requests", f"{host['requests']:,}"],
        ["read", units.size(host["read_sectors"] * 512)],
        ["written", units.size(host["written_sectors"] * 512)],
        ["write amplification", waf],
        ["programs", f"{flash['programs']:,}"],
        ["erases", f"{flash['erases']:,}"],
        ["simulated time", f"{(found['time_us'] or 0) / 1e6:,.3f} s"],
        ["real time", f"{found['wall_s']:,.3f} s"],
    ]
    print_table(rows)
    # The cost of a command alone, as `disk try` finds it, tells of no queue and no handle.
    _print_askers(found.get("queues"), ["controller", "queue"])
    _print_askers(found.get("handles"), ["group", "handle"])
    busiest = sorted(found["matrix"], key=lambda row: -row["busy_us"])[:10]
    if busiest:
        titles = ["origin", "cause", "reads", "programs", "copies", "erases"]
        counts = [[f"{row[name]:,.0f}" for name in titles[2:]] for row in busiest]
        lines = [[row["origin"], row["cause"], *count] for row, count in zip(busiest, counts, strict=True)]
        click.echo()
        print_table(lines, titles, right=[2, 3, 4, 5])


def _print_askers(told: dict[str, Any] | None, names: list[str]) -> None:
    """Requests by I/O queue or by placement handle; nothing if none asked."""
    from nandlab.writing import units

    if told is None or not told["rows"]:
        return
    rows = [
        (["none" if row[name] is None else str(row[name]) for name in names], row) for row in told["rows"]
    ]
    if told["others"]:
        rows.append((["others", ""], told["others"]))

    def us(row: dict[str, Any], of: str) -> list[str]:
        latency = row[f"{of}_latency_us"]
        return ["-", "-"] if latency is None else [f"{latency['mean']:,.1f}", f"{latency['p99']:,.1f}"]

    lines = [
        [
            *who,
            f"{row['requests']:,}",
            units.size(row["read_bytes"]),
            units.size(row["written_bytes"]),
            *us(row, "read"),
            *us(row, "write"),
        ]
        for who, row in rows
    ]
    titles = [*names, "requests", "read", "written", "read us, mean", "p99", "write us, mean", "p99"]
    click.echo()
    print_table(lines, titles, right=[*range(2, 9)])

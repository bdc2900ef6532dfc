"""A file system's work, in figure rows for the terminal and for reports."""

from __future__ import annotations

from nandlab.record.made import FsFigures, FsPhase, Speed
from nandlab.record.record import Record
from nandlab.writing import units

Row = tuple[str, str, str]
"""Name, value and explanation."""


def rows(fs: FsFigures) -> list[Row]:
    """Name, value and explanation for a file system's figures."""
    phases = fs.phases
    size = fs.volume.units * fs.volume.unit_bytes
    return [
        ("transactions", units.count(fs.transactions), _cost(phases.transactions)),
        ("operations", units.count(fs.operations.total), _operations(fs)),
        ("set up, clean up", "", f"{_cost(phases.set_up)}; {_cost(phases.clean_up)}"),
        ("volume", units.size(size), _volume(fs)),
        (
            "format, mount",
            "",
            f"{_cost(phases.format)}; {_cost(phases.mount)}; in no figure below but P/E cycles",
        ),
    ]


def directory_rows(fs: FsFigures, speed: Speed) -> list[Row]:
    """A real directory's rows: the work, and its time on this machine."""
    took = speed.phases
    wall = "by the clock on the wall: not the same twice"
    rate = f"; {units.count(fs.transactions / took.transactions_s)}/s" if took and took.transactions_s else ""
    found = [
        ("transactions", units.count(fs.transactions), ""),
        ("operations", units.count(fs.operations.total), _operations(fs)),
    ]
    if took is not None:
        found += [
            ("time of transactions", _seconds(took.transactions_s), f"{wall}{rate}"),
            ("set up, clean up", "", " and ".join(_seconds(s) for s in (took.set_up_s, took.clean_up_s))),
        ]
    return found


def _seconds(seconds: float) -> str:
    return units.time_us(seconds * 1e6)


def device_rows(result: Record) -> list[Row]:
    """Rows for a file system's other costs: its NVRAM, and a mount after the run."""
    found = []
    nvram, mount = result.nvram, result.remount
    if nvram is not None:
        words = f"{units.counted(nvram.reads, 'read')}, {units.counted(nvram.writes, 'write')}"
        cost = f", {units.time_us(nvram.time_us)}, {units.energy_j(nvram.energy_j)}" if nvram.time_us else ""
        found.append(("NVRAM", units.size(nvram.bytes), f"{words}{cost}"))
    if mount is not None:
        reads = {"page read": mount.page_reads, "spare read": mount.spare_reads}
        words = ", ".join(units.counted(number, name) for name, number in reads.items())
        accesses = mount.nvram_accesses
        more = "" if accesses is None else f", {units.count(accesses)} accesses to NVRAM"
        if mount.fs is not None:
            more = f", {units.count(mount.fs.page_reads)} of these by the file system"
        time = "" if mount.time_us is None else units.time_us(mount.time_us)
        found.append(("mount after the run", time, f"{words}{more}; in no other figure"))
    return found


def _operations(fs: FsFigures) -> str:
    done = fs.operations.to_dict()
    words = [f"{units.count(number)} {name}" for name, number in done.items() if number and name != "total"]
    moved = f"{units.size(fs.written_bytes)} written, {units.size(fs.read_bytes)} read"
    return f"{', '.join(words)}; {moved}"


def _cost(part: FsPhase) -> str:
    flash = part.flash
    time = "" if part.time_us is None else f", {units.time_us(part.time_us)}"
    return f"{units.counted(flash.programs, 'program')}, {units.counted(flash.erases, 'erase')}{time}"


def _volume(fs: FsFigures) -> str:
    volume = fs.volume
    free = "" if volume.free_bytes is None else f", {units.size(volume.free_bytes)} free at the end"
    return f"{units.counted(volume.units, 'unit')} of {units.size(volume.unit_bytes)}{free}"

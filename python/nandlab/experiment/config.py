"""Typed tables of an experiment; each says in Python what the TOML table of its name says.

What is left out keeps its default, which `nandlab check FILE` and `Experiment.resolve()` show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

Table = Mapping[str, Any]
Bytes = int | str
"""A number of bytes, or a string with a unit: B, KB, KiB, MB, MiB, GB, GiB, TiB."""


@dataclass(frozen=True, kw_only=True)
class Device:
    """The NAND device: a profile, how much of it the host sees, and what differs from the profile.

    Args:
        profile: Name of a bundled profile (`nandlab list devices`), or a path to a TOML file.
        capacity: Bytes that the host sees; all of the flash, below a file system on bare flash.
        over_provisioning: Physical size over the host's size, less 1: 0.07 is 7 %, and so is "7 %". A ratio
            above 3 is given as a percentage.
        blocks_per_plane: Fixes the physical size, in place of `over_provisioning`.
        model: "timed" counts and keeps time; "counting" only counts, and is the fastest; "bytes" also stores
            what is written, and compares it when it is read.
        shape: Overrides of the profile's geometry, such as `page_bytes`.
        rules: Overrides of what the chip allows.
        timing: Overrides of times, in microseconds.
        energy: Overrides of energies.
        controller: Overrides of the controller: its memories, the times of its processor, its write buffer.
        link: Overrides of the rates and times of the link to the host.
        faults: Bad blocks, failures and bit errors.
        reliability: Bit errors of cells that age, and the ECC that corrects them.

    >>> Device(capacity="128 MiB", over_provisioning=0.07).to_dict()
    {'capacity': '128 MiB', 'over_provisioning': 0.07}

    """

    profile: str | None = None
    capacity: Bytes | None = None
    over_provisioning: float | str | None = None
    blocks_per_plane: int | None = None
    model: Literal["timed", "counting", "bytes"] | None = None
    shape: Table | None = None
    rules: Table | None = None
    timing: Table | None = None
    energy: Table | None = None
    controller: Table | None = None
    link: Table | None = None
    faults: Table | None = None
    reliability: Table | None = None

    def to_dict(self) -> dict[str, Any]:
        """The TOML table as a dictionary, without what was left out."""
        return _given(self)


@dataclass(frozen=True, kw_only=True)
class Host:
    """How requests reach the device.

    Args:
        arrival: "closed": the next request comes when an outstanding one is done;
            "recorded": at the time that the trace says.
        queue_depth: Requests outstanding at once in a closed loop.
        firmware_us: Microseconds that firmware on one processor takes for each request before the flash
            begins with it.
        lookup_us: Microseconds that it takes besides for each map entry that the request needs.
        think_time_us: Time from the end of a request to the next one of its slot in a closed loop.
        explain_longest: Whether to find out what the longest request waited for; it slows a run by some
            per cent.
        daily: Bytes that the host writes a day, for the years of `lifetime`; it changes no request.
        sample_transactions: Transactions of a workload of files from one sample to the next; as many as make
            at most 100 unless given.
        sample_blocks: Whether the samples of a file system on bare flash hold the live pages of each block.

    >>> Host(queue_depth=32).to_dict()
    {'queue_depth': 32}

    """

    arrival: Literal["closed", "recorded"] | None = None
    queue_depth: int | None = None
    firmware_us: float | None = None
    lookup_us: float | None = None
    think_time_us: float | None = None
    explain_longest: bool | None = None
    daily: Bytes | None = None
    sample_transactions: int | None = None
    sample_blocks: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """The TOML table as a dictionary, without what was left out."""
        return _given(self)


@dataclass(frozen=True, kw_only=True)
class Precondition:
    """What is written before the workload starts; its counters are kept apart.

    Args:
        fill: "none", "sequential" or "random": writes every page of the device once. A share, 0.75 or "75 %",
            writes the first pages, and overwrites go to them alone.
        overwrites: Uniform random page writes after it, as a multiple of the capacity.
        steady: More writes, a capacity at a time, until such windows agree to within this share: the last two
            in write amplification, the last third of them and the third before also in where stale pages lie.
            Besides, no more than that share of the blocks may be on their way to their first collection.
        steady_writes: What these writes are: "uniform" pages (the default), or those of the "workload", again
            and again, with a window of a trace as long as the trace.
        steady_windows: Most windows that it may take, from 4.
        warm_up: Requests of the workload, the first ones, that are carried out after that and not measured.
        shelf_days: Days that the device lies before the workload; the pages of `Device.reliability` age.
        from_state: A file with a device that was written like this before (`save_state` of a run), in place
            of the writes.

    >>> Precondition(fill="sequential", overwrites=1.0).to_dict()
    {'fill': 'sequential', 'overwrites': 1.0}

    """

    fill: Literal["none", "sequential", "random"] | float | str | None = None
    overwrites: float | None = None
    steady: float | None = None
    steady_writes: Literal["uniform", "workload"] | None = None
    steady_windows: int | None = None
    warm_up: int | None = None
    shelf_days: float | None = None
    from_state: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The TOML table as a dictionary, without what was left out."""
        return _given(self)


@dataclass(frozen=True, kw_only=True)
class Memory:
    """What the memories of a write buffer cost: times, energies and static power.

    Args:
        dram: The DRAM: `profile`, the name of a bundled memory (`nandlab list memories`) or a path to a TOML
            file, and what differs from it; "wap-dram" where no profile is named.
        nvram: The NVRAM likewise; "wap-stt-mram" where no profile is named.
        powered: The time for which static power is taken: "trace" from the first recorded request to the
            last, "run" the simulated time. The former is the default with `host.arrival = "recorded"`.

    >>> Memory(nvram={"profile": "wap-cell-pcm"}).to_dict()
    {'nvram': {'profile': 'wap-cell-pcm'}}

    """

    dram: Table | None = None
    nvram: Table | None = None
    powered: Literal["trace", "run"] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The TOML table as a dictionary, without what was left out."""
        return _given(self)


def _given(table: Device | Host | Precondition | Memory) -> dict[str, Any]:
    values = {field.name: getattr(table, field.name) for field in fields(table)}
    return {
        name: dict(value) if isinstance(value, Mapping) else value
        for name, value in values.items()
        if value is not None
    }

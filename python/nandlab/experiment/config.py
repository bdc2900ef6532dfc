"""An experiment's typed tables; each mirrors the TOML table with its name.

Keys left out keep their defaults; `nandlab check FILE` and `Experiment.resolve()` show them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

Table = Mapping[str, Any]
Bytes = int | str
"""A byte count, or a string with a unit: B, KB, KiB, MB, MiB, GB, GiB, TiB."""


@dataclass(frozen=True, kw_only=True)
class Device:
    """The NAND device: a profile, the size for the host, and changes to the profile.

    Args:
        profile: A bundled profile's name (`nandlab list devices`), or a path to a TOML file.
        capacity: Bytes for the host; the whole flash, below a file system on bare flash.
        over_provisioning: Physical size over the host's size, less 1: 0.07 is 7 %, and so is "7 %". A ratio
            above 3 is given as a percentage.
        blocks_per_plane: Fixes the physical size, in place of `over_provisioning`.
        model: "timed" counts and keeps time; "counting" only counts, and is the fastest; "bytes" also stores
            written data, and compares it on reads.
        shape: Overrides for the profile's geometry, such as `page_bytes`.
        rules: Overrides for the chip's rules.
        timing: Overrides for times, in microseconds.
        energy: Overrides for energies.
        controller: Overrides for the controller: memories, processor times, write buffer.
        link: Overrides for the host link's rates and times.
        faults: Bad blocks, failures and bit errors.
        reliability: Bit errors in aging cells, and the ECC to correct them.
        zones: The zones of a zoned drive, for `ftl.zoned` and `ftl.zns`.

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
    zones: Table | None = None

    def to_dict(self) -> dict[str, Any]:
        """The TOML table as a dictionary, without keys left out."""
        return _given(self)


@dataclass(frozen=True, kw_only=True)
class Host:
    """How requests reach the device.

    Args:
        arrival: "closed": the next request comes when an outstanding one is done;
            "recorded": at the time in the trace.
        queue_depth: Requests outstanding at once in a closed loop.
        firmware_us: Microseconds on one firmware processor for each request, before the flash
            begins with it.
        lookup_us: Additional microseconds for each map entry the request needs.
        think_time_us: Time from a request's end to the next one in its slot in a closed loop.
        explain_longest: Whether to find out why the longest request waited; it slows a run by a few
            per cent.
        daily: Bytes the host writes a day, for the years in `lifetime`; it changes no request.
        sample_transactions: Transactions between samples in a workload with files; by default enough for
            at most 100 samples.
        sample_blocks: Whether a file system's samples on bare flash hold each block's live pages.
        queues: How the controller takes commands from tenants' submission queues: `arbitration`, `burst` and
            `commands`.
        sample: A long run by windows, with jumps between them: `window`, `every` and `warm_up`, in requests.

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
    queues: Table | None = None
    sample: Table | None = None

    def to_dict(self) -> dict[str, Any]:
        """The TOML table as a dictionary, without keys left out."""
        return _given(self)


@dataclass(frozen=True, kw_only=True)
class Precondition:
    """Writes before the workload starts; their counters are kept apart.

    Args:
        fill: "none", "sequential" or "random": writes every page on the device once. A share, 0.75 or "75 %",
            writes the first pages, and overwrites go to them alone.
        overwrites: Uniform random page writes after it, as a multiple of the capacity.
        steady: More writes, a capacity at a time, until such windows agree to within this share: the last two
            in write amplification, the last third and the third before it also in the stale pages' places.
            Besides, at most this share of the blocks may be on their way to their first collection.
        steady_writes: The kind of these writes: "uniform" pages (the default), or the "workload", again
            and again; a trace's window is then as long as the trace.
        steady_windows: Most windows it may take, from 4.
        warm_up: First requests in the workload, carried out after the writes and not measured.
        shelf_days: Days on the shelf before the workload; the pages of `Device.reliability` age.
        from_state: A file with a device prepared like this before (a run's `save_state`), in place
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
        """The TOML table as a dictionary, without keys left out."""
        return _given(self)


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Costs for a write buffer's memories: times, energies and static power.

    Args:
        dram: The DRAM: `profile`, a bundled memory's name (`nandlab list memories`) or a path to a TOML
            file, and changes to it; "wap-dram" without a profile.
        nvram: The NVRAM likewise; "wap-stt-mram" without a profile.
        powered: Time with static power: "trace" from the first recorded request to the
            last, "run" the simulated time. The former is the default with `host.arrival = "recorded"`.

    >>> Memory(nvram={"profile": "wap-cell-pcm"}).to_dict()
    {'nvram': {'profile': 'wap-cell-pcm'}}

    """

    dram: Table | None = None
    nvram: Table | None = None
    powered: Literal["trace", "run"] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The TOML table as a dictionary, without keys left out."""
        return _given(self)


def _given(table: Device | Host | Precondition | Memory) -> dict[str, Any]:
    values = {field.name: getattr(table, field.name) for field in fields(table)}
    return {
        name: dict(value) if isinstance(value, Mapping) else value
        for name, value in values.items()
        if value is not None
    }

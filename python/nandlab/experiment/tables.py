"""The tables of an experiment, made by `python -m nandlab.stubs`; not by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from nandlab.experiment.given import Given


@dataclass(frozen=True, kw_only=True)
class Host(Given):
    """How the host's requests arrive.

    Args:
        arrival: `closed`: the next request comes when an outstanding one is done; `recorded`: at its own
            time.
        queue_depth: Outstanding requests in a closed loop.
        firmware_us: Firmware time per request before its flash operations start, in microseconds: one
            processor, one request at a time. The flash times exclude it.
        lookup_us: Additional firmware time per map entry needed by the request, in microseconds; the FTL
            gives their number.
        think_time_us: Time from a request's end until the next one in its slot in a closed loop, us.
        explain_longest: Whether to break down the latency of the longest request (`longest_request.parts`);
            it slows a run by some per cent.
        daily: Bytes per day written by the host over the device's life, for years in `lifetime`; it changes
            no request.
        sample_transactions: Transactions between samples in `fs.samples`, for a file workload; 0: enough for
            at most 100 samples.
        sample_blocks: Whether these samples include each single block's live pages.
        queues: How the controller takes commands from the submission queues of tenants.
        sample: A long run by windows, with jumps between them, in place of the whole.

    >>> Host(queue_depth=32).to_dict()
    {'queue_depth': 32}

    """

    arrival: Literal["closed", "recorded"] | None = None
    queue_depth: int | None = None
    firmware_us: float | None = None
    lookup_us: float | None = None
    think_time_us: float | None = None
    explain_longest: bool | None = None
    daily: int | str | None = None
    sample_transactions: int | None = None
    sample_blocks: bool | None = None
    queues: Mapping[str, Any] | None = None
    sample: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Precondition(Given):
    """What is written before the measurement.

    Args:
        fill: Whether to write logical pages once, and in which order. A share such as 0.75 or "75 %" writes
            the first pages, and overwrites go to them alone.
        overwrites: Uniformly random page writes after the fill, relative to the exported capacity.
        steady: More writes, a capacity at a time, until such windows agree within this share. The write
            amplification must agree between the last two windows, and between the last third and the third
            before; these thirds must also agree in the distribution of stale pages. At least four windows
            count, starting when the whole flash was programmed. At most this share of the blocks may still be
            on their way to their first collection since then.
        steady_writes: Kind of writes in this search.
        steady_windows: Most windows in the search, at least 4.
        placement: The identifier with which the fill and the overwrites are placed (`ftl.page.placement.fdp`,
            `ftl.sector_map.fdp`), such as 5 or "1:5". A table has one for each tenant by its name, for the
            pages of its part, as in { noisy = 1, quiet = 2 }.
        warm_up: The workload's first requests, carried out after these writes without being measured.
        load: Whether tenants with an index or a file system load it before the measurement, each its own part
            and all side by side: the first records of an index, or format, mount and the first files. The
            others ask for nothing meanwhile.
        shelf_days: Days without power between the preconditioning and the workload: the pages of
            `device.reliability` age.
        from_state: A file with a device preconditioned earlier (`nandlab run --save-state`), instead of the
            writes.

    >>> Precondition(fill="sequential", overwrites=1.0).to_dict()
    {'fill': 'sequential', 'overwrites': 1.0}

    """

    fill: Literal["none", "sequential", "random"] | float | str | None = None
    overwrites: float | None = None
    steady: float | None = None
    steady_writes: Literal["uniform", "workload"] | None = None
    steady_windows: int | None = None
    placement: int | str | Mapping[str, Any] | None = None
    warm_up: int | None = None
    load: bool | None = None
    shelf_days: float | None = None
    from_state: str | None = None


@dataclass(frozen=True, kw_only=True)
class Device(Given):
    """The flash: a profile, what differs from it, and the size.

    Args:
        profile: A bundled profile's name (`nandlab list devices`), or the path of a TOML file with one.
        capacity: Exported bytes; with it the blocks follow from the over-provisioning. Without, the profile's
            size counts.
        over_provisioning: Physical over exported size, minus 1, such as 0.07 or "7 %".
        blocks_per_plane: Blocks in a plane, instead of the profile's.
        model: What is simulated: counts and time, counts alone, or bytes as well.
        shape: Instead of the profile's counts.
        rules: Instead of the profile's rules.
        timing: Instead of the profile's times.
        energy: Energy of the operations; a profile has it or not.
        controller: The controller between link and flash.
        link: The link to the host.
        zones: Zones, for `ftl.zns` and `ftl.zoned`.
        faults: Failures of programs and erases, bad blocks and bit errors.
        reliability: Cells that age.

    >>> Device(capacity="128 MiB", over_provisioning=0.07).to_dict()
    {'capacity': '128 MiB', 'over_provisioning': 0.07}

    """

    profile: str | None = None
    capacity: int | str | None = None
    over_provisioning: float | str | None = None
    blocks_per_plane: int | None = None
    model: Literal["timed", "counting", "bytes"] | None = None
    shape: Mapping[str, Any] | None = None
    rules: Mapping[str, Any] | None = None
    timing: Mapping[str, Any] | None = None
    energy: Mapping[str, Any] | None = None
    controller: Mapping[str, Any] | None = None
    link: Mapping[str, Any] | None = None
    zones: Mapping[str, Any] | None = None
    faults: Mapping[str, Any] | None = None
    reliability: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Memory(Given):
    """What the memories of a write buffer cost.

    Args:
        dram: The DRAM: `profile`, a bundled memory's name (`nandlab list memories`) or the path of a TOML
            file, and changes to it; "wap-dram" without a profile.
        nvram: The NVRAM likewise; "wap-stt-mram" without a profile.
        powered: How long static power counts; by default for the trace's duration if requests come as
            recorded, else for the run.

    >>> Memory(nvram={"profile": "wap-cell-pcm"}).to_dict()
    {'nvram': {'profile': 'wap-cell-pcm'}}

    """

    dram: Mapping[str, Any] | None = None
    nvram: Mapping[str, Any] | None = None
    powered: Literal["trace", "run"] | None = None

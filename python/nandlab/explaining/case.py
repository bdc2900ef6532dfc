"""A result record, and its time and erases by cause."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from nandlab._native import ConfigError
from nandlab.experiment.result import Result

Measure = Literal["time", "erases"]

MERGES = ("switch_merge", "partial_merge", "full_merge", "migration")
"""Causes that turn log blocks into data blocks."""

_NEEDED = ("version", "experiment", "host", "flash", "matrix", "busy_us", "device", "wear", "ram")


@dataclass(frozen=True)
class Case:
    """A run, and the cost to reduce: its time, or its erases."""

    result: Result
    measure: Measure

    @cached_property
    def experiment(self) -> dict[str, Any]:
        """The resolved experiment."""
        return self.result.experiment

    @cached_property
    def ftl(self) -> tuple[str, dict[str, Any]]:
        """The FTL's name and options; empty on bare flash."""
        return next(iter(self.experiment.get("ftl", {}).items()), ("", {}))

    def choice(self, option: str) -> tuple[str, dict[str, Any]]:
        """The name chosen for an option of the FTL, and its own options; empty without such an option."""
        chosen = self.ftl[1].get(option, "")
        return next(iter(chosen.items())) if isinstance(chosen, dict) else (chosen, {})

    @cached_property
    def fs(self) -> tuple[str, dict[str, Any]]:
        """The file system's name and options; empty without one."""
        return next(iter(self.experiment.get("fs", {}).items()), ("", {}))

    @cached_property
    def index(self) -> dict[str, Any]:
        """The index's options; empty without one."""
        return next(iter(self.experiment.get("index", {}).values()), {})

    @cached_property
    def is_closed(self) -> bool:
        """Whether a request comes as soon as one is done; else the host has its own pace."""
        return _is_closed(self.experiment)

    @cached_property
    def idle(self) -> float:
        """The dies' idle share of the time; 0 if the host has its own pace."""
        return self.rest if self.is_closed else 0.0

    @cached_property
    def rest(self) -> float:
        """The dies' idle share of the time, whoever is to blame."""
        time_us = self.result.flash_time_us()
        if not time_us:
            return 0.0
        program_us = self.experiment["device"]["timing"]["program_us"]
        shared = self.result.joined_programs * program_us + self.result.spared_transfer_us
        busy = self.result.busy_us - shared
        return max(0.0, 1.0 - busy / (self.units * time_us))

    @cached_property
    def units(self) -> int:
        """Independent units: dies, or planes if each works alone."""
        device = self.experiment["device"]
        planes = device["shape"].get("planes_per_die", 1) if self.unit == "plane" else 1
        return self.result.device.dies * planes

    @cached_property
    def unit(self) -> Literal["die", "plane"]:
        """The units' name."""
        device = self.experiment["device"]
        independent = device["timing"].get("plane_overlap") == "independent"
        return "plane" if independent and device["shape"].get("planes_per_die", 1) > 1 else "die"

    def share(self, causes: Collection[str] = (), origins: Collection[str] = ()) -> float:
        """The share of the measured cost spent on these causes, or for these origins."""
        cells = [
            cell
            for cell in self.result.matrix
            if (not causes or cell.cause in causes) and (not origins or cell.origin in origins)
        ]
        if self.measure == "erases":
            return self._part(sum(cell.erases for cell in cells), self.result.flash.erases)
        busy = self._part(sum(cell.busy_us for cell in cells), self.result.busy_us)
        return busy * (1.0 - self.idle)

    @staticmethod
    def _part(some: float, whole: float) -> float:
        return some / whole if whole else 0.0

    def by(self, kind: Literal["origin", "cause"]) -> dict[str, tuple[float, float]]:
        """Each origin's or cause's share of the dies' time and of the erases, the largest first."""
        found: dict[str, list[float]] = {}
        for cell in self.result.matrix:
            parts = found.setdefault(getattr(cell, kind), [0.0, 0.0])
            parts[0] += self._part(cell.busy_us, self.result.busy_us) * (1.0 - self.idle)
            parts[1] += self._part(cell.erases, self.result.flash.erases)
        kept = {name: (time, erases) for name, (time, erases) in found.items() if time or erases}
        order = sorted(kept, key=lambda name: (-kept[name][self.measure == "erases"], -kept[name][0], name))
        return {name: kept[name] for name in order}

    @cached_property
    def cost(self) -> float:
        """The cost to reduce: erases, or simulated time, or a request's time."""
        return cost_of(self.result, self.measure)


def cost_of(result: Result, measure: Measure) -> float:
    """A run's cost: erases, or us of simulated time.

    If the host has its own pace, the time from the first request to the last is mostly the host's;
    the cost is then a request's mean time, since jobs with a runtime make as many requests as they can.
    Data still in a write buffer at the end counts as programmed: its programs only come later.
    """
    left = None if result.buffer is None else result.buffer.saving_at_end
    if measure == "erases":
        block = result.device.page_bytes * result.device.pages_per_block
        return result.flash.erases + (0.0 if left is None else left.bytes / block)
    late = 0.0 if left is None else left.ms * 1000
    if _is_closed(result.experiment) or result.latency_us is None:
        return (result.time_us or 0.0) + late
    latencies = result.latency_us
    kinds = (latencies.read, latencies.write, latencies.trim, latencies.flush)
    counted = [each for each in kinds if each is not None]
    took = sum(each.mean * each.count for each in counted) + late
    return took / max(1, sum(each.count for each in counted))


def case_of(record: Mapping[str, Any], measure: Measure | None, name: str = "the record") -> Case:
    """A record's case.

    Args:
        record: The output of `nandlab run --json`.
        measure: The cost to reduce; by default the time, or erases if no time was kept.
        name: The record's name in errors.

    Raises:
        ConfigError: It is no record of a run, or lacks this measure.

    """
    if "runs" in record or "points" in record:
        which = "runs" if "runs" in record else "points"
        raise ConfigError(
            f"{name} holds several runs; a record is the value of `result` of one of its `{which}`"
        )
    missing = [key for key in _NEEDED if key not in record]
    if missing:
        given = (
            "an experiment, which `nandlab run --json` makes a record of"
            if "workload" in record
            else "no record"
        )
        raise ConfigError(
            f"{name} is {given}: expected the JSON that `nandlab run --json` prints (no `{missing[0]}`)"
        )
    result = Result(dict(record))
    has_time = result.time_us is not None
    if measure == "time" and not has_time:
        raise ConfigError(f'{name} keeps no time (device.model = "counting"); --less erases is there')
    return Case(result, measure or ("time" if has_time else "erases"))


def _is_closed(experiment: Mapping[str, Any]) -> bool:
    """Whether a request comes as soon as one is done.

    Recorded requests come at their trace's times, slots in a closed loop may think first, and fio jobs may
    do either; so may tenants.
    """
    host = experiment["host"]
    waits = host["arrival"] == "closed" and not host.get("think_time_us")
    return waits and not {"fio", "tenants"} & experiment["workload"].keys()

"""A typed view of the result record.

The names are those of the JSON record that `nandlab run --json` prints. Units stand last in a name:
`_us` microseconds and `_s` seconds of simulated time unless said otherwise, `_j` joules, `_bytes` bytes,
`sectors` of 512 bytes.
"""

from __future__ import annotations

from typing import Any

from nandlab.record.made import Figures, LifeRange, Lifetime
from nandlab.record.view import copied
from nandlab.writing.units import counted


class Record(Figures):
    """The result of a run; two records are equal if all but `speed` is equal."""

    def __init__(self, data: dict[str, Any]) -> None:
        super().__init__(copied(data))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self._timeless() == other._timeless()

    # As a dictionary, it has no hash.
    __hash__ = None  # type: ignore[assignment]

    def _timeless(self) -> dict[str, Any]:
        return {name: value for name, value in self._data.items() if name != "speed"}

    def __repr__(self) -> str:
        waf = "no writes" if self.waf is None else f"waf {self.waf:.3f}"
        erases, requests = counted(self.flash.erases, "erase"), counted(self.host.requests, "request")
        return f"<Result {waf}, {erases}, {requests}{', partial' if self.partial else ''}>"

    def without_speed(self) -> dict[str, Any]:
        """The record without `speed`: equal for equal experiments, on every machine."""
        return copied(self._timeless())

    def flash_time_us(self) -> float | None:
        """Simulated time until flash is at rest, us: the whole for shares by die. None without time."""
        time_us = self._data["time_us"]
        return None if time_us is None else time_us + (self._data.get("drain_us") or 0.0)

    def waf_by_cause(self) -> dict[str, float]:
        """Parts by cause, the host's own first; they sum to `waf`. Empty without writes."""
        sectors = self.host.written_sectors
        if not sectors:
            return {}
        per_page = self.device.page_bytes // 512
        programs: dict[str, int] = {}
        for cell in self.matrix:
            programs[cell.cause] = programs.get(cell.cause, 0) + cell.programs
        parts = {cause: count * per_page / sectors for cause, count in programs.items() if count}
        return dict(sorted(parts.items(), key=lambda part: (part[0] != "host", part[0] != "gc", -part[1])))


def lives(lifetime: Lifetime) -> list[tuple[str, LifeRange]]:
    """Each known life with its end, the shortest first; a single figure is both bounds."""
    ends = {"first block": lifetime.first_block, "1 % of the blocks": lifetime.one_percent}
    found = [(name, life) for name, life in ends.items() if life is not None]
    if lifetime.even is not None:
        both = {key: None if of is None else [of, of] for key, of in lifetime.even.to_dict().items()}
        found.append(("mean of the blocks", LifeRange(both)))
    return found

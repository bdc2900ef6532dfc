"""The requirements for a file system: the flash, the memory, the workload, and the lifetime."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nandlab._native import ConfigError

if TYPE_CHECKING:
    from nandlab.policy import Policy

SIZES = ("device.shape", "device.capacity", "device.profile", "device.blocks_per_plane")
"""Keys set by `flash_bytes` and `device`."""


@dataclass(frozen=True)
class Wish:
    """The hardware at hand, and its job.

    Args:
        workload: A file workload's table, such as {"phone": {}}.
        flash_bytes: Flash size.
        device: A device profile's name, or the path of one, FILE.toml; the flash size sets its block count.
        ram_bytes: Memory for tables; None: as much as needed.
        nvram_bytes: Byte-addressable memory that survives.
        daily_bytes: File data written in a day, in bytes.
        years: How long the flash must last.
        sets: Keys and values, as in ("ftl.bast.log_blocks", "16"); each applies to the candidates with
            its table. A policy object may stand for a value, as in ("ftl.page.victim", MyVictim()).
        allow_code: Whether policies may run that `sets` names by `module:Class`; objects always do.

    Raises:
        ConfigError: With a sentence; a value is impossible for a flash, or two contradict one another.

    """

    workload: Mapping[str, Mapping[str, Any]]
    flash_bytes: int
    device: str = "k9f5608"
    ram_bytes: int | None = None
    nvram_bytes: int = 0
    daily_bytes: float = 1e6
    years: float = 5.0
    sets: Sequence[tuple[str, str | Policy]] = ()
    allow_code: bool = False

    def __post_init__(self) -> None:
        """Refuses impossible and contradictory requirements."""
        if len(self.workload) != 1:
            raise ConfigError(f"one workload, such as {{'phone': {{}}}}, and not {len(self.workload)}")
        for name, given in (
            ("flash", self.flash_bytes),
            ("RAM", self.ram_bytes),
            ("NVRAM", self.nvram_bytes),
        ):
            if given is not None and given < 0:
                raise ConfigError(f"{given} bytes of {name}: a size is a number from 0")
        if not (math.isfinite(self.years) and self.years >= 0):
            raise ConfigError(f"{self.years:g} years: how long it is to last is a number from 0")
        if not (math.isfinite(self.daily_bytes) and self.daily_bytes >= 1):
            raise ConfigError(
                f"{self.daily_bytes:g} bytes a day: a flash that nothing is written to lasts for ever, so at "
                "least 1 byte a day"
            )
        self._refuse_contradictions()

    def _refuse_contradictions(self) -> None:
        asked = {f"workload.{name}.{key}" for name, options in self.workload.items() for key in options}
        for key, _ in self.sets:
            if any(key == size or key.startswith(f"{size}.") for size in SIZES):
                raise ConfigError(
                    f"--set {key}: the size of the flash and the chip decide that (--flash and --device)"
                )
            if key in asked:
                raise ConfigError(f"--set {key}: it is given twice, as an option of its own, too")

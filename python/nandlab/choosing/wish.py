"""What a file system is chosen for: the flash, the memory, the workload, and how long it is to last."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nandlab._native import ConfigError

SIZES = ("device.shape", "device.capacity", "device.profile", "device.blocks_per_plane")
"""Keys that `flash_bytes` and `device` decide."""


@dataclass(frozen=True)
class Wish:
    """What there is, and what is to be done with it.

    Args:
        workload: The table of a workload of files, such as {"phone": {}}.
        flash_bytes: Size of the flash.
        device: Name of a device profile; its blocks are as many as the flash has.
        ram_bytes: Memory that there is for tables; None: as much as it takes.
        nvram_bytes: Byte-addressable memory that survives.
        daily_bytes: Bytes of file data that are written in a day.
        years: How long the flash is to last.
        sets: Keys and values, as in ("ftl.bast.log_blocks", "16"); each applies to the candidates that have
            its table.

    Raises:
        ConfigError: With a sentence; a value is none that a flash could have, or two contradict one another.

    """

    workload: Mapping[str, Mapping[str, Any]]
    flash_bytes: int
    device: str = "k9f5608"
    ram_bytes: int | None = None
    nvram_bytes: int = 0
    daily_bytes: float = 1e6
    years: float = 5.0
    sets: Sequence[tuple[str, str]] = ()

    def __post_init__(self) -> None:
        """Refuses what makes no sense."""
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

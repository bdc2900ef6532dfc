"""A drive's model: the numbers the probe knows, and an experiment with them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

from nandlab._native import toml_to_json
from nandlab.experiment import Experiment

BLOCKS = 2000
"""Blocks of a die, about."""
MOST_PAGES = 2_000_000


@dataclass(frozen=True)
class Drive:
    """A drive's true numbers; times in us, rates in 10^6 bytes a second, sizes in bytes."""

    channels: int
    dies: int
    """Dies of a channel."""
    planes: int
    page_bytes: int
    spare_bytes: int
    read_us: float
    program_us: float
    channel_mb_s: float
    """User data only: the spare area's share of the time counts."""
    buffer_bytes: int
    """0 for none."""
    over_provisioning: float
    """Asked for; the device rounds to whole blocks."""
    link_mb_s: float
    link_write_mb_s: float
    latency_us: float
    read_command_us: float
    write_command_us: float
    list_us: float
    blocks: int = BLOCKS
    """Blocks of a die, about."""
    protected: bool = False
    """Capacitors protect the buffer: flushes are answered at once."""
    read_types_us: tuple[float, ...] = ()
    """Read times of a block's page types in turn; `read_us` is their mean. Empty if all pages are alike."""
    command_us: float = 0.0
    """The channel's time for each command."""
    program_pages: int = 1
    """Pages that a die programs at once."""
    write_list_us: float | None = None
    """Time for a write's list; None for that of a read."""

    @property
    def drain_mb_s(self) -> float:
        """The flash's rate for writes."""
        transfer_us = self.command_us + self.page_bytes / self.channel_mb_s
        die = self.dies * self.page_bytes / (self.program_us / self.program_pages + transfer_us)
        return self.channels * min(die, self.page_bytes / transfer_us)

    @property
    def single_mb_s(self) -> float:
        """The rate of single writes of 128 KiB into the buffer."""
        size = 131_072
        outside_us = self.latency_us + self.write_command_us + self.list_us
        return size / (outside_us + size / self.link_write_mb_s)

    def built(self, seed: int, least: int = 0) -> Experiment:
        """The drive as an experiment; see `text`."""
        tree = json.loads(toml_to_json(self.text(seed, least), "drive"))["tree"]
        return Experiment(**tree)

    def text(self, seed: int, least: int = 0) -> str:
        """The drive as an experiment's text, with at least `least` bytes for the host."""
        count = self.channels * self.dies
        pages_per_block = max(8, min(256, 2 ** int(math.log2(MOST_PAGES / self.blocks / count))))
        physical = count * self.blocks * pages_per_block * self.page_bytes
        capacity = max(int(physical / (1 + self.over_provisioning)), least) // 2**20
        buffer = f"write_buffer_bytes = {self.buffer_bytes}" if self.buffer_bytes else ""
        buffer += "\nwrite_buffer_protected = true" if self.protected and buffer else ""
        per_byte = 1000 / self.channel_mb_s * self.page_bytes / (self.page_bytes + self.spare_bytes)
        return f"""\
seed = {seed}
[workload.uniform]
[precondition]
fill = "sequential"
[ftl.page]
[device]
profile = "generic"
capacity = "{capacity} MiB"
over_provisioning = {self.over_provisioning}
[device.shape]
channels = {self.channels}
dies_per_channel = {self.dies}
planes_per_die = {self.planes}
pages_per_block = {pages_per_block}
page_bytes = {self.page_bytes}
spare_bytes = {self.spare_bytes}
{self._rules()}[device.timing]
read_transfer = "sectors"
read_us = {self.read_us}
program_us = {self.program_us}
program_pages = {self.program_pages}
transfer_command_us = {self.command_us}
transfer_ns_per_byte = {per_byte}
{self._types()}[device.controller]
latency_us = {self.latency_us}
read_command_us = {self.read_command_us}
write_command_us = {self.write_command_us}
read_list_us = {self.list_us}
write_list_us = {self.list_us if self.write_list_us is None else self.write_list_us}
{buffer}
[device.link]
read_mb_s = {self.link_mb_s}
write_mb_s = {self.link_write_mb_s}
"""

    def _rules(self) -> str:
        count = len(self.read_types_us)
        return (
            f'[device.rules]\nbits_per_cell = {count}\nprogram_order = "ascending_dense"\n' if count else ""
        )

    def _types(self) -> str:
        return f"page_types = {{ read_us = {list(self.read_types_us)} }}\n" if self.read_types_us else ""

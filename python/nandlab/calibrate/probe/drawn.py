"""Drives drawn at random, to judge the probe."""

from __future__ import annotations

import math
import random

from nandlab.calibrate.probe.model import Drive

CHANNELS = (2, 4, 8, 16)
DIES = (1, 2, 4, 8)
"""Dies of a channel."""
PAGES = (4096, 8192, 16384)
READ_US = (20.0, 120.0)
PROGRAM_US = (150.0, 2500.0)
CHANNEL_MB_S = (150.0, 2000.0)
BUFFER_MIB = (1.0, 64.0)
SPARE = (0.05, 0.40)
LINK_MB_S = (1000.0, 7000.0)
LATENCY_US = (1.0, 30.0)
COMMAND_US = (0.1, 3.0)
COMMAND_ON_CHANNEL_US = (0.5, 6.0)
PROGRAM_PAGES = (1, 1, 2, 3, 4, 8)
TYPE_SPREAD = (0.1, 0.4)
"""How far the fastest and the slowest page type are from the mean, as a share."""
SHARE = 0.4
"""Share of drives with capacitors, with page types, and with a command time; each for itself."""
DRAIN_MOST = 0.75
"""Most rate of the flash for writes, relative to single writes of 128 KiB: a buffer that drains as fast as
the link fills it never shows its size."""


def draw(source: random.Random) -> Drive:
    """A drive; times, rates and the buffer are spread evenly over the decades of their ranges."""
    while True:
        page, dies = source.choice(PAGES), source.choice(DIES)
        read_us = _log(source, READ_US)
        found = Drive(
            channels=source.choice(CHANNELS),
            dies=dies,
            planes=source.choice((1, 2)),
            page_bytes=page,
            spare_bytes=round(page * source.uniform(0.01, 0.12)),
            read_us=read_us,
            program_us=_log(source, PROGRAM_US),
            channel_mb_s=_log(source, CHANNEL_MB_S),
            buffer_bytes=round(_log(source, BUFFER_MIB) * 2**20 / 4096) * 4096,
            over_provisioning=round(source.uniform(*SPARE), 4),
            link_mb_s=_log(source, LINK_MB_S),
            link_write_mb_s=_log(source, LINK_MB_S),
            latency_us=_log(source, LATENCY_US),
            read_command_us=_log(source, COMMAND_US),
            write_command_us=_log(source, COMMAND_US),
            list_us=round(source.uniform(0, 1), 3),
            protected=source.random() < SHARE,
            read_types_us=_types(source, read_us) if source.random() < SHARE else (),
            # With one die on each channel a command's time cannot be told from the die's.
            command_us=_log(source, COMMAND_ON_CHANNEL_US) if source.random() < SHARE and dies > 1 else 0.0,
            program_pages=source.choice(PROGRAM_PAGES),
        )
        if found.drain_mb_s <= DRAIN_MOST * found.single_mb_s:
            return found


def _types(source: random.Random, mean_us: float) -> tuple[float, ...]:
    """Read times of two or three page types with a mean."""
    far = mean_us * source.uniform(*TYPE_SPREAD)
    times = (
        (mean_us - far, mean_us + far) if source.random() < 0.5 else (mean_us - far, mean_us, mean_us + far)
    )
    return tuple(round(each, 3) for each in times)


def _log(source: random.Random, ends: tuple[float, float]) -> float:
    return float(f"{math.exp(source.uniform(*map(math.log, ends))):.5g}")

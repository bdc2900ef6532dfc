"""Parts for several simulators: rules, page types, a workload."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

PARTIAL_PROGRAMS = 1


def rules(endurance: int, bits: int = 1) -> dict[str, Any]:
    """The chip's rules: no simulator here checks the program order more closely."""
    flat: dict[str, Any] = {
        "device.rules.program_order": "ascending",
        "device.rules.partial_programs": PARTIAL_PROGRAMS,
        "device.rules.endurance": endurance,
    }
    return flat | ({"device.rules.bits_per_cell": bits} if bits > 1 else {})


def cell_times(read_us: Sequence[float], program_us: Sequence[float]) -> dict[str, Any]:
    """Times by page type, or one time if all are equal.

    >>> cell_times([75.0, 75.0], [750.0, 750.0])
    {'device.timing.read_us': 75.0, 'device.timing.program_us': 750.0}
    >>> cell_times([40.0, 60.0], [500.0, 1300.0])["device.timing.page_types"]
    {'read_us': [40.0, 60.0], 'program_us': [500.0, 1300.0]}
    """
    flat: dict[str, Any] = {
        "device.timing.read_us": sum(read_us) / len(read_us),
        "device.timing.program_us": sum(program_us) / len(program_us),
    }
    if len(set(read_us)) > 1 or len(set(program_us)) > 1:
        types = {"read_us": list(read_us)}
        flat["device.timing.page_types"] = types | (
            {"program_us": list(program_us)} if len(set(program_us)) > 1 else {}
        )
    return flat


def uniform_writes(seed: int = 1) -> dict[str, Any]:
    """A workload for a configuration without one."""
    return {
        "seed": seed,
        "workload.uniform.requests": 100_000,
        "workload.uniform.size": "4 KiB",
        "host.queue_depth": 16,
    }


NO_WORKLOAD = (
    "The configuration has no workload: 100,000 random writes of 4 KiB at depth 16 stand in its place."
)


def ratio(spare: float) -> float:
    """Spare over logical size, from the spare share.

    >>> round(ratio(0.07), 4)
    0.0753
    """
    return spare / (1 - spare)

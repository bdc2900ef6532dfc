"""The measure of wear by which designs are compared: one for a table and for what is concluded from it."""

from __future__ import annotations

from collections.abc import Sequence

from nandlab.figures.table import Column
from nandlab.record.record import Record
from nandlab.writing import units

ERASES: Column[Record] = Column(
    "erases", lambda record: record.flash.erases if record.device.blocks else None, units.count
)
PER_BLOCK: Column[Record] = Column(
    "erases per block",
    lambda record: record.flash.erases / record.device.blocks if record.device.blocks else None,
    lambda value: units.NO_VALUE if value is None else units.short(value),
)


def column(records: Sequence[Record]) -> Column[Record]:
    """Erases; for devices that differ in their number of blocks, erases per block."""
    return ERASES if len({record.device.blocks for record in records} - {0}) < 2 else PER_BLOCK

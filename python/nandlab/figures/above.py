"""Operations of tenants on their indexes and file systems as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nandlab.writing import units

if TYPE_CHECKING:
    from nandlab.record.record import Record

TITLES = ("tenant", "operations", "mean read", "p99 read", "mean change", "p99 change", "ended early")


def table(result: Record) -> list[tuple[str, ...]]:
    """A row under `TITLES` for each tenant with an index or a file system."""
    rows = []
    for tenant in result.tenants or []:
        played = tenant.index or tenant.files
        if played is None:
            continue
        times: list[float | None] = []
        for kind in ("read", "write"):
            found = getattr(played.latency_us, kind, None)
            times += [None, None] if found is None else [found.mean, found.p99]
        why = "" if tenant.stopped is None else tenant.stopped.why.replace("_", " ")
        operations = units.count(played.operations.total)
        rows.append((tenant.name, operations, *map(units.time_us, times), why))
    return rows

"""Tenants of a run as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nandlab.writing import units

if TYPE_CHECKING:
    from nandlab.record.record import Record

TITLES = ("tenant", "requests", "share", "requests/s", "MB/s", "mean latency", "in queue")


def table(result: Record) -> list[tuple[str, ...]]:
    """A row under `TITLES` for each tenant."""
    return [
        (
            tenant.name,
            units.count(tenant.requests),
            units.NO_VALUE if tenant.share is None else units.percent(tenant.share),
            units.short(tenant.requests_per_s),
            units.short(tenant.mb_per_s),
            units.time_us(tenant.mean_us),
            units.time_us(tenant.wait_us),
        )
        for tenant in result.tenants or []
    ]

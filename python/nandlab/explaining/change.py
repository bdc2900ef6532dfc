"""A change to an experiment that could help, and shared arithmetic for rules."""

from __future__ import annotations

from dataclasses import dataclass

from nandlab.explaining.case import Case
from nandlab.writing import units

LEAST_SHARE = 0.01
"""A smaller cost is not worth a change."""
LEAST_GAIN = 0.01
"""A smaller saving, as a share of the cost, makes no difference: another seed often makes as much."""


@dataclass(frozen=True)
class Change:
    """One change: why, what, and at which price."""

    rule: str
    why: str
    what: str
    price: str
    share: float
    sets: tuple[str, ...]
    """The overrides for it."""


def part(case: Case, share: float) -> str:
    """A share of the cost, in words."""
    plural = "" if case.units == 1 else "s"
    of = f"time of the {case.unit}{plural}" if case.measure == "time" else "erases"
    return f"{units.percent(share)} of the {of}"


def partial_pages(case: Case) -> float:
    """Cost of partial page writes: reading the rest, and programming and collecting it again."""
    result = case.result
    if not any(cell.cause == "read_modify_write" and cell.reads for cell in result.matrix):
        return 0.0
    asked = result.host.written_sectors * 512
    host = sum(cell.programs for cell in result.matrix if cell.cause == "host") * result.device.page_bytes
    beside = 1 - asked / host if host > asked else 0.0
    if case.measure == "erases":
        return beside * case.share(causes=("gc",))
    # Programs alone: host reads are no larger for it.
    programmed = sum(cell.programs for cell in result.matrix if cell.cause in ("host", "gc"))
    took = programmed * case.experiment["device"]["timing"]["program_us"] / result.busy_us
    return min(1.0, case.share(causes=("read_modify_write",)) + beside * took * (1 - case.idle))


def why_partial(case: Case, share: float) -> str:
    """The same in words."""
    written = units.size(case.result.host.written_sectors * 512 / max(1, case.result.host.writes))
    page = units.size(case.result.device.page_bytes)
    return (
        f"writes of {written} in the mean to pages of {page} took up to {part(case, share)} with all that "
        "is moved beside them"
    )


def doubled(size: str | int) -> int:
    """Twice a size, in bytes."""
    from nandlab.writing.sizes import bytes_of

    return 2 * (bytes_of(str(size)) or 0)

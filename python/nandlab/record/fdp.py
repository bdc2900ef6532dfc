"""Data placement by the host in the result record."""

from __future__ import annotations

from nandlab.record.view import View


class Handle(View):
    """A reclaim unit handle: pages that the host wrote through it, and pages moved later.

    `waf` is the sum of both over the first; None without a page written. `units` were begun for host pages;
    `unfilled_units` are updates by the host that found room left in the unit.
    """

    host_pages: int
    moved_pages: int
    waf: float | None
    units: int
    unfilled_units: int


class Fdp(View):
    """Reclaim units and their handles with `placement.fdp`; `handles` by number.

    Writes and updates with an unknown group or handle count as `invalid_identifiers`; such a write goes
    through handle 0 of group 0. Other groups than the asked ones took `implicit_changes` host pages.
    `pages_left` has, by group and handle, the pages that its reclaim unit can still take at the end.
    """

    handles: list[Handle]
    units_for_moved: int
    erased_units: int
    invalid_identifiers: int
    implicit_changes: int
    pages_left: list[list[int]]

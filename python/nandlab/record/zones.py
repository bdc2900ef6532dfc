"""Zones of a drive in the result record."""

from __future__ import annotations

from nandlab.record.latencies import Latency
from nandlab.record.view import View


class Zones(View):
    """What the host did with the zones of `ftl.zns`, and what they refused.

    `appends`, `opens`, `closes`, `finishes`, `resets`, `random_opens` (with a random write area) and
    `commits` were carried out. `implicit_commit_pages` became final because a write went beyond its area.
    The drive closed `implicit_closes` open zones to make room for others, and wrote `filled_pages` pages to
    fill finished zones. `most_open` and `most_active` zones were so at a time. `refused` counts refused
    requests by the reason's name, such as `invalid_write`. `finish_us` and `reset_us` are latencies; None
    without such a request, or without time.
    """

    appends: int
    opens: int
    closes: int
    finishes: int
    resets: int
    random_opens: int
    commits: int
    implicit_commit_pages: int
    implicit_closes: int
    filled_pages: int
    most_open: int
    most_active: int
    refused: dict[str, int]
    finish_us: Latency | None
    reset_us: Latency | None

"""How fast this machine simulated, in a result."""

from __future__ import annotations

from nandlab.record.view import View


class SpeedPhases(View):
    """Wall-clock seconds for the parts of a file workload."""

    set_up_s: float
    transactions_s: float
    clean_up_s: float


class Speed(View):
    """How fast this machine simulated; the only part of a record that differs from run to run.

    `wall_s` is in wall-clock seconds; so are `phases`, the parts of a file workload.
    """

    wall_s: float
    phases: SpeedPhases | None
    requests_per_s: float
    programs_per_s: float

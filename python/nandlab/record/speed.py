"""How fast this machine simulated, in a result."""

from __future__ import annotations

from nandlab.record.view import View


class SpeedPhases(View):
    """Seconds that the parts of a workload of files took, by the clock on the wall."""

    set_up_s: float
    transactions_s: float
    clean_up_s: float


class Speed(View):
    """How fast this machine simulated; the one part of a record that differs from run to run.

    `wall_s` is in seconds of the clock on the wall; so are `phases`, the parts of a workload of files.
    """

    wall_s: float
    phases: SpeedPhases | None
    requests_per_s: float
    programs_per_s: float

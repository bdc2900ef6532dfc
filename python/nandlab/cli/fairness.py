"""`nandlab fairness FILE`: what tenants cost each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nandlab.cli import DONE, FAILED
from nandlab.cli.example import example
from nandlab.cli.options import (
    Pair,
    experiment_argument,
    jobs_option,
    json_option,
    policies_option,
    read,
    sets_option,
)
from nandlab.cli.output import echo_wrapped, print_json, print_table, say

if TYPE_CHECKING:
    from nandlab.running.batch import State
    from nandlab.sharing import Fairness

TITLES = ("tenant", "share", "requests/s", "alone", "mean latency", "in queue", "alone", "slowdown")


@example("nandlab fairness tenants.toml")
@click.command("fairness")
@experiment_argument()
@sets_option
@policies_option
@jobs_option
@json_option
def command(file: str, sets: list[Pair], jobs: int | None, as_json: bool) -> int:
    """Run the tenants in FILE together and each alone, and compare.

    A tenant's slowdown is its mean latency beside the others, divided by its mean latency alone. Fairness is
    the smallest slowdown divided by the largest. Ctrl-C stops the runs; there are no figures then, and the
    exit status is 1.
    """
    from nandlab.cli.progress import Waiting
    from nandlab.sharing import fairness

    experiment = read(file, sets)
    with Waiting() as waiting:

        def show(state: State) -> None:
            waiting.update("runs", state.share(), f"{state.finished} of {state.total} done")

        found = fairness(experiment, jobs, show)
    if found is None:
        say("stopped before every run was done")
        return FAILED
    if as_json:
        print_json(found.to_dict())
    else:
        _print(found)
    return FAILED if any(run.partial for run in (found.shared, *found.alone.values())) else DONE


def _print(found: Fairness) -> None:
    from nandlab.writing import units

    rows = [
        (
            tenant.name,
            units.NO_VALUE if tenant.share is None else units.percent(tenant.share),
            units.short(tenant.requests_per_s),
            units.short(tenant.alone_requests_per_s),
            units.time_us(tenant.mean_us),
            units.time_us(tenant.wait_us),
            units.time_us(tenant.alone_mean_us),
            units.ratio(tenant.slowdown),
        )
        for tenant in found.tenants
    ]
    print_table(rows, TITLES, right=range(1, len(TITLES)))
    echo_wrapped(f"\nfairness {units.ratio(found.fairness)}: the smallest slowdown over the largest")
    for notice in found.shared.notices:
        echo_wrapped(f"note: {notice}")

"""What tenants of a device cost each other: each one's slowdown against running alone, and the fairness.

>>> import nandlab
>>> reads = nandlab.workload.uniform(requests=500, read_share=1.0)
>>> experiment = nandlab.Experiment(
...     workload=nandlab.workload.tenants(
...         tenant=[{"name": "left", "workload": reads}, {"name": "right", "workload": reads}]
...     ),
...     host=nandlab.Host(queues={"commands": 1}),
...     precondition=nandlab.Precondition(fill="sequential"),
...     ftl=nandlab.ftl.page(),
...     device=nandlab.Device(capacity="16 MiB", over_provisioning=0.25),
... )
>>> found = nandlab.fairness(experiment)
>>> [(tenant.name, round(tenant.slowdown, 1)) for tenant in found.tenants], round(found.fairness, 2)
([('left', 2.0), ('right', 2.0)], 1.0)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from nandlab._native import ConfigError
from nandlab.experiment import Experiment
from nandlab.running.batch import State, run_all
from nandlab.writing.toml_text import toml_value

if TYPE_CHECKING:
    from nandlab.experiment.result import Result
    from nandlab.record.made import Tenant
    from nandlab.running.batch import Outcome

KEY = "workload.tenants.alone"


@dataclass(frozen=True)
class Slowdown:
    """A tenant beside the others, and alone.

    Latencies are means over all its requests, us of simulated time.
    """

    name: str
    share: float | None
    """Its share of the bytes that all tenants read and wrote."""
    requests_per_s: float
    mean_us: float | None
    wait_us: float | None
    """The part of `mean_us` in a submission queue."""
    alone_requests_per_s: float
    alone_mean_us: float | None
    slowdown: float | None
    """`mean_us` over `alone_mean_us`; None where one is missing, or where its requests alone take no time."""


@dataclass(frozen=True)
class Fairness:
    """What tenants cost each other."""

    tenants: list[Slowdown]
    fairness: float | None
    """The smallest slowdown over the largest: 1 if all suffer alike.

    0 if a tenant had no request at all; None where a slowdown is not known for another reason.
    """
    shared: Result
    """The run of all together."""
    alone: dict[str, Result]
    """The runs of each alone, by name."""

    def to_dict(self) -> dict[str, Any]:
        """What `nandlab fairness --json` prints: `fairness`, and `tenants` with a row for each."""
        return {"fairness": self.fairness, "tenants": [asdict(tenant) for tenant in self.tenants]}


def fairness(
    experiment: Experiment,
    jobs: int | None = None,
    progress: Callable[[State], object] | None = None,
) -> Fairness | None:
    """Runs an experiment with tenants, and each tenant alone.

    Alone, a tenant has the same part of the device and makes the same requests.
    Fairness is that of FLIN (Tavakkol et al., ISCA 2018).

    Args:
        experiment: An experiment with `workload.tenants`.
        jobs: Runs at once; one for each processor by default.
        progress: Called some times a second.

    Returns:
        What was found; None if Ctrl-C stopped a run.

    Raises:
        ConfigError: The experiment has no tenants, or cannot run.
        NandlabError: A run failed.

    """
    resolved = experiment.resolve()
    tenants = resolved["workload"].get("tenants")
    if tenants is None:
        kind = next(iter(resolved["workload"]))
        raise ConfigError(f"fairness compares tenants, and workload.{kind} has none: see workload.tenants")
    if "alone" in tenants:
        raise ConfigError(
            f'{KEY} = "{tenants["alone"]}" leaves one tenant, and fairness compares all; leave it out'
        )
    names = [tenant["name"] for tenant in tenants["tenant"]]
    each = [experiment.override(f"{KEY}={toml_value(name)}") for name in names]
    outcomes, stopped = run_all([experiment, *each], jobs, progress)
    results = [_result(outcome) for outcome in outcomes]
    if stopped or any(result is None for result in results):
        return None
    shared, *alone = [result for result in results if result is not None]
    rows = [_row(one, (run.tenants or [])[0]) for one, run in zip(shared.tenants or [], alone, strict=True)]
    return Fairness(rows, _fairness(rows), shared, dict(zip(names, alone, strict=True)))


def _result(outcome: Outcome) -> Result | None:
    if outcome.error is not None:
        raise outcome.error
    return outcome.result


def _row(shared: Tenant, alone: Tenant) -> Slowdown:
    mean, base = shared.mean_us, alone.mean_us
    return Slowdown(
        name=shared.name,
        share=shared.share,
        requests_per_s=shared.requests_per_s,
        mean_us=mean,
        wait_us=shared.wait_us,
        alone_requests_per_s=alone.requests_per_s,
        alone_mean_us=base,
        slowdown=mean / base if mean is not None and base else None,
    )


def _fairness(rows: Sequence[Slowdown]) -> float | None:
    """The smallest slowdown over the largest.

    >>> def of(mean, alone):
    ...     slowdown = mean / alone if mean is not None and alone else None
    ...     return Slowdown("a", 0.5, 1.0, mean, 0.0, 1.0, alone, slowdown)
    >>> _fairness([of(20.0, 10.0), of(40.0, 10.0)]), _fairness([of(20.0, 10.0), of(None, 10.0)])
    (0.5, 0.0)
    >>> _fairness([of(20.0, 0.0), of(20.0, 10.0)]) is None
    True
    """
    if any(row.mean_us is None for row in rows):
        return 0.0
    known = [row.slowdown for row in rows if row.slowdown]
    return min(known) / max(known) if known and len(known) == len(rows) else None

"""Runs a workload over a flash translation layer on a NAND device, and says what it cost.

>>> import nandlab
>>> experiment = nandlab.Experiment(
...     workload=nandlab.workload.sequential(requests=2000),
...     ftl=nandlab.ftl.page(),
...     device=nandlab.Device(capacity="16 MiB", over_provisioning=0.25),
... )
>>> result = experiment.run()
>>> result.waf
1.0

Everything that a TOML file says can be said here, under the same names; see `Experiment`.
"""

from __future__ import annotations

import importlib

# As in `typing`, which takes longer to load than all else here: until `nandlab.__main__` runs, Ctrl-C ends
# the command with a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nandlab import buffer, fs, ftl, index, policy, workload
    from nandlab._native import ConfigError, DeviceFull, NandlabError, PolicyError, PowerLost, TraceError
    from nandlab.choosing import Advice, Wish, choose
    from nandlab.comparing import Comparison, compare
    from nandlab.experiment import Experiment, Run
    from nandlab.experiment.result import Result
    from nandlab.experiment.tables import Device, Host, Memory, Precondition
    from nandlab.explaining import Explanation, explain
    from nandlab.listing import lists
    from nandlab.searching import Search, search
    from nandlab.sharing import Fairness, fairness
    from nandlab.sweeping import Sweep, sweep
    from nandlab.traces.trace import Trace

    __version__: str

__all__ = [
    "Advice",
    "Comparison",
    "ConfigError",
    "Device",
    "DeviceFull",
    "Experiment",
    "Explanation",
    "Fairness",
    "Host",
    "NandlabError",
    "PolicyError",
    "PowerLost",
    "Memory",
    "Precondition",
    "Result",
    "Run",
    "Search",
    "Sweep",
    "Trace",
    "TraceError",
    "Wish",
    "__version__",
    "buffer",
    "choose",
    "compare",
    "explain",
    "fairness",
    "fs",
    "ftl",
    "index",
    "lists",
    "policy",
    "search",
    "sweep",
    "workload",
]

# Loaded on first use: `nandlab list` must answer faster than everything here imports.
_HOME = {
    "ConfigError": "_native",
    "DeviceFull": "_native",
    "NandlabError": "_native",
    "PolicyError": "_native",
    "PowerLost": "_native",
    "TraceError": "_native",
    "Device": "experiment.tables",
    "Host": "experiment.tables",
    "Memory": "experiment.tables",
    "Precondition": "experiment.tables",
    "Experiment": "experiment",
    "Run": "experiment",
    "Result": "experiment.result",
    "Advice": "choosing",
    "Wish": "choosing",
    "choose": "choosing",
    "Comparison": "comparing",
    "compare": "comparing",
    "Explanation": "explaining",
    "Fairness": "sharing",
    "fairness": "sharing",
    "Search": "searching",
    "search": "searching",
    "Sweep": "sweeping",
    "explain": "explaining",
    "sweep": "sweeping",
    "Trace": "traces.trace",
    "lists": "listing",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module has attributes of any type
    if name == "__version__":
        value = importlib.import_module("nandlab._native").version()
    elif name in ("buffer", "fs", "ftl", "index", "policy", "workload"):
        value = importlib.import_module(f"nandlab.{name}")
    elif name in _HOME:
        value = getattr(importlib.import_module(f"nandlab.{_HOME[name]}"), name)
    else:
        raise AttributeError(f"module 'nandlab' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

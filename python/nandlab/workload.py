"""A function for each workload on the list; its keywords are the options of the `[workload.<name>]` table.

>>> import nandlab
>>> nandlab.workload.uniform(requests=1000)
{'uniform': {'requests': 1000}}
"""

from __future__ import annotations

from collections.abc import Callable

from nandlab.listing import Choice, chooser, lists

_KIND = "workloads"


def __getattr__(name: str) -> Callable[..., Choice]:
    if name.startswith("__"):
        raise AttributeError(name)
    function = chooser(_KIND, name)
    globals()[name] = function
    return function


def __dir__() -> list[str]:
    return [entry["name"] for entry in lists()[_KIND]]

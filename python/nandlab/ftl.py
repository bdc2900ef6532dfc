"""A function for each FTL on the list; its keywords are the options of the `[ftl.<name>]` table.

>>> import nandlab
>>> nandlab.ftl.page()
{'page': {}}
"""

from __future__ import annotations

from collections.abc import Callable

from nandlab.listing import Choice, chooser, lists

_KIND = "ftls"


def __getattr__(name: str) -> Callable[..., Choice]:
    if name.startswith("__"):
        raise AttributeError(name)
    function = chooser(_KIND, name)
    globals()[name] = function
    return function


def __dir__() -> list[str]:
    return [entry["name"] for entry in lists()[_KIND]]

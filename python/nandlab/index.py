"""A function for each index on the list; its keywords are the options of the `[index.<name>]` table.

>>> import nandlab
>>> nandlab.index.btree(page_bytes=512, pool_bytes="150 KiB")
{'btree': {'page_bytes': 512, 'pool_bytes': '150 KiB'}}
"""

from __future__ import annotations

from collections.abc import Callable

from nandlab.listing import Choice, chooser, lists

_KIND = "indexes"


def __getattr__(name: str) -> Callable[..., Choice]:
    if name.startswith("__"):
        raise AttributeError(name)
    function = chooser(_KIND, name)
    globals()[name] = function
    return function


def __dir__() -> list[str]:
    return [entry["name"] for entry in lists()[_KIND]]

"""A function for each file system on the list; its keywords are the options of the `[fs.<name>]` table.

>>> import nandlab
>>> nandlab.fs.fat(cluster_bytes="4 KiB", write_through="operation")
{'fat': {'cluster_bytes': '4 KiB', 'write_through': 'operation'}}
"""

from __future__ import annotations

from collections.abc import Callable

from nandlab.listing import Choice, chooser, lists

_KIND = "file_systems"


def __getattr__(name: str) -> Callable[..., Choice]:
    if name.startswith("__"):
        raise AttributeError(name)
    function = chooser(_KIND, name)
    globals()[name] = function
    return function


def __dir__() -> list[str]:
    return [entry["name"] for entry in lists()[_KIND]]

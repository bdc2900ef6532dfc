"""A function for each write buffer on the list; its keywords are the options of the `[buffer.<name>]` table.

>>> import nandlab
>>> nandlab.buffer.pass_through()
{'pass_through': {}}
"""

from __future__ import annotations

from collections.abc import Callable

from nandlab.listing import Choice, chooser, lists

_KIND = "buffers"


def __getattr__(name: str) -> Callable[..., Choice]:
    if name.startswith("__"):
        raise AttributeError(name)
    function = chooser(_KIND, name)
    globals()[name] = function
    return function


def __dir__() -> list[str]:
    return [entry["name"] for entry in lists()[_KIND]]

"""A range as text: `LOW..HIGH`, or `LOW..HIGH:log`."""

from __future__ import annotations

import re

from nandlab._native import ConfigError
from nandlab.running.ranges import Range
from nandlab.sweeping.axes import axis_of
from nandlab.writing.plain import refused


def range_of(key: str, text: str) -> Range:
    """A range that is searched, sizes in bytes; whole if both ends are whole numbers.

    Raises:
        ConfigError: With `key`; the text is no range, or its lower end does not come first.

    >>> range_of("host.queue_depth", "1..64:log")
    Range(low=1, high=64, is_log=True, is_whole=True)
    >>> range_of("device.over_provisioning", "0.07..0.5")
    Range(low=0.07, high=0.5, is_log=False, is_whole=False)

    """
    ends, _, spacing = text.partition(":")
    if ".." not in ends or spacing.strip() not in ("", "linear", "log"):
        raise refused(key, f"{text!r}: expected a range such as 40..80, or 1..100:log")
    try:
        axis = axis_of(key, f"{ends}:2:{spacing.strip() or 'linear'}")
    except ConfigError as error:
        # Two values are a means here; nobody asked for them.
        raise ConfigError(str(error).replace(f":2:{spacing.strip() or 'linear'}", "")) from None
    if len(axis.values) != 2:
        # An end that is no number makes a list with one text.
        raise refused(key, f"{text}: expected a number at both ends, as in 40..80, or 1..100:log")
    low, high = axis.meant()
    if isinstance(low, str) or isinstance(high, str):
        raise refused(key, f"{text!r}: expected numbers")
    if low >= high:
        raise refused(key, f"{text}: the lower end comes first")
    is_whole = isinstance(low, int) and isinstance(high, int)
    return Range(low, high, axis.spacing == "log", is_whole)


def unit_of(text: str) -> str:
    """The unit of a range's lower end; empty without one.

    >>> unit_of("4 KiB..1 MiB:log"), unit_of("1..5")
    ('KiB', '')
    """
    found = re.search(r"([A-Za-z]+)\s*$", text.partition("..")[0])
    return "" if found is None else found[1]

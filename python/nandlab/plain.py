"""Values of Python as those of a TOML or JSON file; what has no such form is refused with its key."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence, Set
from typing import Any

from nandlab._native import ConfigError

DEEPEST = 32
"""Levels of tables and lists; a value that holds itself has more."""


def plain(value: Any, key: str = "", depth: int = 0) -> Any:  # noqa: ANN401 - the values of a TOML table
    """A value as JSON has it: paths as text, scalars of numpy as numbers, tuples as lists.

    Args:
        value: A table, a list, a text, a number or a truth value, or what says how to become one.
        key: Where it stands, such as "device.capacity".
        depth: Levels above it.

    Raises:
        ConfigError: With `key`.

    >>> plain({"capacity": 4096, "profile": None})
    {'capacity': 4096, 'profile': None}

    """
    if depth > DEEPEST:
        raise refused(key, f"expected at most {DEEPEST} levels of tables and lists")
    if hasattr(value, "to_dict"):
        value = value.to_dict()
    if isinstance(value, Mapping):
        return {_name(name, key): plain(inner, _below(key, name), depth + 1) for name, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview):
        return [plain(inner, f"{key}[{at}]", depth + 1) for at, inner in enumerate(value)]
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if callable(getattr(value, "tolist", None)):
        # A scalar or an array of numpy.
        return plain(value.tolist(), key, depth + 1)
    return _scalar(value, key)


def _scalar(value: Any, key: str) -> Any:  # noqa: ANN401 - as above
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, key)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            words = f"expected a whole number from {-(2**63)} to {2**64 - 1}"
            raise refused(key, f"{words}, given {_short(value)}")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise refused(key, f"expected a finite number, given {float(value)}")
        return float(value)
    what = (
        "a set, which has no order" if isinstance(value, Set) else f"a value of type {type(value).__name__}"
    )
    raise refused(key, f"expected a number, a text, a truth value, a list or a table, given {what}")


def _text(value: str, key: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise refused(key, f"character {error.start + 1} of the text is not Unicode") from None
    return str(value)


def _name(name: Any, key: str) -> str:  # noqa: ANN401 - whatever a dictionary has
    if not isinstance(name, str):
        raise refused(key, f"keys are texts, given {name!r}")
    return _text(name, key)


def _below(key: str, name: object) -> str:
    return f"{key}.{name}" if key else str(name)


def _short(number: int) -> str:
    """A number as it is, or where that would be long, how long it is."""
    bits = number.bit_length()
    return str(number) if bits <= 128 else f"one of {bits} bits"


def refused(key: str, why: str) -> ConfigError:
    """The error that names `key`."""
    error = ConfigError(f"{key}: {why}" if key else why)
    error.key = key or None
    return error

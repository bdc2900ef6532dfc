"""Python values as TOML or JSON values; a value without such a form is refused with its key."""

from __future__ import annotations

import math
import os
import reprlib
from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from nandlab import policy
from nandlab._native import ConfigError

if TYPE_CHECKING:
    import numbers
    from decimal import Decimal

DEEPEST = 32
"""Most levels of tables and lists; a value that holds itself has more."""


def plain(value: Any, key: str = "", depth: int = 0) -> Any:  # noqa: ANN401 - the values of a TOML table
    """A value in JSON form: paths as text, numpy scalars as numbers, tuples as lists.

    Args:
        value: A table, a list, a text, a number or a truth value, or an object that converts to one.
        key: Its place, such as "device.capacity".
        depth: Levels above it.

    Raises:
        ConfigError: With `key`.

    >>> plain({"capacity": 4096, "profile": None})
    {'capacity': 4096, 'profile': None}

    """
    if depth > DEEPEST:
        raise refused(key, f"expected at most {DEEPEST} levels of tables and lists")
    if isinstance(value, policy.Policy):
        name = policy.keep(value)
        # The buffer's table has the choice already.
        return name if key.endswith(".policy") else {"python": name}
    if hasattr(value, "to_dict"):
        value = value.to_dict()
    if isinstance(value, Mapping):
        return {_name(name, key): plain(inner, _below(key, name), depth + 1) for name, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview):
        return [plain(inner, f"{key}[{at}]", depth + 1) for at, inner in enumerate(value)]
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if callable(getattr(value, "tolist", None)):
        # A numpy scalar or array.
        return plain(value.tolist(), key, depth + 1)
    return _scalar(value, key)


def _scalar(value: Any, key: str) -> Any:  # noqa: ANN401 - as above
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, key)
    import numbers
    from decimal import Decimal

    if isinstance(value, numbers.Integral):
        return _whole(int(value), key)
    if isinstance(value, numbers.Real | Decimal):
        return _finite(value, key)
    what = (
        "a set, which has no order" if isinstance(value, Set) else f"a value of type {type(value).__name__}"
    )
    raise refused(key, f"expected a number, a text, a truth value, a list or a table, given {what}")


def _whole(value: int, key: str) -> int:
    # A file can hold less, but nothing in an experiment can.
    if not -(2**63) <= value < 2**64:
        raise refused(key, f"expected a whole number from 0 to {2**64 - 1}, given {_short(value)}")
    return value


def _finite(value: numbers.Real | Decimal, key: str) -> float:
    try:
        number = float(value)
    except (OverflowError, ValueError):
        # A fraction too large, or a signalling NaN.
        number = math.inf
    if not math.isfinite(number):
        raise refused(key, f"expected a finite number, given {reprlib.repr(value)}")
    return number


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
    """A number as it is; for a long one, its length in bits."""
    bits = number.bit_length()
    return str(number) if bits <= 128 else f"one of {bits} bits"


def refused(key: str, why: str) -> ConfigError:
    """The error with `key`."""
    error = ConfigError(f"{key}: {why}" if key else why)
    error.key = key or None
    return error

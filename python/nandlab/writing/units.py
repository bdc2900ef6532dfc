"""Numbers as people read them."""

from __future__ import annotations

import math

NO_VALUE = "–"


def count(value: float | None) -> str:
    """A whole number with separators.

    >>> count(1234567)
    '1,234,567'
    """
    return NO_VALUE if value is None else f"{value:,.0f}"


def counted(number: float, noun: str) -> str:
    """A number of things.

    >>> counted(1, "full merge"), counted(1200, "full merge"), counted(2, "flush"), counted(3, "copy")
    ('1 full merge', '1,200 full merges', '2 flushes', '3 copies')
    """
    if number == 1:
        return f"1 {noun}"
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}es" if noun.endswith("sh") else f"{noun}s"
    return f"{count(number)} {many}"


def ratio(value: float | None, digits: int = 3) -> str:
    """A ratio with a fixed number of digits.

    >>> ratio(2.34567), ratio(None)
    ('2.346', '–')
    """
    return NO_VALUE if value is None else f"{value:.{digits}f}"


def percent(share: float, digits: int = 1) -> str:
    """A share as a percentage, with a digit after the point only where it says something.

    >>> percent(0.07), percent(0.125), percent(0.125, 0), percent(0.001, 0)
    ('7 %', '12.5 %', '12 %', 'under 1 %')
    """
    text = f"{share * 100:.{digits}f}".removesuffix(".0")
    return "under 1 %" if text == "0" and share > 0 else f"{text} %"


def short(value: float) -> str:
    """A number with about three digits, of a small one two.

    >>> short(0.1234), short(12.34), short(1234), short(0.00234), short(0)
    ('0.12', '12.3', '1,234', '0.0023', '0')
    """
    return _scaled(value, 1, ("",)).rstrip()


def size(value: float | None) -> str:
    """Bytes in the largest binary unit that leaves a number over 1.

    >>> size(512), size(4096), size(64 * 2**20), size(1.5 * 2**30)
    ('512 B', '4 KiB', '64 MiB', '1.5 GiB')
    """
    return NO_VALUE if value is None else _scaled(value, 1024, ("B", "KiB", "MiB", "GiB", "TiB"))


def time_us(value: float | None) -> str:
    """Microseconds in a unit that leaves a short number.

    >>> time_us(0.5), time_us(250), time_us(1500), time_us(7.2e7), time_us(5.18e8), time_us(8.1e9)
    ('0.5 µs', '250 µs', '1.5 ms', '72 s', '518 s', '2.25 h')
    """
    if value is None:
        return NO_VALUE
    if value >= 3600e6:
        return _scaled(value / 3600e6, 1000, ("h",))
    return _scaled(value, 1000, ("µs", "ms", "s"))


def energy_j(value: float | None) -> str:
    """Joules in a unit that leaves a short number.

    >>> energy_j(0.0021), energy_j(3.25)
    ('2.1 mJ', '3.25 J')
    """
    return NO_VALUE if value is None else _scaled(value * 1e6, 1000, ("µJ", "mJ", "J", "kJ"))


def duration_s(seconds: float) -> str:
    """Seconds on the wall, for people who wait.

    >>> duration_s(0.4), duration_s(12.3), duration_s(200)
    ('under 1 s', '12 s', '3 min 20 s')
    """
    whole = round(seconds)
    if whole < 1:
        return "under 1 s"
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60:02} s"


def span_s(seconds: float) -> str:
    """A long time in the largest unit that leaves a number over 1.

    >>> span_s(90), span_s(7200), span_s(3 * 86400), span_s(4 * 365.25 * 86400)
    ('1.5 min', '2 h', '3 days', '4 years')
    """
    for unit, length in (("years", 365.25 * 86400), ("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= length:
            return f"{_scaled(seconds / length, 1, ('',)).rstrip()} {unit}"
    return time_us(seconds * 1e6)


def _scaled(value: float, step: int, names: tuple[str, ...]) -> str:
    index = 0
    while abs(value) >= step and index < len(names) - 1:
        value /= step
        index += 1
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    if 0 < abs(value) < 0.1:
        digits = 1 - math.floor(math.log10(abs(value)))
    text = f"{value:,.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} {names[index]}"

"""Byte sizes as experiments have them: the simulator reads them, so every place reads them alike."""

from __future__ import annotations

from nandlab._native import byte_count, byte_units

UNITS = dict(byte_units())
"""Each unit with its bytes, those of 1,000 (KB, MB) as well as those of 1,024 (KiB, MiB)."""


def bytes_of(size: object) -> int | None:
    """A size in bytes; None for anything else, such as a size drawn by chance.

    >>> bytes_of("4 KiB"), bytes_of("8 MB"), bytes_of("'512 B'"), bytes_of(4096)
    (4096, 8000000, 512, 4096)
    >>> bytes_of("4k"), bytes_of("greedy"), bytes_of([{"size": "4 KiB"}])
    (None, None, None)
    """
    if isinstance(size, int) and not isinstance(size, bool):
        return size
    text = size.strip("\"'") if isinstance(size, str) else ""
    # A fraction without a unit is a number of something else.
    if "." in text and not text[-1:].isalpha():
        return None
    try:
        return byte_count(text)
    except ValueError:
        return None

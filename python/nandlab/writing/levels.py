"""How deep tables may nest in the key of an override."""

from __future__ import annotations

MOST = 80
"""Most tables in one another, as in a TOML file."""

TOO_DEEP = "tables are nested too deeply; no experiment needs more than ten levels"
"""Why a deeper key is refused."""


def is_too_deep(key: str) -> bool:
    """Whether a key stands in more tables than a file may nest.

    >>> is_too_deep("device.capacity"), is_too_deep(".".join("a" * 100))
    (False, True)
    """
    return key.count(".") >= MOST

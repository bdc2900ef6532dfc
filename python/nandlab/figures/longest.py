"""The longest request, in words."""

from __future__ import annotations

from nandlab.record.made import LongestRequest
from nandlab.writing import units


def longest_parts(longest: LongestRequest) -> list[tuple[str, float]]:
    """What the longest request spent its time on, in words, with microseconds; the most first."""
    found: list[tuple[str, float]] = []
    for part in longest.parts or []:
        plain = part.cause.replace("_", " ")
        waited = f"waiting for {plain if part.cause != 'host' else 'other requests'}"
        own = "its own operations" if part.cause == "host" else f"its own {plain}"
        found += [(waited, part.waited_us), (own, part.own_us)]
    found += [
        ("waiting for space in the controller's write buffer", longest.space_us or 0.0),
        ("outside of the flash", longest.elsewhere_us or 0.0),
        ("no longer known", longest.unknown_us or 0.0),
    ]
    return sorted(((words, us) for words, us in found if us > 0), key=lambda each: -each[1])


def longest_words(longest: LongestRequest, can_explain: bool = True) -> str:
    """The longest request in one line: what it was, and what its time went to.

    `can_explain`: whether `host.explain_longest` may be asked for, so that it is worth to be named.
    """
    parts = ", ".join(f"{units.time_us(us)} {words}" for words, us in longest_parts(longest))
    hint = "host.explain_longest = true says why" if can_explain else ""
    return f"{longest.op} {longest.number:,}" + (f": {words}" if (words := parts or hint) else "")

"""Sentences that hold words of others: of a damaged file, of somebody's exception."""

from __future__ import annotations

LONGEST = 600


def one_line(text: str, longest: int = LONGEST) -> str:
    r"""The text in one line of at most `longest` characters; what cannot be printed stands as an escape.

    >>> one_line("line 3: tr\ne\x00")
    'line 3: tr\\ne\\x00'
    >>> one_line("x" * 50, 11)
    'xxxx...xxxx'
    """
    shown = "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text
    )
    if len(shown) <= longest:
        return shown
    half = (longest - 3) // 2
    return f"{shown[:half]}...{shown[-half:]}"

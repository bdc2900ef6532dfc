"""Made by `python -m nandlab.stubs` from the lists of the compiled module."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from nandlab.listing import Choice

def page(
    *,
    victim: Literal['greedy'] | None = None,
    reserve_blocks: int | None = None,
    valid_pages: Literal['bitmap', 'spare'] | None = None,
    durable_trim: bool | None = None,
) -> Choice:
    """A map entry for every logical page.

    After Gal & Toledo 2005 (survey); Desnoyers 2014.

    Args:
        victim: Which block garbage collection empties next. Default "greedy".
        reserve_blocks: Blocks of each die that stay free for relocation; at least 1. With 1 a program
            failure or a torn page during relocation may leave no room; 2 is safe. Default 2.
        valid_pages: How garbage collection tells the valid pages of a victim. Default "bitmap".
        durable_trim: Whether a flush makes trims survive a power cut, at the price of a note page for
            each segment of the address space that was trimmed. Without it there are no notes, and a
            mount brings back the newest copy of a trimmed page that is not erased yet: what it held
            last, or before that. Default true.
    """

def block(
    *,
    replacement_blocks: int | None = None,
    reserve_blocks: int | None = None,
    durable_trim: bool | None = None,
) -> Choice:
    """A map entry for every logical block.

    After Ban 1995, US 5,404,485.

    Args:
        replacement_blocks: Most replacement blocks in use at once; as many as the free blocks allow
            where that is less. With 0 a page that is written again costs a full merge. Default 8, a
            convention: the patent has no such limit. Default 8.
        reserve_blocks: Blocks of the device that stay free for merges; at least 1. With 1 a program
            failure or a torn page during a merge may leave no room; the default, 2, is safe. Default 2.
        durable_trim: Whether a flush makes trims survive a power cut, at the price of a note page for
            each segment of the address space that was trimmed, and of a block or more for the notes.
            Without it there are no notes, and a mount brings back what a trimmed page held last, as
            long as that is not erased. Default true. Default true.
    """

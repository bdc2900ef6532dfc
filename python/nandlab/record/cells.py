"""Multi-bit cells and aging cells in the result record."""

from __future__ import annotations

from nandlab.record.view import View


class SlcCounts(View):
    """One-bit-a-cell blocks: pages the host wrote to them, and past them for lack of room.

    To have room again, `folded_pages` were moved out and `folds` blocks emptied; `reads`,
    `programs` and `erases` happened in such blocks, copy halves included.
    """

    written_pages: int
    direct_pages: int
    folded_pages: int
    folds: int
    reads: int
    programs: int
    erases: float


class Reliability(View):
    """Bit errors in aging cells: repeated reads, and their outcome.

    `most_errors` is the largest expected number of wrong bits in a codeword read; it and `most_retries`
    include the preconditioning. `refreshes` are blocks rewritten for their bit errors.
    """

    retried_reads: int
    retries: int
    most_retries: int
    uncorrectable_reads: int
    most_errors: float
    refreshes: int
    lost_pages: int

"""What cells of several bits, and cells that age, came to, as the result record has it."""

from __future__ import annotations

from nandlab.record.view import View


class SlcCounts(View):
    """Blocks of one bit a cell: pages that the host wrote to them, and past them since they had no room.

    `folded_pages` were moved out of them, and `folds` blocks emptied, to have room again; `reads`,
    `programs` and `erases` are what was done in such blocks, the halves of copies among them.
    """

    written_pages: int
    direct_pages: int
    folded_pages: int
    folds: int
    reads: int
    programs: int
    erases: float


class Reliability(View):
    """Bit errors of cells that age: reads that were repeated, and what came of it.

    `most_errors` is the most wrong bits that were expected in a codeword that was read; it and `most_retries`
    include the preconditioning. `refreshes` are blocks that were rewritten for their bit errors.
    """

    retried_reads: int
    retries: int
    most_retries: int
    uncorrectable_reads: int
    most_errors: float
    refreshes: int
    lost_pages: int

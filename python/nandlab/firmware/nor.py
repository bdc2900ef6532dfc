"""NOR chips in the numbers of `nl_config`, with typical times.

The times are from memory of the data sheets. This could be checked, and against these texts:

* W25Q128JV: the chip's own parameter table (SFDP) has typical times, rounded up. A dump from a W25Q64JV, the
  same family, has 32 us for the first byte, 3 us for each further byte, 704 us for a page and 64 ms for an
  erase of 4 KiB. The program times here agree with the table. Not checked: 45 ms for the erase, and the
  endurance. A typical page program of 0.4 ms, as newer revisions of the sheet are said to have, is less than
  the 668 us here.
* STM32L476: DS10198, revision 8, section 3.4, has pages of 2 KiB, 256 in each bank. RM0394, the manual of
  sister chips, has double words that take one program, and zeros on top. Not checked: the times and the
  endurance.
"""

from __future__ import annotations

from typing import Any

SHEETS: dict[str, dict[str, Any]] = {
    # Winbond W25Q128JV: 16 MiB, pages of 256 bytes, sectors of 4 KiB. tBP1 30 us, tBP2 2.5 us,
    # tSE 45 ms. Fast read (0Bh) at 50 MHz on one line: 40 clocks to the first byte, 8 for each.
    "w25q128": {
        "pages_per_block": 16,
        "page_bytes": 256,
        "word_bytes": 1,
        "partial_programs": 255,
        "endurance": 100_000,
        "read_us": 0.8,
        "program_us": 30.0,
        "program_byte_us": 2.5,
        "erase_us": 45_000.0,
        "transfer_ns_per_byte": 160.0,
    },
    # ST STM32L476: pages of 2 KiB, double words with an ECC, tprog 81.69 us, tERASE 22.02 ms. One
    # double word a command. The array is mapped into memory: 80 MHz, 5 cycles for 8 bytes.
    "stm32l476": {
        "pages_per_block": 256,
        "page_bytes": 8,
        "word_bytes": 8,
        "partial_programs": 1,
        "endurance": 10_000,
        "read_us": 0.0,
        "program_us": 81.69,
        "program_byte_us": 0.0,
        "erase_us": 22_020.0,
        "transfer_ns_per_byte": 8.0,
    },
}


def nor_numbers(chip: str, blocks: int) -> dict[str, Any]:
    """The numbers of a chip in `SHEETS`, with as many blocks as told."""
    return {"blocks": blocks, **SHEETS[chip]}

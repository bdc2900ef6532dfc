"""NOR chips in the numbers of `nl_config`, with typical times.

The data sheets themselves were not at hand. The values were compared with these texts:

* W25Q128JV: public drivers quote the sheet's typical times as 0.4 ms for a whole page, 45 ms for 4 KiB and
  150 ms for 64 KiB, none the time for a byte. A W25Q64JV, of the same family, has 32 us for the first byte in
  its own parameter table (SFDP), and longer times than the quoted ones for a page (704 us) and 4 KiB (64 ms).
  So 30 us is for the first byte, and the further bytes make up 0.4 ms. Not compared: the endurance.
* STM32L476: DS10198, revision 8, section 3.4, has pages of 2 KiB, 256 in each bank. A public project read
  22 ms for a page erase in the sheet, and 21 to 23 ms for the 256 double words of a page; 256 times 81.69 us
  is 20.9 ms. RM0394, the manual of sister chips, has double words that take one program, and zeros on top.
  Not compared: the endurance, and the decimals of both times.
"""

from __future__ import annotations

from typing import Any

SHEETS: dict[str, dict[str, Any]] = {
    # Winbond W25Q128JV: 16 MiB, pages of 256 bytes, sectors of 4 KiB. A page takes 0.4 ms, a
    # sector's erase 45 ms. Fast read (0Bh) at 50 MHz on one line: 40 clocks to the first byte, 8 for each.
    "w25q128": {
        "pages_per_block": 16,
        "page_bytes": 256,
        "word_bytes": 1,
        "partial_programs": 255,
        "endurance": 100_000,
        "read_us": 0.8,
        "program_us": 30.0,
        "program_byte_us": 1.45,
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

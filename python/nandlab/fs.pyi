"""Made by `python -m nandlab.stubs` from the lists of the compiled module."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from nandlab.listing import Choice

def fat(
    *,
    fat: Literal['auto', 'fat12', 'fat16', 'fat32'] | None = None,
    cluster_bytes: int | str | None = None,
    root_entries: int | None = None,
    fats: int | None = None,
    volume_bytes: int | str | None = None,
    align_data: int | str | None = None,
    write_through: Literal['entry', 'sector', 'operation'] | None = None,
    cache_bytes: int | str | None = None,
    trim: bool | None = None,
    time_stamps: Literal['counted', 'fixed'] | None = None,
) -> Choice:
    """The file system of memory cards, with tables of 12, 16 or 32 bits.

    After Microsoft, FAT: General Overview of On-Disk Format, 2000.

    Args:
        fat: Bits of a FAT entry; `auto`: as many as the clusters need. Default "auto".
        cluster_bytes: Bytes of a cluster, a power of two from 512 to 65536; chosen by the size of the
            volume unless given.
        root_entries: Entries of the root directory, a multiple of 16; a name takes two or more. Not
            with FAT32, whose root directory grows. Default 512.
        fats: Copies of the FAT, 1 or 2. Default 2.
        volume_bytes: Size of the volume; the whole device unless given.
        align_data: The first cluster begins at a multiple of so many bytes of the device, so that the
            volume begins later, as the partitions of memory cards do. Default: the volume begins with
            the device.
        write_through: When changed sectors go to the device. Default "sector".
        cache_bytes: Memory for sectors of FAT and directories; file data is not cached, but for the
            sector that an append goes on in. Default "64 KiB".
        trim: Whether the clusters of what is removed are trimmed. Default false.
        time_stamps: What time stamps show. Default "counted".
    """

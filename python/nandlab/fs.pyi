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

def yaffs(
    *,
    format: Literal['auto', 'yaffs1', 'yaffs2'] | None = None,
    gc: Mapping[str, Any] | None = None,
    cache_pages: int | None = None,
    checkpoint: bool | None = None,
    mark_copied: bool | None = None,
) -> Choice:
    """A file system on bare flash, every page with its tags.

    After Manning, How YAFFS Works, 2010.

    Args:
        format: The form on flash; `auto`: by the size of a page. Default "auto".
        gc: Garbage collection. Default {"reserved_blocks": 5, "aggressive_margin": 2, "passive_limit":
            3, "passive_share": 16, "passive_most": 200, "skip": 4, "tries": 2}.
        cache_pages: Pages of the cache for writes of a part of a page; 0: none, as in the measurements
            of Doh et al. Default 0.
        checkpoint: `yaffs2`: whether `sync_all` saves the tables, so that a mount need not scan.
            Default true.
        mark_copied: `yaffs1`: whether pages that collection has copied get a deletion mark before their
            block is erased. Default true.
    """

def minv(
    *,
    gc: Mapping[str, Any] | None = None,
    objects: int | None = None,
    nvram: Mapping[str, Any] | None = None,
) -> Choice:
    """All metadata in NVRAM, only the contents of files in the NAND.

    After Doh, Choi, Lee, Noh, EMSOFT 2007.

    Args:
        gc: Garbage collection. Default {"reserved_blocks": 5, "aggressive_margin": 2, "passive_limit":
            3, "passive_share": 16, "passive_most": 200, "skip": 4, "tries": 2}.
        objects: Files, directories and links that the NVRAM has room for, the root directory included:
            128 bytes each, and as much for their maps. From 2 to 262142. Default 2048.
        nvram: What an access to the NVRAM costs; nothing unless given. Default {"unit_bytes": 8,
            "read_ns": 0.0, "write_ns": 0.0, "read_nj": 0.0, "write_nj": 0.0}.
    """

def posix(
    *,
    directory: str,
) -> Choice:
    """A real directory of this machine, with whatever file system it lies on.

    Args:
        directory: The directory, which must be empty; a relative path starts from the folder of the
            experiment's file.
    """

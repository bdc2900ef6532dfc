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
        fat: Bits per FAT entry; `auto` picks the width by cluster count. Default "auto".
        cluster_bytes: Bytes per cluster, a power of two from 512 to 65536. Default: chosen by volume
            size.
        root_entries: Root directory entries, a multiple of 16; a name takes two or more. Not for FAT32,
            because its root directory grows. Default 512.
        fats: FAT copies, 1 or 2. Default 2.
        volume_bytes: Volume size. Default: the whole device.
        align_data: The first cluster's alignment on the device, in bytes; the volume starts later, like
            the partitions on memory cards. Default: the volume starts with the device.
        write_through: Device write policy for changed sectors. Default "sector".
        cache_bytes: Cache for FAT and directory sectors; the only file data cached is the sector
            continued by the next append. Default "64 KiB".
        trim: Whether to trim clusters when files and directories are removed. Default false.
        time_stamps: Time stamp source. Default "counted".
    """

def yaffs(
    *,
    format: Literal['auto', 'yaffs1', 'yaffs2'] | None = None,
    code: Literal['2007', '2014'] | None = None,
    gc: Mapping[str, Any] | None = None,
    short_op_cache: int | None = None,
    checkpoint: bool | None = None,
    mark_copied: bool | None = None,
) -> Choice:
    """A file system on bare flash, with tags on every page.

    After Manning, How YAFFS Works, 2010.

    Args:
        format: Format on flash; `auto` picks it by page size. Default "auto".
        code: Year of the code to follow where YAFFS has changed. Papers before 2010 had that of 2007.
            Default "2014".
        gc: Garbage collection. Default {"reserved_blocks": 5, "aggressive_margin": null,
            "passive_limit": null, "passive_share": 16, "passive_most": null, "skip": null, "tries":
            null, "refresh_period": null}.
        gc.reserved_blocks: Blocks kept for headers and collection, at least 2; file data is refused if
            it would leave fewer. Default 5.
        gc.aggressive_margin: Collection is aggressive with fewer erased blocks than the reserve plus
            the checkpoint plus this margin. Without a value 1; 2 in the code of 2007. Default null.
        gc.passive_limit: Most live pages in a block collected passively. Without a value 4; 3 in the
            code of 2007, as Doh et al. say, while that code itself says 2. Default null.
        gc.passive_share: Passive collection looks at one in this many blocks, plus one. Default 16.
        gc.passive_most: Most blocks a passive search looks at, plus one. Without a value 99; 200 in the
            code of 2007. Default null.
        gc.skip: Code of 2007 only: after a hit, the next passive search runs at the call with this
            number. Without a value 4. Default null.
        gc.tries: Code of 2007 only: most blocks collected per call; more than one only while fewer
            blocks are erased than reserved. Without a value 2. Default null.
        gc.refresh_period: Code of 2014 and `yaffs2` only: after this many collected blocks the oldest
            block is collected, whatever it holds; 0 for never. Without a value 500, as in the Linux
            driver. Default null.
        short_op_cache: Pages in the cache for reads and writes of a part of a page; 0 for no cache.
            Default: 10, as in the code of 2007 under Linux. Default 10.
        checkpoint: `yaffs2`: whether `sync_all` saves the tables, so a mount needs no scan. Default
            true.
        mark_copied: `yaffs1`: whether collection puts a deletion mark on copied pages before it erases
            their block. Of one paper: minv. Default true.
    """

def minv(
    *,
    gc: Mapping[str, Any] | None = None,
    objects: int | None = None,
    nvram: Mapping[str, Any] | None = None,
) -> Choice:
    """All metadata in NVRAM, only file contents in NAND.

    After Doh, Choi, Lee, Noh, EMSOFT 2007.

    Args:
        gc: Garbage collection. Default {"reserved_blocks": 5, "aggressive_margin": 2, "passive_limit":
            3, "passive_share": 16, "passive_most": 200, "skip": 4, "tries": 2}.
        gc.reserved_blocks: Blocks kept for headers and collection, at least 2; file data is refused if
            it would leave fewer. Default 5.
        gc.aggressive_margin: Collection is aggressive with fewer erased blocks than the reserve plus
            the checkpoint plus this margin. Default 2.
        gc.passive_limit: Most live pages in a block collected passively. Doh et al. say 3, the YAFFS
            code says 2. Default 3.
        gc.passive_share: Passive collection looks at one in this many blocks, plus one. Of one paper:
            minv. Default 16.
        gc.passive_most: Most blocks a passive search looks at, plus one. Of one paper: minv. Default
            200.
        gc.skip: After a hit, the next passive search runs at the call with this number. Default 4.
        gc.tries: Most blocks collected per call; more than one only while fewer blocks are erased than
            reserved. Default 2.
        objects: Maximum number of files, directories and links, including the root directory; from 2 to
            262142. Each takes 128 bytes of NVRAM, and as much again for its map. Default 2048.
        nvram: NVRAM access cost. Default: none. Default {"unit_bytes": 8, "read_ns": 0.0, "write_ns":
            0.0, "read_nj": 0.0, "write_nj": 0.0}.
        nvram.unit_bytes: Bytes per unit; 8 if the data sheet gives costs per word. Default 8.
        nvram.read_ns: Read time per unit, ns. Default 0.0.
        nvram.write_ns: Write time per unit, ns. Default 0.0.
        nvram.read_nj: Read energy per unit, nJ. Default 0.0.
        nvram.write_nj: Write energy per unit, nJ. Default 0.0.
    """

def firmware(
    *,
    path: str | None = None,
    options: str | None = None,
) -> Choice:
    """A file firmware of your own in C, in place of a file system on bare flash.

    Args:
        path: The shared object; a relative path starts at the experiment's folder. Default "".
        options: A text for the firmware alone, which reads it with `nl_options()`. Default "".
    """

def posix(
    *,
    directory: str,
) -> Choice:
    """A real directory of this machine, on whatever file system is there.

    Args:
        directory: The directory, which must be empty; a relative path starts from the folder of the
            experiment's file.
    """

"""Made by `python -m nandlab.stubs` from the lists of the compiled module."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from nandlab.listing import Choice

def btree(
    *,
    page_bytes: int | None = None,
    layout: Literal['fixed', 'slotted', 'deltas'] | None = None,
    key_bytes: int | None = None,
    value_bytes: int | None = None,
    shortest_value_bytes: int | None = None,
    header_bytes: int | None = None,
    pool_bytes: int | str | None = None,
    pool_frames: int | None = None,
    policy: Literal['lru', 'clock', '2q'] | None = None,
    write_back: Literal['page', 'sectors'] | None = None,
    shadow: bool | None = None,
    load_fill: float | None = None,
    flush_every: int | None = None,
) -> Choice:
    """Records in leaves, sorted by key, over a buffer pool.

    After Bayer and McCreight 1972.

    Args:
        page_bytes: Bytes of a page, a power of two from 512 to 65536. Default 4096.
        layout: How a page holds its records. Default "fixed".
        key_bytes: Bytes of a key, 1 to 64; the number that a workload asks for, most significant byte
            first. Default 4.
        value_bytes: Bytes of a value. Default 4.
        shortest_value_bytes: Bytes of the shortest value, where `layout` takes values of any size:
            lengths from here to `value_bytes` are equally likely. As long as the others unless given.
        header_bytes: Bytes of a page before its first record, 8 to 64, where `layout` is `fixed`; 8
            unless given. The tree needs 8; more stands for what a database keeps there.
        pool_bytes: Size of the buffer pool, rounded down to whole pages; `"1 MiB"` unless `pool_frames`
            is given.
        pool_frames: Size of the buffer pool in pages, in place of `pool_bytes`.
        policy: Which page leaves the pool when room is needed. Default "lru".
        write_back: What is written of a changed page. Default "page".
        shadow: Whether pages are written to free places, and switched to at a flush, so that the index
            survives power cuts. Default false.
        load_fill: Share of a page that a bulk load fills, 0.1 to 1. Default 1.0.
        flush_every: A flush after this many operations; 0: none, and what is changed in the pool at the
            end stays there. Default 0.
    """

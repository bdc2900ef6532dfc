"""Digests of files that an experiment reads."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from nandlab.reading import regular


def digest_of(path: Path) -> str:
    """A file's digest; empty if unreadable: the run reports it."""
    try:
        status = path.stat()
        return _digest(os.path.realpath(path), status.st_size, status.st_mtime_ns)
    except OSError:
        return ""


@functools.lru_cache(maxsize=256)
def _digest(path: str, _size: int, _changed_ns: int) -> str:
    import hashlib

    whole = hashlib.sha256()
    with regular(path).open("rb") as file:
        while piece := file.read(1 << 20):
            whole.update(piece)
    return whole.hexdigest()

"""Files to read are regular files: to open a pipe waits for its other end, and a device may have no end.

The name `-` is standard input; a file of this name is `./-`.
"""

from __future__ import annotations

import errno
import functools
import os
import stat
import sys
from pathlib import Path

MOST_BYTES = 256 << 20
"""The longest file read as a whole: a sparse file takes no room on a disk, and would fill the memory."""
STANDARD_INPUT = "-"


def regular(path: str | os.PathLike[str]) -> Path:
    """The path, unless a pipe, a socket or a device is there.

    Raises:
        OSError: There is one of them, or nothing.

    """
    mode = os.stat(path).st_mode  # noqa: PTH116 - the error names the path as given
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "this is no regular file", os.fspath(path))
    return Path(path)


def whole(path: str | os.PathLike[str]) -> bytes:
    """The contents of a regular file, or of standard input, that is read as a whole.

    Raises:
        OSError: It cannot be read, or is longer than any such file.

    """
    if os.fspath(path) == STANDARD_INPUT:
        return _standard_input_once()
    with regular(path).open("rb") as file:
        content = file.read(MOST_BYTES + 1) if os.fstat(file.fileno()).st_size <= MOST_BYTES else None
    return _bounded(content, os.fspath(path))


def standard_input() -> bytes:
    """What standard input has, to its end; it may be a pipe.

    Raises:
        OSError: It is longer than any file that is read as a whole.

    """
    return _bounded(sys.stdin.buffer.read(MOST_BYTES + 1), "standard input")


@functools.cache
def _standard_input_once() -> bytes:
    """Several readers may ask for it, and it can be read once."""
    return standard_input()


def _bounded(content: bytes | None, name: str) -> bytes:
    if content is None or len(content) > MOST_BYTES:
        most = f"the file is larger than {MOST_BYTES >> 20} MiB, so it is not what is expected here"
        raise OSError(errno.EFBIG, most, name)
    return content


def text(path: str | os.PathLike[str], encoding: str = "utf-8", errors: str = "strict") -> str:
    """As `whole`, decoded, with the line ends of every system.

    Raises:
        OSError: As `whole`.
        UnicodeDecodeError: It is no such text.

    """
    return whole(path).decode(encoding, errors).replace("\r\n", "\n").replace("\r", "\n")

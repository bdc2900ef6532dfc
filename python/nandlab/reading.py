"""Files to read are regular files: to open a pipe waits for its other end, and a device may have no end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def regular(path: str | os.PathLike[str]) -> Path:
    """The path, unless a pipe, a socket or a device is there.

    Raises:
        OSError: There is one of them, or nothing.

    """
    mode = os.stat(path).st_mode  # noqa: PTH116 - the error names the path as given
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "this is no regular file", os.fspath(path))
    return Path(path)

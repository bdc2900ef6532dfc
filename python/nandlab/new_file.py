"""Files that are either whole or not there."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def check_writable(path: str | os.PathLike[str]) -> None:
    """Finds out before a long run whether `path` can be written after it; leaves nothing behind.

    Raises:
        OSError: With a sentence that names the path and the reason.

    """
    path = Path(path)
    if path.is_dir():
        raise OSError(f"cannot write {path}: it is a folder")
    if path.exists() and not path.is_file():
        raise OSError(f"cannot write {path}: it is not a regular file")
    if path.exists() and not os.access(path, os.W_OK):
        raise OSError(f"cannot write {path}: it is write-protected")
    try:
        descriptor, probe = _open_beside(path)
        os.close(descriptor)
        Path(probe).unlink()
    except OSError as error:
        raise OSError(f"cannot write {path}: {_reason(error, path)}") from None


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Writes under a temporary name in the same folder, then renames.

    Raises:
        OSError: With a sentence that names the path and the reason; an older file is then as it was.

    """
    path = Path(path)
    check_writable(path)
    temporary = None
    try:
        descriptor, temporary = _open_beside(path)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor, not a path
            file.write(content)
            file.flush()
            # Some file systems say only now that the disk is full.
            os.fsync(file.fileno())
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
    except BaseException as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
        if isinstance(error, OSError):
            raise OSError(f"cannot write {path}: {_reason(error, path)}") from None
        raise


def _open_beside(path: Path) -> tuple[int, str]:
    return tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)


def _reason(error: OSError, path: Path) -> str:
    if isinstance(error, FileNotFoundError):
        return f"there is no folder {path.parent}"
    return (error.strerror or str(error)).lower()


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask

"""Files that are either whole or not there."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def readable(path: str | os.PathLike[str]) -> str:
    r"""A file's name for people: bytes outside UTF-8 stand in it as escapes.

    >>> readable("a\udcff.toml")
    'a\\udcff.toml'
    """
    return os.fspath(path).encode("utf-8", "backslashreplace").decode()


def target_of(path: str | os.PathLike[str]) -> Path:
    """The file behind `path`: links are followed, so that a new file replaces the last link's target.

    Raises:
        OSError: With a sentence; the links lead nowhere.

    """
    path = Path(path)
    if not path.is_symlink():
        return path
    try:
        # Not `Path.resolve`: it does not report a loop.
        return Path(os.path.realpath(path, strict=True))
    except FileNotFoundError:
        return Path(os.path.realpath(path))
    except OSError as error:
        raise OSError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from None


def made_folder(folder: str | os.PathLike[str]) -> Path:
    """A folder for files, made if it is not there.

    Raises:
        OSError: With a sentence that names the folder and the reason.

    """
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise OSError(f"cannot write into {readable(path)}: {reason}") from None
    return path


def check_writable(path: str | os.PathLike[str]) -> None:
    """Finds out before a long run whether `path` can be written after it; leaves nothing behind.

    Raises:
        OSError: With a sentence that names the path and the reason.

    """
    # Asked for the path as given: links in /proc lead to nameless pipes.
    if not os.fspath(path):
        raise OSError("expected the name of a file, given an empty one")
    given = Path(path)
    try:
        path = target_of(given)
        if given.is_dir():
            raise OSError(f"cannot write {given}: it is a folder")
        if given.exists() and not given.is_file():
            raise OSError(f"cannot write {given}: it is not a regular file")
        if path.exists() and not os.access(path, os.W_OK):
            raise OSError(f"cannot write {given}: it is write-protected")
    except OSError as error:
        # nandlab's own sentences have no number; a name may be too long for the system to look at.
        if error.errno is None:
            raise
        raise OSError(f"cannot write {_short(given)}: {_reason(error, given)}") from None
    try:
        descriptor, probe = _open_beside(path)
        os.close(descriptor)
        Path(probe).unlink()
    except OSError as error:
        raise OSError(f"cannot write {_short(given)}: {_reason(error, path)}") from None


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Writes under a temporary name in the same folder, then renames; links are followed.

    Raises:
        OSError: With a sentence that names the path and the reason; an older file is then as it was.

    """
    check_writable(path)
    given, path = Path(path), target_of(path)
    temporary = None
    try:
        descriptor, temporary = _open_beside(path)
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor, not a path
            file.write(content)
            file.flush()
            # Some file systems report a full disk only now.
            os.fsync(file.fileno())
        Path(temporary).chmod(path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
        Path(temporary).replace(path)
    except BaseException as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
        if isinstance(error, OSError):
            raise OSError(f"cannot write {given}: {_reason(error, path)}") from None
        raise


def _open_beside(path: Path) -> tuple[int, str]:
    import tempfile

    return tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)


def _reason(error: OSError, path: Path) -> str:
    if isinstance(error, FileNotFoundError):
        if path.parent.is_dir():
            return f"no file can be made in {path.parent}"
        return f"there is no folder {path.parent}"
    return (error.strerror or str(error)).lower()


def _short(path: Path) -> str:
    """The path, or its start if it is too long to read."""
    text = readable(path)
    return text if len(text) <= 200 else f"{text[:40]}... ({len(text)} characters)"


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def write_page(path: str | os.PathLike[str], text: str) -> None:
    """Writes a report's text; a name that is no Unicode stands there as readable() has it.

    Raises:
        OSError: With a sentence; an older file at `path` is then as it was.

    """
    write_whole(path, text.encode(errors="backslashreplace"))

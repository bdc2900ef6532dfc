"""Pictures as files."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Protocol

from nandlab._native import ConfigError
from nandlab.report.theme import THEMES, Theme
from nandlab.writing.new_file import check_writable, readable, target_of

Format = Literal["svg", "png"]
FORMATS: tuple[Format, ...] = ("svg", "png")


class Drawn(Protocol):
    """A drawing for a file."""

    def file(self, form: str, colours: Theme) -> bytes:
        """The file's bytes."""


def check_folder(folder: str | os.PathLike[str]) -> None:
    """Finds out before a long run whether pictures can be written into `folder`, which need not be there yet.

    Raises:
        OSError: With a sentence that names the folder and the reason.

    """
    path = Path(folder)
    if not os.fspath(folder):
        raise OSError("expected the name of a folder, given an empty one")
    if path.exists() and not path.is_dir():
        raise OSError(f"cannot write into {readable(path)}: it is no folder")
    above = path
    while not above.exists() and above != above.parent:
        above = above.parent
    if not above.is_dir():
        raise OSError(f"cannot make the folder {readable(path)}: {readable(above)} is no folder")
    try:
        check_writable(above / "picture.svg")
    except OSError as error:
        raise OSError(f"cannot write into {readable(path)}: {str(error).partition(': ')[2]}") from None


def write_texts(drawings: Mapping[str, str], folder: str | os.PathLike[str], form: str = "svg") -> list[Path]:
    """Writes drawings into files with their names in `folder`, as `write_pictures` does.

    Raises:
        OSError: With a sentence; the folder is then as it was.

    """
    check_folder(folder)
    return _write_all({f"{name}.{form}": text.encode() for name, text in drawings.items()}, folder)


def write_pictures(
    pictures: Mapping[str, Drawn],
    folder: str | os.PathLike[str],
    form: Format = "svg",
    colours: Theme = "light",
) -> list[Path]:
    """Draws each picture into a file with its name in `folder`; all, or after a failure none.

    Args:
        pictures: By name.
        folder: Made if missing; other files in it stay.
        form: `svg`, or `png` with two pixels per drawing pixel.
        colours: `light` or `dark`.

    Returns:
        The files, in the order of the pictures.

    Raises:
        ConfigError: There is no such form, or no such theme.
        OSError: With a sentence; the folder is then as it was.

    """
    for word, known, what in ((form, FORMATS, "form"), (colours, THEMES, "theme")):
        if word not in known:
            raise ConfigError(f"there is no {what} {word!r} of a picture; there are: {', '.join(known)}")
    check_folder(folder)
    contents = {f"{name}.{form}": picture.file(form, colours) for name, picture in pictures.items()}
    return _write_all(contents, folder)


def _write_all(contents: Mapping[str, bytes], folder: str | os.PathLike[str]) -> list[Path]:
    path = target_of(folder)
    made = [each for each in (path, *path.parents) if not each.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".pictures-", dir=path) as beside:
            for name, content in contents.items():
                _write(Path(beside) / name, content)
            for name in contents:
                (Path(beside) / name).replace(path / name)
    except BaseException as error:
        for each in made:
            with contextlib.suppress(OSError):
                each.rmdir()
        if isinstance(error, OSError):
            raise OSError(
                f"cannot write into {readable(folder)}: {(error.strerror or str(error)).lower()}"
            ) from None
        raise
    return [path / name for name in contents]


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        # Some file systems say only now that the disk is full.
        os.fsync(file.fileno())

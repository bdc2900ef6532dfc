"""Traces as files: contents, first requests, other formats, parts."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from nandlab import _native
from nandlab.writing.new_file import check_writable, target_of

FORMATS = {".csv": "csv", ".nltr": "native", ".iolog": "fio"}
"""Formats by a name's ending, before a `.gz`."""

PARTS = {"skip": Integral, "count": Integral, "from_s": Real, "to_s": Real}
"""Keys for a part of a trace."""

UNWRITTEN = "the new trace cannot be written: "
"""Start of a disk's error message."""

Watch = Callable[[int], object]
"""Called with the count of records read so far."""


def info(
    path: str | os.PathLike[str],
    options: Sequence[str] = (),
    page_bytes: int = 4096,
    pictures: bool = False,
    watch: Watch | None = None,
) -> dict[str, Any]:
    """The contents of the trace at `path`; `docs/traces.md` describes the keys.

    Args:
        path: The file.
        options: Options for `[workload.trace]`, such as `"format=spc"` or `"device=1"`.
        page_bytes: Unit for footprint, overwrites, alignment and skew.
        pictures: Whether to add `pictures`; this takes a second pass.
        watch: Called with the count of records read so far.

    Raises:
        TraceError: The file cannot be read, or a record is wrong.
        ConfigError: An option is wrong.

    """
    text = _native.trace_info(os.fspath(path), list(options), page_bytes, pictures, watch)
    found: dict[str, Any] = json.loads(text)
    return found


def head(
    path: str | os.PathLike[str], options: Sequence[str] = (), part: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The requests in a part of a trace: `format`, `requests`, `notices`.

    Args:
        path: The file.
        options: As for `info`.
        part: `skip`, `count`, `from_s`, `to_s`; by default the first ten requests.

    """
    which = {"count": 10} if part is None else part
    found: dict[str, Any] = json.loads(_native.trace_head(os.fspath(path), list(options), _part(which)))
    return found


def _part(part: dict[str, Any]) -> str:
    """A part of a trace as JSON.

    Raises:
        ConfigError: A key or a value is wrong.

    """
    for name, value in part.items():
        if name not in PARTS:
            raise _native.ConfigError(f"a part of a trace is told by {', '.join(PARTS)}, not by {name}")
        kind = PARTS[name]
        is_number = isinstance(value, kind) and not isinstance(value, bool)
        if value is not None and not (is_number and 0 <= value < math.inf):
            what = "a whole number" if kind is Integral else "a number of seconds"
            raise _native.ConfigError(f"{name} = {value!r}: expected {what}, at least 0")
    numbers = {name: PARTS[name] for name, value in part.items() if value is not None}
    return json.dumps(
        {name: (int if kind is Integral else float)(part[name]) for name, kind in numbers.items()}
    )


def format_of(path: str | os.PathLike[str]) -> str | None:
    """The format for this file name.

    >>> format_of("a.csv.gz"), format_of("a.nltr"), format_of("a.txt")
    ('csv', 'native', None)
    """
    return FORMATS.get(Path(os.fspath(path).removesuffix(".gz")).suffix)


def convert(  # noqa: PLR0913 - what is read, what of it, and what is written
    path: str | os.PathLike[str],
    to: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - the name of the option
    options: Sequence[str] = (),
    part: dict[str, Any] | None = None,
    watch: Watch | None = None,
    beside: Callable[[Path], object] | None = None,
) -> dict[str, Any]:
    """Writes a part of the trace at `path` into `to`: `requests`, `dropped` and `notices`.

    A failed conversion leaves nothing behind.

    Args:
        path: The trace.
        to: The new file; packed with gzip if its name ends in `.gz`.
        format: `native`, `csv` or `fio`; by default from the name `to`.
        options: As for `info`.
        part: As for `head`; by default the whole trace.
        watch: Called with the count of records read so far.
        beside: Called with the temporary file that takes the name `to` in the end.

    """
    chosen = format or format_of(to)
    if chosen is None:
        names = ", ".join(f"{suffix} ({name})" for suffix, name in FORMATS.items())
        raise _native.ConfigError(
            f"{to}: a name that ends in {names} tells the format, or an option names it"
        )
    check_writable(to)
    target = target_of(to)
    if target.exists() and target.samefile(path):
        raise _native.ConfigError(f"{to} would overwrite the trace that is read")
    new = target.with_name(f".{target.name}.{os.getpid()}.part")
    if beside is not None:
        beside(new)
    try:
        which, is_gzip = _part(part or {}), os.fspath(to).endswith(".gz")
        text = _native.trace_convert(
            os.fspath(path), list(options), which, os.fspath(new), chosen, is_gzip, watch
        )
        new.replace(target)
    except _native.NandlabError as error:
        # The compiled part writes to another file than the one people named.
        why = str(error)
        if not why.startswith(UNWRITTEN):
            raise
        raise OSError(f"cannot write {to}: {why.removeprefix(UNWRITTEN).lower()}") from None
    finally:
        new.unlink(missing_ok=True)
    found: dict[str, Any] = json.loads(text)
    return found

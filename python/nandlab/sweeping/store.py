"""Finished points on disk: a journal while a sweep runs, a Parquet file once it is whole.

The journal stands beside the Parquet file and gets a line for every finished point, so that a sweep
can go on after any kind of end. A line cut off in the middle is no point.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from nandlab._native import ConfigError
from nandlab.sweeping.signals import afterwards
from nandlab.sweeping.work import Done, as_json
from nandlab.writing.new_file import check_writable, target_of, write_whole
from nandlab.writing.parquet import require_polars

JOURNAL = ".journal"
_HEAD = {"nandlab": "points of a sweep", "form": 1}


class Store:
    """The finished points in a sweep with this `output`, by their experiments' fingerprints."""

    def __init__(
        self,
        output: str | os.PathLike[str],
        keys: Collection[str] | None,
        fresh: bool = False,
        mark: str = "",
    ) -> None:
        """Opens the existing files.

        Args:
            output: The Parquet file.
            keys: The sweep's points; None for a search, which does not know its points yet.
            fresh: Begin anew.
            mark: A search's mark: its files belong to it alone.

        Raises:
            OSError: With a sentence; it cannot be written, or read.
            ConfigError: The file holds something other than this sweep's points, and is not to be replaced;
                or another sweep writes there.

        """
        check_writable(output)
        self.mark = mark
        self._head = {**_HEAD, "search": mark} if mark else _HEAD
        self.output = target_of(output)
        self.journal = Path(f"{self.output}{JOURNAL}")
        check_writable(self.journal)
        self.found: dict[str, dict[str, Any]] = {}
        is_new = not self.journal.exists()
        self._file: BinaryIO = self.journal.open("a+b")
        try:
            _lock(self._file, output)
            self._end = self._load(keys, fresh)
        except BaseException:
            if is_new:
                self.journal.unlink(missing_ok=True)
            self._file.close()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Keeps the journal if it holds points missing in the Parquet file."""
        with contextlib.suppress(OSError):
            if self._end == 0:
                self.journal.unlink(missing_ok=True)
            self._file.close()

    def _load(self, keys: Collection[str] | None, fresh: bool) -> int:
        """Takes in the existing points; returns the end of the journal's whole lines."""
        if fresh:
            self._file.truncate(0)
            return 0
        known = _points_of_parquet(self.output, self.mark) if self.output.exists() else {}
        lines, end = self._lines()
        known.update(lines)
        strange = [key for key in known if keys is not None and key not in keys]
        if strange:
            points = "a point that is" if len(strange) == 1 else f"{len(strange)} points that are"
            raise ConfigError(
                f"{self.output} holds {points} not of this sweep: of other values, of another experiment, of "
                "a trace that changed since, or of another version of nandlab; take another file, or --fresh "
                "to replace it"
            )
        self.found = known
        return end

    def _lines(self) -> tuple[dict[str, dict[str, Any]], int]:
        """The journal's points, and their size in bytes."""
        self._file.seek(0)
        points: dict[str, dict[str, Any]] = {}
        end = 0
        for number, line in enumerate(self._file):
            if not line.endswith(b"\n"):
                # The process, or the machine, ended while it was written.
                break
            try:
                entry = json.loads(line)
                if number == 0 and entry != self._head:
                    if self.mark and entry.items() >= _HEAD.items():
                        raise _of_another(self.journal)
                    raise ValueError
                if number:
                    points[entry["key"]] = entry["record"]
            except (ValueError, KeyError, TypeError, AttributeError):
                raise ConfigError(
                    f"{self.journal}, line {number + 1}: this is no journal of a sweep; remove the file, or "
                    "take another --output"
                ) from None
            end += len(line)
        return points, end

    def add(self, key: str, record: dict[str, Any]) -> None:
        """Keeps a point for good.

        Raises:
            OSError: With a sentence; the points before it stay.

        """
        line = as_json({"key": key, "record": record}).encode() + b"\n"
        if self._end == 0:
            line = as_json(self._head).encode() + b"\n" + line
        # Whoever stops the sweep in this moment has the point, too.
        with afterwards():
            try:
                # An interrupted sweep may have left a partial line behind.
                self._file.truncate(self._end)
                self._file.write(line)
                self._file.flush()
                os.fsync(self._file.fileno())
            except OSError as error:
                with contextlib.suppress(OSError):
                    self._file.truncate(self._end)
                reason = (error.strerror or str(error)).lower()
                raise OSError(f"cannot write {self.journal}: {reason}") from None
            self._end += len(line)
            self.found[key] = record

    def finish(self, parquet: bytes) -> None:
        """Writes the Parquet file, and removes the journal.

        Raises:
            OSError: With a sentence; the journal then stays.

        """
        try:
            write_whole(self.output, parquet)
        except OSError as error:
            raise OSError(f"{error}; every point is kept in {self.journal}") from None
        self._end = 0


@contextlib.contextmanager
def kept(
    output: str | os.PathLike[str] | None,
    keys: Collection[str] | None,
    fresh: bool,
    done: dict[str, Done],
    mark: str = "",
) -> Iterator[Store | None]:
    """The store of an output, its points added to `done`; None without an output. Raises as `Store`."""
    if output is None:
        yield None
        return
    require_polars()
    with Store(output, keys, fresh, mark) as store:
        done.update((key, Done(0, record)) for key, record in store.found.items())
        yield store


def _lock(file: BinaryIO, output: str | os.PathLike[str]) -> None:
    try:
        import fcntl
    except ImportError:
        # Such a system has other locks; two sweeps on one file are a rare mistake.
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ConfigError(f"another sweep is writing {os.fspath(output)}") from None


def _of_another(path: Path) -> ConfigError:
    return ConfigError(
        f"{path} holds tries of another search: of another space, goal, limit, seed or experiment, "
        "of a trace that changed since, or of another version of nandlab or optuna; take another file, "
        "or --fresh to replace it"
    )


def _points_of_parquet(path: Path, mark: str) -> dict[str, dict[str, Any]]:
    """The points in a Parquet file of a sweep, or of the search with this mark; failed ones are left out."""
    import polars

    try:
        frame = polars.read_parquet(path, glob=False)
        if mark and ("search" not in frame.columns or any(frame["search"] != mark)):
            raise _of_another(path)
        frame = frame.select("key", "record")
    except polars.exceptions.PolarsError:
        raise ConfigError(
            f"{path} is there and was not written by a sweep; take another file, or --fresh to replace it"
        ) from None
    except OSError as error:
        raise OSError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    return {key: json.loads(record) for key, record in frame.iter_rows() if record is not None}

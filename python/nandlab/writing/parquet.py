"""Operation logs as Parquet files. The compiled module writes CSV; this turns it into Parquet, in pieces."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nandlab._native import NandlabError
from nandlab.writing.new_file import check_writable, target_of

if TYPE_CHECKING:
    import subprocess

NUMBERS = ("ready_ns", "end_ns", "die", "block", "page", "from_page", "lpn")
POLL_S = 0.1


def require_polars() -> None:
    """Says how to install polars for a frame or a Parquet file, before runs that would fail without it."""
    import importlib.util

    if importlib.util.find_spec("polars") is None:
        raise NandlabError("a frame or a Parquet file needs polars: pip install polars")


@contextlib.contextmanager
def csv_beside(path: str | None) -> Iterator[str | None]:
    """The file for the compiled module to write: `path`, or for Parquet a CSV, deleted at the end."""
    if path is None or not path.endswith(".parquet"):
        yield path if path is None else str(target_of(path))
        return
    import tempfile

    # A stopped run may still be writing there.
    place = tempfile.TemporaryDirectory(
        prefix=".nandlab-", dir=target_of(path).parent, ignore_cleanup_errors=True
    )
    with place as folder:
        csv = str(Path(folder) / "operations.csv")
        try:
            yield csv
        except NandlabError as error:
            if csv not in str(error):
                raise
            raise NandlabError(str(error).replace(csv, path)) from None


def to_parquet(csv: str, path: str, tick: Callable[[], object] | None = None) -> None:
    """Turns an operation log into Parquet, without ever holding it whole; `tick` is called meanwhile.

    Raises:
        OSError: With a sentence; `path` is then as it was.

    """
    import subprocess

    check_writable(path)
    whole = Path(csv).with_suffix(".parquet")
    # Once begun, polars does not notice Ctrl-C before its end; a process can be killed at any moment.
    command = [sys.executable, "-m", "nandlab.writing.parquet", csv, str(whole)]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as child:
        try:
            said = _wait(child, tick)
        except BaseException:
            child.kill()
            raise
    if child.returncode:
        why = (
            said.strip() or f"the conversion was ended by signal {-child.returncode}; is there enough memory?"
        )
        raise OSError(f"cannot write {path}: {why}")
    try:
        whole.replace(target_of(path))
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror}") from None


def _wait(child: subprocess.Popen[str], tick: Callable[[], object] | None) -> str:
    """Waits for the end of `child`; returns its stderr."""
    import subprocess

    while True:
        try:
            return child.communicate(timeout=POLL_S)[1]
        except subprocess.TimeoutExpired:
            if tick is not None:
                tick()


def _convert(csv: str, parquet: str) -> None:
    import polars

    types = dict.fromkeys(NUMBERS, polars.Int64)
    try:
        # Said, not guessed: a column may be empty for long.
        polars.scan_csv(csv, schema_overrides=types, infer_schema=False).sink_parquet(parquet)
    except OSError as error:
        sys.exit(error.strerror or str(error))
    except polars.exceptions.PolarsError as error:
        sys.exit(str(error).splitlines()[0])


if __name__ == "__main__":
    _convert(*sys.argv[1:])

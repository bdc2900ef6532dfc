"""Operation logs as Parquet files. The compiled module writes CSV; this turns it into Parquet, in pieces."""

from __future__ import annotations

import contextlib
import importlib.util
import tempfile
from collections.abc import Iterator
from pathlib import Path

from nandlab._native import NandlabError
from nandlab.new_file import check_writable

NUMBERS = ("ready_ns", "end_ns", "die", "block", "page", "from_page", "lpn")


def require_polars() -> None:
    """Says how to get what Parquet needs, before a run that would end without it."""
    if importlib.util.find_spec("polars") is None:
        raise NandlabError(
            "a Parquet file needs polars: pip install 'nandlab[parquet]', or take .csv or .csv.gz"
        )


@contextlib.contextmanager
def csv_beside(path: str | None) -> Iterator[str | None]:
    """The file that the compiled module writes: `path`, or for Parquet a CSV that is deleted at the end."""
    if path is None or not path.endswith(".parquet"):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix=".nandlab-", dir=Path(path).parent) as folder:
        yield str(Path(folder) / "operations.csv")


def to_parquet(csv: str, path: str) -> None:
    """Turns an operation log into Parquet, without ever holding all of it.

    Raises:
        OSError: With a sentence; `path` is then as it was.

    """
    import polars

    check_writable(path)
    whole = Path(csv).with_suffix(".parquet")
    types = dict.fromkeys(NUMBERS, polars.Int64)
    try:
        # Said, not guessed: a column may be empty for long.
        polars.scan_csv(csv, schema_overrides=types, infer_schema=False).sink_parquet(whole)
        whole.replace(path)
    except (OSError, polars.exceptions.PolarsError) as error:
        raise OSError(f"cannot write {path}: {error}") from None

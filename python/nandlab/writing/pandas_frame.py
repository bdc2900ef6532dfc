"""Columns as a frame of pandas, which nandlab itself does not use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas


def pandas_frame(columns: Mapping[str, Sequence[Any]]) -> pandas.DataFrame:
    """A frame with these columns.

    Raises:
        ImportError: pandas is not installed; the message names the extra that installs it.

    """
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_pandas() needs pandas: pip install 'nandlab[pandas]'") from error
    return pandas.DataFrame({name: list(values) for name, values in columns.items()})

"""A search's files: every try as Parquet, and the best experiments as TOML."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nandlab.sweeping.words import figure
from nandlab.writing.new_file import made_folder, write_whole
from nandlab.writing.toml_text import toml_text

if TYPE_CHECKING:
    from nandlab.searching import Search


def parquet_of(found: Search, mark: str) -> bytes:
    """The frame as a Parquet file, with the search's mark in each row: the same bytes for the same tries."""
    import polars

    whole = io.BytesIO()
    frame = found.frame.with_columns(polars.lit(mark).alias("search"))
    frame.write_parquet(whole, compression="zstd")
    return whole.getvalue()


def write_best(found: Search, folder: str | os.PathLike[str]) -> list[Path]:
    """Writes the front's experiments; raises as `Search.write_best`."""
    place = made_folder(folder)
    paths = []
    for number, point in enumerate(found.best, 1):
        values = [f"# {key} = {text}" for key, text in zip(point.values, point.texts, strict=True)]
        goals = [
            f"# {goal.name}: {figure(goal.name, value)}"
            for goal, value in zip(found.goals, found.figures(point), strict=True)
        ]
        head = f"# Try {found.points.index(point) + 1} of {len(found.points)}, seed {found.seed}."
        tables = _moved(point.experiment.resolve(), Path(point.experiment.folder), place)
        text = "\n".join([head, *values, *goals, "", toml_text(tables)])
        path = place / f"best-{number}.toml"
        write_whole(path, text.encode())
        paths.append(path)
    return paths


PATHS = ("path", "from_state", "profile", "directory")
"""Keys whose values may be paths."""


def _moved(tree: Any, source: Path, target: Path) -> Any:  # noqa: ANN401 - a TOML value
    """The tables with relative paths that start from another folder."""
    if isinstance(tree, list):
        return [_moved(each, source, target) for each in tree]
    if not isinstance(tree, dict):
        return tree
    moved = {}
    for key, value in tree.items():
        is_path = key in PATHS and isinstance(value, str) and not Path(value).is_absolute()
        if is_path and value and (source / value).exists():
            moved[key] = os.path.relpath(source / value, target)
        else:
            moved[key] = _moved(value, source, target)
    return moved

"""Self-contained HTML reports: one file, nothing loaded from anywhere.

Vega-Lite draws each chart, through vl-convert, as an SVG for paper and for readers without scripts. Beside
it is its specification, from which the page's script (`live.js`) draws it in the page's width, with tooltips
and zoom. Colours are CSS variables, so that one drawing serves light, dark and paper.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nandlab.report.theme import require_vl_convert
from nandlab.writing.new_file import write_page

if TYPE_CHECKING:
    from nandlab.record.record import Record


def write_run(result: Record, path: str | os.PathLike[str], command: str | None = None) -> None:
    """Writes the report of one run.

    Raises:
        OSError: With a sentence; an older file at `path` is then as it was.

    """
    require_vl_convert()
    from nandlab.report.run import run_page

    write_page(path, run_page(result, command))


def write_comparison(
    runs: Sequence[tuple[dict[str, str], Record | str]],
    path: str | os.PathLike[str],
    command: str | None = None,
    repeats: Sequence[Sequence[Record]] = (),
) -> None:
    """Writes the report of several runs, each with the labels that set it apart from the others.

    Args:
        runs: Labels, such as {"OP": "7 %"}, and result of each, or where there is none, the reason in words.
            At least one has a result.
        path: The file; an old one is replaced once the new one is whole.
        command: The command line that remakes the report, printed in it.
        repeats: For each run, its results with other seeds: figures are then means with an interval.

    Raises:
        OSError: With a sentence; an older file at `path` is then as it was.

    """
    require_vl_convert()
    from nandlab.report.comparison import comparison_page

    write_page(path, comparison_page(runs, command, repeats))

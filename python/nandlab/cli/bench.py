"""`nandlab bench`: how fast the simulator is on this machine."""

from __future__ import annotations

import json
from typing import Any

import click

from nandlab.cli.background import interruptible
from nandlab.cli.example import example
from nandlab.cli.options import json_option
from nandlab.cli.output import print_json, print_table, say


@example("nandlab bench")
@click.command("bench")
@click.argument("names", metavar="[NAME...]", nargs=-1)
@click.option("--quick", is_flag=True, help="Small states and few repetitions, as a trial.")
@json_option
def command(names: tuple[str, ...], quick: bool, as_json: bool) -> None:
    """Measure how fast nandlab is on this machine.

    The command measures the hot loops and the limits of the machine, or NAME alone.
    """
    from nandlab import __version__

    figures = interruptible(lambda: _figures(names, quick=quick))
    if as_json:
        print_json({"version": __version__, "quick": quick, "figures": figures})
    else:
        _print(figures)


def _figures(names: tuple[str, ...], *, quick: bool) -> list[dict[str, Any]]:
    from nandlab import _native
    from nandlab.sweeping import bench

    loops = [name for name in names if name != bench.NAME]
    figures = json.loads(_native.bench(loops, quick, say)) if loops or not names else []
    if bench.NAME in names or not names:
        figures.append(bench.bench(quick=quick, tell=say))
    return figures


def _print(figures: list[dict[str, Any]]) -> None:
    from nandlab.writing.units import size

    rows = [
        [
            _words(figure["name"]),
            f"{figure['value']:,.1f}",
            f"{figure['lowest']:,.1f} to {figure['highest']:,.1f}",
            figure["unit"],
            size(figure["state_bytes"]),
            _limit(figure["of_limit"], figure["limit"]),
            ", ".join(f"{_words(key)} {value}" for key, value in figure["params"].items()),
        ]
        for figure in figures
    ]
    titles = ["bench", "median", "range", "unit", "state", "share of the machine's limit", "with"]
    print_table(rows, titles, right=[1, 4])


def _limit(share: float | None, bench: str | None) -> str:
    from nandlab.writing.units import percent

    return "" if share is None or bench is None else f"{percent(share)} of {_words(bench)}"


def _words(name: str) -> str:
    return name.replace("_", " ")

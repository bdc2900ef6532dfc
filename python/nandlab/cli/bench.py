"""`nandlab bench`: how fast the simulator is on this machine."""

from __future__ import annotations

import json
import threading
from typing import Any

import click

from nandlab.cli import DONE, FAILED
from nandlab.cli.options import json_option
from nandlab.cli.output import print_json, print_table, say


@click.command("bench")
@click.argument("names", metavar="[NAME...]", nargs=-1)
@click.option("--quick", is_flag=True, help="Small states and few repetitions: to see that it works.")
@json_option
def command(names: tuple[str, ...], quick: bool, as_json: bool) -> int:
    """Measure the hot loops, and the machine's own limits beside them."""
    from nandlab import __version__, _native

    ended: dict[str, Any] = {}

    def work() -> None:
        try:
            ended["figures"] = json.loads(_native.bench(list(names), quick, say))
        except BaseException as error:  # noqa: BLE001 - handed to the main thread
            ended["error"] = error

    # In a thread of its own, so that Ctrl-C is answered at once; the process then ends without it.
    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    try:
        while worker.is_alive():
            worker.join(0.1)
    except KeyboardInterrupt:
        say("stopped before all was measured")
        return FAILED
    if "error" in ended:
        raise ended["error"]
    if as_json:
        print_json({"version": __version__, "quick": quick, "figures": ended["figures"]})
    else:
        _print(ended["figures"])
    return DONE


def _print(figures: list[dict[str, Any]]) -> None:
    from nandlab.units import size

    rows = [
        [
            figure["name"],
            f"{figure['value']:,.1f}",
            figure["unit"],
            size(figure.get("state_bytes")),
            ", ".join(
                f"{key.replace('_', ' ')} {value}" for key, value in (figure.get("params") or {}).items()
            ),
        ]
        for figure in figures
    ]
    print_table(rows, ["bench", "value", "unit", "state", "with"], right=[1, 3])

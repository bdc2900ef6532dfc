"""Measures every bench once and writes the table on docs/performance.md.

    python docs/performance.py            measures this machine, over twenty minutes, and writes the table
    python docs/performance.py FILE       takes what `nandlab bench --json` wrote into FILE

All rows come from one run on one machine. Let nothing else run meanwhile: other work on both cores halves
the figures.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "performance.md"
MARKS = ("<!-- benches -->", "<!-- end of benches -->")
TITLES = "| bench | setup | unit | rate | range |\n|---|---|---|---|---|"


def measured() -> dict[str, Any]:
    """All benches, measured now."""
    command = [sys.executable, "-m", "nandlab", "bench", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def setup(params: dict[str, str]) -> str:
    """What differs between benches: capacity, FTL, dies and depth beyond one, spare space other than 28 %."""
    parts = [params.get(key, "") for key in ("capacity", "ftl", "buffer", "workload", "trace")]
    for key, unit in (("dies", "dies"), ("queue_depth", "requests outstanding")):
        if params.get(key, "1") != "1":
            parts.append(f"{params[key]} {unit}")
    known = {
        "capacity",
        "ftl",
        "buffer",
        "workload",
        "trace",
        "dies",
        "queue_depth",
        "over_provisioning",
        "pages_per_block",
    }
    parts += [f"{key.replace('_', ' ')} {value}" for key, value in params.items() if key not in known]
    return "; ".join(part for part in parts if part).replace("|", r"\|")


def table(found: dict[str, Any]) -> str:
    """The rows, in the order of the benches."""
    rows = [TITLES]
    for each in found["figures"]:
        span = f"{each['lowest']:,.1f}-{each['highest']:,.1f}" if each["lowest"] is not None else ""
        cells = [
            each["name"].replace("_", " "),
            setup(each["params"]),
            each["unit"],
            f"{each['value']:,.1f}",
            span,
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def main() -> None:
    """Writes the table."""
    found = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")) if len(sys.argv) > 1 else measured()
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(MARKS[0])
    _, after = rest.split(MARKS[1])
    load = f"Load of the machine behind the run: {os.getloadavg()[0]:.1f}."
    PAGE.write_text(f"{before}{MARKS[0]}\n{table(found)}\n{MARKS[1]}{after}", encoding="utf-8")
    print(load)


if __name__ == "__main__":
    main()

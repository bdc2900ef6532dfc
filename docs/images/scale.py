"""Draws docs/images/scale.png and prints its table, in docs/performance.md: `python docs/images/scale.py`.

It measures this machine for some minutes; at 1 TiB it needs 3 GB of memory.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
GIB = (1, 4, 16, 64, 256, 1024)
SPARE = 0.28
FEW = 2_000_000


def many_of(gib: int) -> int:
    """Requests in the longer run; at 1 TiB the start takes a minute, and they have to be seen beside it."""
    return 20_000_000 if gib < 1024 else 100_000_000


WORK = """
seed = 1
[workload.uniform]
requests = {requests}
size = 4096
[ftl.page]
[precondition]
fill = "sequential"
overwrites = 0.5
[device]
profile = "generic"
capacity = "{gib} GiB"
over_provisioning = {spare}
model = "counting"
[device.shape]
pages_per_block = 256
"""


class Spent(NamedTuple):
    """What a run took."""

    seconds: float
    """User and system time."""
    peak: int
    """Bytes of memory."""
    waf: float


def run(gib: int, requests: int) -> Spent:
    """A run of its own process."""
    with tempfile.TemporaryDirectory() as folder:
        file, found = Path(folder) / "work.toml", Path(folder) / "record.json"
        file.write_text(WORK.format(requests=requests, gib=gib, spare=SPARE))
        with found.open("w") as out:
            child = subprocess.Popen(
                [sys.executable, "-m", "nandlab", "run", str(file), "--json"],
                stdout=out,
                stderr=subprocess.DEVNULL,
            )
            _, status, used = os.wait4(child.pid, 0)
        if status:
            raise SystemExit(f"{gib} GiB failed with status {status}")
        record = json.loads(found.read_text())
    return Spent(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, record["waf"])


def main() -> None:
    """Measures, prints the table and draws the picture."""
    print("| Exported | start: fill and half an overwrite | programs | peak memory | a physical page |")
    print("|---|---|---|---|---|")
    rows = []
    for gib in GIB:
        requests = many_of(gib)
        few, many = run(gib, FEW), run(gib, requests)
        rate = (requests * many.waf - FEW * few.waf) / (many.seconds - few.seconds) / 1e6
        pages = gib * (1 + SPARE) * (1 << 18)
        print(
            f"| {gib} GiB | {few.seconds:.1f} s | {rate:.1f} M/s | {many.peak / 1e6:,.0f} MB "
            f"| {many.peak / pages:.1f} bytes |",
            flush=True,
        )
        rows += [
            (gib, "peak memory (MB)", many.peak / 1e6),
            (gib, "million programs a second", rate),
        ]
    draw(rows)


def draw(rows: list[tuple[int, str, float]]) -> None:
    """The picture; a child's peak memory is never below what its parent had, so this one imports late."""
    import altair as alt
    import polars as pl

    from nandlab.report import theme

    frame = pl.DataFrame(rows, schema={"gib": int, "what": str, "value": float}, orient="row")
    x = alt.X(
        "gib:Q",
        title="exported (GiB)",
        scale=alt.Scale(type="log", domain=[1, 1024]),
        axis=alt.Axis(values=list(GIB), labelFlush=False),
    )
    panels = [
        alt.Chart(frame.filter(pl.col("what") == what), width=320, height=220)
        .mark_line(point=True, color=theme.COLOURS[0])
        .encode(x=x, y=alt.Y("value:Q", title=what, scale=scale))
        for what, scale in (
            ("peak memory (MB)", alt.Scale(type="log")),
            ("million programs a second", alt.Scale(zero=True)),
        )
    ]
    (HERE / "scale.png").write_bytes(theme.png(alt.hconcat(*panels).to_dict()))


if __name__ == "__main__":
    main()

"""Draws docs/images/sweep-*.png and profile.svg with the commands in docs/comparing.md and docs/buffers.md.

`python docs/images/commands.py` runs the sweep's 24 points.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SWEEP = """sweep experiments/page-op7.toml --vary device.over_provisioning=0.07..0.5:8
    --vary device.shape.page_bytes=4096,8192,16384 --goal waf --goal ram.total_bytes"""
PROFILE = "profile workloads/sqlite/wal.csv.gz --intervals 100,1000,10000"
DRAWN = {"waf.png": "sweep-curves.png", "pareto.png": "sweep-front.png", "profile.svg": "profile.svg"}
"""What the commands draw, and its name in the docs."""


def main() -> None:
    """Draws them."""
    with tempfile.TemporaryDirectory() as folder:
        for command in (SWEEP, PROFILE):
            words = [sys.executable, "-m", "nandlab", *command.split(), "--plots", folder]
            subprocess.run(words, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
        for drawn, name in DRAWN.items():
            shutil.copy(Path(folder) / drawn, HERE / name)


if __name__ == "__main__":
    main()

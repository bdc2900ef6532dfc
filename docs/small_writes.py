"""Measures who gathers small writes under `nandlab mount`, and prints the table of docs/disks.md.

    python docs/small_writes.py           needs FUSE, git, tar and sqlite3; two minutes

Each cell is a fresh image of 256 MiB, made and mounted for one program. The figures depend a little on
the moments at which the kernel hands pages over.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

NANDLAB = [sys.executable, "-m", "nandlab"]
ROWS = {
    "YAFFS, writeback": (["fs=yaffs"], "writeback"),
    "YAFFS, through": (["fs=yaffs"], "through"),
    "MiNV, writeback": (["fs=minv"], "writeback"),
    "MiNV, through": (["fs=minv"], "through"),
    "FAT, writeback": (["fs=fat", "ftl=page"], "writeback"),
    "FAT, through": (["fs=fat", "ftl=page"], "through"),
}


def made_tree(folder: Path) -> None:
    """402 files of up to 12 KB in 20 folders."""
    draw = random.Random(1)
    for number in range(402):
        below = folder / f"d{number % 20}"
        below.mkdir(parents=True, exist_ok=True)
        (below / f"file{number}").write_bytes(draw.randbytes(draw.randrange(12_000)))


def sqlite(folder: Path, _: Path) -> None:
    """200 transactions of a row each."""
    rows = "".join(f"insert into t values ({number}, hex(randomblob(50)));" for number in range(200))
    subprocess.run(["sqlite3", folder / "a.db", f"create table t (a, b); {rows}"], check=True)


def untar(folder: Path, tree: Path) -> None:
    """The tree from an archive."""
    subprocess.run(["tar", "-xf", tree.with_suffix(".tar"), "-C", folder], check=True)


def clone(folder: Path, tree: Path) -> None:
    """The tree from a repository with one commit."""
    source = f"file://{tree.with_suffix('.git')}"
    subprocess.run(["git", "clone", "--quiet", source, folder / "clone"], check=True)


PROGRAMS: dict[str, Callable[[Path, Path], None]] = {"SQLite": sqlite, "untar": untar, "git clone": clone}


def prepared(tree: Path) -> None:
    """The tree, its archive and its repository."""
    made_tree(tree)
    subprocess.run(["tar", "-cf", tree.with_suffix(".tar"), "-C", tree, "."], check=True)
    git: list[str | Path] = ["git", "-C", tree, "-c", "user.name=n", "-c", "user.email=n"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "All"], check=True)
    subprocess.run(["git", "clone", "--quiet", "--bare", tree, tree.with_suffix(".git")], check=True)


def programs(sets: list[str], cache: str, work: Callable[[Path, Path], None], tree: Path) -> int:
    """Flash programs of that work, the unmount included."""
    with tempfile.TemporaryDirectory() as name:
        image, folder = Path(name) / "files.img", Path(name) / "dir"
        folder.mkdir()
        options = [part for one in ("device.capacity=256MiB", *sets) for part in ("--set", one)]
        subprocess.run([*NANDLAB, "disk", "create", image, *options], check=True, capture_output=True)
        mount: list[str | Path] = [*NANDLAB, "mount", image, folder, "--json", "--cache", cache]
        with subprocess.Popen(mount, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as shown:
            try:
                while not folder.is_mount():
                    if shown.poll() is not None:
                        raise SystemExit("the mount ended at once")
                    time.sleep(0.05)
                work(folder, tree)
            finally:
                shown.send_signal(signal.SIGTERM)
                told = shown.communicate(timeout=60)[0]
    found: int = json.loads(told)["flash"]["programs"]
    return found


def main() -> None:
    """Prints the table, a row when it is measured."""
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name) / "tree"
        prepared(tree)
        print(f"| | {' | '.join(PROGRAMS)} |\n|{'---|' * (len(PROGRAMS) + 1)}")
        for row, (sets, cache) in ROWS.items():
            cells = [f"{programs(sets, cache, work, tree):,}" for work in PROGRAMS.values()]
            print(f"| {row} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()

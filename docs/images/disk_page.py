"""Draws docs/images/disk.png: the page of a served disk while fio and SQLite write to an ext4 on it.

`python docs/images/disk_page.py` needs a Chromium, fio, sqlite3, e2fsprogs, fuse2fs and fuse3.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "python" / "tests"))

import browser  # noqa: E402 - a module of the tests

WIDTH, HEIGHT = 984, 1240
SECONDS = 45
"""From the first write to the picture: the drive is then written several times over."""
TABLE = "create table if not exists t (a); "
INSERTS = f"{TABLE}insert into t select hex(randomblob(500)) from generate_series(1, 20);"
FIO = "--name=t --rw=randwrite --bs=4k --size=120m --time_based --runtime=300 --fsync=32 --filename={}"


def main() -> None:
    """Draws it."""
    page = browser.Browser(browser.find())
    with (
        tempfile.TemporaryDirectory() as folder,
        _served(Path(folder)) as (address, mounted),
        _writing(mounted),
    ):
        page.open(address, WIDTH, HEIGHT)
        time.sleep(SECONDS)
        page.screenshot(HERE / "disk.png")
    page.close()


@contextlib.contextmanager
def _served(folder: Path) -> Iterator[tuple[str, Path]]:
    """A disk of 256 MiB with an ext4 on it: the address of its page, and where the file system is mounted."""
    image, raw, mounted = (folder / name for name in ("my.img", "raw", "mounted"))
    for each in (raw, mounted):
        each.mkdir()
    nandlab = [sys.executable, "-m", "nandlab", "disk"]
    sizes = ["--set", "ftl=page", "--set", "device.capacity=256 MiB"]
    subprocess.run([*nandlab, "create", *sizes, image], check=True)
    served = ["--fuse", raw, "--http", "127.0.0.1:8439", "--regions", "auto"]
    server = subprocess.Popen([*nandlab, "serve", image, *served], stdout=subprocess.DEVNULL)
    try:
        while not (raw / "disk").exists():
            time.sleep(0.1)
        subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", raw / "disk"], check=True)
        subprocess.run(["fuse2fs", "-o", "fakeroot,rw", raw / "disk", mounted], check=True)
        try:
            yield "http://127.0.0.1:8439/", mounted
        finally:
            subprocess.run(["fusermount3", "-u", "-z", mounted], check=True)
            time.sleep(2)
    finally:
        server.terminate()
        server.wait()


@contextlib.contextmanager
def _writing(mounted: Path) -> Iterator[None]:
    """Has fio write at random addresses of a file, and SQLite one transaction after the other."""
    fio = FIO.format(mounted / "file").split()
    inserts = f"while true; do sqlite3 {mounted}/my.db '{INSERTS}'; done"
    writers = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, process_group=0)
        for command in (["fio", *fio], ["sh", "-c", inserts])
    ]
    try:
        yield
    finally:
        for writer in writers:
            subprocess.run(["kill", "--", f"-{writer.pid}"], check=True)
            writer.wait()


if __name__ == "__main__":
    main()

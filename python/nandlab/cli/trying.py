"""`nandlab disk try`: one command on an ext4 file system on a simulated device, without root."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nandlab.cli import FAILED, INTERRUPTED
from nandlab.cli.background import interruptible, unfinished
from nandlab.cli.disk_output import print_stats, text_of
from nandlab.cli.example import example
from nandlab.cli.options import EXPERIMENT, Pair, json_option, sets_option
from nandlab.cli.output import print_json, say
from nandlab.cli.own_cost import between

if TYPE_CHECKING:
    from nandlab._native import Disk

DEVICE = [("ftl", "page"), ("device.capacity", "256 MiB")]
"""The device, as far as neither a file nor `--set` says otherwise."""
MOUNT_S = 20.0
"""Seconds that fuse2fs may take to mount."""
BUSY_S = 0.4
"""Seconds that the command's last processes have to leave the file system."""
END_S = 20.0
"""Seconds that fuse2fs has to write what it holds."""
PACKAGES = {"mke2fs": "e2fsprogs", "e2fsck": "e2fsprogs", "fuse2fs": "fuse2fs"}


@example('nandlab disk try -- sqlite3 my.db "create table t (a)"')
@click.command("try", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("words", nargs=-1, type=click.UNPROCESSED, required=True, metavar="-- COMMAND...")
@click.option("--file", type=EXPERIMENT, help="The experiment that describes the device.")
@sets_option
@click.option("--pace", is_flag=True, help="Answer when a request's simulated time is over.")
@click.option(
    "--record", "trace", type=click.Path(), metavar="FILE.nltr", help="Keep every request in a file."
)
@json_option
def command(
    words: Sequence[str], file: str | None, sets: list[Pair], pace: bool, trace: str | None, as_json: bool
) -> None:
    """Run a command in a file system on a simulated device.

    The file system is ext4, and no root is needed. The device has a page map and 256 MiB unless `--set` or a
    file says otherwise. The command starts in the root of the new file system; its writes elsewhere are not
    counted. mke2fs, e2fsck and fuse2fs must be installed.

    Ctrl-C ends the command. The cost so far is then printed, and the exit status is 130.
    """
    programs = _programs()
    with tempfile.TemporaryDirectory(prefix="nandlab-try-") as folder:
        at = Path(folder)
        place = _Place(programs, at / "image", at / "device", at / "files")
        place.device.mkdir()
        place.files.mkdir()
        with _replaced(trace) as part:
            found = _try(place, words, (file, sets), pace, part)
    if as_json:
        print_json(found)
    else:
        _print(words, found)
    if found["try"]["interrupted"]:
        say("Ctrl-C ended the command")
        raise SystemExit(INTERRUPTED)
    if found["try"]["status"] != 0:
        say(f"the command ended with status {found['try']['status']}")
        raise SystemExit(FAILED)


@contextlib.contextmanager
def _replaced(trace: str | None) -> Iterator[str | None]:
    """A temporary name beside `trace`; the finished file takes the name `trace`."""
    if trace is None:
        yield None
        return
    part = Path(trace).with_name(f"{Path(trace).name.removesuffix('.nltr')}.{os.getpid()}.part.nltr")
    unfinished.add(part)
    try:
        yield str(part)
        part.replace(trace)
    finally:
        part.unlink(missing_ok=True)
        unfinished.discard(part)


def _programs() -> dict[str, str]:
    """The programs' paths; the folders for root's programs are searched, too."""
    from nandlab._native import NandlabError

    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    found = {name: shutil.which(name, path=path) for name in PACKAGES}
    missing = [name for name, place in found.items() if place is None]
    unmount = shutil.which("fusermount3", path=path) or shutil.which("fusermount", path=path)
    if unmount is None:
        missing.append("fusermount3")
    if missing:
        packages = " ".join(sorted({PACKAGES.get(name, "fuse3") for name in missing}))
        raise NandlabError(f"{', '.join(missing)} not found: on Debian and Ubuntu, install {packages}")
    places = {**found, "fusermount": unmount}
    return {name: place for name, place in places.items() if place}


@dataclasses.dataclass(frozen=True)
class _Place:
    """The programs, and the folder they work in. An image is locked while a `Disk` for it exists."""

    programs: dict[str, str]
    image: Path
    device: Path
    files: Path

    @property
    def disk(self) -> str:
        return str(self.device / "disk")


def _try(
    place: _Place, words: Sequence[str], device: tuple[str | None, list[Pair]], pace: bool, trace: str | None
) -> dict[str, Any]:
    from nandlab import _native

    file, sets = device
    if file is None:
        sets = [*((key, value) for key, value in DEVICE if not _is_set(key, sets)), *sets]
    for notice in interruptible(lambda: _native.disk_create(text_of(file, sets), str(place.image))):
        say(f"note: {notice}")
    kind, regions = _make_file_system(place)
    found, ended = _measure(place, words, pace, trace, regions)
    clean = _is_clean(place)
    found["try"] = {"command": list(words), **ended, "file_system": kind, "file_system_is_clean": clean}
    return found


def _make_file_system(place: _Place) -> tuple[str, str]:
    """Makes an ext4; returns its kind and its region lines."""
    from nandlab import _native

    page_bytes = json.loads(_native.disk_info(str(place.image)))["page_bytes"]
    # Blocks as large as a flash page: writing smaller ones would mean reading the rest of the page.
    block_bytes = str(min(max(page_bytes, 1024), 65536))
    disk = _native.Disk(str(place.image))
    with _opened(disk, place.device):
        _run([place.programs["mke2fs"], "-q", "-F", "-t", "ext4", "-b", block_bytes, place.disk])
        found = disk.follow_regions()
    if found is None:
        raise _native.NandlabError("mke2fs made a file system whose superblock cannot be read")
    return found


def _measure(
    place: _Place, words: Sequence[str], pace: bool, trace: str | None, regions: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The disk's record from before the mount to after it, the command's end, and its cost."""
    from nandlab import _native

    page_bytes = json.loads(_native.disk_info(str(place.image)))["page_bytes"]
    disk = _native.Disk(str(place.image), pace)
    disk.regions(regions)
    if trace is not None:
        disk.record(trace)
    with _opened(disk, place.device):
        opened = json.loads(disk.stats())
        with _mounted(place):
            mounted = json.loads(disk.stats())
            begun = time.monotonic()
            interrupted, status = False, INTERRUPTED
            try:
                status = subprocess.run(list(words), cwd=place.files, check=False).returncode
            except OSError as error:
                raise _native.NandlabError(f"{words[0]} cannot be run: {error.strerror}") from None
            except KeyboardInterrupt:
                interrupted = True
            wall_s = time.monotonic() - begun
        found: dict[str, Any] = json.loads(disk.stats())
    parts = {
        "mount": between(opened, mounted, page_bytes),
        "own": between(mounted, found, page_bytes),
    }
    return found, {"status": status, "interrupted": interrupted, "wall_s": wall_s, **parts}


def _is_clean(place: _Place) -> bool:
    """True if e2fsck finds no error. Neither counts nor trace have its reads: the disk is opened anew."""
    from nandlab import _native

    with _opened(_native.Disk(str(place.image)), place.device):
        check = [place.programs["e2fsck"], "-f", "-n", place.disk]
        return subprocess.run(check, capture_output=True, check=False).returncode == 0


def _is_set(key: str, sets: list[Pair]) -> bool:
    return any(other == key or other.startswith(f"{key}.") for other, _ in sets)


@contextlib.contextmanager
def _opened(disk: Disk, at: Path) -> Iterator[None]:
    """The disk as a file in the folder `at`; closed at the end."""
    try:
        disk.fuse(str(at))
        yield
    finally:
        disk.close()


@contextlib.contextmanager
def _mounted(place: _Place) -> Iterator[None]:
    """The file system in the folder `place.files`."""
    from nandlab._native import NandlabError

    inside = str(place.files)
    mount = [place.programs["fuse2fs"], "-f", "-o", "fakeroot", place.disk, inside]
    # Ctrl-C is for the command: the file system is unmounted after it.
    with subprocess.Popen(
        mount, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as server:
        try:
            end = time.monotonic() + MOUNT_S
            while not os.path.ismount(inside):
                if server.poll() is not None or time.monotonic() > end:
                    server.kill()
                    output = server.stdout.read().strip() if server.stdout else ""
                    raise NandlabError(f"fuse2fs cannot mount the file system: {output or 'no reason given'}")
                time.sleep(0.005)
            yield
        finally:
            _unmount(server, place.programs["fusermount"], inside)


def _unmount(server: subprocess.Popen[str], fusermount: str, inside: str) -> None:
    """Ends fuse2fs, also while it mounts, or while a process of the command still stands in its folder."""
    end = time.monotonic() + BUSY_S
    while server.poll() is None:
        done = subprocess.run([fusermount, "-u", inside], capture_output=True, check=False)
        if done.returncode == 0:
            break
        if time.monotonic() > end:
            subprocess.run([fusermount, "-u", "-z", inside], capture_output=True, check=False)
            # Now it writes everything to the disk, and ends.
            server.terminate()
            break
        time.sleep(0.02)
    try:
        server.wait(END_S)
    except subprocess.TimeoutExpired:
        server.kill()


def _run(words: list[str]) -> None:
    from nandlab._native import NandlabError

    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NandlabError(f"{Path(words[0]).name} failed: {(done.stderr or done.stdout).strip()}")


def _print(words: Sequence[str], found: dict[str, Any]) -> None:
    from nandlab.writing import units

    click.echo()
    click.echo(f"{' '.join(words)} took {found['try']['wall_s']:.2f} s; on the simulated device:")
    own, mount = found["try"]["own"], found["try"]["mount"]
    print_stats(own)
    click.echo()
    again = own["erased_again"] + mount["erased_again"]
    programs, erases = mount["flash"]["programs"], mount["flash"]["erases"]
    click.echo(
        f"Not in these counts: the mount of the file system, with {units.counted(programs, 'program')} and "
        f"{units.counted(erases, 'erase')}, and {units.counted(again, 'erase')} of blocks that looked erased "
        "when the device was opened"
    )
    if not found["try"]["file_system_is_clean"]:
        say("warning: e2fsck finds errors in the file system")

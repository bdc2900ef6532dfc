"""File systems of the kernel on every FTL: ext4 and XFS on a loop device over `nandlab disk serve --fuse`.

Mounts take root and a loop device. Programs that nobody here wrote say what is right: e2fsck, xfs_repair,
diff, SQLite and fio.
"""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from programs import process, program

import nandlab

# The kernel mounts a file system for root alone, from a loop device; no machine need give a test both.
pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/dev/loop-control").exists() or shutil.which("fusermount3") is None,
    reason="root, loop devices or fusermount3 are not there",
)

MAKE = {
    "ext4": ["mkfs.ext4", "-q", "-F", "-b", "4096"],
    "xfs": ["mkfs.xfs", "-q", "-f"],
}
CHECK = {"ext4": ["e2fsck", "-fn"], "xfs": ["xfs_repair", "-n"]}
FTLS = [name for name in dir(nandlab.ftl) if not name.startswith("_")]
QUICK = [("page", "ext4"), ("fast", "xfs")]


def pairs():
    """Two pairs of an FTL and a file system, and all of them where long tests are asked for."""
    every = [(ftl, fs) for ftl in FTLS for fs in MAKE]
    return [
        pytest.param(*pair, marks=[] if pair in QUICK else [pytest.mark.long])
        for pair in sorted(every, key=str)
    ]


@contextlib.contextmanager
def loop_device(image):
    """The disk of the image as a device of the kernel."""
    folder = image.parent / "fuse"
    folder.mkdir(exist_ok=True)
    with process("disk", "serve", image, "--fuse", folder, says="Ctrl-C ends it") as served:
        device = program("losetup", "--find", "--show", "--direct-io=on", folder / "disk").strip()
        try:
            yield device, served
        finally:
            subprocess.run(["losetup", "--detach", device], capture_output=True, check=False)
            if served.poll() is None:
                served.send_signal(signal.SIGTERM)
                served.communicate(timeout=100)
            subprocess.run(["fusermount3", "-u", str(folder)], capture_output=True, check=False)


@contextlib.contextmanager
def mounted(device, folder):
    folder.mkdir(exist_ok=True)
    program("mount", device, folder)
    try:
        yield folder
    finally:
        program("umount", folder)


def created(nandlab_command, folder, ftl, fs):
    """An image large enough for the file system."""
    image = folder / "my.img"
    # MTBS keeps half of the device in reserve; XFS takes no less than 300 MB.
    spare = 1.2 if ftl == "mtbs" else 0.28
    capacity = "64MiB" if fs == "ext4" else "320MiB"
    sets = [f"ftl={ftl}", f"device.capacity={capacity}", f"device.over_provisioning={spare}"]
    ended = nandlab_command("disk", "create", image, *[part for one in sets for part in ("--set", one)])
    assert ended.status == 0, ended.err
    return image


@pytest.mark.parametrize(("ftl", "fs"), pairs())
def test_programs_on_a_file_system_of_the_kernel(nandlab_command, tmp_path, ftl, fs):
    tree = tmp_path / "tree"
    for number in range(50):
        below = tree / f"d{number % 5}"
        below.mkdir(parents=True, exist_ok=True)
        (below / f"file{number}").write_bytes(os.urandom(number * 1500))
    image = created(nandlab_command, tmp_path, ftl, fs)
    with loop_device(image) as (device, _):
        program(*MAKE[fs], device)
        with mounted(device, tmp_path / "mnt") as folder:
            program("cp", "-a", tree, folder / "tree")
            for mode in ("wal", "delete"):
                rows = "with recursive c(x) as (select 1 union all select x + 1 from c where x < 2000)"
                script = f"pragma journal_mode={mode}; pragma synchronous=extra; create table t(a);"
                program(
                    "sqlite3", folder / f"{mode}.db", f"{script} {rows} insert into t select hex(x) from c;"
                )
            job = ["--rw=randwrite", "--bs=4k", "--size=8M", "--verify=crc32c", "--verify_state_save=0"]
            program("fio", "--name=j", f"--directory={folder}", "--fsync=32", *job, "--minimal", cwd=tmp_path)
            program("rm", "-rf", folder / "tree" / "d3")
            program("fstrim", folder)
    shutil.rmtree(tree / "d3")
    with loop_device(image) as (device, _):
        program(*CHECK[fs], device)
        with mounted(device, tmp_path / "mnt") as folder:
            program("diff", "-r", tree, folder / "tree")
            for mode in ("wal", "delete"):
                question = "pragma integrity_check; select count(*) from t;"
                assert program("sqlite3", folder / f"{mode}.db", question).split() == ["ok", "2000"]
    assert nandlab_command("disk", "check", image).status == 0


COMMITS = """
import sqlite3, sys
base = sqlite3.connect(sys.argv[1], isolation_level=None)
base.execute(f"pragma journal_mode={sys.argv[2]}")
base.execute("pragma synchronous=extra")
base.execute("create table if not exists t(number integer primary key, filler blob)")
number = base.execute("select coalesce(max(number), 0) from t").fetchone()[0]
while True:
    number += 1
    base.execute("insert into t values (?, randomblob(?))", (number, 1 + number * 137 % 9000))
    print(number, flush=True)
"""
"""Prints the number of each row once it is committed."""


def committed_until_a_kill(device, server, folder, mode, draw):
    """The last row that SQLite committed before the server was killed; at least one."""
    folder.mkdir(exist_ok=True)
    program("mount", device, folder)
    command = [sys.executable, "-c", COMMITS, folder / f"{mode}.db", mode]
    last = 0
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as rows:
            last = int(rows.stdout.readline())
            time.sleep(draw.uniform(0.0, 0.7))
            server.send_signal(signal.SIGKILL)
            last = max([last, *map(int, rows.stdout)])
    finally:
        server.kill()
        server.wait()
        program("umount", folder)
    return last


@pytest.mark.parametrize(("ftl", "fs"), pairs())
def test_what_sqlite_committed_on_a_file_system_of_the_kernel_survives_kills(
    nandlab_command, tmp_path, ftl, fs, request
):
    is_long = request.node.get_closest_marker("long") is not None or os.environ.get("NANDLAB_LONG")
    image = created(nandlab_command, tmp_path, ftl, fs)
    with loop_device(image) as (device, _):
        program(*MAKE[fs], device)
    committed = dict.fromkeys(("wal", "delete"), 0)
    draw = random.Random(f"{ftl} {fs}")
    for kill in range(10 if is_long else 2):
        mode = ("wal", "delete")[kill % 2]
        with loop_device(image) as (device, server):
            committed[mode] = committed_until_a_kill(device, server, tmp_path / "mnt", mode, draw)
        with loop_device(image) as (device, _):
            # The mount replays the journal, which a check alone does not.
            with mounted(device, tmp_path / "mnt") as folder:
                for each in (mode for mode, rows in committed.items() if rows):
                    question = "pragma integrity_check; select count(*), max(number) from t;"
                    sound, rows = program("sqlite3", folder / f"{each}.db", question).split()
                    count, last = map(int, rows.split("|"))
                    assert (sound, count) == ("ok", last), f"kill {kill}"
                    assert last >= committed[each], f"kill {kill}: {committed[each]} rows were committed"
            program(*CHECK[fs], device)
    assert nandlab_command("disk", "check", image).status == 0

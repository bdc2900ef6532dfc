"""A host that fails under a served disk: no room for the image, and an fsync that fails.

What a program sees is what the host said; what was flushed before stands after it.
"""

import contextlib
import errno
import os
import signal
import subprocess

import pytest
from programs import needs_fuse, process, program

# Without FUSE there is no mount whose host disk could fail; .ci/run installs it.
pytestmark = needs_fuse

PIECE = 64 << 10
FAILS = r"""
#include <errno.h>
#include <unistd.h>
#include <stdlib.h>
/* Fails while the file named by FAILING is there, as a bad host disk does. */
static int failing(void) { return access(getenv("FAILING"), F_OK) == 0; }
int fsync(int fd) { (void)fd; if (failing()) { errno = EIO; return -1; } return 0; }
int fdatasync(int fd) { return fsync(fd); }
"""


@contextlib.contextmanager
def small_host_disk(folder):
    """A host file system with 12 MiB."""
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=12m", "none", str(folder)], capture_output=True, check=False
    )
    if made.returncode != 0:
        pytest.skip("this user mounts no tmpfs")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


@contextlib.contextmanager
def used(kind, image, folder):
    """The image under `disk serve` or `mount`."""
    folder.mkdir(exist_ok=True)
    arguments = ("mount", image, folder) if kind == "mount" else ("disk", "serve", image, "--fuse", folder)
    with process(*arguments, says="Ctrl-C ends it") as server:
        try:
            yield server
        finally:
            if server.poll() is None:
                server.send_signal(signal.SIGTERM)
                server.communicate(timeout=60)
            subprocess.run(["fusermount3", "-u", str(folder)], capture_output=True, check=False)


def created(nandlab_command, image, kind):
    sets = ["ftl=page" if kind == "serve" else "fs=yaffs", "device.capacity=32MiB"]
    pairs = [part for one in sets for part in ("--set", one)]
    ended = nandlab_command("disk", "create", image, *pairs)
    assert ended.status == 0, ended.err


def ended(server):
    """The status and the errors of a command told to end."""
    server.send_signal(signal.SIGTERM)
    _, err = server.communicate(timeout=60)
    assert "Traceback" not in err and "panicked" not in err
    return server.returncode, err


def write_piece(folder, kind, number):
    path = folder / (f"piece{number}" if kind == "mount" else "disk")
    file = os.open(path, os.O_CREAT | os.O_WRONLY if kind == "mount" else os.O_WRONLY)
    try:
        if kind == "serve":
            os.lseek(file, number * PIECE, os.SEEK_SET)
        os.write(file, bytes([number % 251 + 1]) * PIECE)
        os.fsync(file)
    finally:
        os.close(file)


def write_until_it_fails(folder, kind):
    """Writes and flushes pieces until the host refuses one: how many were flushed, and the error's number."""
    for number in range(400):
        try:
            write_piece(folder, kind, number)
        except OSError as error:
            return number, error.errno
    pytest.fail("the host disk was never full")


def check_pieces(folder, kind, flushed):
    for number in range(flushed):
        if kind == "mount":
            found = (folder / f"piece{number}").read_bytes()
        else:
            with (folder / "disk").open("rb") as disk:
                disk.seek(number * PIECE)
                found = disk.read(PIECE)
        assert found == bytes([number % 251 + 1]) * PIECE, f"piece {number} of {flushed}"


@pytest.mark.parametrize("kind", ["serve", "mount"])
@pytest.mark.parametrize("end", ["room", "closed", "killed"])
def test_a_full_host_disk(nandlab_command, tmp_path, kind, end):
    with small_host_disk(tmp_path / "host") as host:
        image = host / "my.img"
        created(nandlab_command, image, kind)
        with used(kind, image, tmp_path / "used") as server:
            flushed, number = write_until_it_fails(tmp_path / "used", kind)
            assert number == errno.ENOSPC and flushed > 20
            # Reads go on.
            check_pieces(tmp_path / "used", kind, flushed)
            if end == "room":
                program("mount", "-o", "remount,size=100m", host)
                for piece in (flushed, flushed + 1):
                    write_piece(tmp_path / "used", kind, piece)
                check_pieces(tmp_path / "used", kind, flushed + 2)
                assert ended(server)[0] == 0
            elif end == "closed":
                status, err = ended(server)
                assert status == 1 and "No space left on device" in err, err
            else:
                server.kill()
                server.wait()
        program("mount", "-o", "remount,size=100m", host)
        checked = nandlab_command("disk", "check", image)
        assert checked.status == 0, checked.out + checked.err
        with used(kind, image, tmp_path / "used") as server:
            check_pieces(tmp_path / "used", kind, flushed)
            assert ended(server)[0] == 0


@pytest.fixture
def failing(tmp_path, monkeypatch):
    """A file; while it is there, each fsync of nandlab fails."""
    source, library = tmp_path / "fails.c", tmp_path / "fails.so"
    source.write_text(FAILS, encoding="utf-8")
    program("cc", "-shared", "-fPIC", "-o", library, source)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    monkeypatch.setenv("FAILING", str(tmp_path / "failing"))
    return tmp_path / "failing"


@pytest.mark.parametrize("kind", ["serve", "mount"])
def test_a_host_whose_fsync_fails(nandlab_command, tmp_path, kind, failing):
    image, folder = tmp_path / "my.img", tmp_path / "used"
    created(nandlab_command, image, kind)
    with used(kind, image, folder) as server:
        for number in range(5):
            write_piece(folder, kind, number)
        failing.touch()
        for number in (5, 6):
            with pytest.raises(OSError, match="Input/output error"):
                write_piece(folder, kind, number)
        check_pieces(folder, kind, 5)
        failing.unlink()
        for number in (5, 6):
            write_piece(folder, kind, number)
        check_pieces(folder, kind, 7)
        failing.touch()
        status, err = ended(server)
        assert status == 1 and "Input/output error" in err, err
    failing.unlink()
    assert nandlab_command("disk", "check", image).status == 0
    with used(kind, image, folder) as server:
        check_pieces(folder, kind, 7)
        assert ended(server)[0] == 0

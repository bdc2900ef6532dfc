"""Programs that wear file systems out, on mounts of YAFFS, MiNV and FAT; every invariant holds afterwards."""

import shutil

import pytest
from programs import program
from test_mount import SETS, created, mounted, pytestmark  # noqa: F401 - the mark is for this module, too

RUNS = {
    "dbench": ["dbench", "-t", "20", "2"],
    # Small enough for the volume; MiNV has a limit for the number of files.
    "bonnie": ["bonnie++", "-u", "root", "-s", "16:4k", "-r", "8", "-n", "1", "-q"],
    "stress": [
        "stress-ng", "--verify", "--timeout", "10", "--hdd", "1", "--hdd-bytes", "4M", "--dentry", "1",
        "--dentries", "64", "--rename", "1", "--seek", "1", "--seek-size", "2M",
    ],
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("cache", ["writeback", "through"])
@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("fs", SETS)
def test_every_invariant_holds_after_a_program_that_stresses(nandlab_command, tmp_path, fs, name, cache):
    command = RUNS[name]
    if shutil.which(command[0]) is None and not shutil.which(f"/usr/sbin/{command[0]}"):
        pytest.skip(f"{command[0]} is not installed")
    image = created(nandlab_command, tmp_path, fs, "device.capacity=256MiB")
    with mounted(image, "--cache", cache) as (folder, _):
        if name == "dbench":
            command = [command[0], "-D", folder, *command[1:]]
        elif name == "bonnie":
            # Byte by byte, 16 MiB are as many requests where nothing gathers them.
            bytewise = ["-f"] if cache == "through" else []
            command = [*command, *bytewise, "-d", folder]
        else:
            command = [*command, "--temp-path", folder]
        program(*command, cwd=tmp_path)
    checked = nandlab_command("disk", "check", image)
    assert checked.status == 0, checked.out
    assert "every invariant holds" in checked.out

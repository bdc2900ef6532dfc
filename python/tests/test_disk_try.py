"""`nandlab disk try`: a real program on a new ext4 file system, with mke2fs, fuse2fs and e2fsck."""

import os
import signal
import subprocess
import sys
import time

from programs import needs_disk_try

pytestmark = needs_disk_try


def test_the_cost_of_a_command_by_regions_of_the_file_system(nandlab_command, tmp_path):
    trace = tmp_path / "t.nltr"
    script = "mkdir d && head -c 3000000 /dev/zero | tr '\\0' x > d/file && sync d/file && wc -c < d/file"
    done = nandlab_command("disk", "try", "--json", "--record", trace, "--", "sh", "-c", f"{script} >&2")
    assert done.status == 0, done.err
    assert "3000000" in done.err
    found = done.document["try"]
    assert (found["file_system"], found["status"], found["file_system_is_clean"]) == ("ext4", 0, True)
    # The file, and the metadata that has to change for it; fuse2fs writes little more.
    written = done.document["host"]["written_sectors"] * 512
    assert 3_000_000 < written < 4_500_000
    origins = {
        row["origin"] for row in done.document["matrix"] if row["cause"] == "host" and row["programs"] > 0
    }
    assert {"file_data", "inode", "bitmap"} <= origins
    own, mount = found["own"], found["mount"]
    assert 3_000_000 < own["host"]["written_sectors"] * 512 <= written
    # A new device: nothing is collected, and what is erased are blocks that looked erased at the mount.
    assert own["erased_again"] > 0
    assert own["flash"]["erases"] == mount["flash"]["erases"] == 0
    assert "reerase" not in {row["cause"] for row in own["matrix"]}
    for name in ("programs", "erases"):
        again = (own["erased_again"] + mount["erased_again"]) if name == "erases" else 0
        assert own["flash"][name] + mount["flash"][name] + again == done.document["flash"][name], name
    replayed = nandlab_command("trace", "info", trace, "--json").document
    # The trace has one flush more, that of the end.
    for name in ("reads", "writes", "read_sectors", "written_sectors"):
        assert replayed[name] == done.document["host"][name], name


def test_a_command_that_fails_and_one_that_is_not_there(nandlab_command):
    failed = nandlab_command("disk", "try", "--set", "device.capacity=32MiB", "--", "sh", "-c", "exit 7")
    assert (failed.status, "ended with status 7" in failed.err) == (1, True), failed.err
    assert "write amplification" in failed.out
    absent = nandlab_command("disk", "try", "--set", "device.capacity=32MiB", "--", "no-such-program")
    assert absent.status == 1
    assert "no-such-program" in absent.err
    assert "Traceback" not in absent.err


def test_a_full_device_is_told_to_the_command(nandlab_command):
    script = "head -c 100000000 /dev/zero | tr '\\0' x > file"
    done = nandlab_command(
        "disk", "try", "--json", "--set", "device.capacity=32MiB", "--", "sh", "-c", script
    )
    assert done.status == 1
    assert "No space left" in done.err
    assert done.document["try"]["file_system_is_clean"]


def test_ctrl_c_ends_the_command_and_tells_what_it_has_cost(tmp_path):
    """The command gets the signal as from a terminal: the whole group of processes does."""
    ready = tmp_path / "ready"
    script = f"head -c 1000000 /dev/zero > file; sync file; touch {ready}; exec sleep 60"
    words = [sys.executable, "-m", "nandlab", "disk", "try", "--", "sh", "-c", script]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        while not ready.exists():
            assert running.poll() is None, running.communicate()
            time.sleep(0.02)
        os.killpg(running.pid, signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, "Traceback" in err) == (130, False), err
    assert "write amplification" in out
    assert "Ctrl-C ended the command" in err
    assert "e2fsck finds errors" not in err, "it was unmounted"


def test_a_trace_takes_the_place_of_an_older_one(nandlab_command, tmp_path):
    trace = tmp_path / "t.nltr"
    trace.write_bytes(b"older")
    done = nandlab_command("disk", "try", "--record", trace, "--", "true")
    assert done.status == 0, done.err
    assert nandlab_command("trace", "info", trace).status == 0
    older = trace.read_bytes()
    failed = nandlab_command("disk", "try", "--record", trace, "--", "no-such-program")
    assert failed.status == 1
    assert (trace.read_bytes(), list(tmp_path.iterdir())) == (older, [trace]), (
        "what ended early leaves nothing"
    )

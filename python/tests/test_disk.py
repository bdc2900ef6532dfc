"""`nandlab disk`: an image that programs use, over NBD."""

import contextlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from programs import process, program

DEVICE = [
    "--set",
    "ftl=page",
    "--set",
    "device.capacity=24MiB",
    "--set",
    "device.over_provisioning=0.28",
]


@pytest.fixture
def image(nandlab_command, tmp_path):
    path = tmp_path / "my.img"
    ended = nandlab_command("disk", "create", path, *DEVICE)
    assert (ended.status, ended.err) == (0, "")
    return path


@contextlib.contextmanager
def served(image, *options, first=None):
    """A process that serves the image on a socket beside it; killed at the end if it still runs."""
    socket = image.parent / "sock"
    with process("disk", "serve", image, "--nbd", socket, *options, says="serving", first=first) as started:
        yield started, f"nbd+unix:///?socket={socket}"


def test_what_a_disk_is(nandlab_command, image, tmp_path):
    info = nandlab_command("disk", "info", image, "--json").document
    assert (info["ftl"], info["bytes"], info["in_use"]) == ("page", 24 << 20, False)
    assert info["experiment"]["device"]["over_provisioning"] == 0.28
    assert "workload" not in info["experiment"]
    assert info["allocated_bytes"] < info["file_bytes"] / 10, "the file is sparse"
    assert "24 MiB, pages of 4 KiB" in nandlab_command("disk", "info", image).out

    again = nandlab_command("disk", "create", image, *DEVICE)
    assert again.status == 1
    assert "exists already" in again.err

    nowhere = nandlab_command("disk", "create", tmp_path / "no" / "my.img", *DEVICE)
    assert nowhere.status == 1
    assert "cannot create the image" in nowhere.err


@pytest.mark.parametrize(
    ("sets", "says"),
    [
        (["ftl=nobody"], "nobody"),
        (["ftl=page", "device.faults={seed=1}"], "device.faults does not go with a disk"),
        (["ftl=page", "buffer=wap_lru", "buffer.wap_lru.thresholds=auto"], "thresholds"),
        (["device.capacity=1MiB"], "needs the key `ftl`"),
    ],
)
def test_what_is_no_disk_is_refused(nandlab_command, tmp_path, sets, says):
    pairs = [part for pair in sets for part in ("--set", pair)]
    ended = nandlab_command("disk", "create", tmp_path / "my.img", *pairs)
    assert ended.status == 2
    assert says in ended.err
    assert not (tmp_path / "my.img").exists()


def test_an_experiment_file_makes_a_disk(nandlab_command, small, tmp_path):
    ended = nandlab_command("disk", "create", tmp_path / "my.img", small, "--json")
    assert ended.status == 0
    assert "[workload] has no effect on a disk" in ended.err
    assert ended.document["bytes"] == 16 << 20


def test_what_was_written_survives_a_kill(nandlab_command, image, tmp_path):
    contents = tmp_path / "contents"
    contents.write_bytes(os.urandom(20 << 20))
    with served(image) as (process, uri):
        program("nbdcopy", "--flush", contents, uri)
        stats = nandlab_command("disk", "stats", image, "--json").document
        assert stats["host"]["written_sectors"] == (20 << 20) // 512
        assert stats["in_all"]["sessions"] == 1
        process.send_signal(signal.SIGKILL)
        process.wait()
    ended = nandlab_command("disk", "info", image)
    assert "the serving process was killed 1 time" in ended.err
    counts = nandlab_command("disk", "info", image, "--json").document["in_all"]
    # Pages of 4 KiB, each written once.
    assert counts["flash"]["programs"] == stats["flash"]["programs"] == 20 << 8
    assert 19 << 20 <= counts["host"]["written_sectors"] * 512 <= 20 << 20
    with served(image, "--json") as (process, uri):
        back = tmp_path / "back"
        program("nbdcopy", uri, back)
        assert back.read_bytes()[: 20 << 20] == contents.read_bytes()
        refused = nandlab_command("disk", "serve", image, "--nbd", tmp_path / "other")
        assert refused.status == 1
        assert "is in use by another process" in refused.err
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 0, err
        assert json.loads(out)["host"]["read_sectors"] > 0
    assert not (tmp_path / "sock").exists()
    checked = nandlab_command("disk", "check", image, "--json")
    assert checked.status == 0
    assert checked.document["sound"]
    assert checked.document["pages"] >= 20 << 8


@pytest.mark.parametrize(
    ("flush", "protected", "survives"),
    [((), "false", False), (("--flush",), "false", True), ((), "true", True)],
)
def test_a_write_buffer_without_protection_loses_what_was_not_flushed(
    nandlab_command, tmp_path, flush, protected, survives
):
    contents, image, back = (tmp_path / name for name in ("contents", "my.img", "back"))
    contents.write_bytes(os.urandom(512 << 10))
    table = f"device.controller={{write_buffer_bytes=1048576,write_buffer_protected={protected}}}"
    assert nandlab_command("disk", "create", image, *DEVICE, "--set", table).status == 0
    with served(image) as (process, uri):
        program("nbdcopy", *flush, contents, uri)
        program("nbdcopy", uri, back)
        assert back.read_bytes()[: 512 << 10] == contents.read_bytes(), "an answered write is readable"
        process.send_signal(signal.SIGKILL)
        process.wait()
    with served(image) as (_, uri):
        program("nbdcopy", uri, back)
    found = back.read_bytes()[: 512 << 10]
    assert found == (contents.read_bytes() if survives else bytes(512 << 10))


def test_a_damaged_page_is_found(nandlab_command, image, tmp_path):
    contents = tmp_path / "contents"
    contents.write_bytes(b"nandlab!" * (1 << 17))
    with served(image) as (process, uri):
        program("nbdcopy", contents, uri)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
    whole = bytearray(image.read_bytes())
    # Not the last page of a block: an FTL takes that one for torn by a power cut.
    whole[whole.index(b"nandlab!") + 3] ^= 1
    image.write_bytes(whole)
    checked = nandlab_command("disk", "check", image, "--json")
    assert checked.status == 1
    assert len(checked.document["spoilt_pages"]) == 1
    assert checked.document["broken"] is None
    with served(image) as (_, uri):
        if shutil.which("nbdcopy"):
            failed = subprocess.run(
                ["nbdcopy", uri, str(tmp_path / "back")], capture_output=True, check=False
            )
            assert failed.returncode != 0


def test_images_of_other_versions_and_other_files_are_refused(nandlab_command, image):
    whole = image.read_bytes()
    older = bytearray(whole)
    # The second header begins where the end of the file says.
    older[8] = older[int.from_bytes(whole[-16:-8], "little") + 8] = 2
    for changed, says in [
        (bytes(older), "format version 2, this program reads version 4"),
        (whole[:-4096], "the device in its header needs"),
        (b"hello", "is not a nandlab image"),
    ]:
        image.write_bytes(changed)
        for command in ["info", "check"]:
            ended = nandlab_command("disk", command, image)
            assert ended.status == 1
            assert says in ended.err


def test_a_damaged_disk_is_told_and_copied_out(nandlab_command, image, tmp_path):
    with served(image) as (process, uri):
        program("qemu-io", "-f", "raw", "-c", "write -P 7 0 1M", uri)
    whole = image.read_bytes()
    page = whole.index(bytes([7]) * 4096)
    image.write_bytes(whole[:page] + b"\0" + whole[page + 1 :])
    before = image.read_bytes()
    out = tmp_path / "out.raw"
    copied = nandlab_command("disk", "export", image, out)
    first, end = re.fullmatch(r"bytes (\d+) to (\d+) cannot be read\n", copied.out).groups()
    assert copied.status == 1
    assert int(end) + 1 - int(first) == 4096
    raw = out.read_bytes()
    there = bytearray(bytes([7]) * 2**20)
    there[int(first) : int(end) + 1] = bytes(4096)
    assert raw[: 2**20] == there
    assert not any(raw[2**20 :])
    again = nandlab_command("disk", "export", image, out)
    assert again.status == 1
    assert "exists" in again.err.lower()
    with served(image, "--read-only") as (process, uri):
        refused = program("qemu-io", "-f", "raw", "-r", "-c", f"read -P 7 {int(end) + 1} 4k", uri)
        assert "failed" not in refused
    assert image.read_bytes() == before
    checked = nandlab_command("disk", "check", image, "--json")
    assert checked.status == 1
    assert len(checked.document["spoilt_pages"]) == 1


def spoil_both_copies(image, begin, record_bytes, count):
    """Changes a byte in both copies of every other record among `count`.

    They begin `begin` bytes behind the states.
    """
    whole = bytearray(image.read_bytes())
    header = (int.from_bytes(whole[12:16], "little") + 76 + 4095) // 4096 * 4096
    first = header + (512 << 10) + begin
    records = [first + number * record_bytes for number in range(count)]
    used = [at for at in records if any(whole[at : at + record_bytes])]
    for at in used[::2]:
        copy = whole.index(whole[at : at + record_bytes], at + record_bytes)
        whole[at] ^= 1
        whole[copy] ^= 1
    assert used
    image.write_bytes(whole)


def test_a_disk_that_cannot_be_mounted_is_copied_out(nandlab_command, image, tmp_path):
    with served(image) as (process, uri):
        program("qemu-io", "-f", "raw", "-c", "write -P 7 0 24M", uri)
    spoil_both_copies(image, 4096, 128, 256)
    out = tmp_path / "out.raw"
    copied = nandlab_command("disk", "export", image, out, "--json")
    assert copied.status == 1
    assert copied.document["refused"] in copied.err
    assert "without the FTL's rules" in copied.err
    raw = out.read_bytes()
    pages = {raw[at : at + 4096] for at in range(0, 24 << 20, 4096)}
    # A page of a lost block has no older copy.
    assert pages == {bytes([7]) * 4096, bytes(4096)}


def test_a_disk_with_damaged_nvram_is_copied_out_without_it(nandlab_command, tmp_path):
    image, out = tmp_path / "nvram.img", tmp_path / "out.raw"
    buffer = "buffer={ hybrid_lru = { dram = '64 KiB', nvram = '64 KiB' } }"
    assert nandlab_command("disk", "create", image, *DEVICE, "--set", buffer).status == 0
    with served(image) as (process, uri):
        program("qemu-io", "-f", "raw", "-c", "write -P 7 0 4M", "-c", "flush", uri)
    spoil_both_copies(image, 4096, 16, 64)
    copied = nandlab_command("disk", "export", image, out, "--json")
    assert copied.status == 1
    assert "NVRAM" in copied.document["refused"]
    assert any("NVRAM" in notice for notice in copied.document["notices"])
    # What was only in the NVRAM is missing.
    assert out.read_bytes()[: 2 << 20] == bytes([7]) * (2 << 20)


def test_a_damaged_header_is_told_and_mended(nandlab_command, image):
    whole = bytearray(image.read_bytes())
    whole[40] ^= 1
    image.write_bytes(whole)
    told = nandlab_command("disk", "info", image)
    assert told.status == 0
    assert "header" in told.err
    assert image.read_bytes() == whole, "info changes nothing"
    with served(image) as (process, _):
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
    assert "header" not in nandlab_command("disk", "info", image).err


def test_a_disk_without_a_way_to_it_is_refused(nandlab_command, image):
    ended = nandlab_command("disk", "serve", image)
    assert ended.status == 2
    assert "--nbd SOCKET, --nvme 127.0.0.1:PORT, --fuse DIR, or several" in ended.err


def test_a_recorded_disk_is_a_trace_for_run(nandlab_command, image, tmp_path):
    trace, regions = tmp_path / "t.nltr", tmp_path / "regions"
    regions.write_text("0, 64, superblock\n")
    with served(image, "--record", str(trace), "--regions", str(regions)) as (process, uri):
        for act in ("write", "read"):
            program("qemu-io", "-f", "raw", "-c", f"{act} -P 7 0 8k", "-c", f"{act} -P 8 1M 64k", uri)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
    record = nandlab_command("run", "--json", write_experiment(tmp_path, trace), *DEVICE[2:]).document
    assert record["host"]["written_sectors"] == 144
    assert any(row["origin"] == "superblock" for row in record["matrix"])


def write_experiment(folder, trace):
    path = folder / "replay.toml"
    path.write_text(f'[workload.trace]\npath = "{trace}"\n[ftl.page]\n')
    return path


def test_pace_is_the_time_of_the_device(nandlab_command, tmp_path):
    image = tmp_path / "my.img"
    slow = [*DEVICE, "--set", "device.timing.program_us=30000"]
    assert nandlab_command("disk", "create", image, *slow).status == 0
    with served(image, "--pace") as (_, uri):
        begun = time.monotonic()
        program("qemu-io", "-f", "raw", "-c", "write 0 4k", "-c", "write 4k 4k", "-c", "write 8k 4k", uri)
        assert time.monotonic() - begun >= 0.09


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (Path.unlink, "was deleted while it was served"),
        (
            lambda image: os.truncate(image, image.stat().st_size - (1 << 20)),
            "are lost, and their reads fail",
        ),
        (lambda image: os.truncate(image, image.stat().st_size + 1), "grew to"),
    ],
)
def test_an_image_that_changes_while_it_is_served_is_told_at_once(image, change, says):
    with served(image) as (process, _):
        change(image)
        begun = time.monotonic()
        line = process.stderr.readline()
        # A look comes five times a second; the rest is for a busy machine.
        assert time.monotonic() - begun < 10
        assert line.startswith("warning: the image ")
        assert says in line
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 1
        assert "write amplification" in out, err
        assert "Traceback" not in err


def test_an_image_behind_a_link_is_asked_by_either_name(nandlab_command, image, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(image)
    with served(link):
        for name in (link, image):
            assert nandlab_command("disk", "stats", name, "--json").document["host"]["requests"] == 0


def test_serve_leaves_a_file_with_the_name_of_its_socket_alone(nandlab_command, image, tmp_path):
    mine = tmp_path / "my.img.control"
    mine.write_text("mine")
    refused = nandlab_command("disk", "serve", image, "--nbd", tmp_path / "sock")
    assert refused.status == 1
    assert "a file with this name is there: move it, or the image" in refused.err
    assert mine.read_text() == "mine"


def test_a_full_host_disk_is_an_error_and_loses_nothing(nandlab_command, image):
    with served(image) as (process, uri):
        program("qemu-io", "-f", "raw", "-c", "write -P 7 0 4M", "-c", "flush", uri)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0

    def no_more_than_half():
        most = image.stat().st_size // 2
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    with served(image, first=no_more_than_half) as (process, uri):
        write = ["qemu-io", "-f", "raw", "-c", "write -P 9 4M 18M", uri]
        assert subprocess.run(write, capture_output=True, check=False).returncode != 0
        program("qemu-io", "-f", "raw", "-c", "read -P 7 0 4M", uri)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 1
        assert "cannot write the image" in process.stderr.read()
    with served(image) as (_, uri):
        program("qemu-io", "-f", "raw", "-c", "read -P 7 0 4M", uri)
    assert nandlab_command("disk", "check", image).status == 0


def test_a_file_of_fuse_is_the_disk(image, tmp_path):
    if shutil.which("fusermount3") is None or not Path("/dev/fuse").exists():
        pytest.skip("fusermount3 or /dev/fuse is missing")
    folder = tmp_path / "folder"
    folder.mkdir()
    with served(image, "--fuse", str(folder)) as (process, uri):
        disk = folder / "disk"
        assert disk.stat().st_size == 24 << 20
        with disk.open("r+b") as file:
            file.seek(1000)
            file.write(b"by FUSE")
            file.flush()
            os.fsync(file.fileno())
        back = tmp_path / "back"
        program("nbdcopy", uri, back)
        assert back.read_bytes()[999:1008] == b"\0by FUSE\0"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
    assert list(folder.iterdir()) == []


def test_regions_are_found_when_a_file_system_is_made(nandlab_command, image, tmp_path):
    if shutil.which("fusermount3") is None or not Path("/dev/fuse").exists():
        pytest.skip("fusermount3 or /dev/fuse is missing")
    folder = tmp_path / "folder"
    folder.mkdir()
    file = tmp_path / "file"
    file.write_bytes(os.urandom(1 << 20))

    def origins():
        stats = nandlab_command("disk", "stats", image, "--json").document
        return {row["origin"] for row in stats["matrix"] if row["programs"]}

    with served(image, "--fuse", str(folder), "--regions", "auto") as (process, _):
        program("mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", folder / "disk")
        assert origins() == {"host"}
        program("debugfs", "-w", "-R", f"write {file} copy", folder / "disk")
        assert {"file_data", "inode", "bitmap"} <= origins()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
    with served(image, "--regions", "auto") as (_, uri):
        program("qemu-io", "-f", "raw", "-c", "write 0 4k", uri)
        assert origins() == {"superblock"}


def test_an_ext4_survives_a_kill(image, tmp_path):
    files, whole = tmp_path / "files", tmp_path / "whole"
    files.mkdir()
    for number in range(40):
        (files / f"file{number}").write_bytes(os.urandom(1000 * number))
    program("mke2fs", "-q", "-t", "ext4", "-b", "4096", "-d", files, whole, "16M")
    with served(image) as (process, uri):
        program("nbdcopy", "--flush", whole, uri)
        process.send_signal(signal.SIGKILL)
        process.wait()
    back = tmp_path / "back"
    with served(image) as (_, uri):
        program("nbdcopy", uri, back)
    program("e2fsck", "-fn", back)
    for number in (1, 39):
        out = tmp_path / "out"
        program("debugfs", "-R", f"dump file{number} {out}", back)
        assert out.read_bytes() == (files / f"file{number}").read_bytes()


def test_fio_verifies_what_it_wrote(image):
    with served(image) as (_, uri):
        job = [f"--uri={uri}", "--name=job", "--rw=randwrite", "--bs=4k", "--size=8M", "--iodepth=16"]
        program("fio", "--ioengine=nbd", *job, "--verify=crc32c", "--verify_state_save=0", "--minimal")

"""`disk serve --nvme` against Linux with nvme-cli, fio, ext4, btrfs and f2fs, in a virtual machine."""

import contextlib
import json
import os
import re
import time

import pytest
from programs import process
from test_nvme import served
from virtual_machine import base, machine, missing

# A virtual machine boots for each test: minutes, and packages that `make test` does without.
pytestmark = pytest.mark.skipif(not os.environ.get("NANDLAB_NVME_HOST"), reason="part of make test-nvme")

CONNECT = """
nvme connect -t tcp -a 10.0.2.2 -s {port} -n {nqn} --reconnect-delay=1 --nr-io-queues=2
while [ ! -b /dev/nvme0n1 ]; do sleep 0.2; done
"""
PLAIN = ["--set", "ftl=page", "--set", "device.capacity=64MiB", "--set", "device.over_provisioning=0.28"]
ZONES = {
    "ftl": "zns",
    "device.capacity": "256MiB",
    "device.over_provisioning": "0.5",
    "device.zones.blocks_per_die": "8",
    "device.zones.size": "4MiB",
}


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    lacking = missing()
    assert not lacking, lacking
    path = tmp_path_factory.mktemp("machine") / "base"
    path.write_bytes(base())
    yield path
    path.unlink()


def made(nandlab_command, path, options):
    created = nandlab_command("disk", "create", path, *options)
    assert created.status == 0, created.err
    return path


@pytest.fixture
def image(nandlab_command, tmp_path):
    return made(nandlab_command, tmp_path / "my.img", PLAIN)


@pytest.fixture
def zoned(nandlab_command, tmp_path):
    options = [part for key, value in ZONES.items() for part in ("--set", f"{key}={value}")]
    return made(nandlab_command, tmp_path / "zones.img", options)


@contextlib.contextmanager
def connected(archive, image, folder, script, options=None):
    """A machine that is connected to the image's drive and runs `script`, with the server and its port."""
    with served(image) as (server, (_, port), nqn):
        whole = CONNECT.format(port=port, nqn=nqn) + script
        with machine(archive, folder, whole, options) as started:
            yield server, port, started


PLACED = [*PLAIN[2:], "--set", "ftl.page.placement.fdp={ handles = 3, persistent = [2] }"]
PLACEMENT = """
nvme fdp configs /dev/nvme0 -e 1
nvme fdp usage /dev/nvme0 -e 1
head -c 65536 /dev/zero > /data
for block in $(seq 0 128 4223); do
    handle=$((block / 128 % 2 + 1))
    nvme io-passthru /dev/nvme0n1 -o 1 -n 1 --cdw10=$block --cdw12=$((0x20007F)) --cdw13=$((handle << 16)) \\
        -l 65536 -w -i /data > /dev/null 2>&1
done
nvme fdp update /dev/nvme0n1 -n 1 -p 1
nvme fdp status /dev/nvme0n1 -n 1 -o json
echo STATUS ENDS
nvme fdp stats /dev/nvme0 -e 1
nvme fdp update /dev/nvme0n1 -n 1 -p 3 || echo IT IS REFUSED
"""


def test_nvme_cli_places_data(archive, nandlab_command, tmp_path):
    image = made(nandlab_command, tmp_path / "placed.img", PLACED)
    with connected(archive, image, tmp_path, PLACEMENT) as (_, _, started):
        said = started.finish()
        stats = nandlab_command("disk", "stats", image, "--json").document
    handles, page = stats["fdp"]["handles"], 4096
    assert [one["host_pages"] for one in handles] == [0, 272, 256]
    assert [one["unfilled_units"] for one in handles] == [0, 1, 0]
    numbers = [
        int(line.split(":")[1]) for line in said.splitlines() if "Media Bytes" in line or "(HBMW)" in line
    ]
    flash = stats["in_all"]["flash"]
    blocks = stats["device"]["pages_per_block"] * page
    assert numbers == [528 * page, flash["programs"] * page, flash["erases"] * blocks], said
    assert "IT IS REFUSED" in said


ADMIN = """
nvme list -o json
echo LIST ENDS
nvme id-ctrl /dev/nvme0
nvme id-ns /dev/nvme0n1
dd if=/dev/zero of=/dev/nvme0n1 bs=1M count=4 oflag=direct
nvme flush /dev/nvme0n1
blkdiscard -o 1048576 -l 1048576 /dev/nvme0n1
nvme read /dev/nvme0n1 -s 999999 -c 0 -z 512 -d no || echo IT IS REFUSED
nvme error-log /dev/nvme0 -e 1
nvme smart-log /dev/nvme0
nvme disconnect -d nvme0
[ ! -e /dev/nvme0 ]
"""


def value(said, name):
    """What nvme-cli says of a field."""
    return (
        next(line for line in said.splitlines() if line.split(":")[0].strip() == name)
        .split(":", 1)[1]
        .strip()
    )


def test_nvme_cli_reads_what_the_drive_says(archive, image, tmp_path):
    with connected(archive, image, tmp_path, ADMIN) as (_, _, started):
        said = started.finish()
    (device,) = json.loads(said[said.index("{") : said.index("LIST ENDS")])["Devices"]
    assert device["DevicePath"] == "/dev/nvme0n1"
    assert (device["PhysicalSize"], device["SectorSize"]) == (64 << 20, 512)
    assert (value(said, "vwc"), value(said, "mdts"), value(said, "nn")) == ("0x7", "8", "1")
    assert (value(said, "nsze"), value(said, "npwg"), value(said, "dlfeat")) == ("0x20000", "7", "9")
    assert "IT IS REFUSED" in said
    assert (value(said, "error_count"), value(said, "lba")) == ("1", "0xf423f")
    # Units of a thousand sectors, counted up: 4 MiB are 8,192 sectors.
    assert value(said, "Data Units Written").startswith("9 ")
    assert (value(said, "available_spare"), value(said, "num_err_log_entries")) == ("100%", "1")


FILES = """
mkfs.ext4 -q -b 4096 /dev/nvme0n1
mount -t ext4 /dev/nvme0n1 /mnt
echo WRITES BEGIN
fio --name=verified --directory=/mnt --size=8M --bsrange=4k-64k --rw=randwrite --direct=1 \\
    --fsync=32 --loops=6 --verify=crc32c --verify_fatal=1 --minimal > /dev/null
echo WRITES END
dmesg | grep 'Successfully reconnected'
cp -r /usr/bin /mnt/programs
sync
umount /mnt
e2fsck -fn /dev/nvme0n1
mount -t ext4 /dev/nvme0n1 /mnt
diff -r /usr/bin /mnt/programs
fio --name=verified --directory=/mnt --size=8M --bsrange=4k-64k --rw=randwrite --direct=1 \\
    --fsync=32 --loops=6 --verify=crc32c --verify_fatal=1 --verify_only --minimal > /dev/null
umount /mnt
"""


def test_ext4_and_fio_outlive_a_kill_of_the_server(archive, image, tmp_path):
    with connected(archive, image, tmp_path, FILES) as (server, port, started):
        started.wait_for("WRITES BEGIN")
        time.sleep(3)
        server.kill()
        server.wait()
        assert "WRITES END" not in started.said, "the kill is amid writes"
        at = f"127.0.0.1:{port}"
        with process("disk", "serve", image, "--nvme", at, says=f"by NVMe at {at}"):
            started.finish()


ZBD = """
nvme zns id-ns /dev/nvme0n1
nvme zns report-zones /dev/nvme0n1 -d 1
fio --name=zones --filename=/dev/nvme0n1 --size=16M --zonemode=zbd --bs=64k --rw=write --direct=1 \\
    --verify=crc32c --verify_fatal=1 --minimal > /dev/null
fio --name=random --filename=/dev/nvme0n1 --offset=32M --size=16M --zonemode=zbd --bs=16k --rw=randwrite \\
    --direct=1 --max_open_zones=3 --verify=crc32c --verify_fatal=1 --minimal > /dev/null
blkzone report /dev/nvme0n1
blkzone reset /dev/nvme0n1
echo AFTER RESET
blkzone report /dev/nvme0n1
"""


def test_zones_by_nvme_cli_blkzone_and_fio(archive, zoned, tmp_path):
    with connected(archive, zoned, tmp_path, ZBD) as (_, _, started):
        said = started.finish()
    assert "nr_zones: 64" in said
    before, after = said.split("AFTER RESET")
    assert [place for place, line in enumerate(zones(before)) if "(fu)" in line] == [0, 1, 2, 3, 8, 9, 10, 11]
    assert len(zones(after)) == 64
    assert all("(em)" in line and "cap 0x002000" in line for line in zones(after))


def zones(said):
    """Lines of `blkzone report`."""
    return [line for line in said.splitlines() if line.startswith("start: ")]


TREES = """
mkfs.btrfs -q -O zoned -d single -m single /dev/nvme0n1 > /dev/null 2>&1
mount -t btrfs /dev/nvme0n1 /mnt
cp -r /modules /mnt/first
rm -r /mnt/first
cp -r /modules /mnt/second
umount /mnt
btrfs check /dev/nvme0n1 2>&1
mount -t btrfs /dev/nvme0n1 /mnt
diff -r /modules /mnt/second
umount /mnt
echo BTRFS ENDS
blkzone reset /dev/nvme0n1
insmod /modules/brd.ko rd_nr=1 rd_size=40960
mkfs.f2fs -q -f -m -c /dev/nvme0n1 /dev/ram0
mount -t f2fs /dev/ram0 /mnt
cp -r /modules /mnt/first
cp -r /modules /mnt/second
rm -r /mnt/first
cp -r /modules /mnt/third
umount /mnt
fsck.f2fs --dry-run /dev/ram0
mount -t f2fs /dev/ram0 /mnt
diff -r /modules /mnt/second
diff -r /modules /mnt/third
umount /mnt
blkzone report /dev/nvme0n1
"""


# In Linux 6.1, btrfs loses track of appends to a device with several paths. f2fs needs a second device.
def test_btrfs_and_f2fs_keep_a_tree_of_files_in_zones(archive, zoned, tmp_path):
    options = {"nvme-core.ko": "multipath=N"}
    with connected(archive, zoned, tmp_path, TREES, options) as (_, _, started):
        said = started.finish()
    assert "no error found" in said
    assert not re.search(r"\[Fail\]", said)
    assert sum("(em)" not in line for line in zones(said)) > 3, "f2fs has written to zones"

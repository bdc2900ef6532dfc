"""`nandlab run --zones`: a table of the zones, in the record, too."""

import json

import pytest

DRIVE = """
[workload.trace]
format = "csv"
text = \"\"\"
time_us,op,sector,sectors
0,W,0,8
0,W,8,8
0,A,4096,8
0,X,4096,0
0,Z,0,0
\"\"\"
[ftl.zns]
[device]
profile = "generic-8x4"
capacity = "4 MiB"
over_provisioning = 1.5
[device.shape]
channels = 2
dies_per_channel = 2
pages_per_block = 64
"""


@pytest.fixture
def drive(tmp_path):
    file = tmp_path / "zones.toml"
    file.write_text(DRIVE)
    return str(file)


def test_zones_that_are_alike_share_a_row(drive, nandlab_command):
    done = nandlab_command("run", drive, "--zones")
    lines = [line.split() for line in done.out.splitlines()]
    assert ["0", "empty", "0", "B", "8", "KiB", "1"] in lines
    assert ["2", "full", "–", "4", "KiB", "0"] in lines
    assert "write pointer" not in nandlab_command("run", drive).out


def test_the_record_has_every_zone(drive, nandlab_command):
    report = json.loads(nandlab_command("run", drive, "--zones", "--json").out)["zones"]["report"]
    assert [row["first"] for row in report] == [0, 1, 2, 3]
    assert sum(row["zones"] for row in report) == report[-1]["first"] + report[-1]["zones"]
    assert (report[2]["write_pointer_bytes"], report[2]["written_bytes"]) == (None, 4096)


def test_without_zones_it_says_so(tmp_path, nandlab_command):
    file = tmp_path / "page.toml"
    file.write_text('[workload.sequential]\nrequests = 10\n[ftl.page]\n[device]\nprofile = "generic"\n')
    done = nandlab_command("run", str(file), "--zones")
    assert done.status == 0
    assert "ftl.zns" in done.err

"""`nandlab calibrate` with measured energy and power."""

import pytest
from conftest import write
from test_calibrate import DRIVE

import nandlab
from nandlab.calibrate import calibrate, plan
from nandlab.calibrate.rows import read_csv
from nandlab.calibrate.runs import bench_of, figures_of
from nandlab.calibrate.words import title, value_text

ENERGY = "\n[device.energy]\nread_nj = 1000\nprogram_nj = 5000\nerase_nj = 1000000\n"
TRUE = {"read": 1500, "program": 8000, "erase": 2_000_000}
FREE = {
    "device.energy.read_nj": "500..4000",
    "device.energy.program_nj": "1000..20000",
    "device.energy.erase_nj": "300000..9000000:log",
}
HEAD = "rw,bs,iodepth,numjobs,group,iops,energy_j,power_w,requests,runtime_s\n"
JOBS = ("randread,4k,1", "randwrite,16k,1", "randwrite,64k,4")


@pytest.fixture
def drive(tmp_path):
    return write(tmp_path / "drive.toml", DRIVE + ENERGY)


def measured(drive, folder):
    """Rows of a drive with the true energies, by its counts of operations."""
    cases = read_csv(
        write(folder / "bare.csv", "rw,bs,iodepth,iops\n" + "".join(f"{job},1\n" for job in JOBS))
    )
    sets = [f"device.energy.{name}_nj={value}" for name, value in TRUE.items()]
    bench = bench_of(nandlab.Experiment.from_toml(drive).override(*sets), 1000)
    lines = []
    for job, case in zip(JOBS, cases, strict=True):
        result = bench.of(case).run()
        flash, requests = result.flash, result.host.requests
        parts = {"read": flash.reads, "program": flash.programs, "erase": flash.erases}
        joules = sum(1e-9 * TRUE[name] * count for name, count in parts.items())
        # Before collection a write of a page is one program; a read of a page is one read.
        closed = {"randread,4k,1": 1.5e-6, "randwrite,16k,1": 8e-6}.get(job)
        assert joules == pytest.approx(closed * requests) if closed else flash.erases > 50
        ((figures,),) = [figures_of(case, result)]
        assert figures["request_uj"] == pytest.approx(1e6 * joules / requests)
        assert figures["power_w"] == pytest.approx(1e6 * joules / result.time_us)
        if "64k" in job:
            lines.append(f"{job},,,,,{figures['power_w']},,\n")
        else:
            lines.append(f"{job},,,{figures['iops']},{joules},,{requests},\n")
    return write(folder / "rows.csv", HEAD + "".join(lines))


def test_energies_of_a_drive_are_found_again(drive, tmp_path):
    rows = measured(drive, tmp_path)
    found = calibrate(plan(nandlab.Experiment.from_toml(drive), FREE, [rows], requests=1000, budget=60))
    for free, value in zip(found.plan.free, found.values, strict=True):
        true = TRUE[free.key.split(".")[-1].removesuffix("_nj")]
        assert value == pytest.approx(true, rel=0.01), free.key
    assert {line.figure for line in found.lines} == {"iops", "request_uj", "power_w"}


def test_the_command_prints_and_writes_energies(nandlab_command, drive, tmp_path):
    rows = measured(drive, tmp_path)
    words = ["--free", "device.energy.read_nj=500..4000", "--requests", 300, "--budget", 8]
    words += ["--plots", tmp_path / "plots", "--report", tmp_path / "report.html"]
    ended = nandlab_command(
        "calibrate", drive, "--measured", rows, *words, "--output", tmp_path / "fit.toml", alone=True
    )
    assert ended.status == 0, ended.err
    assert "request_uj" in ended.out and "power_w" in ended.out
    profile = (tmp_path / "fit.toml").read_text(encoding="utf-8")
    energy = profile.partition("[energy]")[2]
    assert "read_nj" in energy.partition("# fitted")[0]
    assert "randread.4k.qd1 request_uj: 1.5, " in profile
    assert (tmp_path / "plots" / "power_w.svg").is_file()
    assert "mean power (W)" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_energy_takes_requests_or_time_and_rate(tmp_path):
    lines = "randread,4k,1,,,1000,0.003,,,2\nrandread,4k,1,,,,0.003,,2000,\n"
    for case in read_csv(write(tmp_path / "rows.csv", HEAD + lines)):
        assert case.rows[0].measured["request_uj"] == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("randread,4k,1,,,1000,0.003,,,", "energy_j: it needs the row's requests, or its runtime_s and iops"),
        ("randread,4k,1,,,,0.003,,,2", "energy_j: it needs the row's requests, or its runtime_s and iops"),
        ("randread,4k,1,,,,0,,100,2", "energy_j: expected a number above 0"),
        ("randread,4k,1,,,,1,,-4,", "requests: expected a number above 0"),
    ],
)
def test_energies_that_cannot_be(nandlab_command, drive, tmp_path, line, said):
    rows = write(tmp_path / "rows.csv", HEAD + line + "\n")
    words = ["--free", "device.energy.read_nj=500..4000", "--output", tmp_path / "fit.toml"]
    ended = nandlab_command("calibrate", drive, "--measured", rows, *words)
    assert ended.status == 2
    assert f"rows.csv, line 2: {said}" in ended.err


def test_a_device_without_energies_is_refused(nandlab_command, tmp_path):
    drive = write(tmp_path / "drive.toml", DRIVE)
    rows = write(tmp_path / "rows.csv", HEAD + "randread,4k,1,,,,,0.1,,\n")
    words = ["--free", "device.timing.read_us=30..90", "--output", tmp_path / "fit.toml", "--requests", 100]
    ended = nandlab_command("calibrate", drive, "--measured", rows, *words)
    assert ended.status == 2
    assert "randread.4k.qd1: the device states no energy: give device.energy its numbers" in ended.err


def test_a_free_energy_without_a_row_is_said(nandlab_command, drive, tmp_path):
    rows = write(tmp_path / "rows.csv", "rw,bs,iodepth,iops,runtime_s\nrandread,4k,1,11000,10\n")
    words = ["--free", "device.energy.read_nj=500..4000", "--output", tmp_path / "fit.toml"]
    ended = nandlab_command("calibrate", drive, "--measured", rows, *words, "--requests", 100, "--budget", 8)
    assert ended.status == 0, ended.err
    assert "note: no row has energy_j or power_w: nothing tells device.energy.read_nj" in ended.err
    assert "rows.csv: not used: runtime_s" in ended.err
    assert "The rows say little about device.energy.read_nj" in ended.out


def test_words_of_energies():
    assert (title("request_uj"), title("power_w")) == ("energy a request (uJ)", "mean power (W)")
    assert (value_text("request_uj", 1.5), value_text("power_w", 0.01234)) == ("1.5", "0.01234")

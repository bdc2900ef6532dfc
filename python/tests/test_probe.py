"""`nandlab calibrate --probe-jobs` and `--probe`: a drive known from outside.

Simulated drives make the results here. The probe sees only the files that fio would write.
"""

import configparser
import json
import random
import shutil
import subprocess
from dataclasses import replace

import pytest
from commands import run_here
from conftest import write

from nandlab.calibrate.fio_json import read_fio
from nandlab.calibrate.probe.judge import judged
from nandlab.calibrate.probe.judge import main as judge
from nandlab.calibrate.probe.reads import estimate_reads
from nandlab.calibrate.probe.results import read_results
from nandlab.calibrate.probe.spare import knee

DRIVE = """\
seed = 3

[workload.uniform]

[ftl.page]

[device]
profile = "generic"
capacity = "256 MiB"
over_provisioning = 0.25

[device.shape]
channels = 2
dies_per_channel = 2
pages_per_block = 4
page_bytes = 16384

[device.timing]
read_transfer = "sectors"
read_us = 70
program_us = 900
transfer_ns_per_byte = 2

[device.controller]
latency_us = 6
write_buffer_bytes = 4194304

[device.link]
read_mb_s = 3000
write_mb_s = 2000
"""

TRUE = {
    "page size": 16384,
    "dies": 4,
    "channels": 2,
    "read time": 70,
    # 128 bytes of spare area go with a page.
    "channel rate": 500 * 16384 / 16512,
    "link, reads": 3000,
    "time outside flash": 6,
    "program time": 900,
    "pages at once": 1,
    "link, writes": 2000,
    "write buffer": 4194304,
    "over-provisioning": 0.25,
}
NAMES = ("probe-writes", "probe-fill", "probe-reads", "probe-overwrite")


def options(text):
    parser = configparser.ConfigParser(interpolation=None, allow_no_value=True)
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections()}


@pytest.fixture(scope="session")
def simulated(tmp_path_factory):
    """A folder with jobs, and with results of a simulated drive."""
    root = tmp_path_factory.mktemp("probe")
    drive = write(root / "drive.toml", DRIVE)
    words = ["calibrate", "--probe-jobs", str(root / "jobs"), "--writes", "--simulate", str(drive)]
    status, _, error = run_here(words, root)
    assert status == 0, error
    return root / "jobs"


@pytest.fixture
def copied(simulated, tmp_path):
    return shutil.copytree(simulated, tmp_path / "copy")


def test_jobs_only_read_unless_writes_are_asked_for(nandlab_command, tmp_path):
    ended = nandlab_command("calibrate", "--probe-jobs", tmp_path / "jobs", "--target", "/dev/nvme3n1")
    assert ended.status == 0, ended.err
    assert sorted(path.name for path in (tmp_path / "jobs").iterdir()) == ["README.txt", "probe-reads.fio"]
    assert "DESTROYS" not in ended.out
    text = (tmp_path / "jobs" / "probe-reads.fio").read_text()
    jobs = options(text)
    assert jobs.pop("global")["filename"] == "/dev/nvme3n1"
    assert {job["rw"] for job in jobs.values()} == {"randread"}
    assert "fio --readonly " in text
    assert sum(int(job["runtime"]) + int(job["ramp_time"]) for job in jobs.values()) <= 300


def test_writes_say_what_they_destroy(nandlab_command, tmp_path):
    ended = nandlab_command("calibrate", "--probe-jobs", tmp_path / "jobs", "--writes")
    assert ended.status == 0, ended.err
    assert ended.out.count("DESTROYS DATA: ") == 3
    assert "DESTROY ALL DATA" in (tmp_path / "jobs" / "README.txt").read_text()
    for name in NAMES:
        text = (tmp_path / "jobs" / f"{name}.fio").read_text()
        writes = {job["rw"] for key, job in options(text).items() if key != "global"} & {"write", "randwrite"}
        assert bool(writes) == ("# THIS DESTROYS DATA: " in text), name


def test_simulated_results_have_the_form_of_fio(simulated):
    for name in NAMES:
        if name != "probe-writes":
            assert read_fio(simulated / f"{name}.json"), name
    document = json.loads((simulated / "probe-writes.json").read_text())
    assert document["fio version"].startswith("fio-3")
    sync = next(job for job in document["jobs"] if job["jobname"] == "sync.16k")
    assert sync["job options"]["fsync"] == "1"
    assert sync["sync"]["lat_ns"]["mean"] > 900_000
    assert {"iops", "bw_bytes", "clat_ns", "runtime", "total_ios"} <= sync["write"].keys()


def test_a_simple_drive_is_found(nandlab_command, simulated, tmp_path):
    profile = tmp_path / "found.toml"
    ended = nandlab_command("calibrate", "--probe", simulated, "--output", profile, "--json")
    assert ended.status == 0, ended.err
    found = {each["name"]: each for each in ended.document["quantities"]}
    assert found.pop("command time")["note"] == "it is too small to show"
    assert found.keys() == TRUE.keys()
    for name, true in TRUE.items():
        assert found[name]["value"] == pytest.approx(true, rel=0.02), name
        assert found[name]["low"] <= true * 1.01 and true * 0.99 <= found[name]["high"], name
    use = write(
        tmp_path / "use.toml",
        '[workload.uniform]\nrequests = 10\n[ftl.page]\n[device]\nprofile = "found.toml"\n',
    )
    assert nandlab_command("run", use).status == 0


def test_intervals_allow_for_noise(simulated):
    """Figures with an error of 0.5 % each: the counts stay, and most intervals hold the true number."""
    results, source = read_results(simulated), random.Random(5)
    inside = []
    for _ in range(20):
        noisy = {}
        for name, each in results.jobs.items():
            factor = 1 + source.gauss(0, 0.005)
            noisy[name] = replace(each, mean_us=each.mean_us * factor, iops=each.iops / factor)
        for found in estimate_reads(replace(results, jobs=noisy)).quantities:
            if found.name not in TRUE:
                continue
            if found.low == found.high:
                assert found.value == TRUE[found.name]
            else:
                inside.append(found.low <= TRUE[found.name] <= found.high)
    assert sum(inside) >= 0.85 * len(inside)


def test_reads_alone_leave_the_rest_unknown(nandlab_command, copied):
    for name in ("probe-writes", "probe-fill", "probe-overwrite"):
        (copied / f"{name}.json").unlink()
    ended = nandlab_command("calibrate", "--probe", copied)
    assert ended.status == 0, ended.err
    assert "read time" in ended.out
    for name in ("program time", "write buffer", "over-provisioning"):
        assert f"{name}: cannot be known from these jobs (probe-" in ended.out


def edited(path, change):
    document = json.loads(path.read_text())
    change(document["jobs"])
    path.write_text(json.dumps(document))


def test_a_drive_that_answers_from_memory_says_nothing(nandlab_command, copied):
    def same(jobs):
        for job in jobs:
            job["read"]["iops"] = 500_000.0

    edited(copied / "probe-reads.json", same)
    ended = nandlab_command("calibrate", "--probe", copied)
    assert ended.status == 0, ended.err
    assert "read time: cannot be known from these jobs (reads of one place are as fast" in ended.out


def probed(nandlab_command, folder, text):
    """Quantities of a simulated drive by name, and the JSON document."""
    drive = write(folder / "drive.toml", text)
    jobs, profile = folder / "jobs", folder / "found.toml"
    made = nandlab_command("calibrate", "--probe-jobs", jobs, "--writes", "--simulate", drive)
    assert made.status == 0, made.err
    ended = nandlab_command("calibrate", "--probe", jobs, "--json", "--output", profile)
    assert ended.status == 0, ended.err
    return {each["name"]: each for each in ended.document["quantities"]}, ended.document


def test_page_types_command_time_and_pages_at_once(nandlab_command, tmp_path):
    types = """
transfer_command_us = 3
program_pages = 4
page_types = { read_us = [55, 85] }

[device.rules]
bits_per_cell = 2
program_order = "ascending_dense"
"""
    text = DRIVE.replace("transfer_ns_per_byte = 2\n", f"transfer_ns_per_byte = 2{types}")
    found, document = probed(nandlab_command, tmp_path, text)
    assert found.keys() == {*TRUE, "command time"}
    for name, true in {**TRUE, "pages at once": 4, "command time": 3}.items():
        assert found[name]["value"] == pytest.approx(true, rel=0.03), name
        assert found[name]["low"] <= true * 1.001 and true * 0.999 <= found[name]["high"], name
    assert found["read time"]["note"] == "the mean of all pages; 55 at the start of the drive"
    assert not document["worst"]["warning"], document["worst"]
    profile = (tmp_path / "found.toml").read_text(encoding="utf-8")
    for key in ("program_pages = 4 ", "transfer_command_us = ", "page_types = ", "bits_per_cell = 2 "):
        assert key in profile, key
    use = '[workload.uniform]\nrequests = 10\n[ftl.page]\n[device]\nprofile = "found.toml"\n'
    assert nandlab_command("run", write(tmp_path / "use.toml", use)).status == 0


def test_capacitors_and_several_pages_at_once_leave_an_interval(nandlab_command, tmp_path):
    """Flushes hide that two dies on a channel gather pages at the same time. A die has 100 blocks."""
    buffer = "write_buffer_bytes = 4194304\n"
    text = DRIVE.replace(buffer, f"{buffer}write_buffer_protected = true\n")
    text = text.replace("program_us = 900", "program_us = 900\nprogram_pages = 4")
    found, document = probed(
        nandlab_command, tmp_path, text.replace("pages_per_block = 4", "pages_per_block = 50")
    )
    assert found["pages at once"]["value"] is None
    assert found["program time"]["low"] <= 900 / 4 <= found["program time"]["high"]
    assert found["over-provisioning"]["value"] < 0.25 <= found["over-provisioning"]["high"]
    assert document["worst"] is not None
    assert "write_buffer_protected = true" in (tmp_path / "found.toml").read_text(encoding="utf-8")


def test_what_the_model_lacks_is_a_warning(nandlab_command, copied):
    """Deep reads are faster than the dies can be."""

    def ahead(jobs):
        for job in jobs:
            if job["jobname"] == "read.4k.qd256":
                job["read"]["iops"] *= 1.5

    edited(copied / "probe-reads.json", ahead)
    ended = nandlab_command("calibrate", "--probe", copied, "--report", copied / "report.html")
    assert ended.status == 0, ended.err
    assert "warning: The found drive differs in 1 of 50 jobs by more than 10 %" in ended.out
    assert "most in read.4k.qd256 (requests a second -3" in ended.out.replace("\n", " ")
    assert '<p class="warning">The found drive differs' in (copied / "report.html").read_text()


def test_without_writes_only_reads_are_repeated(nandlab_command, copied):
    (copied / "probe-writes.json").unlink()
    ended = nandlab_command("calibrate", "--probe", copied, "--report", copied / "report.html")
    assert "Only read jobs were repeated" in ended.out
    assert "What cannot be known from these jobs" in (copied / "report.html").read_text()


def test_capacitors_leave_the_rate_of_all_dies(nandlab_command, copied):
    """A drive that answers a flush from its buffer: the program time comes from the sustained rate."""

    def fast(jobs):
        for job in jobs:
            if job["jobname"].startswith("sync"):
                job["sync"]["lat_ns"]["mean"] = 7000.0

    edited(copied / "probe-writes.json", fast)
    ended = nandlab_command("calibrate", "--probe", copied, "--json")
    found = {each["name"]: each for each in ended.document["quantities"]}
    assert found["program time"]["note"].startswith("for each page, from all dies' rate")
    assert found["program time"]["value"] == pytest.approx(900, rel=0.05)


def test_a_drive_without_a_buffer(nandlab_command, tmp_path):
    drive = write(tmp_path / "drive.toml", DRIVE.replace("write_buffer_bytes = 4194304", ""))
    nandlab_command("calibrate", "--probe-jobs", tmp_path / "jobs", "--writes", "--simulate", drive)
    ended = nandlab_command("calibrate", "--probe", tmp_path / "jobs", "--json")
    assert ended.status == 0, ended.err
    found = {each["name"]: each for each in ended.document["quantities"]}
    assert found["program time"]["value"] == pytest.approx(900, rel=0.02)
    assert found["write buffer"]["note"] == "writes wait for flash: no buffer answers them"


def remove_first(jobs):
    del jobs[0]


def rename(jobs):
    for job in jobs:
        job["jobname"] = "other"


def enlarge(jobs):
    jobs[0]["job options"]["bs"] = "8k"


def fail(jobs):
    jobs[0]["error"] = 5


def empty(jobs):
    jobs[0]["read"]["total_ios"] = 0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (remove_first, "the job hot.4k.qd1 is missing: run probe-reads.fio again"),
        (rename, "these are results of other jobs"),
        (enlarge, "job hot.4k.qd1: bs is 8k, and the probe's job has 4k"),
        (fail, "the job hot.4k.qd1 ended with error 5"),
        (empty, "job hot.4k.qd1: no request was measured"),
    ],
)
def test_wrong_results_are_refused(nandlab_command, copied, change, sentence):
    edited(copied / "probe-reads.json", change)
    refused(nandlab_command("calibrate", "--probe", copied), sentence)


def refused(ended, sentence):
    assert ended.status == 2
    assert ended.out == ""
    assert sentence in ended.err
    assert len(ended.err.splitlines()) == 1


def test_damaged_files_are_refused(nandlab_command, copied, tmp_path):
    (tmp_path / "empty").mkdir()
    refused(nandlab_command("calibrate", "--probe", tmp_path / "empty"), "there are no results")
    refused(nandlab_command("calibrate", "--probe", tmp_path / "none"), "does not exist")
    log = copied / "probe-overwrite_bw.1.log"
    log.write_text("1000, many, 1, 0, 0\n")
    refused(nandlab_command("calibrate", "--probe", copied), "probe-overwrite_bw.1.log, line 1: expected")
    log.unlink()
    refused(nandlab_command("calibrate", "--probe", copied), "the log is missing")
    path = copied / "probe-reads.json"
    path.write_text(path.read_text()[:3000])
    refused(nandlab_command("calibrate", "--probe", copied), "probe-reads.json, line ")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--writes",), "--writes needs --probe-jobs DIR"),
        (("--target", "/dev/x"), "--target needs --probe-jobs DIR"),
        (("--probe", ".", "--probe-jobs", "x"), "give one of them"),
        (("--probe", ".", "--free", "device.timing.read_us=1..2"), "--free has no meaning with --probe"),
        (("--probe-jobs", "x", "--output", "x.toml"), "--output has no meaning with --probe-jobs"),
        (("--probe-jobs", "x", "--target", "a\nb"), "expected a device or a file"),
        ((), "Missing argument 'FILE'"),
    ],
)
def test_options_of_other_modes_are_refused(nandlab_command, arguments, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(nandlab_command("calibrate", *arguments), sentence)
    assert list(tmp_path.iterdir()) == []


def test_a_knee_is_where_two_rates_meet():
    log = [(float(at), 100.0 * min(at, 60.5) + 40.0 * max(0.0, at - 60.5)) for at in range(120)]
    place, step = knee(log, 0)
    assert place == pytest.approx(6050, abs=1)
    assert step <= 100
    assert knee([(float(at), 100.0 * at) for at in range(120)], 0) is None


# The job files are for another program, so without it there is nobody to read them; .ci/run installs it.
@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_fio_takes_the_jobs(nandlab_command, tmp_path):
    """Fio parses all files, and the probe reads what fio wrote for the reads of a file."""
    target = tmp_path / "target"
    target.write_bytes(bytes(8 * 2**20))
    folder = tmp_path / "jobs"
    nandlab_command("calibrate", "--probe-jobs", folder, "--writes", "--target", target)
    for name in NAMES:
        ended = subprocess.run(
            ["fio", "--parse-only", folder / f"{name}.fio"], capture_output=True, text=True
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
    jobs = folder / "probe-reads.fio"
    quick = jobs.read_text().replace("runtime=6", "runtime=20ms").replace("ramp_time=1", "ramp_time=0")
    quick = quick.replace("direct=1", "direct=0").replace("ioengine=libaio", "ioengine=psync")
    # All at once, which takes less time.
    jobs.write_text(quick.replace("stonewall\n", ""))
    words = ["fio", "--readonly", "--output-format=json", "--output=probe-reads.json", jobs]
    subprocess.run(words, cwd=folder, check=True, capture_output=True)
    assert read_results(folder).jobs["hot.4k.qd1"].iops > 0
    ended = nandlab_command("calibrate", "--probe", folder)
    assert ended.status == 0, ended.err
    assert "program time: cannot be known from these jobs" in ended.out
    jobs = folder / "probe-overwrite.fio"
    jobs.write_text(jobs.read_text().replace("direct=1", "direct=0").replace("avg_msec=1000", "avg_msec=1"))
    subprocess.run(["fio", jobs], cwd=folder, check=True, capture_output=True)
    assert (folder / "probe-overwrite_bw.1.log").is_file()


@pytest.mark.long
def test_hidden_drives_are_found_within_five_percent():
    for _, verdicts, seconds in judged(1, 5):
        assert seconds < 600
        assert [each for each in verdicts if not each.passes] == []


@pytest.mark.long
def test_judge_prints_a_table(capsys):
    assert judge(["--seed", "2", "--drives", "1"]) == 0
    assert "over-provisioning" in capsys.readouterr().out


def test_a_folder_without_writes_keeps_no_job_that_writes(nandlab_command, tmp_path):
    assert nandlab_command("calibrate", "--probe-jobs", tmp_path, "--writes").status == 0
    assert nandlab_command("calibrate", "--probe-jobs", tmp_path).status == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["README.txt", "probe-reads.fio"]
    assert "probe-*" not in (tmp_path / "README.txt").read_text()


@pytest.mark.parametrize("target", ["/dev/a;b", "/dev/a#b", "/dev/${HOME}", "/dev/a\tb", "/dev/a:b", " "])
def test_a_target_that_fio_would_cut_is_refused(nandlab_command, tmp_path, target):
    ended = nandlab_command("calibrate", "--probe-jobs", tmp_path, "--target", target)
    assert ended.status == 2
    assert "--target" in ended.err
    assert not list(tmp_path.iterdir())


def test_results_of_a_drive_are_not_mixed_with_a_simulation(nandlab_command, tmp_path):
    (tmp_path / "probe-writes.json").write_text('{"fio version": "fio-3.33", "jobs": []}')
    ended = nandlab_command("calibrate", "--probe-jobs", tmp_path, "--simulate", "experiments/probe.toml")
    assert ended.status == 2
    assert "results of a drive" in ended.err
    assert (tmp_path / "probe-writes.json").exists()

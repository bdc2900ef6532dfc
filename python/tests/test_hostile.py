"""Files that mean harm: numbers at every limit, names that a terminal would obey, files without end."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from conftest import SMALL, write
from test_importing import DEVICE, WORKLOAD

DEVICE_OF_SMALL = SMALL[SMALL.index("[ftl.page]") :]
NUMBERS = ["0", "-1", str(2**63), str(2**64), "1e308", "nan", "inf", "9" * 400, "1" + "0" * 5000]
TOML_KEYS = [
    "workload.uniform.seed",
    "device.capacity",
    "device.over_provisioning",
    "device.timing.program_us",
    "device.shape.pages_per_block",
    "host.queue_depth",
    "precondition.overwrites",
    "ftl.page.reserve_blocks",
]
FIO_KEYS = [
    "bs",
    "iodepth",
    "numjobs",
    "runtime",
    "random_distribution",
    "startdelay",
    "zonesize",
    "rwmixread",
]
XML_KEYS = ["Block_No_Per_Plane", "Flash_Channel_Count", "Overprovisioning_Ratio", "Page_No_Per_Block"]
FLOW_KEYS = [
    "Working_Set_Percentage",
    "Average_No_of_Reqs_in_Queue",
    "Total_Requests_To_Generate",
    "Read_Percentage",
]
LINE = re.compile(r"line \d+|--set|as an experiment this does not fit")


def ends_well(ended, path):
    """A run that works, or one sentence with the file and the line."""
    assert ended.status in (0, 2), ended.err[-500:]
    assert "Traceback" not in ended.err and "internal error" not in ended.err, ended.err[-500:]
    if ended.status == 2:
        assert path.name in ended.err and LINE.search(ended.err), ended.err[-500:]
        assert len(ended.err) < 1500, "digits without end are not repeated"


FREE = ("--free", "device.timing.read_us=1..9", "--output", "o.toml")


@pytest.mark.parametrize("key", TOML_KEYS)
def test_numbers_in_an_experiment(nandlab_command, tmp_path, key):
    table, name = key.rsplit(".", 1)
    tables = {"workload.uniform": "requests = 100\n", "ftl.page": "", "device": 'capacity = "16 MiB"\n'}
    if name == "capacity":
        tables["device"] = ""
    for number in NUMBERS:
        given = {**tables, table: f"{tables.get(table, '')}{name} = {number}\n"}
        text = "".join(f"[{one}]\n{keys}" for one, keys in given.items())
        path = write(tmp_path / "x.toml", text)
        ends_well(nandlab_command("run", path), path)


@pytest.mark.parametrize("column", [0, 2, 3])
def test_numbers_in_a_trace(nandlab_command, tmp_path, column):
    for number in [*NUMBERS, "1_0", "0x10"]:
        cells = ["5", "W", "8", "8"]
        cells[column] = number
        text = "time_us,op,sector,sectors\n0,W,0,8\n" + ",".join(cells) + "\n"
        path = write(tmp_path / "x.csv", text)
        ends_well(nandlab_command("trace", "info", path), path)


@pytest.mark.parametrize("key", FIO_KEYS)
def test_numbers_in_a_job(nandlab_command, tmp_path, key):
    path = write(
        tmp_path / "x.toml",
        '[workload.fio]\npath = "x.fio"\n' + DEVICE_OF_SMALL,
    )
    for number in NUMBERS:
        value = f"zipf:{number}" if key == "random_distribution" else number
        job = f"[j]\nrw=randwrite\nsize=8m\nnumber_ios=100\n{key}={value}\n"
        ends_well(nandlab_command("run", path), write(tmp_path / "x.fio", job))


@pytest.mark.parametrize("key", [*XML_KEYS, *FLOW_KEYS])
def test_numbers_in_a_configuration_of_mqsim(nandlab_command, tmp_path, key):
    for number in [*NUMBERS, "1_0"]:
        texts = [re.sub(f"(<{key}>)[^<]*", rf"\g<1>{number}", text) for text in (DEVICE, WORKLOAD)]
        assert texts != [DEVICE, WORKLOAD], key
        device, flows = (
            write(tmp_path / name, text) for name, text in zip(("x.xml", "flows.xml"), texts, strict=True)
        )
        ended = nandlab_command("import", "mqsim", device, flows)
        ends_well(ended, flows if key in FLOW_KEYS and "flows.xml" in ended.err else device)
        assert ended.status == 2 or number != "1_0"


EVIL = "a<img src=x onerror=alert(1)>\"'&\x1b]0;own\x07\x1b[31m\x9b"
IN_TOML = EVIL.replace('"', "").replace("\x1b", "\\u001b").replace("\x07", "\\u0007").replace("\x9b", "")
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def command(folder, *arguments):
    """A command in a process of its own, whose `main` sets the streams up. Its words are harmless."""
    done = subprocess.run(
        [sys.executable, "-m", "nandlab", *arguments],
        cwd=folder,
        capture_output=True,
        timeout=120,
        check=False,
    )
    out, err = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in err and "internal error" not in err, err
    assert not OBEYED.search(out + err), repr(out + err)
    return done.returncode, out, err


def test_names_in_reports_and_pictures(tmp_path):
    name = f"{EVIL}.toml"
    write(tmp_path / name, SMALL)
    write(tmp_path / "small.toml", SMALL)
    for arguments in (
        ("run", name, "--report", "run.html", "--plots", "run"),
        ("compare", name, "small.toml", "--report", "compare.html", "--plots", "compare"),
        ("sweep", name, "--vary", "seed=1,2", "--report", "sweep.html"),
    ):
        status, _, err = command(tmp_path, *arguments)
        assert status == 0, err
    made = [path for path in tmp_path.rglob("*") if path.suffix in (".html", ".svg")]
    assert len(made) > 5
    for path in made:
        text = re.sub(r"(<script[^>]*>).*?</script>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert not OBEYED.search(text), path.name
        assert "<img" not in text, path.name


def test_words_of_a_record_are_shown_and_not_obeyed(nandlab_command, small, tmp_path):
    def spoilt(value):
        if isinstance(value, dict):
            return {key: spoilt(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [spoilt(inner) for inner in value]
        return value + EVIL if isinstance(value, str) else value

    record = nandlab_command("run", small, "--json").document
    write(tmp_path / "evil.json", json.dumps({**spoilt(record), "schema": record.get("schema")}))
    command(tmp_path, "explain", "evil.json", "--tries", "0")
    write(tmp_path / f"{EVIL}.json", json.dumps(record))
    status, out, _ = command(tmp_path, "explain", f"{EVIL}.json", "--tries", "0", "--json")
    assert status == 0
    json.loads(out)


MADE = {
    "x.toml": SMALL + f'"{IN_TOML}" = 1\n',
    "ftl.toml": SMALL.replace("[ftl.page]", f'[ftl."{IN_TOML}"]'),
    "policy.toml": SMALL.replace("[ftl.page]", f'[ftl.page]\nvictim = {{ python = "{IN_TOML}:X" }}'),
    f"{EVIL}.csv": f"time_us,op,sector,sectors\n0,{EVIL},0,8\n",
    f"{EVIL}.xml": f"<a>{EVIL}",
    f"{EVIL}.json": json.dumps({"jobs": [{"jobname": EVIL}]}),
    f"{EVIL}.sections": f"[pal]\n{EVIL} = 1\n",
    "small.toml": SMALL,
}


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "x.toml"),
        ("run", "ftl.toml"),
        ("run", "policy.toml", "--policies"),
        ("run", f"no{EVIL}.toml"),
        ("run", "small.toml", "--set", f"ftl.{EVIL}=1"),
        ("compare", "small.toml", "--vary", f"seed=1,{EVIL}"),
        ("trace", "info", f"{EVIL}.csv"),
        ("import", "mqsim", f"{EVIL}.xml"),
        ("import", "simplessd", f"{EVIL}.sections"),
        ("import", "flashsim", f"{EVIL}.sections"),
        ("import", "femu", f"{EVIL}.sections"),
        ("disk", "info", f"{EVIL}.csv"),
        ("disk", "create", f"{EVIL}/x.img", "--set", "ftl=page"),
        ("calibrate", "small.toml", "--fio", f"{EVIL}.json", *FREE),
        ("calibrate", "small.toml", "--measured", f"{EVIL}.csv", *FREE),
        ("reproduce", EVIL),
        ("list", EVIL),
        (EVIL,),
    ],
    ids=lambda arguments: " ".join(arguments[:2]).replace(EVIL, "IT"),
)
def test_names_in_errors(tmp_path, arguments):
    for name, text in MADE.items():
        write(tmp_path / name, text)
    status, out, err = command(tmp_path, *arguments)
    assert status != 0 and out == "" and err


@pytest.fixture(scope="module")
def endless(tmp_path_factory):
    """A sparse file of 10 GiB by any name, and a trace that expands to as much."""
    folder = tmp_path_factory.mktemp("endless")
    for name in ("x.toml", "x.json", "x.xml", "x.csv", "x.img", "x.conf", "profile.toml", "mine.py"):
        with (folder / name).open("wb") as file:
            file.truncate(10 << 30)
    import gzip

    head, part = (gzip.compress(text) for text in (b"time_us,op,sector,sectors\n", b"0,W,0,8\n" * 1_250_000))
    with (folder / "packed.csv.gz").open("wb") as file:
        file.write(head)
        for _ in range(1000):
            file.write(part)
    write(folder / "small.toml", SMALL)
    write(folder / "trace.toml", '[workload.trace]\npath = "packed.csv.gz"\n' + DEVICE_OF_SMALL)
    write(folder / "profiled.toml", SMALL.replace("[device]\n", '[device]\nprofile = "./profile.toml"\n'))
    write(
        folder / "policy.toml", SMALL.replace("[ftl.page]", '[ftl.page]\nvictim = { python = "mine:Mine" }')
    )
    return folder


def watched(folder, *arguments, seconds):
    """A command under Ctrl-C after so many seconds: its status, errors, s until its end, MiB of memory."""
    command = [sys.executable, "-m", "nandlab", *arguments]
    started = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    end, most = time.monotonic() + seconds, 0
    while started.poll() is None and time.monotonic() < end:
        with open(f"/proc/{started.pid}/status", encoding="ascii") as status:  # noqa: PTH123 - no file of a disk
            found = re.search(r"VmHWM:\s*(\d+)", status.read())
        most = max(most, int(found[1]) >> 10 if found else 0)
        time.sleep(0.02)
    pressed = time.monotonic()
    if started.poll() is None:
        os.kill(started.pid, signal.SIGINT)
    try:
        _, err = started.communicate(timeout=30)
    finally:
        started.kill()
    return started.returncode, err.decode(), time.monotonic() - pressed, most


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "x.toml"),
        ("run", "x.json"),
        ("run", "profiled.toml"),
        ("run", "policy.toml", "--policies"),
        ("explain", "x.json"),
        ("import", "mqsim", "x.xml"),
        ("import", "femu", "x.conf"),
        ("import", "simplessd", "x.conf"),
        ("import", "flashsim", "x.conf"),
        ("import", "nvmevirt", "x.conf"),
        ("reproduce", "x.toml"),
        ("trace", "info", "x.csv"),
        ("disk", "info", "x.img"),
        ("disk", "check", "x.img"),
        ("calibrate", "small.toml", "--measured", "x.csv", *FREE),
        ("calibrate", "small.toml", "--fio", "x.json", *FREE),
    ],
    ids=lambda arguments: " ".join(arguments[:3]),
)
def test_a_sparse_file_of_10_gib_is_refused_in_little_memory(endless, arguments):
    status, err, _, mib = watched(endless, *arguments, seconds=30)
    assert status in (1, 2) and err.startswith("error: ") and "stopped" not in err, err
    assert mib < 400, f"{mib} MiB"


@pytest.mark.parametrize("arguments", [("trace", "info"), ("profile",), ("trace", "convert"), ("run",)])
def test_a_packed_trace_of_10_gb_shows_progress_and_ends_at_once(endless, tmp_path, arguments):
    more = ("trace.toml",) if arguments == ("run",) else ("packed.csv.gz",)
    output = (str(tmp_path / "out.nltr"),) if arguments[-1] == "convert" else ()
    status, err, took_s, mib = watched(endless, *arguments, *more, *output, seconds=3)
    assert (
        status == 1
        and "records of the trace read" in err
        and "stopped" in err + "stopped" * (more[0] == "trace.toml")
    )
    # A second is the promise; a busy machine gets some more.
    assert took_s < 3
    assert mib < 600, f"{mib} MiB"

"""Ways in: standard input, names as an experiment has them, and every missing program at once."""

import io
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from conftest import SMALL

import nandlab
from nandlab import reading
from nandlab.listing import lists


def piped(text, *arguments):
    command = [sys.executable, "-m", "nandlab", *map(str, arguments)]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=120)


def test_a_record_is_explained_from_standard_input(small):
    record = piped("", "run", small, "--json").stdout
    done = piped(record, "explain", "-", "--tries", "0", "--json", "--base", small.parent)
    assert done.returncode == 0, done.stderr
    path = small.parent / "record.json"
    path.write_text(record, encoding="utf-8")
    from_file = piped("", "explain", path, "--tries", "0", "--json", "--base", small.parent)
    without_name = [{**json.loads(each.stdout), "name": None, "file": None} for each in (done, from_file)]
    assert without_name[0] == without_name[1]
    refused = piped("{", "explain", "-")
    assert refused.returncode == 2 and "-, line 1, column 2: this is no JSON" in refused.stderr


TRACE = "time_us,op,sector,sectors\n0,W,0,8\n5,R,0,8\n9,W,64,16\n"


@pytest.fixture
def given(monkeypatch):
    """Runs a command in a folder with a text on its standard input; what it prints."""

    def called(text, folder, *arguments):
        from nandlab.cli import group

        monkeypatch.chdir(folder)
        reading._standard_input_once.cache_clear()
        ended = CliRunner().invoke(group, [str(each) for each in arguments], input=text)
        return ended.stdout if ended.exception is None else ended.exception

    yield called
    reading._standard_input_once.cache_clear()


def test_an_experiment_is_read_from_standard_input(given, tmp_path):
    """Its paths start from the current folder, where its own file lies here."""
    (tmp_path / "a.csv").write_text(TRACE, encoding="utf-8")
    text = SMALL.replace("[workload.uniform]\nrequests = 20000", '[workload.trace]\npath = "a.csv"')
    (tmp_path / "small.toml").write_text(text, encoding="utf-8")
    checked = [given(text, tmp_path, "check", name) for name in ("-", "small.toml")]
    assert checked[0] == checked[1] and 'path = "a.csv"' in checked[0]
    as_json = given(text, tmp_path, "check", "-", "--json")
    as_json = json.dumps(json.loads(as_json)["experiment"])
    for arguments in (["run", "-"], ["compare", "-", "--vary", "buffer=lru,arc"]):
        tables = [given(each, tmp_path, *arguments) for each in (text, as_json)]
        assert "write" in tables[0] and _plain(tables[0]) == _plain(tables[1]), arguments
    broken = given("[ftl.page]\nvictims = 1\n", tmp_path, "run", "-")
    assert "-, line 2" in str(broken)


def _plain(table):
    """Without the speed of the machine."""
    return [line for line in table.splitlines() if "speed" not in line]


def test_a_configuration_and_measured_rows_are_read_from_standard_input(given, tmp_path):
    configuration = "SSD_SIZE 4\nFTL_IMPLEMENTATION 3\n"
    (tmp_path / "ssd.conf").write_text(configuration, encoding="utf-8")
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    found = [given(configuration, tmp_path, "import", "flashsim", name) for name in ("-", "ssd.conf")]
    assert found[0].replace("flashsim: -", "flashsim: ssd.conf") == found[1]
    free = ["--free", "device.timing.read_us=20..80", "--output", "found.toml"]
    rows = "rw,bs,iodepth,iops\nerase,4k,1,9\n"
    refused = given(rows, tmp_path, "calibrate", "small.toml", "--measured", "-", *free)
    assert str(refused).startswith("-, line 2: rw"), refused


def test_a_trace_is_read_from_standard_input(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(TRACE, encoding="utf-8")
    for arguments in (["info"], ["head"]):
        found = [
            json.loads(piped(TRACE, "trace", *arguments, given, "--json").stdout) for given in ("-", path)
        ]
        for each in found:
            for name in ("path", "file", "bytes", "seconds", "speed"):
                each.pop(name, None)
        assert found[0] == found[1]
    done = piped(TRACE, "trace", "convert", "-", tmp_path / "b.nltr")
    assert done.returncode == 0, done.stderr
    assert json.loads(piped("", "trace", "info", tmp_path / "b.nltr", "--json").stdout)["writes"] == 2
    empty = piped("", "trace", "info", "-")
    assert empty.returncode == 2 and len(empty.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "kind", "entry"),
    [("buffer.python", "buffers", "python"), ("ftl.page", "ftls", "page"), ("fs.fat", "file-systems", "fat")],
)
def test_an_entry_has_the_name_that_an_experiment_gives_it(nandlab_command, name, kind, entry):
    assert nandlab_command("list", name).out == nandlab_command("list", kind, entry).out
    assert nandlab_command("list", name).status == 0


def test_an_unknown_entry_of_a_table_is_told_with_a_near_one(nandlab_command):
    ended = nandlab_command("list", "buffer.lrru")
    assert ended.status == 2 and "did you mean lru?" in ended.err
    assert nandlab_command("list", "bufer.lru").status == 2


def test_tables_in_python_are_those_of_the_compiled_module():
    from nandlab import stubs

    made = Path(stubs.__file__).parent / "experiment" / "tables.py"
    assert made.read_text(encoding="utf-8") == stubs.tables(lists()["tables"])
    assert nandlab.Device(over_provisioning="7 %", zones={}).to_dict() == {
        "over_provisioning": "7 %",
        "zones": {},
    }


def test_zones_are_a_table_of_the_device():
    experiment = nandlab.Experiment(
        workload=nandlab.workload.zipf(requests=100),
        ftl=nandlab.ftl.zoned(),
        device=nandlab.Device(capacity="64 MiB", over_provisioning=0.5, zones={"blocks_per_die": 2}),
    )
    assert experiment.resolve()["device"]["zones"]["blocks_per_die"] == 2


def test_disk_try_names_every_missing_program_at_once(monkeypatch):
    from nandlab.cli import trying

    monkeypatch.setattr(trying.shutil, "which", lambda name, path=None: None)
    with pytest.raises(nandlab.NandlabError) as caught:
        trying._programs()
    said = str(caught.value)
    assert said.startswith("mke2fs, e2fsck, fuse2fs, fusermount3 not found")
    assert said.endswith("install e2fsprogs fuse2fs fuse3")


def test_standard_input_that_is_read_as_a_whole_has_a_bound(monkeypatch):
    monkeypatch.setattr(reading, "MOST_BYTES", 1 << 20)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(bytes(1 << 20))))
    assert len(reading.standard_input()) == 1 << 20
    with Path("/dev/zero").open("rb") as endless:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=endless))
        with pytest.raises(OSError, match="larger than 1 MiB"):
            reading.standard_input()

"""The first trace of somebody who has read nothing: messages say what to do next, and that then works."""

import re

import pytest
from conftest import write

TABLES = {
    "offsets.csv": "timestamp,type,offset,length\n"
    "1697041234.1,Write,4096,4096\n1697041234.2,Read,8192,16384\n",
    "blanks.txt": "0 R 100 8\n1 W 200 16\n2 W 200 16\n",
    "tabs.tsv": "# of mine\ntime_ms\trw\tsector\tnsectors\n0.1\tW\t0\t8\n0.2\tW\t8\t8\n",
    "flags.csv": "t_us;is_write_op;lba;blocks\n5;1;80;8\n9;0;80;8\n",
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_ones_own_is_read_as_the_message_says(nandlab_command, tmp_path, name):
    path = write(tmp_path / name, TABLES[name])
    ended = nandlab_command("trace", "info", path)
    assert (ended.status, ended.out) == (2, "")
    lines = re.findall(r"`((?:format|time_unit|columns) = .*?)`", ended.err)
    assert lines[0] == 'format = "columns"'
    sets = [word for line in lines for word in ("--set", line)]
    found = nandlab_command("trace", "info", path, *sets, "--json").document
    rows = [line for line in TABLES[name].splitlines() if line[0].isdigit()]
    assert found["requests"] == len(rows)
    assert found["reads"] + found["writes"] == len(rows)
    # The same lines in an experiment.
    experiment = write(
        tmp_path / "mine.toml",
        "[workload.trace]\n" + f'path = "{name}"\n' + "\n".join(lines) + "\n[ftl.page]\n",
    )
    assert nandlab_command("run", experiment, "--json").document["host"]["requests"] == len(rows)


def test_units_are_told_from_names_and_numbers(nandlab_command, tmp_path):
    for name, address, size, unit in (
        ("offsets.csv", "1", "1", "s"),
        ("blanks.txt", "512", "512", "us"),
        ("tabs.tsv", "512", "512", "ms"),
    ):
        said = nandlab_command("trace", "info", write(tmp_path / name, TABLES[name])).err
        assert f"address_unit_bytes = {address}, size_unit_bytes = {size}" in said
        assert f'time_unit = "{unit}"' in said


def test_a_trace_in_the_place_of_an_experiment_is_answered_with_one(nandlab_command, tmp_path):
    lines = "".join(f"{n},W,{8 * n},8,database\n" for n in range(20))
    path = write(tmp_path / "trace.csv", "time_us,op,sector,sectors,origin\n" + lines)
    for command in ("run", "check", "compare"):
        ended = nandlab_command(command, path)
        assert (ended.status, ended.out) == (2, "")
        assert "is a trace (format csv), not an experiment" in ended.err
    shown = ended.err.split("\n\n", 1)[1].rsplit("\n\n", 1)[0]
    experiment = write(tmp_path / "shown.toml", shown)
    assert nandlab_command("run", experiment, "--json").document["host"]["requests"] == 20


def test_what_is_neither_is_said_to_be_neither(nandlab_command, tmp_path):
    path = write(tmp_path / "notes.txt", "hello world\n")
    ended = nandlab_command("run", path)
    assert (ended.status, ended.out) == (2, "")
    assert "is no experiment, which is a TOML file; and as a trace: " in ended.err
    json = write(tmp_path / "lines.jsonl", '{"op": "read", "lba": 5}\n')
    assert "This looks like JSON" in nandlab_command("trace", "head", json).err


def test_an_experiment_may_have_any_name(nandlab_command, tmp_path):
    path = write(tmp_path / "experiment.conf", "[workload.uniform]\nrequests = 10\n[ftl.page]\n")
    assert nandlab_command("run", path).status == 0


def test_a_trace_that_fills_nothing_is_told(nandlab_command, tmp_path):
    lines = "".join(f"{n},W,{8 * (n % 4000)},8,database\n" for n in range(9000))
    write(tmp_path / "trace.csv", "time_us,op,sector,sectors,origin\n" + lines)
    text = '[workload.trace]\npath = "trace.csv"\n[ftl.page]\n[device]\ncapacity = "1 GiB"\n'
    path = write(tmp_path / "mine.toml", text)

    def told(*sets):
        notices = nandlab_command("run", path, *sets, "--json").document["notices"]
        return [notice for notice in notices if "no block was erased" in notice]

    (notice,) = told()
    assert "the trace wrote 35.16 MiB and the flash has 1.07 GiB" in notice
    small = ("--set", "device.capacity=16 MiB", "--set", "device.over_provisioning=0.3")
    assert told(*small) == []
    assert told("--set", "precondition.fill=random", "--set", "device.capacity=32 MiB") == []

"""The first trace of somebody who has read nothing: messages say what to do next, and that then works."""

import lzma
import re
import shlex
import tarfile
import zipfile

import polars
import pytest
from conftest import write

TABLES = {
    "offsets.csv": "timestamp,type,offset,length\n"
    "1697041234.1,Write,4096,4096\n1697041234.2,Read,8192,16384\n",
    "blanks.txt": "0 R 100 8\n5 W 200 16\n7 W 200 16\n",
    "tabs.tsv": "# of mine\ntime_ms\trw\tsector\tnsectors\n0.1\tW\t0\t8\n0.2\tR\t8\t8\n",
    "flags.csv": "t_us;is_write_op;lba;blocks\n5;1;80;8\n9;0;80;8\n",
    "kilobytes.csv": "ts_ms,op,lba,size_kb\n5,W,80,4\n9,R,80,0.5\n",
    "dates.csv": "when,op,lba,size\n2024-05-31 12:30:00.5,W,80,8\n2024-05-31 12:30:01,R,80,8\n",
    "hexadecimal.txt": "0.1 W 0x100 4K\n0.2 W 0x200 8K\n0.3 R 0x100 4K\n",
    "no names.csv": "1,100,8,0\n2,900,8,1\n3,500,8,1\n",
    "it's.csv": "time,the op,lba's,size\n1,W,80,8\n2,R,80,8\n",
    "pipes.txt": "t_us|op|lba|size\n5|W|80|8\n9|R|80|8\n",
    "decimal commas.csv": "time_s;op;lba;size\n0,5;W;80;8\n0,7;R;80;8\n",
    "months first.csv": "when,op,lba,size\n05/31/2024 10:00:00 AM,W,80,8\n05/31/2024 10:00:01 AM,R,80,8\n",
    "units of their own.csv": "time,op,lba,size\n2.471ms,W,80,8\n3.1ms,R,80,8\n",
    "title.csv": "My disk\n\ntime_ms,op,lba,size\n1,W,80,8\n2,R,80,8\n",
    "true.csv": "t_us,is_read,lba,size\n1,False,80,8\n2,True,80,8\n",
    "quotes.csv": 't_us,process,op,lba,size\n1,"a,b",W,80,8\n2,"c",R,80,8\n',
    "without sizes.csv": "t_us,op,lba\n1,W,80\n2,R,80\n",
    "backslashes.csv": "\\\\box\\t_us,op,lba,size\n1,W,80,8\n2,R,80,8\n",
    "pages.csv": "t_us,op,lpn,npages\n1,W,80,2\n2,R,80,1\n",
}


def proposed(said):
    """The lines of TOML in a message, and the command below them."""
    block, command = re.search(r"\n\n(format = .*?)\n\n(nandlab trace info .*)\n", said, re.DOTALL).groups()
    return block, shlex.split(command)[1:]


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_ones_own_is_read_as_the_message_says(nandlab_command, tmp_path, name):
    path = write(tmp_path / name, TABLES[name])
    ended = nandlab_command("trace", "info", path)
    assert (ended.status, ended.out) == (2, "")
    block, command = proposed(ended.err)
    found = nandlab_command(*command, "--json").document
    rows = [line for line in TABLES[name].splitlines() if line[:1].isdigit()]
    assert found["requests"] == len(rows)
    assert found["reads"] + found["writes"] == len(rows)
    assert found["reads"] == 1
    # The block as it is, at the end of an experiment's table.
    experiment = write(
        tmp_path / "mine.toml", f'[ftl.page]\n[workload.trace]\npath = "{name}"\n' + block + "\n"
    )
    record = nandlab_command("run", experiment, "--json").document
    assert record["host"]["requests"] == len(rows)
    assert record["host"]["written_sectors"] == found["written_sectors"]


def test_units_are_told_from_names_and_numbers(nandlab_command, tmp_path):
    for name, address, size, unit in (
        ("offsets.csv", "1", "1", "s"),
        ("blanks.txt", "512", "512", "us"),
        ("tabs.tsv", "512", "512", "ms"),
        ("kilobytes.csv", "512", "1024", "ms"),
        ("dates.csv", "512", "512", "date_time"),
    ):
        said = nandlab_command("trace", "info", write(tmp_path / name, TABLES[name])).err
        assert f"address_unit_bytes = {address}" in said and f"size_unit_bytes = {size}" in said
        assert f'time_unit = "{unit}"' in said


def test_a_line_that_does_not_fit_is_named_and_passed_over(nandlab_command, tmp_path):
    path = write(tmp_path / "footer.csv", "time,op,lba,size\n1,W,0,8\n2,R,8,8\n3,R,8,8\nTotal: 3 requests\n")
    said = nandlab_command("trace", "info", path).err
    assert 'on_error = "skip" # line 5 does not fit: `Total: 3 requests`' in said
    _, command = proposed(said)
    found = nandlab_command(*command, "--json").document
    assert (found["requests"], found["tally"]["skipped"]) == (3, 1)


def test_a_column_that_is_left_out_is_named_with_the_reason(nandlab_command, tmp_path):
    path = write(tmp_path / "days.csv", "when,op,lba,size\n31/05/2024 10:00,W,0,8\n31/05/2024 10:01,R,8,8\n")
    said = nandlab_command("trace", "info", path).err
    assert '# "when" is left out, as `31/05/2024 10:00` is no time that is read' in said
    _, command = proposed(said)
    assert nandlab_command(*command, "--json").document["span_s"] == 0


REFUSED = {
    "ends.csv": ("t,op,first_sector,last_sector\n1,W,0,7\n2,R,8,15\n", "add a column with the difference"),
    "no op.csv": ("t,lba,size\n1,0,8\n2,8,8\n", "no column has operations"),
    "experiment.toml": (
        '[workload.trace]\npath = "a.csv"\n[ftl.page]\n',
        "`nandlab check` and `nandlab run` take it",
    ),
    "iostat.txt": (
        "Device tps kB_read/s kB_wrtn/s\nsda 4.9 97.1 60.1\nsdb 4.9 97.1 60.1\n",
        "blktrace -d DEVICE",
    ),
    "strace.txt": (
        'pwrite64(3, "x", 4096, 8192) = 4096\npwrite64(3, "x", 4096, 12288) = 4096\n',
        "blktrace -d DEVICE",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_with_what_to_do(nandlab_command, tmp_path, name):
    text, said = REFUSED[name]
    ended = nandlab_command("trace", "info", write(tmp_path / name, text))
    assert (ended.status, ended.out) == (2, "")
    assert said in ended.err and "# " not in ended.err


def test_a_table_of_several_devices_is_never_mixed(nandlab_command, tmp_path):
    """The first 50 lines are of one disk: what was looked at first does not say that there are two."""
    lines = [f"{n},{n // 50},W,{8 * n},8\n" for n in range(100)]
    for header in ("", "time,disk,op,lba,size\n"):
        path = write(tmp_path / "disks.csv", header + "".join(lines))
        _, command = proposed(nandlab_command("trace", "info", path).err)
        assert len(nandlab_command(*command, "--json").document["devices"]) == 2
        table = command[command.index("--set") :]
        chosen = nandlab_command("trace", "info", path, *table, "--set", "device=1", "--json").document
        assert chosen["requests"] == 50


def test_a_table_in_the_place_of_an_experiment_is_answered_with_one(nandlab_command, tmp_path):
    path = write(tmp_path / "mine.csv", TABLES["kilobytes.csv"])
    ended = nandlab_command("run", path)
    assert (ended.status, ended.out) == (2, "")
    shown = ended.err[ended.err.index("[ftl.page]") : ended.err.index("\n\nWhat it then")]
    experiment = write(tmp_path / "shown.toml", shown)
    assert nandlab_command("run", experiment, "--json").document["host"]["requests"] == 2


def test_names_above_a_known_format_are_passed_over_and_told(nandlab_command, tmp_path):
    text = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n"
    text += "128166372003061629,hm,1,Read,512,512,1\n"
    found = nandlab_command("trace", "info", write(tmp_path / "msr.csv", text), "--json").document
    assert (found["format"], found["requests"]) == ("msr", 1)
    assert any(
        "the first line has names and was passed over: `Timestamp" in note for note in found["notices"]
    )


def test_files_that_are_no_text_are_named_with_what_to_do(nandlab_command, tmp_path):
    text = TABLES["offsets.csv"]
    frame = polars.DataFrame({"time": [1], "op": ["W"], "lba": [8], "size": [8]})
    frame.write_parquet(tmp_path / "parquet.csv")
    (tmp_path / "wide.csv").write_bytes(text.encode("utf-16"))
    (tmp_path / "packed.csv").write_bytes(lzma.compress(text.encode()))
    with zipfile.ZipFile(tmp_path / "zipped.csv", "w") as archive:
        archive.writestr("a.csv", text)
    for name, said in (
        ("parquet.csv", "a Parquet file"),
        ("wide.csv", "in UTF-16: write it in UTF-8"),
        ("packed.csv", "packed with xz"),
        ("zipped.csv", "a zip archive"),
    ):
        for options in ((), ("--format", "csv")):
            ended = nandlab_command("trace", "info", tmp_path / name, *options)
            assert ended.status == 2 and said in ended.err, ended


def test_of_an_archive_of_several_one_is_chosen(nandlab_command, tmp_path):
    (tmp_path / "one.csv").write_text("time_us,op,sector,sectors\n0,W,0,8\n")
    (tmp_path / "7").write_text("time_us,op,sector,sectors\n0,W,0,8\n1,read,0,8\n")
    for name, mode in (("both.tar", "w"), ("both.tgz", "w:gz")):
        with tarfile.open(tmp_path / name, mode) as archive:
            for member in ("one.csv", "7"):
                archive.add(tmp_path / member, member)
        ended = nandlab_command("trace", "info", tmp_path / name)
        assert (ended.status, ended.out) == (2, "")
        assert 'has 2 files, "one.csv", "7"' in ended.err and "workload.trace.member" in ended.err
        for member, requests in (("one.csv", 1), ("7", 2)):
            chosen = ("--set", f"member={member}", "--json")
            found = nandlab_command("trace", "info", tmp_path / name, *chosen).document
            assert found["requests"] == requests


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


def test_a_job_file_in_the_place_of_an_experiment_is_answered_with_one(nandlab_command, tmp_path):
    path = write(tmp_path / "job.fio", "[a]\nrw=write\nbs=4k\nsize=80k\n")
    ended = nandlab_command("run", path)
    assert (ended.status, ended.out) == (2, "")
    assert "job.fio is a job file of fio, not an experiment" in ended.err
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

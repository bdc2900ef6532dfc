"""An index in experiments: the same in TOML and Python, in tables and reports, and how its runs end."""

import json
import re
from pathlib import Path

import pytest
from conftest import write
from test_stopping import interrupted

import nandlab
from nandlab.record.made import IndexFigures

EXPERIMENTS = Path(__file__).parents[2] / "experiments"

INSERTS = """\
seed = 3

[workload.inserts]
operations = 5000
order = "skewed"
keys = 4000

[index.btree]
page_bytes = 1024
pool_bytes = "20 KiB"
policy = "clock"
flush_every = 1000

[ftl.fast]

[device]
profile = "btree"
capacity = "1 MiB"
over_provisioning = 1.0
"""


@pytest.fixture
def inserts(tmp_path):
    return write(tmp_path / "inserts.toml", INSERTS)


def as_python(**tables):
    given = {
        "seed": 3,
        "workload": nandlab.workload.inserts(operations=5000, order="skewed", keys=4000),
        "index": nandlab.index.btree(page_bytes=1024, pool_bytes="20 KiB", policy="clock", flush_every=1000),
        "ftl": nandlab.ftl.fast(),
        "device": nandlab.Device(profile="btree", capacity="1 MiB", over_provisioning=1.0),
    }
    return nandlab.Experiment(**{**given, **tables})


def test_toml_and_python_give_equal_results(inserts):
    from_file = nandlab.Experiment.from_toml(inserts)
    in_python = as_python()
    assert from_file.resolve() == in_python.resolve()
    result = in_python.run()
    assert from_file.run().without_speed() == result.without_speed()
    again = nandlab.Experiment(**result.experiment).run()
    assert again.without_speed() == result.without_speed()


def test_the_figures_are_typed():
    index = as_python().run().index
    assert isinstance(index, IndexFigures)
    assert set(index.to_dict()) == set(IndexFigures.__annotations__)
    for part in (index.operations, index.pool, index.page_writes):
        assert set(part.to_dict()) == set(type(part).__annotations__)
    assert index.operations.put == index.operations.total == 5000
    assert index.flushes == 5
    assert index.pool.frames == 20
    assert index.latency_us.flush.count == 5


def test_the_matrix_names_the_pages_of_the_index():
    result = as_python().run()
    origins = {cell.origin for cell in result.matrix}
    assert {"index_leaf", "index_root", "index_header"} <= origins
    assert sum(cell.programs for cell in result.matrix) == result.flash.programs


def test_every_option_of_an_index_is_a_keyword():
    import inspect

    resolved = as_python().resolve()["index"]["btree"]
    assert set(resolved) <= set(inspect.signature(nandlab.index.btree).parameters)
    with pytest.raises(TypeError, match="did you mean page_bytes"):
        nandlab.index.btree(page_byte=512)


def test_lists_have_indexes_and_say_what_workloads_ask(nandlab_command):
    assert "btree" in nandlab_command("list", "indexes").out
    about = nandlab_command("list", "indexes", "btree").out
    assert "pool_frames" in about
    assert "fixed | slotted | deltas" in about
    workloads = nandlab_command("list", "workloads", "--json").document["workloads"]
    asks = {workload["name"]: workload["asks"] for workload in workloads}
    assert asks["uniform"] == asks["trace"] == "sectors"
    assert {name for name, what in asks.items() if what == "keys"} == {
        "inserts",
        "ycsb",
        "load_update",
        "keys",
    }
    assert {name for name, what in asks.items() if what == "files"} == {
        "postmark",
        "directories",
        "large_files",
        "phone",
        "fax",
        "event_recorder",
        "camera",
        "files",
    }


@pytest.mark.parametrize(
    ("text", "place", "says"),
    [
        (
            "[workload.ycsb]\n[ftl.page]\n",
            "line 1",
            "there is no index that has any: add a table [index.btree] or [index.lsm]",
        ),
        ("[workload.uniform]\n[index.btree]\n[ftl.page]\n", "line 2", "leave [index.btree] out, or choose"),
        (INSERTS.replace("1024", "1000"), "line 9, column 14", "a power of two from 512 to 65536"),
        (INSERTS.replace("20 KiB", "20 KIB"), "line 10, column 14", "did you mean `KiB`?"),
        (INSERTS.replace("clock", "clok"), "line 11, column 10", "did you mean `clock`?"),
    ],
)
def test_mistakes_get_a_sentence_with_their_place(nandlab_command, tmp_path, text, place, says):
    ended = nandlab_command("run", write(tmp_path / "wrong.toml", text))
    assert ended.status == 2
    assert place in ended.err
    assert says in ended.err


def test_a_table_shows_the_index(nandlab_command, inserts):
    out = nandlab_command("run", inserts).out
    assert re.search(r"^operations +5,000 +5,000 put; 5 flushes$", out, re.MULTILINE)
    assert re.search(r"^index +\d levels +[\d,]+ records; \d+ leaves, [\d.]+ % full", out, re.MULTILINE)
    assert re.search(r"^index pool +[\d.]+ % +hits; 20 KiB, 20 frames$", out, re.MULTILINE)
    assert re.search(r"^index flush +5 ", out, re.MULTILINE)


def test_compare_varies_options_of_an_index(nandlab_command, inserts, tmp_path):
    page = tmp_path / "report.html"
    arguments = ("compare", inserts, "--vary", "index.btree.page_bytes=512,1024,4096")
    runs = nandlab_command(*arguments, "--json").document["runs"]
    assert [run["result"]["experiment"]["index"]["btree"]["page_bytes"] for run in runs] == [512, 1024, 4096]
    out = nandlab_command(*arguments, "--report", page).out
    assert "index" in out.splitlines()[0]
    for run in runs:
        assert f"{run['result']['index']['page_writes']['total']:,}" in out
    assert "pool hits" in page.read_text(encoding="utf-8")


def test_a_key_trace_is_looked_through(nandlab_command, inserts, tmp_path):
    write(tmp_path / "ops.csv", "op,key\nI,1\nR,1\nX,1\n")
    sets = ("--set", 'workload={ keys = { path = "ops.csv" } }')
    for command in ("check", "run"):
        ended = nandlab_command(command, inserts, *sets)
        assert ended.status == 2
        assert "line 4, column 1: expected op, one of I, U, P, R, M, S, D" in ended.err
    write(tmp_path / "ops.csv", "op,key\nI,1\nR,1\nD,1\n")
    assert "# keys: 3 operations" in nandlab_command("check", inserts, *sets).out
    assert nandlab_command("run", inserts, *sets).out.startswith("ops.csv: fast on btree")


def test_a_full_index_raises_with_what_was_measured():
    many = nandlab.workload.inserts(operations=1_000_000)
    with pytest.raises(
        nandlab.DeviceFull, match="the index is full: it needs more than the 1024 pages"
    ) as caught:
        as_python(workload=many).run()
    result = caught.value.result
    assert result.partial
    assert result.stopped.why == "index_full"
    assert result.index.operations.total == result.index.records + result.index.present


def test_a_lost_page_raises_with_what_was_measured():
    faults = {"bit_errors": {"rber": 2e-3, "ecc_bits": 4}}
    device = nandlab.Device(profile="btree", capacity="1 MiB", over_provisioning=1.0, faults=faults)
    with pytest.raises(nandlab.NandlabError, match="the index cannot go on") as caught:
        as_python(workload=nandlab.workload.inserts(operations=5000), device=device).run()
    assert caught.value.result.stopped.why == "unreadable"
    assert caught.value.result.host.unreadable == 1


def test_ctrl_c_prints_what_there_is(inserts):
    long = ("--set", "workload.inserts.operations=2_000_000_000")
    status, out, err, took_s = interrupted("run", inserts, *long, "--json", after_s=2)
    record = json.loads(out)
    assert status == 1
    assert record["stopped"]["message"] == f"after {record['index']['operations']['total']} operations"
    assert record["index"]["leaves"] > 10
    assert "of 2,000,000,000 operations" in err
    assert took_s < 3


@pytest.mark.parametrize(("name", "operations"), [("btree-ycsb", 200_000), ("btree-load-update", 600_000)])
def test_bundled_experiments_run_to_their_end(name, operations):
    result = nandlab.Experiment.from_toml(EXPERIMENTS / f"{name}.toml").run()
    assert not result.partial
    assert result.index.operations.total == operations
    assert result.notices == []


def test_the_published_setting_writes_61_to_64_thousand_pages():
    """Yoo et al., Table 1: the cells imply as many page writes at every page size."""
    for page_bytes in (512, 4096, 16384):
        sets = [f"index.btree.page_bytes={page_bytes}"]
        result = nandlab.Experiment.from_toml(EXPERIMENTS / "btree-inserts.toml", sets).run()
        assert 60_000 < result.index.page_writes.total < 64_500

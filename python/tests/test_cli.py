"""The command line: what it prints, and how it ends."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import SMALL, write

import nandlab

KINDS = [
    "ftls",
    "indexes",
    "buffers",
    "file-systems",
    "workloads",
    "traces",
    "devices",
    "memories",
    "victims",
    "tables",
]


def test_run_prints_a_table(nandlab_command, small):
    ended = nandlab_command("run", small)
    assert ended.status == 0
    assert "write amplification" in ended.out
    assert "20,000" in ended.out


def test_run_json_is_the_whole_record(nandlab_command, small):
    record = nandlab_command("run", small, "--json").document
    assert record["partial"] is False
    assert record["host"]["requests"] == 20000
    assert record["flash"]["programs"] == sum(cell["programs"] for cell in record["matrix"])
    assert record["experiment"]["device"]["over_provisioning"] == 0.25


def test_the_record_holds_what_it_takes_to_run_it_again(nandlab_command, small, tmp_path):
    first = nandlab_command("run", small, "--json").document
    again = write(tmp_path / "again.json", json.dumps(first["experiment"]))
    second = nandlab_command("run", again, "--json").document
    del first["speed"], second["speed"]
    assert first == second


def test_set_overrides_a_key(nandlab_command, small):
    record = nandlab_command(
        "run", small, "--json", "--set", "seed=9", "--set", "device.capacity=12 MiB"
    ).document
    assert record["seed"] == 9
    assert record["device"]["logical_bytes"] == 12 << 20


def test_set_without_a_value_is_refused(nandlab_command, small):
    ended = nandlab_command("run", small, "--set", "seed")
    assert (ended.status, ended.out) == (2, "")
    assert "key=value" in ended.err


@pytest.mark.parametrize("words", [("sweep", "--vary"), ("search", "--free"), ("compare", "--vary")])
def test_neither_does_a_key_that_varies(nandlab_command, small, words):
    command, option = words
    ended = nandlab_command(command, small, option, ".".join(["a"] * 30_000) + "=1,2")
    assert ended.status == 2
    assert "tables and lists are nested too deeply" in ended.err
    assert len(ended.err) < 500


@pytest.mark.parametrize("command", ["check", "run", "compare"])
def test_a_key_of_set_nests_no_deeper_than_a_file_may(nandlab_command, small, command):
    ended = nandlab_command(command, small, "--set", ".".join(["a"] * 30_000) + "=1")
    assert ended.status == 2
    assert "tables and lists are nested too deeply" in ended.err
    assert len(ended.err) < 500
    key = ".".join(["a"] * 81)
    with pytest.raises(nandlab.ConfigError, match="nested too deeply"):
        nandlab.Experiment.from_toml(small, [f"{key}=1"]).resolve()
    # One level less is a key like any other, and unknown.
    ended = nandlab_command("check", small, "--set", f"{key[2:]}=1")
    assert ended.status == 2
    assert "nested" not in ended.err


def test_a_misspelt_key_is_named_with_its_place_and_the_nearest_name(nandlab_command, tmp_path):
    path = write(tmp_path / "typo.toml", SMALL.replace("over_provisioning", "overprovisioning"))
    ended = nandlab_command("run", path)
    assert ended.status == 2
    assert ended.out == ""
    assert "typo.toml, line 10, column 1" in ended.err
    assert "overprovisioning" in ended.err
    assert "did you mean `over_provisioning`" in ended.err


def test_a_wrong_unit_names_the_key_and_what_is_allowed(nandlab_command, small):
    ended = nandlab_command("run", small, "--set", "device.capacity=16 furlongs")
    assert ended.status == 2
    assert "capacity" in ended.err
    assert "16 furlongs" in ended.err
    assert "MiB" in ended.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["rnu"], "did you mean run? `"),
        (["run"], "Missing argument 'FILE'"),
        (["run", "absent.toml"], "'absent.toml' does not exist"),
        (["list", "ftl"], "did you mean ftls? `"),
        (["list", "ftls", "pag"], "did you mean page?"),
        (["compare"], "Missing argument"),
        (["run", "--sedt", "a=b"], "Did you mean '--set'? `nandlab run --help`"),
        (["run", __file__, "--report", ""], "--report: expected the name of a file, given an empty one"),
        (["run", __file__, "--report", "/proc/report.html"], "no file can be made in /proc"),
        (
            ["run", __file__, "--report", "a" * 300],
            f"cannot write {'a' * 40}... (300 characters): file name too",
        ),
        (["run", __file__, "--report", "a" * 250 + ".html"], "file name too long"),
        (["run", __file__, "--op-log", "a" * 300 + ".csv"], "(304 characters): file name too long"),
    ],
)
def test_wrong_usage_gives_a_sentence(nandlab_command, arguments, says):
    ended = nandlab_command(*arguments)
    assert (ended.status, ended.out) == (2, "")
    assert says in ended.err
    assert len(ended.err.splitlines()) == 1


def test_compare_runs_every_combination(nandlab_command, small):
    ended = nandlab_command(
        "compare", small, "--json", "--vary", "seed=1,2", "--vary", "device.over_provisioning=0.25..0.5:2"
    )
    assert ended.status == 0
    runs = ended.document["runs"]
    assert [(run["result"]["seed"], run["result"]["device"]["over_provisioning"]) for run in runs] == [
        (1, pytest.approx(0.25, abs=0.02)),
        (1, pytest.approx(0.5, abs=0.02)),
        (2, pytest.approx(0.25, abs=0.02)),
        (2, pytest.approx(0.5, abs=0.02)),
    ]
    assert runs[1]["labels"] == {"seed": "1", "OP": "50 %"}
    assert runs[0]["result"]["waf"] > runs[1]["result"]["waf"]


def test_compare_takes_an_ftl_by_name_alone(nandlab_command, small):
    ended = nandlab_command("compare", small, "--json", "--vary", "ftl=page")
    (run,) = ended.document["runs"]
    assert list(run["result"]["experiment"]["ftl"]) == ["page"]


def test_compare_does_not_depend_on_how_many_run_at_once(nandlab_command, small):
    arguments = ("compare", small, "--json", "--vary", "seed=1,2,3,4")
    alone = nandlab_command(*arguments, "--jobs", 1).document["runs"]
    together = nandlab_command(*arguments, "--jobs", 4).document["runs"]
    for run in (*alone, *together):
        del run["result"]["speed"]
    assert alone == together


def test_compare_refuses_a_wrong_value_before_it_runs_any(nandlab_command, tmp_path):
    path = write(tmp_path / "long.toml", SMALL.replace("20000", "2000000000"))
    ended = nandlab_command("compare", path, "--vary", "device.capacity=16 MiB,16 furlongs")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("error: capacity 16 furlongs: --vary device.capacity=16 furlongs: ")
    assert "--help" not in ended.err


@pytest.mark.parametrize("kind", KINDS)
def test_list_answers_for_every_kind(nandlab_command, kind):
    assert nandlab_command("list", kind).status == 0
    document = nandlab_command("list", kind, "--json").document
    assert list(document) == [kind.replace("-", "_")]


def test_list_alone_names_everything(nandlab_command):
    ended = nandlab_command("list")
    assert ended.status == 0
    assert [line.split()[0] for line in ended.out.splitlines()] == KINDS
    assert "page, block" in ended.out
    assert list(nandlab_command("list", "--json").document) == [kind.replace("-", "_") for kind in KINDS]


def test_list_tells_all_about_one(nandlab_command):
    ended = nandlab_command("list", "ftls", "page")
    assert ended.status == 0
    assert "Invariants" in ended.out
    assert "meaning" in ended.out


def test_check_prints_an_experiment_that_resolves_to_itself(nandlab_command, small, tmp_path):
    ended = nandlab_command("check", small, "--set", "seed=5")
    assert ended.status == 0
    shown = write(tmp_path / "shown.toml", ended.out)
    assert (
        nandlab_command("check", shown, "--json").document
        == nandlab_command("check", small, "--set", "seed=5", "--json").document
    )


def test_an_internal_error_is_a_sentence(small, tmp_path):
    broken = write(tmp_path / "broken.py", "from nandlab.running import batch\nbatch.run_all = None\n")
    code = f"exec(open({str(broken)!r}).read())\nfrom nandlab.cli import main\nmain()"
    ended = subprocess.run(
        [sys.executable, "-c", code, "run", small],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NANDLAB_TRACEBACK": ""},
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("internal error: TypeError")
    assert "Traceback" not in ended.stderr


def test_version(nandlab_command):
    ended = nandlab_command("--version")
    assert ended.status == 0
    assert ended.out.startswith("nandlab ")


def test_a_key_that_is_given_twice_is_refused(nandlab_command, small):
    ended = nandlab_command("compare", small, "--vary", "seed=1,2", "--set", "seed=9")
    assert (ended.status, "seed is given twice" in ended.err) == (2, True), ended.err


def test_faults_are_checked_before_a_run(nandlab_command, small):
    ended = nandlab_command("check", small, "--set", "device.faults.factory_bad_share=-1")
    assert ended.status == 2
    assert ended.err.startswith("error: --set device.faults.factory_bad_share=-1"), ended.err


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("device.capacity=-28 MiB", "`-28 MiB` is negative, expected a number of bytes"),
        ("device.capacity=1e3 MiB", "`1e3 MiB` has an exponent, expected a number of bytes"),
        ("device.over_provisioning=1e308", "= 100000... (309 digits) cannot work"),
        ("seed=1e308", "18446744073709551615, given 100000... (309 digits)"),
        ('workload.trace.path="a\\u0000b"', "no file has a name with the character NUL"),
        ('device.profile="a/\\u0000b"', "no file has such a name"),
    ],
)
def test_a_wrong_value_gets_a_short_sentence(nandlab_command, tmp_path, override, says):
    path = write(tmp_path / "trace.toml", '[workload.trace]\npath = "t.csv"\n[ftl.page]\n')
    for command in ("run", "check"):
        ended = nandlab_command(command, path, "--set", override)
        assert (ended.status, ended.out, len(ended.err.splitlines())) == (2, "", 1)
        assert says in ended.err
        assert len(ended.err) < 400


def test_the_time_left_is_not_told_before_it_is_known():
    from nandlab.cli.progress import Known

    known = Known()
    # A fill of an empty device is four times as fast as what follows.
    for tick in range(1, 1001):
        known.add(tick / 10, 0.2 * tick / 250 if tick <= 250 else 0.2 + 0.8 * (tick - 250) / 4000)
        left = known.left_s()
        if tick <= 9:
            assert left is None
    assert known.left_s() == pytest.approx((0.8 - 0.8 * 750 / 4000) / 0.002, rel=0.01)
    slow = Known()
    for tick in range(100):
        slow.add(float(tick), tick * 1e-6)
        assert slow.left_s() is None


def told(monkeypatch, capsys, updates, tick_s=0.1):
    """The lines that a pipe gets, each with its time, for one update a tick."""
    from nandlab.cli import progress

    now, lines = 1000.0, []
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: now))
    with progress.Waiting() as waiting:
        for update in updates:
            now += tick_s
            waiting.update(*update)
            lines += [(round(now - 1000.0, 1), line) for line in capsys.readouterr().err.splitlines()]
    return lines


def test_a_pipe_is_told_the_time_left_as_soon_as_it_is_known(monkeypatch, capsys):
    lines = told(monkeypatch, capsys, [("run", tick / 300, "x") for tick in range(250)])
    assert lines[0] == (0.4, "run 1 %, x, time left not known yet")
    assert lines[1] == (1.9, "run 6 %, x, 28 s left")
    assert [at for at, _ in lines[2:]] == [11.9, 21.9]
    # What is over before is told once, and what is over at once not at all.
    assert len(told(monkeypatch, capsys, [("run", tick / 18, "x") for tick in range(18)])) == 1
    assert told(monkeypatch, capsys, [("run", 0.5, "x")] * 3) == []


def test_a_step_that_begins_is_told_soon(monkeypatch, capsys):
    updates = [("run", tick / 50, "x") for tick in range(50)] + [("saving", 0.0, "y")] * 50
    lines = told(monkeypatch, capsys, updates)
    assert [(at, line.split()[0]) for at, line in lines] == [(0.4, "run"), (1.9, "run"), (6.6, "saving")]


def test_each_round_of_candidates_has_its_own_share():
    from nandlab.cli.choose import _Rounds
    from nandlab.running.batch import Stage, State

    class Told:
        def update(self, *line):
            self.line = line

    shown = Told()
    rounds = _Rounds(shown)
    rounds(State(15, {}, 15))
    assert shown.line == ("candidates", 1.0, "15 of 15 done")
    rounds(State(0, {3: Stage("workload", 1, 4, 0.25)}, 3))
    assert shown.line == ("candidates, round 2", 0.25 / 3, "0 of 3 done")


def test_the_share_of_a_batch_never_goes_back(tmp_path):
    """Over all phases of all experiments, whatever they say one by one."""
    import nandlab
    from nandlab.running.batch import run_all

    text = SMALL.replace("20000", "1000000") + '[precondition]\nfill = "sequential"\noverwrites = 30.0\n'
    experiments = [
        nandlab.Experiment.from_toml(write(tmp_path / "p.toml", text), [f"seed={n}"]) for n in (1, 2, 3)
    ]
    shares, phases = [], set()

    def look(state):
        shares.append(state.share())
        phases.update((stage.phase, stage.total) for stage in state.running.values())

    run_all(experiments, 2, look)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert ("workload", 1000000) in phases


@pytest.mark.parametrize(
    ("options", "column", "values"),
    [
        (["small.toml"], "experiment", ["small.toml", "small.toml (2)"]),
        (["--vary", "ftl=page,page,page"], "ftl", ["page", "page (2)", "page (3)"]),
        (["--vary", "seed=1,1"], "seed", ["1", "1 (2)"]),
        (["--vary", "seed=1,0x1"], "seed", ["1", "0x1"]),
    ],
)
def test_rows_of_one_experiment_are_told_apart_and_named(nandlab_command, small, options, column, values):
    ended = nandlab_command("compare", small.name, *options, "--json", cwd=small.parent)
    runs = ended.document["runs"]
    assert [run["labels"][column] for run in runs] == values
    for value, run in zip(values[1:], runs[1:], strict=True):
        assert re.search(
            rf"{re.escape(value)} is the same experiment as \S*? ?{re.escape(values[0])}\n", ended.err
        )
        assert run["result"]["waf"] == runs[0]["result"]["waf"]
    assert nandlab_command("compare", small, "--vary", "seed=1,2").err == ""


def test_the_tables_of_every_experiment_have_their_options(nandlab_command):
    from nandlab.listing import all_options, lists

    for table in lists()["tables"]:
        options = all_options(table["options"])
        assert options and all(spec["doc"] for spec in options.values()), table["name"]
    assert re.search(r"queue_depth +int +1 ", nandlab_command("list", "host").out)
    assert re.search(r"fill +.*sequential.*float", nandlab_command("list", "precondition").out)
    device = nandlab_command("list", "device").out
    assert re.search(r"timing\.read_us +float +the profile's", device)
    assert "zones.blocks_per_die" in device


def test_options_of_one_paper_are_left_out_and_told(nandlab_command):
    """An option that says so stands in that paper's settings."""
    from nandlab.listing import all_options, lists, paper_of

    root = Path(nandlab.__file__).parents[2]
    marked = [
        (name, paper_of(spec))
        for entries in lists().values()
        for entry in entries
        for name, spec in all_options(entry.get("options") or {}).items()
        if paper_of(spec)
    ]
    assert ("skip_stale", "btree") in marked
    for name, paper in marked:
        text = (root / "papers" / f"{paper}.toml").read_text(encoding="utf-8")
        assert re.search(rf"\b{name.rpartition('.')[2]}\b", text), (name, paper)
    short, whole = (nandlab_command("list", "ftls", "fast", *more).out for more in ([], ["--all"]))
    assert "options of one paper (btree and migration): sequential_block" in short
    assert re.search(r"^skip_stale +bool", whole, re.MULTILINE)
    assert not re.search(r"^skip_stale +bool", short, re.MULTILINE)


def test_victims_of_log_blocks_stand_apart(nandlab_command):
    """Two of them have the name of a policy that takes any block."""
    any_block, logs = nandlab_command("list", "victims").out.split("among log blocks")
    assert "greedy" in any_block and "fullest" not in any_block and "Of log blocks" not in any_block
    assert all(name in logs for name in ("lru", "fifo", "random", "fullest")) and "greedy" not in logs


@pytest.mark.parametrize(
    "command",
    [
        ["run"],
        ["check"],
        ["explain"],
        ["trace", "info"],
        ["calibrate"],
        ["disk", "info"],
        ["disk", "check"],
        ["disk", "stats"],
        ["disk", "serve", "--nbd", "none.sock"],
    ],
    ids=" ".join,
)
def test_a_pipe_is_refused_at_once(nandlab_command, tmp_path, command):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    ended = nandlab_command(*command, pipe)
    assert ended.status == 2
    assert f"{pipe} is no regular file" in " ".join(ended.err.split())

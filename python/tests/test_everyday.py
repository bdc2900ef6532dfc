"""What a new user runs into: names, units, notes on a narrow terminal, several experiments from Python."""

import os
import pty
import re
import subprocess
import sys

import polars
import pytest

import nandlab
from nandlab.cli.output import wrapped
from nandlab.listing import lists

SIZED = nandlab.Device(capacity="16 MiB", over_provisioning=0.25)


def on_terminal(columns, *arguments):
    """What a command prints on a terminal of so many columns."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "LINES": "50"}
    with subprocess.Popen(
        [sys.executable, "-m", "nandlab", *arguments],
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env=environment,
    ):
        os.close(theirs)
        text = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:
                break
            if not part:
                break
            text += part
    os.close(ours)
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\r(?=\n)", "", text.decode())


@pytest.mark.parametrize("kind", ["ftls", "buffers", "workloads", "devices", "file_systems"])
def test_a_name_alone_is_listed_with_its_options(nandlab_command, kind):
    for entry in lists()[kind]:
        told = nandlab_command("list", entry["name"], "--all")
        assert (told.status, told.err) == (0, ""), entry["name"]
        for option in (entry.get("options") or {}).get("properties", {}):
            assert f"\n{option} " in told.out, f"{entry['name']}: {option}"
        same = nandlab_command("list", entry["name"], "--json").document
        assert entry in same[kind]


def test_a_name_that_several_kinds_have_is_listed_for_each(nandlab_command):
    names = [entry["name"] for entries in lists().values() for entry in entries]
    twice = {name for name in names if names.count(name) > 1}
    assert twice
    for name in twice:
        told = nandlab_command("list", name).out
        assert told.count(f"{name}, one of the ") == names.count(name)
    for name in ("pge", "greed", "ftl"):
        told = nandlab_command("list", name)
        assert (told.status, told.err.count("did you mean")) == (2, 1), told.err
    assert nandlab_command("list", "page", "victim").status == 2


def test_text_is_no_wider_than_the_terminal():
    told = on_terminal(72, "list", "ftls", "fast")
    text = re.sub(r"```.*?```", "", told.split("\n## References")[0], flags=re.DOTALL)
    prose = [line for line in text.split("\n") if not line.startswith("|")]
    assert len(prose) > 20
    assert max(map(len, prose)) <= 72
    words = told.split()
    whole = next(entry["doc"] for entry in lists()["ftls"] if entry["name"] == "fast").split()
    assert words[: len(whole)] == whole, "nothing is lost and nothing changed"


def test_code_and_tables_stay_as_they_are():
    code = "```text\n" + "x" * 30 + " y\n```"
    table = "| " + "a " * 20 + "|"
    assert (
        wrapped(f"one two three four\n\n{code}\n{table}\n", 9) == f"one two\nthree\nfour\n\n{code}\n{table}\n"
    )


def test_several_experiments_from_python(tmp_path):
    base = nandlab.Experiment(
        workload=nandlab.workload.uniform(requests=3_000), ftl=nandlab.ftl.page(), device=SIZED
    )
    designs = {"page": base, "block": base.replace(ftl=nandlab.ftl.block()), "copy": base}
    output = tmp_path / "runs.parquet"
    found = nandlab.compare(designs, seeds=2, output=output)
    assert (list(found.results), found.errors, found.stopped) == (list(designs), {}, False)
    assert found.results["page"] == base.run()
    frame = found.frame()
    assert frame["design"].to_list() == list(designs)
    assert frame["flash.erases"].to_list() == [each.flash.erases for each in found.results.values()]
    assert [each.seed for again in found.repeats.values() for each in again] == [2, 2, 2]
    again = nandlab.compare(designs | {"new": base.replace(seed=2)}, seeds=2, output=output)
    assert (again.reused, again.results["block"]) == (7, found.results["block"])
    rows = polars.read_parquet(output)
    assert rows["design"].to_list() == [name for name in again.results for _ in range(2)]
    assert rows["seed"].to_list() == [1, 2, 1, 2, 1, 2, 2, 3]
    found.report(tmp_path / "c.html")
    assert "block" in (tmp_path / "c.html").read_text(encoding="utf-8")
    with pytest.raises(nandlab.ConfigError, match="^small: "):
        nandlab.compare({"page": base, "small": base.replace(device=nandlab.Device(capacity="1 KiB"))})
    for wrong in ({}, [base], {"page": {}}):
        with pytest.raises(nandlab.ConfigError):
            nandlab.compare(wrong)


def test_a_path_is_a_trace(tmp_path):
    (tmp_path / "t.csv").write_text(
        "time_us,op,sector,sectors\n0,write,0,8\n10,write,8,8\n", encoding="utf-8"
    )
    given = {"ftl": nandlab.ftl.page(), "device": SIZED}
    for path in (tmp_path / "t.csv", str(tmp_path / "t.csv")):
        assert nandlab.Experiment(workload=path, **given).run().host.writes == 2
    with pytest.raises(nandlab.TraceError, match="none.csv"):
        nandlab.Experiment(workload=tmp_path / "none.csv", **given).run()


def test_a_figure_that_lies_deeper_is_proposed(small_result):
    for name, meant in (
        ("erases", "`flash.erases`"),
        ("wafs", "`waf`"),
        ("endurance", "`lifetime.endurance`"),
    ):
        with pytest.raises(AttributeError, match="did you mean") as raised:
            getattr(small_result, name)
        assert meant in str(raised.value)
    with pytest.raises(AttributeError, match="it has version"):
        _ = small_result.zzzzzz


def test_the_names_of_the_package_are_its_interface():
    assert dir(nandlab) == sorted(nandlab.__all__)
    for name in dir(nandlab):
        assert getattr(nandlab, name) is not None


def test_an_error_of_a_value_that_was_varied_names_what_gave_it(nandlab_command, small):
    for command in ("compare", "sweep"):
        told = nandlab_command(command, str(small), "--vary", "device.capacit=1,2")
        assert told.status == 2
        assert "--vary device.capacit=1: " in told.err
        assert "--set" not in told.err
    for command, option in (("compare", "--vary"), ("sweep", "--vary"), ("search", "--free")):
        told = nandlab_command(command, str(small), option, "ftl.victim=greedy,gredy")
        assert (told.status, f"{option} ftl.page.victim=gredy: " in told.err) == (2, True), told.err
    experiment = nandlab.Experiment.from_toml(small)
    with pytest.raises(nandlab.ConfigError, match="^vary: ftl.page.victim=gredy: .*did you mean `greedy`"):
        nandlab.sweep(experiment, {"ftl.page.victim": ["greedy", "gredy"]})


def test_choose_fits_a_terminal_of_eighty_columns():
    told = on_terminal(80, "choose", "--flash", "1M", "--workload", "phone", "--transactions", "40")
    assert max(map(len, told.split("\n"))) <= 80
    assert "file system" in told or "system" in told
    assert "What does not fit" in told


def test_a_sweep_says_from_where_on_nothing_is_gained(nandlab_command, tmp_path):
    """A cache that holds the whole workload gains nothing more; a goal that is the same for all is told."""
    text = """\
seed = 1
[workload.uniform]
requests = 4000
footprint = "256 KiB"
[buffer.lru]
size = "64 KiB"
[ftl.page]
[device]
capacity = "8 MiB"
over_provisioning = 0.5
"""
    (tmp_path / "e.toml").write_text(text, encoding="utf-8")
    sizes = (
        "sweep",
        str(tmp_path / "e.toml"),
        "--vary",
        "buffer.lru.size=32 KiB,128 KiB,512 KiB,1 MiB,2 MiB",
    )
    told = nandlab_command(*sizes, "--goal", "flash.programs")
    assert "flash.programs: no gain beyond size 512 KiB, within 1 %." in told.out, told.out + told.err
    told = nandlab_command(*sizes, "--goal", "host.writes")
    assert "host.writes does not tell the points apart: it differs by less than 1 %." in told.out
    rising = nandlab_command(*sizes[:3], "buffer.lru.size=32 KiB,64 KiB,128 KiB", "--goal", "flash.programs")
    assert "no gain" not in rising.out

"""`nandlab explain`: shares against counts made by hand, and each rule where its cause is known."""

import functools
import json
import random
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import SMALL, write
from explain_cases import CASES, run, workload
from test_stopping import WORN_OUT, interrupted

import nandlab
from nandlab.explaining.case import case_of, cost_of
from nandlab.explaining.changes import RULES, changes


@functools.cache
def result_of(rule):
    return CASES[rule][0].run()


def test_every_rule_has_a_case():
    assert len(CASES) == len(RULES)


@pytest.mark.parametrize("rule", CASES)
def test_a_cause_that_is_known_is_found_and_its_change_measured(rule):
    experiment, less = CASES[rule]
    before = result_of(rule)
    found = nandlab.explain(before, less=less)
    (change,) = [each for each in found.changes if each.rule == rule]
    assert change.share >= 0.01
    # The gain is that of the experiment with the change, run by itself.
    after = experiment.override(*change.sets).run()
    gain = 1 - cost_of(after, less) / cost_of(before, less)
    assert gain > 0.02, found.text()
    for trial in found.trials:
        if trial.change is change:
            assert trial.gain == gain
            assert trial.result.without_speed() == after.without_speed()
    assert found.best.gain >= 0.02


def test_all_of_a_cause_that_goes_is_what_it_took():
    """With one die and one request at a time the share is the gain, where nothing else follows."""
    found = nandlab.explain(result_of("trims_in_memory"), tries=20)
    (trial,) = [each for each in found.trials if each.change.rule == "trims_in_memory"]
    assert trial.gain == pytest.approx(trial.change.share, rel=0.01)


def test_shares_are_those_of_the_matrix():
    result = result_of("over_provisioning")
    case = case_of(result.to_dict(), "time")
    # One die and one request at a time: the sum of the data-sheet times is the time.
    assert case.idle == pytest.approx(0, abs=0.01)
    timing = result.experiment["device"]["timing"]
    move = timing["transfer_ns_per_byte"] * result.device.page_bytes / 1000
    copies, erases = result.flash.copies, result.flash.erases
    by_hand = copies * (timing["read_us"] + timing["program_us"] + 2 * move) + erases * timing["erase_us"]
    assert case.share(causes=("gc",)) * result.busy_us == pytest.approx(by_hand, rel=0.02)
    for kind in ("origin", "cause"):
        parts = case.by(kind).values()
        assert sum(time for time, _ in parts) + case.idle == pytest.approx(1)
        assert sum(erased for _, erased in parts) == pytest.approx(1)
    assert case_of(result.to_dict(), "erases").share(causes=("gc",)) == pytest.approx(1)


def test_dies_without_work_are_told():
    result = result_of("deeper_queue")
    case = case_of(result.to_dict(), None)
    assert case.idle == pytest.approx(31 / 32, abs=0.001)
    found = nandlab.explain(result)
    assert [each.change.rule for each in found.trials] == ["deeper_queue"]
    # 32 dies do the work of one in as many parts of its time.
    assert found.best.gain == pytest.approx(31 / 32, abs=0.01)
    assert "96.9 % had no work" in found.text()


def test_where_nothing_is_lost_nothing_is_proposed():
    found = nandlab.explain(run(workload.sequential(requests=20_000)).run())
    assert (found.changes, found.trials, found.best) == ([], [], None)
    assert "No change is proposed" in found.text()


def test_a_loss_is_told_and_the_next_is_tried():
    """Every page is written once: a larger buffer saves nothing, and what it holds in the end comes later."""
    once = run(
        workload.sequential(requests=2000, size="512 B", alignment="512 B", footprint="1 MiB"),
        op=2.0,
        buffer=nandlab.buffer.lru(size="64 KiB"),
    )
    found = nandlab.explain(once.run())
    first = found.trials[0]
    assert first.change.rule == "larger_buffer"
    assert first.gain < 0.001
    assert "the same time within 0.1 %" in " ".join(found.text().split())
    assert found.best is None
    assert "None of them helps" in found.text()
    # Eight small pages are programmed in the time of eight large ones.
    found = nandlab.explain(result_of("write_tables_late"), tries=20)
    rules = [each.change.rule for each in found.trials]
    loss = found.trials[rules.index("smaller_pages")]
    assert loss.gain < 0
    assert "more time, a loss" in " ".join(found.text().split())
    assert loss is not found.trials[-1]
    assert found.best.gain > 0


@pytest.mark.parametrize(
    ("gain", "says", "helps"),
    [
        (0.02, "2 % less time (", True),
        (0.01, "1 % less time (", True),
        (0.00996, "1.00 % less time, no difference to speak of (", False),
        (0.003, "0.30 % less time, no difference to speak of (", False),
        (0.0009, "the same time within 0.1 % (", False),
        (-0.003, "0.30 % more time, no difference to speak of (", False),
        (-0.02, "2 % more time, a loss (", False),
    ],
)
def test_a_gain_of_under_a_percent_makes_no_difference(gain, says, helps):
    found = nandlab.explain(result_of("trims_in_memory"), tries=1)
    trial = replace(found.trials[0], gain=gain)
    found = replace(found, trials=[trial])
    assert (found.best == trial) == helps
    words = " ".join(found.text().split())
    assert says in words
    assert ("None of them helps." in words) != helps
    assert found.to_dict()["best"] == (trial.change.rule if helps else None)


def test_a_change_that_cannot_be_made_says_why():
    """yaffs2 takes no pages as small as what is written."""
    found = nandlab.explain(result_of("no_checkpoint"), tries=20)
    (trial,) = [each for each in found.trials if each.change.rule == "smaller_pages"]
    assert (trial.result, trial.gain) == (None, None)
    words = " ".join(found.text().split())
    assert "cannot be run: fs.yaffs.format = yaffs2 cannot work: it needs pages of at least 1024" in words
    # The next is run.
    assert found.trials[-1] is not trial


def test_what_promises_most_comes_first_and_the_rest_is_left():
    found = nandlab.explain(result_of("log_blocks"), tries=1)
    shares = [round(each.share, 2) for each in found.changes]
    assert shares == sorted(shares, reverse=True)
    assert len(found.trials) == 1
    assert re.fullmatch(
        r"<Explanation of <Result .*>, less time: best <Trial .*: gain [\d.]+%>>", repr(found)
    )
    assert len(repr(found)) < 300
    # Whatever saved more than the next can save ends the trials.
    trials = nandlab.explain(result_of("map_in_spare_areas"), tries=20).trials
    for at, trial in enumerate(trials):
        assert all(max(0.01, before.gain or 0) < trial.change.share for before in trials[:at])


def test_requests_that_come_when_the_trace_says_are_measured_by_what_they_wait(tmp_path):
    lines = [f"{at * 2000},W,{at * 7919 % 4000 * 8},8" for at in range(6000)]
    (tmp_path / "t.csv").write_text("time_us,op,sector,sectors\n" + "\n".join(lines) + "\n")
    experiment = run(
        {"trace": {"path": "t.csv"}},
        op=0.2,
        host={"arrival": "recorded"},
        base=tmp_path,
        precondition={"fill": "random"},
    )
    result = experiment.run()
    case = case_of(result.to_dict(), "time")
    assert (case.is_closed, case.idle) == (False, 0.0)
    assert case.cost == pytest.approx(result.latency_us.write.mean)
    # The folder of the experiment is known to its result.
    found = nandlab.explain(result)
    assert "waiting of the host" in found.text()
    with pytest.raises(nandlab.ConfigError, match="no such file"):
        nandlab.explain(result.to_dict())


# -- the command


def record_of(tmp_path, experiment, name="result.json"):
    return write(tmp_path / name, json.dumps(experiment.run().to_dict()))


def test_the_command_prints_words_and_json(nandlab_command, tmp_path):
    path = record_of(tmp_path, CASES["over_provisioning"][0])
    ended = nandlab_command("explain", path)
    assert (ended.status, ended.err) == (0, "")
    for words in (
        "Where it went",
        "Which origin caused it",
        "What was tried",
        "The one change: over-provisioning",
    ):
        assert words in ended.out
    assert "--set 'device.over_provisioning=0.2'" in ended.out
    document = nandlab_command("explain", path, "--json").document
    assert (document["measure"], document["best"]) == ("time", "over_provisioning")
    (change,) = [each for each in document["changes"] if each["tried"]]
    assert change["set"] == ["device.over_provisioning=0.2"]
    assert change["gain"] == pytest.approx(1 - change["cost"]["time_us"] / document["cost"]["time_us"])
    fewer = nandlab_command("explain", path, "--json", "--less", "erases").document
    (change,) = [each for each in fewer["changes"] if each["tried"]]
    assert change["gain"] == pytest.approx(1 - change["cost"]["erases"] / fewer["cost"]["erases"])
    untried = nandlab_command("explain", path, "--tries", 0)
    assert "What could help" in untried.out
    assert "The one change" not in untried.out


def test_the_trace_is_looked_for(nandlab_command, tmp_path):
    (tmp_path / "traces").mkdir()
    (tmp_path / "experiments").mkdir()
    generator = random.Random(1)
    lines = "".join(f"{at},W,{generator.randrange(4000) * 8},8\n" for at in range(20_000))
    write(tmp_path / "traces" / "t.csv", "time_us,op,sector,sectors\n" + lines)
    text = SMALL.replace("[workload.uniform]\nrequests = 20000", '[workload.trace]\npath = "../traces/t.csv"')
    experiment = write(tmp_path / "experiments" / "e.toml", text)
    record = nandlab_command("run", experiment, "--json").out
    for place in (tmp_path / "experiments", tmp_path):
        path = write(place / "result.json", record)
        assert nandlab_command("explain", path).status == 0
    away = tmp_path / "far" / "away"
    away.mkdir(parents=True)
    path = write(away / "result.json", record)
    ended = nandlab_command("explain", path, cwd=away)
    assert (ended.status, ended.out) == (2, "")
    assert "t.csv, and there is no such file; --base names the folder" in ended.err
    assert nandlab_command("explain", path, "--base", tmp_path / "experiments", cwd=away).status == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "line 1, column 2: this is no JSON"),
        ("[]", "is no record of a run"),
        ("{}", "is no record: expected the JSON that `nandlab run --json` prints"),
        ('{"workload": {}}', "is an experiment, which `nandlab run --json` makes a record of"),
        ('{"runs": []}', "holds several runs; a record is the value of `result` of one of its `runs`"),
        ("[" * 100_000, "nested too deeply"),
        ("\x00", "this is no JSON"),
    ],
)
def test_what_is_no_record_is_refused(nandlab_command, tmp_path, text, says):
    ended = nandlab_command("explain", write(tmp_path / "result.json", text))
    assert (ended.status, ended.out, len(ended.err.splitlines())) == (2, "", 1)
    assert says in ended.err


def test_a_record_that_lost_a_part_is_refused(nandlab_command, tmp_path, small_result):
    whole = small_result.to_dict()
    for name in ("experiment", "matrix", "flash", "device", "host", "busy_us"):
        for value in (None, [], 1, "x", {}):
            path = write(tmp_path / "result.json", json.dumps(whole | {name: value}))
            ended = nandlab_command("explain", path, "--tries", 0)
            assert (ended.status, ended.out) == (2, ""), (name, value, ended.out, ended.err)
            assert len(ended.err.splitlines()) == 1


def test_an_experiment_in_place_of_a_record_says_what_to_do(nandlab_command, small):
    ended = nandlab_command("explain", small)
    assert ended.status == 2
    assert "--json > result.json` makes a record of it" in ended.err


def test_a_run_that_was_stopped_is_told_and_nothing_is_tried(nandlab_command, tmp_path):
    record = nandlab_command("run", write(tmp_path / "worn.toml", WORN_OUT), "--json").out
    ended = nandlab_command("explain", write(tmp_path / "result.json", record))
    assert ended.status == 0
    assert "The run was stopped before its end (after " in ended.out
    assert "What was tried" not in ended.out


def test_without_time_erases_are_explained(nandlab_command, tmp_path, small):
    record = nandlab_command("run", small, "--set", "device.model=counting", "--json").out
    path = write(tmp_path / "result.json", record)
    assert nandlab_command("explain", path, "--json").document["measure"] == "erases"
    ended = nandlab_command("explain", path, "--less", "time")
    assert (ended.status, ended.out) == (2, "")
    assert "keeps no time" in ended.err


def test_a_record_of_another_version_is_run_again(tmp_path):
    result = result_of("over_provisioning").to_dict()
    old = result | {"version": "0.0.1", "time_us": result["time_us"] * 2}
    found = nandlab.explain(old)
    assert "The record is of nandlab 0.0.1" in found.notes[0]
    assert found.best.gain == nandlab.explain(result).best.gain


def test_ctrl_c_ends_the_trials(tmp_path):
    record = result_of("over_provisioning").to_dict()
    record["experiment"]["workload"]["uniform"]["requests"] = 2_000_000_000
    path = write(tmp_path / "result.json", json.dumps(record))
    status, out, err, took_s = interrupted("explain", path, after_s=2)
    assert status == 1
    assert "Where it went" in out
    assert "trying over-provisioning" in err
    assert "stopped before every change was run" in err
    assert took_s < 3


def test_the_page_has_a_row_for_each_rule():
    folder = Path(__file__).parents[2]
    rules = {
        name
        for name in ("ftl_rules", "host_rules", "path_rules", "policy_rules")
        for name in re.findall(
            r"(?:Change\(|_buffer\()\s*(?:case, )?\"(\w+)\"",
            (folder / f"python/nandlab/explaining/{name}.py").read_text(),
        )
    }
    rules = {f"{rule}_buffer" if rule in ("lru", "lb_clock") else rule for rule in rules}
    page = (folder / "docs" / "comparing.md").read_text(encoding="utf-8")
    table = page.partition("<!-- rules -->")[2].partition("<!-- end of rules -->")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == rules
    assert len(rules) == len(RULES)
    found = subprocess.run(
        [sys.executable, folder / "docs" / "rules.py", "--check"], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr


def test_the_page_shows_what_the_command_prints(nandlab_command, tmp_path):
    folder = Path(__file__).parents[2]
    page = (folder / "docs" / "comparing.md").read_text(encoding="utf-8")
    shown = page.split("$ nandlab explain result.json\n")[1].split("```")[0]
    record = nandlab_command("run", "experiments/page-16k.toml", "--json", cwd=folder).out
    ended = nandlab_command(
        "explain", write(tmp_path / "result.json", record), "--base", "experiments", cwd=folder
    )
    before, after = shown.split("...\n")
    assert ended.out.startswith(before)
    assert ended.out.endswith(after)


def test_no_rule_fails_on_a_record_of_something_else():
    """Whatever a record is of, every rule looks at it."""
    for rule in CASES:
        for measure in ("time", "erases"):
            found = changes(case_of(result_of(rule).to_dict(), measure))
            assert all(0.01 <= change.share <= 1 for change in found), rule


def test_a_bundled_trace_is_no_file_to_look_for(nandlab_command, tmp_path):
    experiment = nandlab.Experiment(
        workload={"trace": {"path": "bundled:sqlite-wal", "requests": 2000}},
        ftl=nandlab.ftl.page(),
        device=nandlab.Device(capacity="32 MiB"),
    )
    path = record_of(tmp_path, experiment)
    assert nandlab.explain(experiment.run(), tries=0).case.result.host.requests == 2000
    assert nandlab_command("explain", path, "--tries", 0, cwd=tmp_path).status == 0

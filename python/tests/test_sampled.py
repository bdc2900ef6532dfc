"""Long runs by windows, from the command line and from Python."""

import json

import pytest

import nandlab


def test_windows_are_told_as_a_table_and_in_the_record(nandlab_command, small):
    """The file has 20,000 requests: windows begin at 0, 5,000, 10,000 and 15,000."""
    ended = nandlab_command("run", small, "--sample", "500:5_000")
    assert ended.status == 0, ended.err
    assert "simulated, in 4 windows; of 20,000" in ended.out
    assert "95 % interval" in ended.out
    printed = nandlab_command("run", small, "--sample", "500:5_000", "--json")
    record = json.loads(printed.out)
    sample = record["sample"]
    assert (sample["windows"], sample["measured"], sample["simulated"]) == (4, 2000, 2200)
    assert sample["requests"] == 20_000
    assert sample["simulated_share"] == 0.11
    assert record["host"]["requests"] == 2200
    assert record["experiment"]["host"]["sample"] == {"window": 500, "every": 5000, "warm_up": 50}
    found = (
        nandlab.Experiment.from_toml(small).override("host.sample.window=500", "host.sample.every=5000").run()
    )
    assert found.sample.waf.mean == sample["waf"]["mean"]
    assert nandlab.Experiment.from_toml(small).run().sample is None


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("500", "WINDOW:EVERY"),
        ("a:b", "WINDOW:EVERY"),
        ("0:5000", "host.sample.window = 0"),
        ("500:549", "host.sample.every = 549"),
        ("500:15000", "host.sample.every = 15000 makes 2 windows"),
    ],
)
def test_windows_that_cannot_be_are_refused_by_name(nandlab_command, small, given, why):
    ended = nandlab_command("run", small, "--sample", given)
    assert ended.status != 0
    assert why in ended.err

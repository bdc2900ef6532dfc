"""The paper about WAP-LRU: the bar of its claims, each of its assumptions matters, and recorded traces."""

import dataclasses
from pathlib import Path

import pytest
from papers import Paper

import nandlab
from nandlab.reproduce import load, parse, reproduce
from nandlab.reproduce.records import cells

TEXT = load("wap-lru").text


MUTATIONS = {
    "whole blocks in NVRAM": (
        'thresholds = "auto"\nallocation = "page"',
        'thresholds = "auto"\nallocation = "block"',
        {"fig3.mean": "differs", "fig3.max": "differs", "fig4.clock_dnv": "differs"},
    ),
    # What lines 14 to 18 of Algorithm 2 do.
    "no padding": (
        'thresholds = "auto"\nallocation = "page"',
        'thresholds = "auto"\nallocation = "page"\npadding = false',
        {
            "fig3.mean": "differs",
            "fig4.clock_dnv": "differs",
            "fig5.mean": "differs",
            "fig7.dynamic_share": "differs",
        },
    ),
    "no footprint near the buffer": (
        'footprint = "44 MiB"',
        'footprint = "704 MiB"',
        {"fig3.max": "differs"},
    ),
    "more requests a second of webmail": (
        "requests_per_s = 3.5",
        "requests_per_s = 350.0",
        {"fig7.step": "differs", "fig7.dynamic_share": "differs"},
    ),
    "NVRAM that takes half of what DRAM takes": (
        'memory = { powered = "trace" }',
        'memory = { powered = "trace", nvram = { static_w_per_gib = 0.5 } }',
        {"fig7.step": "differs", "fig5.max": "differs", "beyond.static": "differs"},
    ),
}


PAPER = Paper("wap-lru", TEXT, MUTATIONS)


@pytest.fixture(scope="module")
def unchanged():
    return PAPER.unchanged()


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_each_assumption_changes_the_claims_that_rest_on_it(unchanged, mutation):
    PAPER.assert_matters(mutation, unchanged, {"reproduced", "fitted"})


def test_the_bar():
    """Fig. 5 and Fig. 7 in one run, and 28 % exactly."""
    found = PAPER.claims({"fig5.mean", "fig5.max", "fig7.step", "fig7.dynamic_share", "model.static"})
    assert abs(found["fig7.step"].measured - 21.8) <= 1
    assert {each.verdict for name, each in found.items() if name != "model.static"} == {"fitted"}
    assert found["model.static"].measured == 28


def test_claims_about_collection_say_so_where_none_ran():
    """A page map of 8 GiB or more never collects under these workloads: no ratio is a finding there."""
    text = TEXT.replace(
        '[parts.block]\nftl.block = {}\ndevice.capacity = "4 GiB"',
        '[parts.block]\nftl.page = {}\ndevice.capacity = "8 GiB"',
    )
    assert text != TEXT
    assert PAPER.verdicts({"fig3.mean"}, text) == {"fig3.mean": "not_exercised"}


def test_a_device_that_is_full_is_as_good_as_one_of_64_gib():
    paper = load("wap-lru")
    (devices,) = (grid for grid in paper.grids if grid.name == "devices")
    columns = ("$.wap.on_block.gc", "$.wap.on_block.programs")
    grid = dataclasses.replace(devices, rows=("financial.gib4", "financial.gib64"), columns=columns)
    found = PAPER.reproduced({"model.static"}, grids=(grid,))
    small, large = cells(found.records, grid)
    assert small == large


def recorded(folder: Path, name: str) -> Path:
    """A trace under a name that the paper's file knows."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((Path(__file__).parents[2] / "workloads" / "sqlite" / "wal.csv.gz").read_bytes())
    return path


def test_recorded_traces_take_the_place_of_generators(tmp_path):
    path = recorded(tmp_path, "biotracer/log106_Messaging.txt")
    paper = load("wap-lru")
    assert paper.is_absent("messaging.lru.block64")
    there = paper.with_traces(tmp_path)
    assert there.played == (("messaging", str(path)),)
    assert not there.is_absent("messaging.lru.block64") and there.is_absent("email.lru.block64")
    assert there.tree("messaging")["workload"]["trace"]["path"] == str(path)
    assert paper.traces_on_full_devices
    assert there.tree("financial.block")["device"]["capacity"] == "64 GiB"
    assert there.tree("messaging.block")["device"]["capacity"] == "64 GiB"
    small = dataclasses.replace(paper, traces_on_full_devices=False).with_traces(tmp_path)
    assert small.tree("messaging.block")["device"] == paper.tree("messaging.block")["device"]
    grid = dataclasses.replace(
        next(grid for grid in there.grids if grid.name == "traces-gc"), columns=("lru.block.programs",)
    )
    parts = {**there.parts, "block": {"ftl": {"block": {}}, "device": {"capacity": "1 GiB"}}}
    claims = tuple(claim for claim in there.claims if claim.id == "model.static")
    there = dataclasses.replace(there, parts=parts, claims=claims, grids=(grid,), conclusions=())
    found = reproduce(there, seeds=1)
    assert [each.rows for each in found.paper.grids] == [("messaging",)], "the others are not there"
    assert cells(found.records, found.paper.grids[0])[0][0] > 0


def test_every_run_can_be_made_with_every_trace(tmp_path):
    """A tiny trace under each name: runs that change a generator keep it, the others play the trace."""
    paper = load("wap-lru")
    for each in paper.traces:
        path = tmp_path / each.files[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("time_us,op,sector,sectors\n0,W,0,8\n1,R,64,8\n", encoding="utf-8")
    tiny = tuple(
        dataclasses.replace(each, options={"addresses": "fold", "format": "csv"}) for each in paper.traces
    )
    there = dataclasses.replace(paper, traces=tiny).with_traces(tmp_path)
    assert len(there.played) == len(paper.traces) and not there.stand_ins
    runs = {there.split(name)[0] for claim in there.claims for name in claim.names}
    runs |= {there.split(name)[0] for grid in there.grids for name in grid.names()}
    for run in sorted(runs):
        kinds = set(there.tree(run)["workload"])
        assert kinds == ({"zipf"} if there.keeps_generator(run) else {"trace"}), run
        nandlab.Experiment(**there.tree(run)).resolve()
    assert there.keeps_generator("financial.small.lru.block")
    assert there.keeps_generator("online.long_online.lru.block")
    assert there.keeps_generator("webmail.after50.lru.block")
    assert not there.keeps_generator("financial.wap.by_block.block")
    # A trace is played from its first request on, and no seed changes it; a generator warms up, and one does.
    assert "warm_up" not in there.tree("financial.lru.block")["precondition"]
    assert there.tree("financial.small.lru.block")["precondition"]["warm_up"] == 50_000
    assert there.has_one_course("financial.lru.block")
    assert not there.has_one_course("financial.small.lru.block")
    full = there.in_full()
    assert set(full.tree("financial.lru.block")["workload"]) == {"trace"}
    assert full.tree("financial.small.lru.block")["workload"]["zipf"]["requests"] == 500_000


def test_what_a_warm_buffer_gains_does_not_depend_on_the_length_of_the_run():
    """Fig. 3 and 4 on the mean, after 50,000 and 100,000 requests; and what a filling buffer gains."""
    paper = load("wap-lru")
    (warm,) = (grid for grid in paper.grids if grid.name == "warm")
    grid = dataclasses.replace(warm, rows=("cold", "after50", "after100"), columns=warm.columns[:2])
    found = PAPER.reproduced({"model.static"}, grids=(grid,))
    cold, *later = cells(found.records, grid)
    for column in range(2):
        gains = [row[column] for row in later]
        assert max(gains) - min(gains) <= 4
        assert cold[column] > max(gains) + 3, "a buffer that is still filling tells another tale"


def test_a_folder_without_any_of_them_is_refused(tmp_path, nandlab_command):
    with pytest.raises(nandlab.ConfigError, match="there is none of the traces of wap-lru: Financial1.spc"):
        load("wap-lru").with_traces(tmp_path)
    done = nandlab_command("reproduce", "wap-lru", "--traces", tmp_path)
    assert done.status == 2 and "there is none of the traces" in done.err


def test_no_claim_may_rest_on_a_trace_that_few_have():
    text = TEXT.replace('measured = "100 * (1 * 1 + 4 * 0.1) / (5 * 1)"', 'measured = "email.lru.block.gc"')
    text = text.replace('kind = "model"', 'kind = "value"')
    with pytest.raises(nandlab.ConfigError, match="email.lru.block.gc plays a trace that few have"):
        parse(text, "wap-lru", "wap-lru.toml")

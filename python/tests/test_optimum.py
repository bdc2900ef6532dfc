"""The best placement known."""

import json

import pytest

import nandlab
from nandlab import bundled
from nandlab.optimum import bounds, optima, portfolio

HOT_COLD = nandlab.Experiment(
    workload=nandlab.workload.hot_cold(requests=60_000, hot_share=0.1, hot_accesses=0.9),
    precondition=nandlab.Precondition(fill="sequential", overwrites=2.0),
    ftl=nandlab.ftl.page(),
    device=nandlab.Device(capacity="32 MiB", over_provisioning=0.2, model="counting"),
)


def traced(trace, placement, victim, seed=1):
    return nandlab.Experiment(
        workload=nandlab.workload.trace(path=str(trace)),
        ftl=nandlab.ftl.page(placement=placement, victim=victim),
        device=nandlab.Device(capacity="60 MiB", over_provisioning=0.14, model="counting"),
        seed=seed,
    )


PLACEMENTS = ("one", "two", "sepbit", {"dac": {}}, {"origin": {}})
VICTIMS = ("greedy", "cost_benefit", "cost_benefit_flash", "fifo", "cat", "random")


@pytest.mark.parametrize("trace", bundled.demo_traces(), ids=lambda path: path.name)
def test_no_policy_is_better_than_the_best_placement_known(trace):
    policies = [
        traced(trace, placement, victim, seed)
        for placement in PLACEMENTS
        for victim in VICTIMS
        for seed in ([1, 2, 3, 4, 5] if victim == "random" else [1])
    ]
    wafs = [experiment.run().waf for experiment in policies]
    # A trace is the same for every seed, so one optimum stands for all.
    (found,), stopped = optima([(policies[0], policies[0].run())])
    assert not stopped and found.tried >= 12
    assert min(map(found.above, wafs)) >= 0
    assert found.without_future is None, "no closed form knows a trace"


def test_what_is_written_uniformly_tells_nothing_to_others():
    """The closed form bounds what policies cost that do not know the future; the optimum is far below."""
    uniform = HOT_COLD.replace(workload=nandlab.workload.uniform(requests=60_000))
    result = uniform.run()
    (found,), _ = optima([(uniform, result)])
    assert found.without_future == pytest.approx(bounds.greedy(128, result.device.over_provisioning))
    assert found.without_future <= result.waf
    assert 1 <= found.waf < 0.5 * found.without_future


def test_two_pools_have_the_published_optimum():
    """Over-provisioning of 20 %, 90 % of the writes to 10 % of the pages: 1.596."""
    assert bounds.two_pools(64, 0.2, 0.1, 0.9) == pytest.approx(1.596, rel=0.01)
    # With blocks of any length greedy victims are those filled first.
    assert bounds.two_pools(4096, 0.2, 0.1, 0.9) == pytest.approx(1.6463, rel=0.002)


def test_designs_on_one_device_share_an_optimum():
    designs = {"page": HOT_COLD, "fast": HOT_COLD.replace(ftl=nandlab.ftl.fast())}
    found = nandlab.compare(designs, optimum=True)
    assert found.optima["page"] == found.optima["fast"]
    above = [found.above_optimum(name) for name in designs]
    assert 0 < above[0] < above[1]
    assert found.frame()["above_optimum"].to_list() == above
    assert nandlab.compare(designs).optima == {}


def test_a_sweep_says_how_far_each_point_is_above():
    found = nandlab.sweep(HOT_COLD, {"device.over_provisioning": "0.2,0.3"}, optimum=True)
    assert [point.above_optimum > 0 for point in found.points] == [True, True]
    assert found.frame["above_optimum"].to_list() == [point.above_optimum for point in found.points]


def test_explain_says_how_far_and_stops_where_nothing_can_be_gained():
    found = nandlab.explain(HOT_COLD.run(), optimum=True, tries=0)
    assert "% above that of the best placement known" in " ".join(found.text().split())
    assert found.to_dict()["optimum"]["waf"] == found.optimum.waf
    assert "separate_by_lifetime" in {change.rule for change in found.changes}
    oracle = portfolio(HOT_COLD)[found.optimum.placement]
    found = nandlab.explain(oracle.run(), optimum=True, tries=0)
    assert "another placement cannot help" in " ".join(found.text().split())
    assert not {"separate_by_lifetime", "greedy_victims"} & {change.rule for change in found.changes}


def test_a_run_without_an_ftl_has_no_optimum():
    yaffs = nandlab.Experiment(
        workload=nandlab.workload.postmark(transactions=50, number=20),
        fs=nandlab.fs.yaffs(),
        device=nandlab.Device(capacity="16 MiB"),
    )
    (found,), _ = optima([(yaffs, yaffs.run())])
    assert found == "without an FTL there is no placement to compare with"


def test_what_nobody_can_know_is_refused():
    steady = HOT_COLD.replace(precondition=nandlab.Precondition(fill="sequential", steady=0.05))
    with pytest.raises(nandlab.ConfigError, match=r"does not go with precondition\.steady"):
        portfolio(steady)


def test_a_device_too_small_for_many_classes_has_fewer_placements():
    small = HOT_COLD.replace(device=nandlab.Device(capacity="16 MiB", over_provisioning=0.2))
    assert 0 < len(portfolio(small)) < len(portfolio(HOT_COLD))


def test_the_command_line_has_two_columns_and_json(nandlab_command, tmp_path):
    file = tmp_path / "hot.toml"
    file.write_text(HOT_COLD.to_toml(), encoding="utf-8")
    arguments = ["compare", str(file), "--vary", "ftl.page.placement=two,sepbit", "--optimum"]
    ended = nandlab_command(*arguments)
    assert ended.status == 0
    assert "optimum" in ended.out and "placements that know the future" in ended.out
    runs = json.loads(nandlab_command(*arguments, "--json").out)["runs"]
    for run in runs:
        assert run["above_optimum"] == pytest.approx(run["result"]["waf"] / run["optimum"]["waf"] - 1)
        assert run["no_optimum"] is None
    (run,) = json.loads(nandlab_command("compare", str(file), "--json").out)["runs"]
    assert "above_optimum" not in run


def test_decimal_sizes_are_read_as_the_device_reads_them():
    """A resolved experiment keeps a decimal unit; 4.096 KB are a page of 4,096 bytes."""
    device = nandlab.Device(capacity="32 MiB", over_provisioning=0.3)
    for size in ("8 MB", "4.096 KB", "4 KiB", 4096):
        workload = {"uniform": {"requests": 100, "size": size, "alignment": "4 KiB"}}
        result = nandlab.Experiment(workload=workload, ftl=nandlab.ftl.page(), device=device).run()
        is_page = size != "8 MB"
        assert (bounds.without_future(result) is not None) == is_page, size

"""`nandlab explain` on chips with planes, cells of several bits and cells that age, and hosts that pause."""

import pytest
from explain_cases import CASES, run, workload

import nandlab
from nandlab.explaining.case import case_of, cost_of
from nandlab.explaining.changes import changes

Device, ftl = nandlab.Device, nandlab.ftl


def proposed(experiment):
    return {change.rule: change for change in changes(case_of(experiment.run().to_dict(), None))}


def test_an_option_that_is_set_is_not_proposed_again():
    for rule in ("refresh", "collect_in_gaps", "stripe_over_planes", "slc_cache", "no_slc_cache"):
        experiment, _ = CASES[rule]
        change = proposed(experiment)[rule]
        assert rule not in proposed(experiment.override(*change.sets)), rule


def test_the_share_of_read_retry_is_what_the_retries_took():
    """One die, one request at a time: a read and each retry of it take the same."""
    result = CASES["refresh"][0].run()
    change = next(each for each in nandlab.explain(result, tries=0).changes if each.rule == "refresh")
    reads, retries = result.host.reads, result.reliability.retries
    assert change.share == pytest.approx(retries / (reads + retries), rel=0.001)


def test_no_rule_is_against_retries_of_an_ftl_that_does_not_refresh():
    experiment, _ = CASES["refresh"]
    found = nandlab.explain(experiment.override("ftl={ dftl = {} }").run())
    words = " ".join(found.text().split())
    assert found.changes == []
    assert "no rule is against what reading pages again that the ECC could not correct took here" in words
    assert "hardly any" not in words


@pytest.mark.parametrize(("overlap", "gains"), [("none", None), ("multi_plane", 0.2), ("independent", 0.7)])
def test_planes_that_share_the_work(overlap, gains):
    """Four pages in the time of one program: that of three is gone, transfers stay where there is one bus."""
    experiment = CASES["stripe_over_planes"][0].override(f'device.timing.plane_overlap="{overlap}"')
    change = proposed(experiment).get("stripe_over_planes")
    assert (change is None) == (gains is None)
    if change is not None:
        before, after = experiment.run(), experiment.override(*change.sets).run()
        timing = experiment.resolve()["device"]["timing"]
        by_hand = before.flash.programs * timing["program_us"] * 3 / 4 / before.time_us
        assert change.share == pytest.approx(by_hand, rel=0.001)
        assert 1 - after.time_us / before.time_us > gains


def test_short_writes_are_not_spread_over_planes():
    experiment = CASES["stripe_over_planes"][0]
    short = experiment.override('workload.sequential.size="4 KiB"', 'workload.sequential.alignment="4 KiB"')
    assert "stripe_over_planes" not in proposed(short)


def test_a_host_without_gaps_gets_no_collection_in_them():
    experiment = CASES["collect_in_gaps"][0].override("host.arrival=closed")
    rules = proposed(experiment)
    assert "over_provisioning" in rules
    assert "collect_in_gaps" not in rules


def test_short_gaps_are_taken_at_once():
    experiment = CASES["collect_in_gaps"][0]
    assert "ftl.page.idle.collect.after_us=0" in proposed(experiment)["collect_in_gaps"].sets
    long = proposed(experiment.override("workload.uniform.requests_per_s=40"))["collect_in_gaps"]
    assert long.sets == ("ftl.page.idle.collect.blocks=2",)


def test_writes_that_wait_for_nothing_get_no_collection_in_gaps():
    """What each of them pays for is done long before the next one comes."""
    experiment = CASES["collect_in_gaps"][0].override("host.arrival=closed", "host.think_time_us=10_000")
    assert "collect_in_gaps" not in proposed(experiment)


def test_a_host_with_a_pace_of_its_own_is_measured_by_what_it_waits():
    jobs = "[log]\nrw=randwrite\nbs=4k\nsize=8m\nrate_iops=100\n"
    paced = (
        run(workload.uniform(requests=500), host={"think_time_us": 10_000}),
        run({"fio": {"text": jobs}}, precondition={"fill": "sequential"}),
    )
    for experiment in paced:
        result = experiment.run()
        case = case_of(result.to_dict(), "time")
        assert (case.is_closed, case.idle) == (False, 0.0)
        assert case.rest > 0.9
        assert case.cost == pytest.approx(result.latency_us.write.mean)
        assert case.cost * result.host.writes < 0.2 * result.time_us


def test_cells_of_one_bit_are_proposed_where_the_chip_tells_their_times():
    """The share is what a program takes longer with three bits, of the time of eight dies."""
    experiment = CASES["slc_cache"][0]
    result = experiment.run()
    timing = experiment.resolve()["device"]["timing"]
    by_hand = result.flash.programs * (timing["program_us"] - timing["slc"]["program_us"])
    share = proposed(experiment)["slc_cache"].share
    assert share == pytest.approx(by_hand / (8 * result.time_us), rel=0.001)
    assert "slc_cache" not in proposed(CASES["stripe_over_planes"][0])


def test_pages_of_one_bit_a_cell_count_as_fast_as_they_are():
    """All that the host writes goes to a cache with room for it; of four planes one works."""
    experiment = CASES["slc_cache"][0].override("ftl.page.slc_cache=dynamic", "device.over_provisioning=3")
    result = experiment.run()
    assert result.slc.direct_pages == 0
    took_us = result.flash.programs * experiment.resolve()["device"]["timing"]["slc"]["program_us"]
    change = proposed(experiment)["stripe_over_planes"]
    assert change.share == pytest.approx(took_us / (8 * result.time_us) * 3 / 4, rel=0.001)
    assert experiment.override(*change.sets).run().time_us < 0.8 * result.time_us


@pytest.mark.parametrize(("overlap", "units", "name"), [("none", 32, "die"), ("independent", 128, "plane")])
def test_what_works_by_itself_is_counted_and_named(overlap, units, name):
    """A request at a time keeps one of all busy; as many at once help where a write goes to each."""
    experiment = CASES["deeper_queue"][0].override(
        "device.shape.planes_per_die=4",
        f'device.timing.plane_overlap="{overlap}"',
        'ftl.page.stripe="planes"',
        "device.over_provisioning=1.0",
    )
    result = experiment.run()
    found = nandlab.explain(result, tries=1)
    assert found.case.idle == pytest.approx(1 - 1 / units, abs=0.001)
    (deeper,) = (each for each in found.trials if each.change.rule == "deeper_queue")
    assert deeper.change.sets == (f"host.queue_depth={units}",)
    assert deeper.change.why.startswith(f"the {units} {name}s had nothing to do in")
    assert deeper.gain > 0.9
    assert f"the time of its {units} {name}s," in " ".join(found.text().split())


def test_jobs_with_a_runtime_are_compared_by_the_time_of_a_request(tmp_path):
    """A faster device serves more requests in the time of the job; each of them still takes less."""
    (tmp_path / "a.fio").write_text(
        "[a]\nrw=randwrite\nbs=4k\nsize=14m\niodepth=1\nruntime=10\ntime_based\nthinktime=100\n"
    )
    slow = nandlab.Experiment(
        base=tmp_path,
        workload={"fio": {"path": "a.fio"}},
        ftl=ftl.page(),
        device=Device(capacity="16 MiB", over_provisioning=0.15),
        precondition={"fill": "random"},
    )
    fast = slow.override("device.over_provisioning=0.5")
    before, after = slow.run(), fast.run()
    assert after.host.requests > 1.2 * before.host.requests
    mean = [each.latency_us.write.mean for each in (before, after)]
    gain = 1 - cost_of(after, "time") / cost_of(before, "time")
    assert gain == pytest.approx(1 - mean[1] / mean[0])
    assert gain > 0.2


def test_pools_grow_with_what_they_are_parts_of():
    """Pages of half the size are twice as many in the first pool, and more blocks are shared out."""
    pooled = ftl.page(placement={"pools": {"pages": 800, "blocks": 14}})
    experiment = nandlab.Experiment(
        workload=workload.hot_cold(
            requests=60_000, size="2 KiB", alignment="2 KiB", scatter=False, hot_share=0.1
        ),
        ftl=pooled,
        device=Device(capacity="32 MiB", over_provisioning=0.15),
        precondition={"fill": "random"},
    )
    found = proposed(experiment)
    assert "ftl.page.placement.pools.pages=1600" in found["smaller_pages"].sets
    (blocks,) = (each for each in found["over_provisioning"].sets if "pools.blocks" in each)
    assert 14 < int(blocks.split("=")[1]) <= 17
    before = experiment.run()
    for rule in ("smaller_pages", "over_provisioning"):
        assert experiment.override(*found[rule].sets).run().flash.erases < before.flash.erases, rule

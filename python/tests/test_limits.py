"""What a summary names as the part that limits a run."""

import pytest

import nandlab
from nandlab import Device, ftl, workload
from nandlab.figures import path
from nandlab.figures.headline import headline
from nandlab.writing import units

FEW_READS = {"requests": 4000, "read_share": 1.0}


def run(of, depth, ftl_=None, **options):
    """Reads of a filled device with eight dies on four channels."""
    return nandlab.Experiment(
        workload=of,
        ftl=ftl_ or ftl.page(),
        device=Device(
            profile="generic-8x4",
            capacity="64 MiB",
            over_provisioning=0.5,
            shape={"channels": 4, "dies_per_channel": 2, "pages_per_block": 64},
            **options,
        ),
        precondition={"fill": "sequential"},
        host={"queue_depth": depth},
    ).run()


def busiest(result):
    """The line of the summary: the share and the words."""
    return next(row[1:] for row in path.rows(result) if row[0] == "busiest part")


def test_a_map_on_few_dies_is_named_with_its_die_and_the_mean_of_all():
    result = run(workload.uniform(requests=30_000, read_share=1.0), 256, ftl.dftl(cmt_entries=256))
    dies = result.parts.dies
    share, words = busiest(result)
    assert path.limit(result) == "dies"
    assert share == units.percent(dies.most)
    assert dies.most > 0.95 > 0.5 > dies.mean
    assert words.startswith(f"die {dies.which}: a request waited ")
    assert f"all dies {units.percent(dies.mean)}" in words


@pytest.mark.parametrize(
    ("options", "limit", "name"),
    [
        ({"link": {"read_mb_s": 20}}, "link_read_us", "the link to the host"),
        ({"controller": {"read_command_us": 200}}, "processor_us", "the controller's processor"),
        ({"link": {"read_mb_s": 4000}}, "dies", "die "),
    ],
)
def test_the_part_that_requests_waited_for_longest_comes_first(options, limit, name):
    result = run(workload.uniform(**FEW_READS), 32, **options)
    waits = {f"{key}_us" if f"{key}_us" in path.PARTS else key: us for key, us in waits_of(result).items()}
    assert path.limit(result) == max(waits, key=waits.get) == limit
    share, words = busiest(result)
    assert words.startswith(name)
    assert share == units.percent(path.shares(result)[limit])
    # All of them are told.
    assert all(path.name_of(result, part) in words for part in path.shares(result))


def test_a_channel_that_dies_wait_for_is_named_and_stays_the_bottleneck_behind_queues_of_dies():
    slow = {"timing": {"transfer_ns_per_byte": 60}}
    result = run(workload.sequential(**FEW_READS), 8, **slow)
    assert path.limit(result) == path.bottleneck(result) == "channels"
    assert busiest(result)[1].startswith("channel ")
    # Each die waits for its channel with its register full, and requests in front of it.
    queued = run(workload.sequential(**FEW_READS), 64, **slow)
    assert path.limit(queued) == "dies"
    assert path.bottleneck(queued) == "channels"


def waits_of(result):
    return result.parts.waits_us.to_dict()


def test_where_none_waits_the_busiest_part_is_named():
    result = run(workload.uniform(**FEW_READS), 1, link={"read_mb_s": 4000})
    assert not any(waits_of(result).values())
    dies = result.parts.dies
    assert path.limit(result) == "dies"
    words = busiest(result)[1]
    assert words.startswith(f"die {dies.which}; ")
    assert "waited" not in words


def test_a_die_that_is_always_busy_is_told_by_explain_and_more_requests_are_no_way_out():
    result = run(workload.sequential(**FEW_READS), 64)
    assert path.bottleneck(result) == "dies"
    text = nandlab.explain(result, tries=0).text()
    assert f"Die {result.parts.dies.which} worked" in text
    assert "faster_path" not in text


def test_a_device_that_keeps_no_time_names_nothing():
    result = run(workload.uniform(**FEW_READS), 8, model="counting")
    assert result.parts is None
    assert path.rows(result) == []


def test_flash_that_works_behind_early_answers_is_not_said_to_limit_a_run():
    """100 writes, each answered in 5 us: a faster chip changes nothing, and nothing says that it would."""
    controller = {"write_buffer_bytes": 32 << 20, "write_buffer_protected": True, "latency_us": 5}
    device = nandlab.Device(capacity="64 MiB", over_provisioning=0.2, controller=controller)
    experiment = nandlab.Experiment(
        workload=nandlab.workload.uniform(requests=100),
        precondition={"fill": "sequential"},
        ftl=nandlab.ftl.page(),
        device=device,
    )
    result = experiment.run()
    assert (result.time_us, result.parts.limit) == (500, None)
    rows = {row[0]: row[1:] for row in headline(result)}
    assert "no request waited for it, and it works on after the last answer" in rows["busiest part"][1]
    told = nandlab.explain(result).text()
    assert "limits the run" not in told
    assert "faster chip" not in told


def test_the_part_that_dies_wait_for_is_named_by_run_and_explain():
    experiment = nandlab.Experiment(
        workload=nandlab.workload.uniform(requests=3000, read_share=1.0),
        host=nandlab.Host(queue_depth=64),
        precondition={"fill": "sequential"},
        ftl=nandlab.ftl.page(),
        device=nandlab.Device(
            profile="generic-8x4",
            capacity="1 GiB",
            over_provisioning=0.3,
            timing={"transfer_ns_per_byte": 50},
        ),
    )
    result = experiment.run()
    (row,) = [row for row in headline(result) if row[0] == "busiest part"]
    channel = f"channel {result.parts.channels.which}"
    assert row[2].startswith(f"{channel}: a request waited ")
    assert "for dies, which wait for the channel" in row[2]
    told = nandlab.explain(result, tries=0).text()
    assert f"{channel[0].upper()}{channel[1:]} worked" in told


def test_years_that_no_erase_tells_have_their_reason():
    experiment = nandlab.Experiment(
        workload=nandlab.workload.sequential(requests=50),
        host=nandlab.Host(daily="50 GB"),
        ftl=nandlab.ftl.page(),
        device=nandlab.Device(capacity="64 MiB", over_provisioning=0.2),
    )
    result = experiment.run()
    assert ("years", "–", "no block was erased: the run is too short to say") in headline(result)
    assert any("no block was erased" in notice for notice in result.notices)

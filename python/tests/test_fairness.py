"""Tenants and their fairness, by the command and from Python, compared with closed forms."""

import pytest

import nandlab

READ_US = 60.56
"""50 us in the array, and 4,224 bytes at 2.5 ns."""


def tenant(name, requests, **keys):
    return {
        "name": name,
        "workload": nandlab.workload.uniform(
            requests=requests, read_share=1.0, requests_per_s=keys.pop("rate", None)
        ),
        **keys,
    }


def experiment(*tenants, **queues):
    """Random reads of tenants on one die that takes one command at a time."""
    return nandlab.Experiment(
        workload=nandlab.workload.tenants(tenant=list(tenants)),
        host=nandlab.Host(queues={"commands": 1, **queues}),
        precondition=nandlab.Precondition(fill="sequential"),
        ftl=nandlab.ftl.page(),
        device=nandlab.Device(profile="generic", capacity="16 MiB", over_provisioning=0.25),
    )


def test_equal_tenants_are_slowed_down_alike():
    found = nandlab.fairness(experiment(*(tenant(name, 5000, queue_depth=4) for name in ("a", "b", "c"))))
    assert found.fairness == pytest.approx(1, rel=0.01)
    for one in found.tenants:
        # Twelve commands wait for one die instead of four.
        assert one.slowdown == pytest.approx(3, rel=0.01)
        assert one.share == pytest.approx(1 / 3, rel=0.01)
        assert one.alone_mean_us == pytest.approx(4 * READ_US, rel=0.01)
        assert one.alone_requests_per_s == pytest.approx(3 * one.requests_per_s, rel=0.01)


def test_a_heavy_tenant_is_slowed_down_less_than_a_light_one():
    light, heavy = tenant("light", 2000), tenant("heavy", 40_000, queue_depth=32)
    found = nandlab.fairness(experiment(light, heavy))
    # In turns the light one waits for one read more: 2 reads over 1. The heavy one has half the die.
    assert [one.slowdown for one in found.tenants] == pytest.approx([2, 2], rel=0.01)
    # The turn of the heavy one has up to 16 commands: 17 reads over 1, and 17/16.
    found = nandlab.fairness(experiment(light, heavy, burst=16))
    assert [one.slowdown for one in found.tenants] == pytest.approx([17, 17 / 16], rel=0.01)
    assert found.fairness == pytest.approx(1 / 16, rel=0.02)


def test_a_starved_tenant_makes_it_unfair():
    greedy = tenant("greedy", 1000, queue_depth=4, priority="urgent")
    weights = {"weighted": {"high": 1, "medium": 1, "low": 1}}
    found = nandlab.fairness(experiment(greedy, tenant("starved", 1000), arbitration=weights))
    assert (found.fairness, found.tenants[1].slowdown, found.tenants[1].share) == (0.0, None, 0.0)


def test_the_record_has_a_row_for_each_tenant():
    result = experiment(tenant("a", 1000), tenant("b", 1000, rate=1000.0)).run()
    assert [one.name for one in result.tenants] == ["a", "b"]
    assert sum(one.requests for one in result.tenants) == result.host.requests
    assert sum(one.bytes for one in result.tenants) == result.host.read_sectors * 512
    assert result.tenants[0].latency_us.read.mean == pytest.approx(result.tenants[0].mean_us, abs=0.01)
    assert {row.origin for row in result.latency_by_origin} == {"a", "b"}


def test_the_command_prints_a_table_and_a_document(nandlab_command, tmp_path):
    path = tmp_path / "two.toml"
    path.write_text(experiment(tenant("a", 500), tenant("b", 500)).to_toml(), encoding="utf-8")
    document = nandlab_command("fairness", path, "--json").document
    assert document["fairness"] == pytest.approx(1, rel=0.01)
    assert [one["name"] for one in document["tenants"]] == ["a", "b"]
    ended = nandlab_command("fairness", path, "--jobs", "1")
    assert ended.status == 0
    assert "slowdown" in ended.out
    assert "fairness 1.0" in ended.out or "fairness 0.99" in ended.out
    assert "in queue" in nandlab_command("run", path).out


def test_an_experiment_without_tenants_is_refused(nandlab_command, small, tmp_path):
    ended = nandlab_command("fairness", small)
    assert (ended.status, ended.out) == (2, "")
    assert "has none: see workload.tenants" in ended.err
    path = tmp_path / "one.toml"
    path.write_text(experiment(tenant("a", 500), tenant("b", 500)).to_toml(), encoding="utf-8")
    ended = nandlab_command("fairness", path, "--set", "workload.tenants.alone=a")
    assert (ended.status, ended.out) == (2, "")
    assert "leaves one tenant" in ended.err

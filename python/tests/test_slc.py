"""Blocks of one bit a cell: profiles, options and the record, through Python and the command line."""

import pytest
from conftest import call

import nandlab

SMALL = {"capacity": "1 GiB", "over_provisioning": 1.5, "shape": {"channels": 2}}
PAGES = 5000 * 16


def run(cache, profile="tlc-3d"):
    """5,000 requests of 256 KiB in order on a new device."""
    return nandlab.Experiment(
        workload=nandlab.workload.sequential(requests=5000, size="256 KiB", alignment="256 KiB"),
        ftl=nandlab.ftl.page(slc_cache=cache),
        device={"profile": profile, **SMALL},
        precondition={"fill": "none"},
    ).run()


@pytest.mark.parametrize("profile", ["tlc-3d", "qlc-3d"])
def test_a_cache_is_faster_until_it_is_full(profile):
    none, fixed, dynamic = (run(cache, profile) for cache in ("none", "fixed", "dynamic"))
    assert none.slc is None
    for result in (fixed, dynamic):
        assert result.slc.written_pages + result.slc.direct_pages == PAGES
        assert result.slc.written_pages > 0
        assert result.series[0].time_us < 0.6 * none.series[0].time_us


def test_folds_are_a_cause_of_write_amplification():
    result = run({"fixed": {"full": "fold"}})
    assert result.slc.direct_pages == 0
    assert result.waf_by_cause()["fold"] == pytest.approx(result.slc.folded_pages / PAGES)


def test_the_profiles_are_listed_with_their_sources():
    listed = call("list", "devices", "--json").document["devices"]
    devices = {device["name"]: device for device in listed}
    for name, bits in (("tlc-3d", 3), ("qlc-3d", 4)):
        assert (devices[name]["page_bytes"], devices[name]["channels"]) == (16384, 8)
        assert f"bits_per_cell = {bits}" in devices[name]["doc"]
        assert "ISSCC" in devices[name]["source"]


def test_a_device_of_one_bit_is_refused_with_a_sentence():
    with pytest.raises(nandlab.ConfigError, match="needs cells of several bits"):
        nandlab.Experiment(
            workload=nandlab.workload.uniform(requests=10),
            ftl=nandlab.ftl.page(slc_cache="dynamic"),
            device={"capacity": "64 MiB"},
        ).run()

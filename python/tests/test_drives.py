"""The paper file `drives` beside the data that its published values come from."""

import os
from collections import defaultdict
from pathlib import Path

import pytest
from papers import Paper

from nandlab.reproduce import load

ROOT = Path(__file__).parents[2]

FITTED = "log220_MusicWebBrowse.txt"
"""The session that the profile emmc-nexus5 is fitted on."""


def service_times(path):
    """Service times in us by kind and KiB; packed writes have a sector more and are left out."""
    found = defaultdict(list)
    for line in path.read_text(errors="replace").splitlines():
        cells = line.split()
        sectors, flags, given, done = int(cells[1]), int(cells[3]), float(cells[6]), float(cells[7])
        if sectors and sectors % 8 == 0:
            kind = "randwrite" if flags & 1 else "randread"
            found[f"{kind}.{sectors // 2}k"].append(1e6 * (done - given))
    return found


@pytest.mark.traces
def test_medians_of_recorded_service_times_are_those_of_the_traces():
    pooled = defaultdict(list)
    for path in (Path(os.environ["NANDLAB_TRACES"]) / "biotracer").glob("*.txt"):
        if path.name != FITTED:
            for size, times in service_times(path).items():
                pooled[size] += times
    claims = [claim for claim in load("drives").claims if claim.id.startswith("emmc.")]
    assert len(claims) == 36
    for claim in claims:
        times = sorted(pooled[claim.id.removeprefix("emmc.").removesuffix(".p50")])
        assert claim.published == pytest.approx(times[len(times) // 2], abs=1), claim.id


def test_each_pass_over_ssd_a_has_an_order_of_its_own():
    """In passes of one order every block becomes stale as a whole, and nothing is moved."""
    ids = {"warp-ssd-a.waf.tb11", "warp-ssd-a.since.tb99"}
    text = (ROOT / "papers" / "drives.toml").read_text(encoding="utf-8")
    assert set(Paper("drives", text).verdicts(ids).values()) == {"fitted"}
    repeated = Paper("drives", text).claims(ids, text.replace("randrepeat=0\n", ""))
    assert all(each.measured == pytest.approx(1, abs=0.001) for each in repeated.values())


def test_the_page_on_validation_counts_the_claims_with_a_measured_value():
    """All 75 fitted ones come out; of the others 16 did when all were run."""
    values = [claim for claim in load("drives").claims if claim.kind == "value"]
    fitted = [claim for claim in values if claim.fitted]
    page = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    row = f"{len(fitted)} measured values that were fitted, {len(values) - len(fitted)} that no fit has seen"
    assert row in page

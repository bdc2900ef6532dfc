"""The paper file `drives` beside the data that its published values come from."""

import os
from collections import defaultdict
from pathlib import Path

import pytest

from nandlab.reproduce import load

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

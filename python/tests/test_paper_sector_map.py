"""The paper about the sector map: its bar, closed forms, and assumptions that claims rest on."""

import csv
import gzip
from pathlib import Path

import pytest
from papers import Paper

from nandlab.reproduce import load

TEXT = (Path(__file__).parents[2] / "papers" / "sector-map.toml").read_text(encoding="utf-8")


PAPER = Paper("sector-map", TEXT)


@pytest.fixture(scope="module")
def flash():
    """The claims of the flash alone, over one seed."""
    return PAPER.claims({"fig4.512w", "fig4.4kw", "jasmine.waf", "fig1.unaligned"})


def test_the_bar(flash):
    """512 B at least 20 times; the greedy firmware within 1 % of 7.95, which is of data."""
    assert flash["fig4.512w"].verdict == "reproduced" and flash["fig4.512w"].measured >= 20
    assert flash["jasmine.waf"].verdict == "reproduced"
    assert abs(flash["jasmine.waf"].measured / 7.95 - 1) < 0.01


def test_small_writes_gain_what_the_closed_form_says(flash):
    """63 sectors a page in place of one write that also reads; up to 20 % more for idle banks."""
    gain = (400 + 491.52 + 1300 + 491.52) / (1300 + 491.52)
    for claim, writes in (("fig4.512w", 63), ("fig4.4kw", 63 / 8)):
        assert 1 <= flash[claim].measured / (writes * gain) < 1.2
    assert flash["fig4.4kw"].verdict == "differs"


def test_map_traffic_is_that_of_the_data_sheet():
    """A miss moves 32 pages each way, 16 of each over the fuller of the channels that they share."""
    found = PAPER.claims({"table1.with", "table1.without"})
    request_ms = 1000 / found["table1.with"].measured
    transfer_ms = 2 * 32 * 32768 * 15e-6 / 4
    busy_ms = 32 * (0.4 + 1.3) / 8 + transfer_ms
    assert 0.9375 * transfer_ms < request_ms < 1.2 * busy_ms
    assert found["table1.with"].verdict == "differs" and found["table1.without"].verdict == "fitted"


def test_the_left_cell_is_a_fit():
    """With another cost of the firmware it is another figure, as nothing else limits it."""
    text = TEXT.replace("firmware_us = 35.2", "firmware_us = 70.4")
    found = PAPER.claims({"table1.without"}, text)["table1.without"]
    assert found.verdict == "differs" and found.measured == pytest.approx(1e6 / 70.4, rel=0.01)


def test_directions_hold_over_the_seeds():
    ids = {"fig4.128kw", "fig4.128kr", "sec1.erases", "sec4.coalescing"}
    found = PAPER.claims(ids, seeds=5)
    assert {each.verdict for each in found.values()} == {"direction"}


def test_the_writes_of_sqlite_are_counted_from_the_trace(flash):
    """By reading the bundled traces here, record by record."""
    shares = []
    for name in ("rollback", "wal"):
        path = Path(__file__).parents[2] / "workloads" / "sqlite" / f"{name}.csv.gz"
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            writes = [row for row in csv.DictReader(lines) if row["op"] == "W"]
        ends = [(int(row["sector"]), int(row["sector"]) + int(row["sectors"])) for row in writes]
        shares.append(100 * sum(first % 16 != 0 or end % 16 != 0 for first, end in ends) / len(ends))
    assert flash["fig1.unaligned"].measured == pytest.approx(min(shares))


def test_recorded_traces_leave_the_devices_as_they_are(tmp_path):
    """They are alone in runs of their own; a device of another size would change every other claim."""
    path = tmp_path / "flashsim2010" / "desktop.trace"
    path.parent.mkdir()
    path.touch()
    paper = load("sector-map")
    there = paper.with_traces(tmp_path)
    assert there.tree("eight.desktop")["workload"]["trace"]["path"] == str(path)
    assert any("device" in tree for tree in paper.full_parts.values()), "a full run has other devices"
    assert {**there.parts, "desktop": {}} == paper.parts

"""The paper about the sector map: its bar, closed forms, and assumptions that claims rest on."""

import csv
import dataclasses
import gzip
import heapq
import math
import random
from collections import deque
from pathlib import Path

import pytest
from papers import Paper

from nandlab import Experiment
from nandlab.reproduce import parse, reproduce
from nandlab.reproduce.records import rows
from nandlab.reproduce.words import Why

TEXT = (Path(__file__).parents[2] / "papers" / "sector-map.toml").read_text(encoding="utf-8")


PAPER = Paper("sector-map", TEXT)


@pytest.fixture(scope="module")
def found():
    """What one seed makes of Fig. 4 and Table 1 together, and of what needs no host."""
    ids = {"fig4.512w", "fig4.4kw", "table1.without", "table1.with", "beyond.jasmine_waf", "fig1.unaligned"}
    return PAPER.claims(ids)


def test_the_bar(found):
    """20 times at both sizes with the left cell; the greedy firmware within 1 % of 7.95, of data."""
    for claim in ("fig4.512w", "fig4.4kw"):
        assert found[claim].verdict == "fitted" and found[claim].measured >= 20
    assert found["table1.without"].verdict == "fitted"
    assert found["beyond.jasmine_waf"].verdict == "reproduced"
    assert abs(found["beyond.jasmine_waf"].measured / 7.95 - 1) < 0.01


# Over a channel goes a page with its spare area, 15 ns a byte.
TRANSFER_US = (32768 + 1744) * 0.015


def the_flash_alone(workload, seed=1):
    """Times that the sector map is as fast as the super-page map, at depth 32 and without firmware."""
    paper = parse(TEXT, "sector-map", "sector-map.toml")
    iops = [
        Experiment(**{**paper.tree(f"free.{ftl}.{workload}"), "seed": seed}).run().throughput.requests_per_s
        for ftl in ("sector", "super")
    ]
    return iops[0] / iops[1]


def test_small_writes_gain_what_the_closed_form_says():
    """63 sectors a page in place of one write that also reads; up to 20 % more for idle banks."""
    gain = (400 + 1300 + 2 * TRANSFER_US) / (1300 + TRANSFER_US)
    for workload, writes in (("b512", 63), ("b4k", 63 / 8)):
        assert 1 <= the_flash_alone(workload) / (writes * gain) < 1.2


def test_firmware_limits_the_sector_map(found):
    """The processor is the only limit of small writes, until the flush after them programs a super-page."""
    whole_us = 50_000 * 35.2 + 1300 + (32768 + 1744) * 0.015
    assert found["table1.without"].measured == pytest.approx(1e6 * 50_000 / whole_us, rel=1e-4)


def rate(run):
    """Requests a second of a run on the device on which no FTL collects, with one seed."""
    tree = parse(TEXT, "sector-map", "sector-map.toml").tree(f"free.{run}")
    return Experiment(**{**tree, "seed": 1}).run().throughput.requests_per_s


@pytest.mark.parametrize(("workload", "entries"), [("b512", 1), ("b4k", 8), ("b128kw", 256)])
def test_look_ups_limit_the_sector_map(workload, entries):
    """The processor takes 25.2 us for a request and 10 us for each sector of it."""
    assert rate(f"sector.cost.look10.{workload}") == pytest.approx(1e6 / (25.2 + 10 * entries), rel=0.003)


@pytest.mark.parametrize(
    ("setting", "is_slower_at_128k", "is_20_times_faster_at_4k"),
    [
        ("qd1", False, True),
        ("qd1.look10", True, True),
        ("qd1.look20", True, False),
        ("qd2.look1", False, True),
        ("qd2.look4", True, True),
        ("qd2.look10", True, False),
        ("look1", True, True),
        ("look4", True, False),
    ],
)
def test_look_ups_decide_fig4_at_low_depths(setting, is_slower_at_128k, is_20_times_faster_at_4k):
    at = {
        (ftl, size): rate(f"{ftl}.cost.{setting}.{size}")
        for ftl in ("sector", "super")
        for size in ("b4k", "b128kw")
    }
    assert (at["sector", "b128kw"] < at["super", "b128kw"]) == is_slower_at_128k
    assert (at["sector", "b4k"] >= 20 * at["super", "b4k"]) == is_20_times_faster_at_4k


def test_another_queue_depth_flips_what_is_a_fit():
    depth = TEXT.replace("[parts.cost.host]\nqueue_depth = 4", "[parts.cost.host]\nqueue_depth = 32")
    assert set(PAPER.verdicts({"fig4.512w", "fig4.4kw"}, depth).values()) == {"differs"}
    depth = TEXT.replace("[parts.cost.host]\nqueue_depth = 4", "[parts.cost.host]\nqueue_depth = 1")
    assert PAPER.verdicts({"fig4.128kw"}, depth, seeds=5) == {"fig4.128kw": "differs"}


def test_map_traffic_by_whole_units_is_that_of_the_data_sheet():
    """A miss moves 32 pages each way, 16 of each over the fuller of the channels that they share."""
    tree = parse(TEXT, "sector-map", "sector-map.toml").tree("whole.sector.sixteenth.cost.n1k")
    made = Experiment(**{**tree, "seed": 1}).run()
    request_ms = 1000 / made.throughput.requests_per_s
    transfer_ms = 2 * 32 * 32768 * 15e-6 / 4
    busy_ms = 32 * (0.4 + 1.3) / 8 + transfer_ms
    missed = made.map.misses / made.host.requests
    assert missed * transfer_ms < request_ms < 1.2 * busy_ms


def test_the_right_cell_is_a_fit(found):
    """The map pages of a blank board are read as often as another request of their unit came before."""
    assert found["table1.with"].verdict == "fitted" and found["table1.with"].measured == pytest.approx(
        540, rel=0.05
    )
    text = TEXT.replace(
        'requests = 4_600\nflush_at_end = true\nsize = "512 B"\nalignment = "512 B"\nfootprint = 1.0',
        'requests = 1_000\nflush_at_end = true\nsize = "512 B"\nalignment = "512 B"\nfootprint = 1.0',
    )
    assert text != TEXT
    assert PAPER.verdicts({"table1.with"}, text) == {"table1.with": "differs"}


def test_the_left_cell_is_a_fit():
    """With another cost of the firmware it is another figure, as nothing else limits it."""
    text = TEXT.replace("firmware_us = 35.2", "firmware_us = 70.4")
    found = PAPER.claims({"table1.without"}, text)["table1.without"]
    assert found.verdict == "differs" and found.measured == pytest.approx(1e6 / 70.4, rel=0.01)


def test_directions_hold_over_the_seeds():
    ids = {"fig4.128kw", "fig4.128kr", "sec1.erases", "sec4.coalescing"}
    found = PAPER.verdicts(ids, seeds=5)
    assert found.pop("fig4.128kw") == "fitted"
    assert set(found.values()) == {"direction"}


def test_the_writes_of_sqlite_are_counted_from_the_trace(found):
    """By reading the bundled traces here, record by record."""
    shares = []
    for name in ("rollback", "wal"):
        path = Path(__file__).parents[2] / "workloads" / "sqlite" / f"{name}.csv.gz"
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            writes = [row for row in csv.DictReader(lines) if row["op"] == "W"]
        ends = [(int(row["sector"]), int(row["sector"]) + int(row["sectors"])) for row in writes]
        shares.append(100 * sum(first % 16 != 0 or end % 16 != 0 for first, end in ends) / len(ends))
    assert found["fig1.unaligned"].measured == pytest.approx(min(shares))


def test_recorded_traces_count_for_the_claim(tmp_path):
    """Of every PC that is in the table; a desktop of four writes of 8 KB, one of them 4 KB off."""
    (claim,) = (each for each in parse(TEXT, "x", "x").claims if each.id == "fig1.unaligned")
    (grid,) = (each for each in parse(TEXT, "x", "x").grids if each.name == "aligned")
    assert {f"{row}.unaligned" for row in grid.rows} == set(claim.measured.names)
    path = tmp_path / "flashsim2010" / "desktop.trace"
    path.parent.mkdir()
    lines = [f"{at}.000000\t0\t{sector}\t2\t0\n" for at, sector in enumerate((0, 16, 40, 64))]
    path.write_text("".join(lines), encoding="utf-8")
    there = dataclasses.replace(parse(TEXT, "sector-map", "x").with_traces(tmp_path), figures=(), grids=())
    bare = dataclasses.replace(claim, note=Why("", ()))
    found = reproduce(dataclasses.replace(there, claims=(bare,)), seeds=1).claims[0]
    assert found.measured == 25 and found.verdict == "differs"
    assert "eight.desktop" in found.claim.read_from and "eight.ext4" not in found.claim.read_from


def of_fifo(spare):
    """Write amplification of victims in turn: of their pages p = exp(-(1 + spare) (1 - p)) are valid."""
    valid = 0.5
    for _ in range(2000):
        valid = math.exp(-(1 + spare) * (1 - valid))
    return 1 / (1 - valid)


def test_each_ftl_has_its_own_spare_pages():
    """By hand, on the same flash; and the write amplification that they make, between closed forms."""
    (own,) = (each for each in parse(TEXT, "x", "x").grids if each.name == "fig4-own")
    alone = dataclasses.replace(own, columns=("$.s512.waf",), bars=(), bars_log=False, caption=Why("", ()))
    records = PAPER.reproduced({"sec3.map_size"}, grids=(alone,)).records

    def figure(name):
        return records.lookup(f"own.{name}", 1)

    pages = 4 * 2**30 // 32768
    # 140 blocks a bank: 4 of the firmware and one for collection; of each block a page is a list.
    spare = 8 * (140 - 4 - 1) * 127 / pages - 1
    assert figure("as_shipped.s512.spare_pages") == pytest.approx(100 * spare)
    # The map is 32 MiB, 8 blocks; as many are spare, as many are being filled, and one is for collection.
    # Of each page a sector is a list.
    blocks = 8 * (140 - 2 - 1) - (8 + 8 + 8 + 1)
    assert figure("on_board.s512.spare_sectors") == pytest.approx(
        100 * (blocks * 128 * 63 / (pages * 64) - 1)
    )
    # The fewest valid pages first are up to a tenth less than victims in turn, and lists are programmed, too.
    waf = figure("as_shipped.s512.waf") / 64 * 127 / 128
    assert 0.9 < waf / of_fifo(spare) < 1
    # Blocks that are being filled have room for sectors that are not there yet.
    ends = [of_fifo(each * 128 * 63 / (pages * 64) - 1) * 64 / 63 for each in (blocks, blocks - 8)]
    assert ends[0] < figure("on_board.s512.waf") < ends[1]


def test_recorded_traces_leave_the_devices_as_they_are(tmp_path):
    """They are alone in runs of their own; a device of another size would change every other claim."""
    path = tmp_path / "flashsim2010" / "desktop.trace"
    path.parent.mkdir()
    path.touch()
    paper = parse(TEXT, "sector-map", "sector-map.toml")
    there = paper.with_traces(tmp_path)
    assert there.tree("eight.desktop")["workload"]["trace"]["path"] == str(path)
    assert any("device" in tree for tree in paper.full_parts.values()), "a full run has other devices"
    assert {**there.parts, "desktop": {}} == paper.parts


def test_pages_of_the_map_overlap_and_a_read_modify_write_does_not():
    """Queue depth 1 by hand: 32 pages of map over 4 channels of 2 banks, then the page itself.

    A page of map is read without its spare area, but for 16 bytes of it; `busy_us` counts it with that.
    """
    found = PAPER.reproduced({"beyond.overlap"}, seeds=5)
    assert found.claims[0].verdict == "direction"
    page_ms, of_map_ms = 0.4 + (32768 + 1744) * 15e-6, (32768 + 16) * 15e-6
    # The first page of a channel is read, then 8 pass it, one behind the other; 15 of 16 requests miss.
    missed_ms = 0.4 + 8 * of_map_ms + page_ms
    share = 15 / 16
    banks = (32 * share + 1) * page_ms / (share * missed_ms + (1 - share) * page_ms)
    measured = [
        found.records.lookup("deep.sector.two_units.qd1.map_reads.banks", seed) for seed in range(1, 6)
    ]
    assert sum(measured) / 5 == pytest.approx(banks, rel=0.01)
    alone = found.records.lookup("deep.super.qd1.misses.banks", 1)
    assert alone == pytest.approx(1, abs=1e-9), "one operation after the other"


class ReadyFirst:
    """Read-modify-writes on 8 banks of 4 channels, by events, 32 at once.

    Each reads on the bank of its page, then programs on the next bank in turn, which it joins when its data
    are there. Until then that bank is free.
    """

    READ_US, PROGRAM_US, TRANSFER_US = 400.0, 1300.0, (32768 + 1744) * 0.015

    def __init__(self, requests: int) -> None:
        self.left, self.now, self.turn = requests, 0.0, 7
        self.bank_of = [page % 8 for page in range(2**15)]
        self.draw = random.Random(1)
        self.waiting: list[deque[tuple[str, int]]] = [deque() for _ in range(8)]
        self.idle, self.channel_free = [True] * 8, [0.0] * 4
        self.events: list[tuple[float, str, int, int]] = []

    def transferred(self, bank: int) -> float:
        """When a page has passed the channel of the bank."""
        end = max(self.now, self.channel_free[bank // 2]) + self.TRANSFER_US
        self.channel_free[bank // 2] = end
        return end

    def ask(self, bank: int, what: str, page: int) -> None:
        self.waiting[bank].append((what, page))
        self.begin(bank)

    def begin(self, bank: int) -> None:
        if self.idle[bank] and self.waiting[bank]:
            self.idle[bank] = False
            what, page = self.waiting[bank].popleft()
            end = self.now + self.READ_US if what == "sensed" else self.transferred(bank) + self.PROGRAM_US
            heapq.heappush(self.events, (end, what, bank, page))

    def request(self) -> None:
        if self.left > 0:
            self.left -= 1
            page = self.draw.randrange(len(self.bank_of))
            self.ask(self.bank_of[page], "sensed", page)

    def end(self, what: str, bank: int, page: int) -> None:
        if what == "sensed":
            heapq.heappush(self.events, (self.transferred(bank), "read", bank, page))
            return
        self.idle[bank] = True
        if what == "read":
            self.turn = (self.turn + 1) % 8
            self.bank_of[page] = self.turn
            self.ask(self.turn, "programmed", page)
        else:
            self.request()
        self.begin(bank)

    def per_second(self) -> float:
        requests = self.left
        for _ in range(32):
            self.request()
        while self.events:
            self.now, *event = heapq.heappop(self.events)
            self.end(*event)
        return 1e6 * requests / self.now


def test_every_map_has_its_points_in_one_figure():
    """All sizes from 512 B to 128 KB; the sector map in memory is as fast as flash allows."""
    paper = parse(TEXT, "sector-map", "sector-map.toml")
    (figure,) = (each for each in paper.figures if each.name == "maps")
    kinds = {next(iter(paper.tree(run)["ftl"])) for _, _, run in figure.runs()}
    assert kinds == {"superpage", "dftl", "sector_map", "hybrid_map", "sector_log"}
    sizes = [paper.tree(f"{panel}.super")["workload"]["uniform"]["size"] for panel in figure.panels]
    powers = [f"{2**at} KiB" for at in range(8)]
    assert sizes == ["512 B", *powers, "512 B", *powers]
    small = dataclasses.replace(figure, panels=("maps.w512",))
    found = PAPER.reproduced({"sec3.map_size"}, figures=(small,))
    points = {row["point"]: row for row in rows(found.records, small)}
    assert len(points) == 16
    # 1 GiB of sectors at 4 bytes each; of super-pages likewise.
    assert points["sector"]["x"] == pytest.approx(4 * 2**30 / 512 / 1024, rel=0.01)
    assert points["super-page map"]["x"] == 4 * 2**15 / 1024
    # With the whole map in memory DFTL is the super-page map, but for the list at the end of each block.
    programs = [found.records.lookup(f"maps.w512.{ftl}.programs", 1) for ftl in ("super", "dftl_all")]
    assert programs[0] / programs[1] == pytest.approx(128 / 127, rel=1e-3)
    # The ratio of rates has a standard deviation of 0.8 % over eight seeds, and 1.003 as their mean.
    alike = [found.records.lookup(f"maps.w512.{ftl}.iops", 1) for ftl in ("dftl_all", "super")]
    assert alike[0] / alike[1] == pytest.approx(128 / 127, rel=0.016)
    # So its banks are as busy as those that take pages in turn, under a controller that takes what is ready.
    assert alike[0] == pytest.approx(ReadyFirst(20_000).per_second(), rel=0.03)
    # 63 sectors a program on 8 banks.
    program_s = (1300 + (32768 + 1744) * 0.015) * 1e-6
    assert points["sector"]["y"] == pytest.approx(8 * 63 / program_s, rel=0.02)

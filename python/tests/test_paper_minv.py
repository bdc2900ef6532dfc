"""The paper about YAFFS and MiNV: the bar of its claims, and each of its assumptions matters."""

import dataclasses
import math

import pytest
from papers import Paper

from nandlab import Experiment
from nandlab.reproduce import load
from nandlab.reproduce.records import cells, drawn_rows, key_of

TEXT = load("minv").text


MUTATIONS = {
    "passive limit 3 -> 5": (
        "[parts.yaffs.fs.yaffs.gc]\n",
        "[parts.yaffs.fs.yaffs.gc]\npassive_limit = 5\n",
        {"fig2.yaffs_aggressive": "differs"},
    ),
    "messages of 341 bytes": (
        "sms_bytes = 512\nshuffled",
        "sms_bytes = 341\nshuffled",
        {"fig2.yaffs_aggressive": "differs", "fig2.minv_quiet": "differs"},
    ),
    "an order drawn from the seed": (
        "shuffled = false\norganizer",
        "shuffled = true\norganizer",
        {"fig3.minv_no_gc": "differs"},
    ),
    "a third less flash": (
        'profile = "k9f5608"',
        'profile = "k9f5608"\nshape.blocks_per_plane = 1400',
        {
            "fig3.yaffs_all_used": "differs",
            "fig2.yaffs_aggressive": "differs",
            "fig2.minv_aggressive": "differs",
        },
    ),
}


PAPER = Paper("minv", TEXT, MUTATIONS)


@pytest.fixture(scope="module")
def unchanged():
    return PAPER.unchanged()


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_each_assumption_changes_the_claims_that_rest_on_it(unchanged, mutation):
    PAPER.assert_matters(mutation, unchanged, {"reproduced", "fitted"})


def test_aggressive_collection_sets_in_where_the_paper_says():
    """The bar: YAFFS in 2,000 as printed, MiNV in (2,000, 2,500] and nothing before."""
    paper = load("minv")
    (counts,) = (grid for grid in paper.grids if grid.name == "counts")
    ids = {"fig2.yaffs_aggressive", "fig2.minv_aggressive", "fig2.minv_quiet", "fig3.minv_no_gc"}
    found = PAPER.reproduced(ids, grids=(dataclasses.replace(counts, one_seed=True),))
    measured = {each.claim.id: each.measured for each in found.claims}
    assert measured["fig2.yaffs_aggressive"] == 2000
    assert measured["fig3.minv_no_gc"] == 0
    assert 2000 < measured["fig2.minv_aggressive"] <= 2500
    table = dict(zip(counts.rows, cells(found.records, counts), strict=True))
    assert all(len(line) == 6 and None not in line for line in table.values())
    assert table["phone.yaffs.aggressive"][:3] == [0, 0, 0]
    assert table["phone.minv.aggressive"][:4] == [0, 0, 0, 0]
    assert max(table["phone.minv.erases"][:4]) == measured["fig2.minv_quiet"]


def test_every_block_is_drawn_with_its_valid_pages():
    paper = load("minv")
    found = PAPER.reproduced(set(), block_maps=paper.block_maps, timelines=paper.timelines)
    (blocks,) = paper.block_maps
    rows = drawn_rows(found.records, blocks)
    assert len(rows) == 2 * len(blocks.moments) * 2048
    assert {row["row"] for row in rows} == set(blocks.rows)
    assert {row["column"] for row in rows} == set(blocks.columns) == {"YAFFS", "MiNV"}
    of_yaffs = found.records.found[key_of(paper.tree("phone.yaffs"), 1)]["fs"]["samples"]
    for sample, line in zip(of_yaffs, blocks.rows, strict=False):
        drawn = [row["y"] for row in rows if row["column"] == "YAFFS" and row["row"] == line]
        assert sum(drawn) == sum(live * count for live, count in sample["blocks"]["live"])
        assert sum(y == 0 for y in drawn) >= sample["blocks"]["empty"] > 0
    # MiNV has not gone round the flash: half of it is blank at 1,000.
    blank = [
        row
        for row in rows
        if row["column"] == "MiNV" and row["row"] == "1,000 transactions" and row["y"] == 0
    ]
    assert len(blank) > 1024
    (_, operations) = paper.timelines
    drawn = drawn_rows(found.records, operations)
    assert {row["panel"] for row in drawn} == set(operations.panels)
    assert {row["colour"] for row in drawn} == {"YAFFS", "MiNV"}
    erases = [row["y"] for row in drawn if row["panel"] == "block erases" and row["colour"] == "YAFFS"]
    assert sum(erases) == of_yaffs[-1]["erases"]
    assert erases[0] == of_yaffs[0]["erases"]


@pytest.mark.parametrize("size", [480, 510, 512])
def test_messages_take_the_page_writes_of_their_closed_form(size):
    """MiNV writes a page a call, and for a message each page that it touches.

    Messages of n bytes begin at multiples of gcd(n, 512) in a page, each as often as any other.
    """
    phone = {"transactions": 1024, "sms_bytes": size}
    record = Experiment(device={"profile": "k9f5608"}, fs={"minv": {}}, workload={"phone": phone}).run()
    flash = record.to_dict()["fs"]["phases"]["transactions"]["flash"]
    writes = 25 + 6 * (1 + (size - math.gcd(size, 512)) / 512)
    assert (flash["programs"] - flash["copies"]) / 1024 == pytest.approx(writes, abs=0.01)

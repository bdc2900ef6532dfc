"""The bundled papers: what they claim stands unchanged, and each assumption is one that matters."""

import dataclasses
import hashlib
import re
from pathlib import Path

import pytest
from papers import Paper

from nandlab.reproduce import bundled, load, reproduce
from nandlab.reproduce.judge import NO_REASON
from nandlab.reproduce.records import cells

# Claims of each paper, and SHA-256 over lines `id|where|kind|published|unit|tolerance|statement`, by id.
# Only ids that begin with one of these words are the list's; others may be added.
LISTED = {
    "btree": (
        37,
        "4596bd7554f5b326833cbfbcf37bf738eb6999c23690862776f00143fdddc8cd",
        ("table1.", "sec4.", "sec5.16k"),
    ),
    "migration": (
        38,
        "7ab1dda68de39e5b7b915e89703a563418f50df535bbed99766b5c3316b3d775",
        ("model.", "fig", "sec4.", "sec5.", "sec6.", "table1."),
    ),
    "minv": (
        16,
        "5bf02dfb8cdc00ce031c1a6a3b1b95a17b8afb212cb5786ffd2566399a90f089",
        ("fig", "abstract.", "sec"),
    ),
    "wap-lru": (
        26,
        "1f9bcfc02a77d3c3d73af8515d1aa4f203f0a566450741ac43253ae0b262d3ca",
        ("fig", "model.", "sec2.", "sec3."),
    ),
    "sector-map": (
        19,
        "5b55aeb7a23c21c85384b58338a67ed277411f5e3bac4a8eb04a85ecafdbabed",
        ("fig", "table1.", "sec"),
    ),
    "drives": (
        676,
        "5ae95b251944c0014d4f2a45d5420762e9eebe7f766b856e316d15b98aaf56ca",
        ("zn540.", "980pro.", "nvme-a.", "nvme-b.", "warp-ssd-a.", "warp.", "emmc."),
    ),
    "fdp": (
        56,
        "1f10dcbcc7365714f51cfd628628e09acb3020b2ec582c8433414ee2eb156bf7",
        ("warp.", "ssd-a.", "cachelib.", "theorem.", "pools.", "femu.", "p4510.", "weights."),
    ),
    "lsm": (
        15,
        "9d139135742ace3f779a333082fd8e6d1c42f765122f97e9d51a1837c24e2b21",
        ("universal.", "leveled.", "bloom.", "zns."),
    ),
    "zones": (
        20,
        "f98370b79e2cbcbf670100a9831bcd44c159cacb8158ebbd3387361ba3da0a95",
        ("zn540.", "zns-1t."),
    ),
    "placement": (
        19,
        "5cede1795d2ed446fad637fee27ecbb3e1f51c413b4c8361eb272e48e63e1d20",
        ("pools.", "midas.", "tpftl.", "learned.", "leaftl."),
    ),
    "theory": (
        114,
        "8d5903419ab146ff9506b445f41b05bf9fe34f520cc73f5e81540b3cd70beb9c",
        ("greedy.", "fifo.", "random.", "d", "mixed.", "separated.", "trims.", "skew."),
    ),
}

ADDED = {
    "migration": {"sec6.recorder_recyclings"},
    "wap-lru": {"sec3.write_hits"},
    "lsm": {
        *("leveled.by8.n1e7.wamp", "leveled.by8.n1e8.wamp", "leveled.n1e8.level5", "leveled.n1e8.level6"),
        "leveled.n1e8.wamp",
    },
    "btree": {
        *("sec4.bast_poor", "sec4.fast_4k_worse", "sec4.fmax_33", "sec4.fmax_9", "sec4.pages_4k"),
        *("sec4.mtbs_16", "sec4.mtbs_16k_two", "sec4.mtbs_5", "sec4.mtbs_half_best", "sec4.mtbs_like_fmax"),
        *("sec4.mtbs_4k_more", "sec4.reads_small"),
    },
    "minv": {
        *(
            "abstract.less_often",
            "abstract.postpones",
            "fig3.by_passive",
            "fig3.minv_no_gc",
            "fig3.yaffs_uses_more",
        ),
        *("sec2.metadata_often", "sec2.metadata_small", "sec4.cheaper_victim", "sec4.efficient"),
        *("sec4.few_dead_blocks", "sec4.more_updates", "sec4.nvram_1mb"),
    },
}
"""Claims of the papers that begin with such a word, and came after the list."""


@pytest.mark.parametrize("name", bundled())
def test_the_claims_of_a_paper_are_those_that_were_listed(name):
    count, digest, listed = LISTED[name]
    added = ADDED.get(name, set())
    every = {claim.id: claim for claim in load(name).claims}
    assert added <= every.keys()
    claims = [claim for claim in every.values() if claim.id.startswith(listed) and claim.id not in added]
    lines = sorted(
        "|".join(
            [
                claim.id,
                claim.where,
                claim.kind,
                printed(claim.published),
                claim.unit,
                claim.tolerance,
                claim.statement,
            ]
        )
        for claim in claims
    )
    assert len(lines) == count
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest() == digest, (
        "an id, a published value, a unit, a tolerance or a statement was changed; these are the paper's"
    )


def printed(value):
    return "" if value is None else f"{value:.10g}"


@pytest.mark.parametrize("name", bundled())
def test_every_claim_says_where_it_is_read_from(name):
    for claim in load(name).claims:
        assert claim.statement and claim.where
        assert claim.read_from or claim.kind == "not_reproducible", claim.id


def test_the_table_of_small_writes_in_the_docs_is_what_is_measured():
    """RAM to the byte, the rest as far as one seed tells: five are behind the docs."""
    text = (Path(__file__).parents[2] / "docs" / "papers" / "btree.md").read_text(encoding="utf-8")
    lines = text[text.index("25 % of spare blocks:") : text.index("MTBS needs more spare")].splitlines()
    shown = {line.split(" | ")[0].removeprefix("| "): line.split(" | ")[1:] for line in lines}
    paper = load("btree")
    grid = next(grid for grid in paper.grids if grid.name == "spare-25")
    columns = tuple(f"512.spare25.{measure}" for measure in ("cost", "energy", "writes", "erases", "ram"))
    grid = dataclasses.replace(grid, columns=columns)
    found = reproduce(dataclasses.replace(paper, claims=(), figures=(), grids=(grid,)), seeds=1)
    for row, measured in zip(grid.rows, cells(found.records, grid), strict=True):
        figures = [float(re.sub(r"[^0-9.]", "", cell)) for cell in shown[grid.labels[row]]]
        assert figures[:4] == pytest.approx(measured[:4], rel=0.02), row
        assert figures[4] == measured[4], row


TEXT = load("btree").text


MUTATIONS = [
    (
        "skip_stale = true",
        "skip_stale = false",
        {
            "table1.fast.512.writes": "differs",
            "table1.fast.512.erases": "differs",
            "table1.fast.4k.writes": "differs",
            "table1.fast.4k.erases": "differs",
            "table1.fast.16k.writes": "differs",
            "table1.fast.16k.erases": "differs",
        },
    ),
    (
        "switch = true",
        "switch = false",
        {"beyond.fmax_switch_saves": "not_exercised"},
    ),
    (
        "merge_includes_pending = true",
        "merge_includes_pending = false",
        {
            "table1.fmax.512.erases": "differs",
            "table1.fmax.4k.erases": "differs",
            "table1.fmax.16k.erases": "differs",
        },
    ),
    (
        "sequential_block = false",
        "sequential_block = true",
        {"table1.fast.4k.erases": "differs", "table1.fast.16k.writes": "differs"},
    ),
    (
        "data_pages = 16",
        "data_pages = 24",
        {"table1.mtbs.512.writes": "differs", "table1.mtbs.512.erases": "differs"},
    ),
    ("whole_requests = true", "whole_requests = false", {"table1.mtbs.4k.writes": "differs"}),
    (
        "log_blocks = 35",
        "log_blocks = 8",
        {"table1.bast.512.writes": "differs", "table1.bast.4k.erases": "differs"},
    ),
    ("log_blocks = 35", "log_blocks = 34", {"table1.bast.512.writes": "differs"}),
    ("log_blocks = 35", "log_blocks = 36", {"table1.bast.512.erases": "differs"}),
    ('victim = "fullest"', 'victim = "lru"', {"table1.bast.4k.erases": "differs"}),
    (
        "log_blocks = 12",
        "log_blocks = 8",
        {"table1.fast.512.writes": "differs", "table1.fast.4k.erases": "differs"},
    ),
    (
        "log_blocks = 12",
        "log_blocks = 16",
        {"table1.fast.512.writes": "differs", "table1.fast.4k.erases": "differs"},
    ),
    # Records of 12 bytes.
    (
        "key_bytes = 4",
        "key_bytes = 8",
        {
            "table1.fmax.512.writes": "differs",
            "table1.bast.4k.erases": "differs",
            "table1.fast.4k.writes": "differs",
            "table1.mtbs.4k.writes": "differs",
        },
    ),
    (
        "value_bytes = 4\n\n",
        "value_bytes = 8\n\n",
        {
            "table1.fmax.512.writes": "differs",
            "table1.bast.4k.erases": "differs",
            "table1.fast.4k.writes": "differs",
            "table1.mtbs.4k.writes": "differs",
        },
    ),
    # The reading of the 16 KB column: its pages are no slots of 32.
    (
        "[parts.slot.device.shape]\npage_bytes = 16_384",
        "[parts.slot.device.shape]\npage_bytes = 512",
        {"table1.fmax.16k.writes": "differs", "sec4.fmax_writes_16k": "differs", "sec4.fast_16k": "differs"},
    ),
    # A larger buffer.
    (
        "pool_bytes = 153_600",
        "pool_bytes = 204_800",
        {
            "table1.fmax.512.writes": "differs",
            "table1.fast.512.writes": "differs",
            "table1.mtbs.512.erases": "differs",
        },
    ),
]
BY_CHANGE = {new.strip().split("\n")[-1]: (old, new, named) for old, new, named in MUTATIONS}
PAPER = Paper("btree", TEXT, BY_CHANGE)


@pytest.fixture(scope="module")
def unchanged():
    """Verdicts of every claim that a mutation names, each after as many seeds as with the mutation."""
    by_seeds = {1: set(), 5: set()}
    for _, _, named in MUTATIONS:
        by_seeds[seeds_of(named)] |= set(named)
    return {
        (name, seeds): verdict
        for seeds, names in by_seeds.items()
        for name, verdict in PAPER.verdicts(names, seeds=seeds).items()
    }


def seeds_of(named):
    """A cell of the table has its verdict after one seed, an order after five."""
    return 1 if all(name.startswith("table1.") for name in named) else 5


# Half the time of all of them.
LONG = "page_bytes = 512"


@pytest.mark.parametrize(
    "mutation",
    [pytest.param(name, marks=[pytest.mark.long] if name == LONG else []) for name in PAPER.mutations],
)
def test_each_assumption_changes_the_claims_that_rest_on_it(unchanged, mutation):
    seeds = seeds_of(PAPER.mutations[mutation][2])
    before = {name: verdict for (name, judged_by), verdict in unchanged.items() if judged_by == seeds}
    PAPER.assert_matters(mutation, before, {"reproduced", "fitted", "direction"}, seeds)


@pytest.mark.parametrize(
    ("old", "new", "cells_of"),
    [
        ('victim = "fullest"', 'victim = "fifo"', "table1.bast."),
        ('capacity = "15 MiB"', 'capacity = "30 MiB"', "table1."),
        ("over_provisioning = 1.25", "over_provisioning = 2.0", "table1."),
    ],
)
def test_some_of_what_is_open_changes_no_cell(old, new, cells_of):
    ids = {
        claim.id
        for claim in load("btree").claims
        # Pages of 16 KB that are one slot have a capacity of their own.
        if claim.id.startswith(cells_of) and not (cells_of == "table1." and ".16k." in claim.id)
    }
    assert PAPER.verdicts(ids, TEXT.replace(old, new, 1)) == dict.fromkeys(ids, "fitted")


def test_verdicts_in_true_units_stand_beside_those_in_the_units_of_the_paper():
    ids = {"sec4.fast_switch", "sec4.fmax_writes_16k", "sec4.fmax_erases_512", "sec4.fast_best_everywhere"}

    def verdicts(text=None, ids=ids):
        found = PAPER.claims(ids, text, seeds=5)
        return {
            name: (one.to_dict()["verdict"], one.to_dict()["true_verdict"]) for name, one in found.items()
        }

    assert verdicts() == {
        "sec4.fast_switch": ("differs", "fitted"),
        "sec4.fmax_writes_16k": ("fitted", "differs"),
        "sec4.fmax_erases_512": ("fitted", "fitted"),
        "sec4.fast_best_everywhere": ("differs", "differs"),
    }
    without = TEXT.replace("sequential_block = true", "sequential_block = false")
    assert verdicts(without, {"sec4.fast_switch"})["sec4.fast_switch"] == ("differs", "differs")


@pytest.mark.long
def test_every_claim_of_the_b_tree_paper_is_measured():
    """One seed: numbers have their verdicts, and orders their figures."""
    paper = dataclasses.replace(load("btree"), figures=(), grids=())
    document = reproduce(paper, seeds=1).to_dict()
    claims = {claim["id"]: claim for claim in document["claims"]}
    assert all(claim["measured"] is not None and claim["why"] for claim in claims.values())
    assert not [name for name, claim in claims.items() if NO_REASON in claim["why"]]
    table = {claim["verdict"] for name, claim in claims.items() if name.startswith("table1.")}
    assert table == {"fitted"}
    assert claims["sec4.fmax_writes_16k"]["verdict"] is None
    assert "5 seeds" in claims["sec4.fmax_writes_16k"]["why"]
    # The 16 KB cells of FMAX in true units: 32 programs for each page.
    cell = claims["table1.fmax.16k.writes"]
    assert cell["true_units"] > 30 * cell["measured"]

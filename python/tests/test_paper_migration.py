"""The paper about block recycling by cost: each of its assumptions matters."""

import pytest
from papers import Paper

from nandlab import Experiment
from nandlab.reproduce import load, parse

# Runs of PostMark that are short enough for a test.
TEXT = load("migration").text.replace("directories.transactions = 1500", "directories.transactions = 200")
TEXT = TEXT.replace("large_files = { transactions = 300", "large_files = { transactions = 60")
TEXT = TEXT.replace("postmark = { transactions = 3000", "postmark = { transactions = 60")

MUTATIONS = {
    # With 2 it is still within the 5 points.
    "limit 1": ("limit.migrations = 64\n", "limit.migrations = 1\n", {"fig7.limit": "differs"}),
    "never written": (
        'fill = "sequential"',
        'fill = "none"',
        {"fig7.migration": "differs", "fig7.limit": "differs", "fig7.macro": "differs"},
    ),
    "each entry at once": (
        'write_through = "sector"',
        'write_through = "entry"',
        {"fig7.migration": "differs"},
    ),
    "one FAT": ("fats = 2", "fats = 1", {"fig7.migration": "differs"}),
    "512 MiB": ('capacity = "416 MiB"', 'capacity = "512 MiB"', {"fig7.migration": "differs"}),
    "no log blocks to spare": (
        "kept_recyclings.latest = { count = 100_000, of = 0 }\n",
        "kept_recyclings.latest = { count = 100_000, of = 0 }\nlog_blocks = 2\n",
        {"fig7.limit": "differs", "fig7.macro": "differs"},
    ),
}


PAPER = Paper("migration", TEXT, MUTATIONS)


@pytest.fixture(scope="module")
def unchanged():
    return PAPER.unchanged()


@pytest.mark.long
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_each_assumption_changes_the_claims_that_rest_on_it(unchanged, mutation):
    PAPER.assert_matters(mutation, unchanged, held=("fitted",))


def test_what_runs_once_is_the_same_for_every_seed():
    paper = parse(TEXT.replace("transactions = 200", "transactions = 20"), "migration", "migration.toml")
    assert paper.same_for_all_seeds
    for part in paper.same_for_all_seeds:
        one, two = (
            Experiment(**{**paper.tree(f"{part}.macro"), "seed": seed}).run().to_dict() for seed in (1, 2)
        )
        for record in (one, two):
            record.pop("speed")
            record.pop("seed")
            record["experiment"].pop("seed")
            # Event recorder and fax draw the length of a record, in pages that are written in any case.
            record["fs"].pop("written_bytes")
            record["host"].pop("unaligned_writes")
        assert one == two, part


def test_a_full_run_takes_2000_transactions():
    paper = load("migration").in_full()
    workloads = [paper.tree(part)["workload"] for part in ("small", "large", "phone", "fax")]
    assert [next(iter(each.values()))["transactions"] for each in workloads] == [2000] * 4

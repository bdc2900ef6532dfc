"""docs/papers/hybrids.md has the figures of the experiments in experiments/hybrids."""

import re
from pathlib import Path

import pytest

import nandlab

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "papers" / "hybrids.md").read_text(encoding="utf-8")
EXPERIMENTS = sorted((ROOT / "experiments" / "hybrids").glob("*.toml"))
ROWS = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE, re.MULTILINE))


@pytest.fixture(scope="module")
def results():
    return {path.stem: nandlab.Experiment.from_toml(path).run() for path in EXPERIMENTS}


def test_the_page_has_a_row_for_each_experiment():
    assert list(ROWS) and sorted(ROWS) == [path.stem for path in EXPERIMENTS]


def row(result):
    """A result's cells."""
    flash, merges = result.flash, result.merges
    return " | ".join(
        (
            f"{result.time_us / 100_000:.0f}",
            f"{flash.programs:,}",
            f"{flash.erases:,}",
            f"{merges.switch:,}",
            f"{merges.partial:,}",
            f"{merges.full:,}",
            f"{result.latency_us.write.max / 1000:.1f}",
            f"{result.ram.total_bytes:,}",
        )
    )


@pytest.mark.parametrize("name", [path.stem for path in EXPERIMENTS])
def test_the_page_has_what_an_experiment_measures(results, name):
    assert ROWS[name] == row(results[name])


def test_the_conclusions_hold(results):
    """Each sentence below the table."""
    programs = {name: result.flash.programs for name, result in results.items()}
    longest = {name: result.latency_us.write.max for name, result in results.items()}
    assert programs["superblock"] < programs["last"] < programs["bast"]
    assert programs["lazyftl"] < programs["dftl"]
    assert longest["kast"] < longest["fast"]


def test_more_log_blocks_and_no_hot_ones_help_last_as_the_page_says():
    last = nandlab.Experiment.from_toml(ROOT / "experiments" / "hybrids" / "last.toml")
    more = last.override("ftl.last.random_blocks=12")
    for experiment in (more, more.override("ftl.last.hot_blocks=0")):
        assert f"it programs {experiment.run().flash.programs:,}" in " ".join(PAGE.split())


BY_K = re.findall(r"^\| (\d+) \| ([\d,]+) \| ([\d.]+) \| ([\d.]+) \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("k", "programs", "longest", "bound"), BY_K)
def test_no_write_of_kast_waits_longer_than_for_k_merges(k, programs, longest, bound):
    kast = nandlab.Experiment.from_toml(ROOT / "experiments" / "hybrids" / "kast.toml")
    result = kast.override(f"ftl.kast.associativity={k}").run()
    measured = result.latency_us.write.max
    assert (f"{result.flash.programs:,}", f"{measured / 1000:.1f}") == (programs, longest)
    # The data sheet's times: a copy leaves the chip and comes back, with its spare area.
    page = 528 * 0.05
    copy, erase, write = 15 + 200 + 2 * page, 2000, 200 + page
    most = int(k) * (32 * copy + erase) + erase + write
    assert f"{most / 1000:.1f}" == bound
    assert measured <= most
    if int(k) <= 4:
        assert measured == pytest.approx(most)

"""docs/hybrids.md has the figures of the experiments in experiments/hybrids."""

import re
from pathlib import Path

import pytest

import nandlab

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "hybrids.md").read_text(encoding="utf-8")
EXPERIMENTS = sorted((ROOT / "experiments" / "hybrids").glob("*.toml"))
ROWS = {name: cells for name, cells in re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE, re.MULTILINE)}


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

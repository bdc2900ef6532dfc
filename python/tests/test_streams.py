"""The page of hosts has the figures of data placement that its script measures."""

from pathlib import Path

import programs
import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "hosts.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def script():
    """docs/images/fdp.py."""
    return programs.script(DOCS / "images" / "fdp.py")


@pytest.mark.parametrize("workload", ["cachelib", pytest.param("fat", marks=pytest.mark.long), "btree"])
def test_the_page_has_what_the_script_measures(script, workload):
    results = {placement: script.run(workload, placement) for placement in script.PLACEMENTS}
    found = [script.amplification(result) for result in results.values()]
    assert script.row(script.WORKLOADS[workload], found) in PAGE
    if workload == "fat":
        for placement in ("handles, initial", "handles, persistent"):
            assert all(cells in PAGE for cells in script.handles(results[placement])), placement
    for placement in ("handles, initial", "handles, persistent"):
        assert sum(handle.moved_pages for handle in results[placement].fdp.handles) > 0, placement

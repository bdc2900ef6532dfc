"""Sizes that cost everybody time are those of crates/proof/budget.csv, within 5 %."""

import pytest
from programs import script

from nandlab import __file__ as package


@pytest.fixture(scope="module")
def budget():
    from pathlib import Path

    return script(Path(package).parents[2] / "crates" / "proof" / "budget.py")


def test_nothing_has_grown_without_a_word(budget):
    found = budget.measured()
    assert budget.beyond(found, budget.agreed()) == [], "python crates/proof/budget.py --write, and say why"
    # A file that is far too generous holds nothing.
    sizes = budget.agreed()
    generous = [what for what, size in found.items() if what in sizes and size < 0.8 * sizes[what]]
    assert generous == []


def test_growth_and_unknown_sizes_are_told(budget):
    found = {
        "lines of Rust in nand": 106,
        "lines of Rust in new": 1,
        "bytes of code in the extension, rustc 9": 7,
    }
    assert budget.beyond(found, {"lines of Rust in nand": 100}) == [
        "lines of Rust in nand: 106, agreed are 100",
        "lines of Rust in new: 1, agreed are 0",
    ]
    assert budget.beyond({"lines of Rust in nand": 105}, {"lines of Rust in nand": 100}) == []

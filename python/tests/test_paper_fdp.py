"""Data placement by the host: its published values, and the assumptions that they rest on."""

import math

import pytest
from papers import Paper

from nandlab.reproduce import load

TEXT = load("fdp").text

MUTATIONS = {
    "weights": (
        "high = 6, medium = 3, low = 1",
        "high = 4, medium = 2, low = 1",
        {"p4510.high": "differs", "p4510.medium": "differs", "p4510.low": "differs"},
    ),
    "round robin": (
        'arbitration = "round_robin"',
        "arbitration = { weighted = { high = 2, medium = 1, low = 1 } }",
        {"p4510.equal_high": "differs", "p4510.equal_low": "differs"},
    ),
    "placement of the cache": (
        "[parts.placed.workload.cachelib]\nplacement = true",
        "[parts.placed.workload.cachelib]\nplacement = false",
        {"ssd-a.soc20.fdp": "differs", "ssd-a.soc20.fdp_last": "differs", "ssd-a.soc20.theorem": "differs"},
    ),
    "large objects in their own units": (
        "plids=2\n",
        "plids=1\n",
        {"theorem.a2": "differs"},
    ),
    "handles of the three jobs": (
        'JUMPER = "2"',
        'JUMPER = "0"',
        {"warp.zipf12.split": "differs", "warp.zipf22.split": "differs"},
    ),
}
PAPER = Paper("fdp", TEXT, MUTATIONS)


@pytest.fixture(scope="module")
def unchanged():
    return PAPER.unchanged()


@pytest.mark.long
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_each_assumption_changes_the_claims_that_rest_on_it(unchanged, mutation):
    PAPER.assert_matters(mutation, unchanged, {"reproduced", "fitted"})


def theorem(a):
    """Write amplification by theorem 1, bisected: (d - 1) / ln d grows with d."""
    low, high = 1e-12, 1 - 1e-12
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if (middle - 1) / math.log(middle) > 1 / a else (middle, high)
    return 1 / (1 - low)


@pytest.mark.parametrize(("name", "a"), [("a11", 1.1), ("a128", 1.28), ("a2", 2.0)])
def test_the_published_values_of_the_theorem_solve_it(name, a):
    (claim,) = (claim for claim in load("fdp").claims if claim.id == f"theorem.{name}")
    assert claim.published == pytest.approx(theorem(a), rel=1e-4)


@pytest.mark.parametrize(("name", "share"), [("soc4", 0.04), ("soc20", 0.2), ("soc40", 0.4)])
def test_the_steady_state_of_a_cache_is_the_theorem_times_the_share_of_small_objects(name, share):
    """Spare space of 20 % is for small objects alone, 77 % of the bytes; large ones need a program a page."""
    (claim,) = (claim for claim in load("fdp").claims if claim.id == f"ssd-a.{name}.theorem")
    expected = 0.77 * theorem((share + 0.2) / share) + 0.23
    assert claim.published == pytest.approx(expected, rel=1e-3)

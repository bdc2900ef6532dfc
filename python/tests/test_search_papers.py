"""The searches of the bundled papers, `papers/search/*.csv`: each belongs to its paper and agrees with it."""

import dataclasses
import functools
from pathlib import Path

import pytest

from nandlab.reproduce import load, reproduce, search
from nandlab.reproduce.search_file import beside, parse_csv, point_of
from nandlab.reproduce.search_found import MET
from nandlab.reproduce.search_points import Point, chosen_of, fingerprint, names_of, points_of
from nandlab.reproduce.search_words import flips, unmarked

PAPERS = Path(__file__).parents[2] / "papers"
SEARCHED = ["btree", "fdp", "lsm", "migration", "minv", "sector-map", "wap-lru"]
"""Papers that have a search; without one the tests here would say nothing of a paper."""

RUNS = 6
"""Runs of a point that is measured again: of the claims that take the fewest."""


@functools.cache
def papers():
    """Every paper in which something is open, or is read in one of several ways."""
    return [path.stem for path in sorted(PAPERS.glob("*.toml")) if load(str(path)).varied]


@functools.cache
def read(name):
    """A paper, and its search as it was committed."""
    path = PAPERS / f"{name}.toml"
    kept = beside(path)
    return load(str(path)), parse_csv(kept.read_text(encoding="utf-8"), str(kept))


def again(paper, rows, claims, jobs=None):
    """Some rows, measured again with some claims."""
    narrow = dataclasses.replace(paper.search, claims=tuple(claim.id for claim in claims))
    points = [point_of(paper, row) for row in rows]
    return search(dataclasses.replace(paper, search=narrow), points, jobs).rows


def cheapest(paper):
    """The claims with the fewest runs, until they have as many as a test may take."""
    found = []
    for claim in sorted(paper.searched_claims, key=lambda claim: len(claim.names)):
        runs = {name.rpartition(".")[0] for name in names_of([*found, claim])}
        if not found or len(runs) <= RUNS:
            found.append(claim)
    return found


def test_the_papers_with_choices_have_a_search():
    assert papers() == SEARCHED


@pytest.mark.parametrize("name", papers())
def test_a_search_is_that_of_its_paper(name):
    paper, found = read(name)
    assert found.fingerprint == fingerprint(paper), (
        f"run nandlab reproduce papers/{name}.toml --search --write"
    )
    assert paper.searched == found
    kinds = [(point.kind, {key: paper_value(paper, key, value) for key, value in point.values.items()})
             for point in points_of(paper)]  # fmt: skip
    assert [(row.kind, dict(row.values)) for row in found.rows] == kinds
    assert all(set(row.seen) == {claim.id for claim in paper.searched_claims} for row in found.rows)


def paper_value(paper, name, value):
    """A value as the file of a search has it."""
    return next(each for each in paper.varied if each.name == name).text(value)


@pytest.mark.parametrize("name", papers())
def test_no_value_alone_flips_a_claim_that_is_not_fitted(name):
    paper, found = read(name)
    named = [f"{flip.claim} by {flip.name} = {flip.value}" for flip in flips(paper, found)
             if flip.claim in unmarked(paper, found)]  # fmt: skip
    assert not named


# A point of the LSM trees puts 10^8 keys: half a minute. One of placement by the host takes a third of what
# is left.
LONG = ("lsm", "fdp")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name in LONG else []) for name in papers()]
)
def test_a_value_alone_and_a_joint_point_measured_again_are_the_same(name):
    paper, found = read(name)
    claims = cheapest(paper)
    rows = [found.of_kind("alone")[0], found.of_kind("joint")[-1]]
    for old, new in zip(rows, again(paper, rows, claims, 2), strict=True):
        assert dict(new.seen) == {claim.id: old.seen[claim.id] for claim in claims}


@pytest.mark.long
@pytest.mark.parametrize("name", papers())
def test_points_measured_again_are_the_same(name):
    """Every value alone, every point found by hand, and one joint point of ten."""
    paper, found = read(name)
    rows = [row for kind in ("chosen", "alone", "tried") for row in found.of_kind(kind)]
    rows += found.of_kind("joint")[::10]
    for old, new in zip(rows, again(paper, rows, paper.searched_claims), strict=True):
        assert dict(new.seen) == dict(old.seen)


@pytest.mark.long
@pytest.mark.parametrize("name", papers())
def test_the_chosen_values_meet_what_the_paper_meets(name):
    """With its shorter runs and fewer seeds a search tells of the same claims as a usual run."""
    paper, found = read(name)
    bare = dataclasses.replace(paper, figures=(), grids=(), timelines=(), op_figures=(), block_maps=())
    usual = {each.claim.id: each for each in reproduce(bare).claims}
    seen = found.chosen.seen
    met = {name for name in seen if usual[name].verdict in (*MET, "fitted")}
    assert {name for name in seen if seen[name].is_met} == met


@pytest.mark.long
@pytest.mark.parametrize("name", papers())
def test_what_a_search_leaves_out_flips_the_claims_that_it_names(name):
    """As chosen each of them comes out, and by another value of the entry it differs."""
    paper, _ = read(name)
    for one in (each for each in paper.beside_search if each.flips):
        narrow = dataclasses.replace(paper, search=dataclasses.replace(paper.search, claims=one.flips))
        values = [chosen_of(paper), *({**chosen_of(paper), one.name: value} for value in one.alone)]
        usual, *others = search(narrow, [Point("tried", each) for each in values]).rows
        for claim in one.flips:
            assert usual.seen[claim].is_met, (one.name, claim)
            assert "differs" in [row.seen[claim].word for row in others], (one.name, claim)

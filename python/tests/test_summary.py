"""Rows of `nandlab run` and of reports that only some options have."""

import re
from html import unescape

import pytest
from explain_cases import CASES, run, workload
from test_slc import PAGES
from test_slc import run as run_slc

import nandlab
from nandlab.figures.headline import headline
from nandlab.report.run import run_page
from nandlab.writing import units


def rows_of(result):
    """The figure and the words of each row, which are on the page of a report, too."""
    return rows_and_page(result)[0]


def rows_and_page(result):
    """The rows, and the report that they are in."""
    rows = {name: (figure, words) for name, figure, words in headline(result)}
    page = run_page(result, "nandlab run e.toml")
    text = " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())
    for name, (figure, words) in rows.items():
        assert f"{name} {figure} {words}".strip() in text
    return rows, page


def number(words, what):
    """The number in front of `what`."""
    return int(re.search(rf"([\d,]+) {what}", words)[1].replace(",", ""))


@pytest.mark.parametrize("full", ["direct", "fold"])
def test_the_pages_of_a_cache_of_one_bit_a_cell(full):
    """Every page of the host is written to the cache or past it; and to it alone where all wait for room."""
    figure, words = rows_of(run_slc({"fixed": {"full": full}}))["SLC cache"]
    written = number(words, "pages written to it")
    past = number(words, "pages past it") if full == "direct" else 0
    assert written + past == PAGES
    assert float(figure.removesuffix(" %")) == pytest.approx(100 * written / PAGES, abs=0.1)
    assert ("folded out of" in words) == (full == "fold")
    assert ("past it" in words) == (full == "direct")


def test_collections_in_gaps_are_a_part_of_all():
    experiment, _ = CASES["collect_in_gaps"]
    _, words = rows_of(experiment.override("ftl.page.idle.collect.blocks=1").run())["erases"]
    assert 0 < number(words, "of them in gaps") <= number(words, "garbage collections")


def test_programs_that_share_the_time_of_another_plane():
    """Four planes and requests of sixteen pages: of each four programs three take no time of their own."""
    experiment, _ = CASES["stripe_over_planes"]
    result = experiment.override("ftl.page.stripe=planes", 'device.timing.plane_overlap="multi_plane"').run()
    figure, words = rows_of(result)["flash programs"]
    assert number(words, "in the time of another plane's") == int(figure.replace(",", "")) * 3 / 4


def test_what_did_not_happen_has_no_words():
    rows = rows_of(run(workload.uniform(requests=10_000)).run())
    assert "SLC cache" not in rows
    assert rows["flash programs"][1] == "pages of 4 KiB"
    assert "gaps" not in rows["erases"][1]


@pytest.mark.parametrize(
    ("precondition", "noun", "words"),
    [
        ({"fill": "sequential"}, "pages", None),
        ({"fill": "sequential", "warm_up": 500}, "requests", None),
        ({"fill": "sequential", "steady": 0.5}, "pages", "steady after 5 windows"),
        ({"steady": 0.5, "steady_writes": "workload"}, "requests", "steady after"),
        ({"steady": 0.0, "steady_windows": 4}, "pages", "not steady after 4 windows"),
    ],
)
def test_how_long_a_device_took_to_be_steady(precondition, noun, words):
    """What came before is pages where only those were written, and says how many windows that took."""
    result = nandlab.Experiment(
        workload=nandlab.workload.hot_cold(requests=3000),
        ftl=nandlab.ftl.page(),
        device={
            "capacity": "8 MiB",
            "over_provisioning": 0.5,
            "model": "counting",
            "shape": {"pages_per_block": 32},
        },
        precondition=precondition,
    ).run()
    rows, page = rows_and_page(result)
    figure, said = rows["written before"]
    assert figure.endswith(f" {noun}")
    assert ("steady" in said) == (words is not None)
    assert words is None or words in said
    assert ("steady state" in page) == (words is not None)


def test_a_life_is_told_within_bounds_and_not_from_a_short_run():
    """On the command line and in a report; what is told of a short run is why it tells nothing."""

    def lasting(requests):
        return nandlab.Experiment(
            workload=nandlab.workload.uniform(requests=requests),
            ftl=nandlab.ftl.page(),
            host={"daily": "20 GB"},
            precondition={"fill": "sequential"},
            device={"capacity": "8 MiB", "over_provisioning": 0.25, "shape": {"pages_per_block": 32}},
        ).run()

    short, long = lasting(600), lasting(60_000)
    rows, page = rows_and_page(short)
    assert rows["years"] == (units.NO_VALUE, "the run is too short to say")
    assert "The run is too short to tell more" not in unescape(page)
    assert any("too short to tell all years" in notice for notice in short.notices)
    rows, page = rows_and_page(long)
    figure, words = rows["years"]
    least, most = (float(bound) for bound in figure.split(" to "))
    even = long.lifetime.even.years
    assert 0.5 * even < least < most < 1.01 * even
    assert f"{units.short(even)} until mean of the blocks" in words
    assert f"{units.short(least)} to {units.short(most)}" in unescape(page)

"""Reproducing a paper: how claims are written, and how verdicts are computed."""

import math
import statistics

import pytest

from nandlab import ConfigError
from nandlab.figures import interval
from nandlab.reproduce import parse, verdict
from nandlab.reproduce.formula import FormulaError, parse_condition, parse_formula
from nandlab.reproduce.tolerance import parse_tolerance
from nandlab.reproduce.words import parse_why


def student(t, degrees):
    """Student's distribution function, by Simpson's rule over its density."""
    scale = math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) / math.sqrt(degrees * math.pi)
    steps = 20_000
    width = t / steps
    density = [scale * (1 + (at * width) ** 2 / degrees) ** (-(degrees + 1) / 2) for at in range(steps + 1)]
    return 0.5 + width / 3 * (density[0] + density[-1] + 4 * sum(density[1:-1:2]) + 2 * sum(density[2:-1:2]))


@pytest.mark.parametrize("degrees", [*range(1, 21), 30, 99, 999])
def test_quantiles_are_those_of_the_distribution(degrees):
    assert student(interval.quantile(degrees), degrees) == pytest.approx(0.975, abs=5e-5)


def test_quantiles_are_those_of_the_printed_table():
    """NIST/SEMATECH e-Handbook of Statistical Methods, table 1.3.6.7.2, column 0.975."""
    printed = {1: 12.706, 2: 4.303, 4: 2.776, 9: 2.262, 14: 2.145, 20: 2.086, 40: 2.021, 100: 1.984}
    assert {degrees: round(interval.quantile(degrees), 3) for degrees in printed} == printed


def test_the_interval_of_five_values_by_hand():
    # Mean 12, squares of the deviations 4 + 1 + 0 + 1 + 4: s = sqrt(10 / 4), half width 2.776 s / sqrt(5).
    values = [10.0, 11.0, 12.0, 13.0, 14.0]
    assert interval.half_width(values) == pytest.approx(2.776 * math.sqrt(2.5) / math.sqrt(5))
    assert interval.half_width(values) == pytest.approx(2.776 * statistics.stdev(values) / 5**0.5)
    assert interval.half_width([3.0]) == math.inf


def held(text, sides):
    return verdict.check(parse_condition(text), sides)


def test_an_order_holds_where_the_interval_of_the_difference_is_on_its_side():
    # Differences 1 to 5: mean 3, half width 1.963, so the interval is 1.04 to 4.96.
    close = [(0.0, 1.0), (0.0, 2.0), (0.0, 3.0), (0.0, 4.0), (0.0, 5.0)]
    assert held("a.x < b.x", close).holds
    assert not held("a.x > b.x", close).holds
    # The same spread around 1.9: 1.9 - 1.963 is below zero.
    assert not held("a.x < b.x", [(0.0, gap - 1.1) for _, gap in close]).holds
    assert held("a.x < b.x", close).text == "a.x = 0 < b.x = 3 (by 3 ± 1.963)"


def test_an_order_is_paired_by_seed():
    # The seeds differ by far more than the sides do.
    sides = [(100.0 * seed, 100.0 * seed + 1 + 0.1 * seed) for seed in range(1, 6)]
    assert held("a.x < b.x", sides).holds


def test_signs_with_equality_hold_for_every_seed():
    assert held("a.x == 0", [(0.0, 0.0)] * 5).holds
    assert not held("a.x == 0", [(0.0, 0.0)] * 4 + [(1.0, 0.0)]).holds
    assert held("a.x >= 2", [(2.0, 2.0), (3.0, 2.0)]).holds


def test_the_verdict_on_a_number():
    near, wide = parse_tolerance("6 %", 100.0), parse_tolerance("20 %", 100.0)
    yes, no = verdict.Held(True, ""), verdict.Held(False, "")
    narrow, loose = verdict.Printed(100.0, near), verdict.Printed(100.0, near, wide)
    assert verdict.of_value(106.0, narrow, [], 1) == "reproduced"
    assert verdict.of_value(106.1, narrow, [], 5) == "differs"
    assert verdict.of_value(106.1, loose, [], 5) == "loose"
    assert verdict.of_value(120.1, loose, [yes], 5) == "direction"
    assert verdict.of_value(120.1, loose, [yes], 4) == "differs"
    assert verdict.of_value(120.1, loose, [yes, no], 5) == "differs"


def test_a_direction_has_the_sign_of_the_number():
    """32.1 % more, and measured are 40.5 % less: no order beside it makes that a direction."""
    yes = verdict.Held(True, "")
    more = verdict.Printed(32.1, parse_tolerance("15 points", 32.1))
    assert verdict.of_value(-40.5, more, [yes], 5) == "differs"
    assert verdict.of_value(90.0, more, [yes], 5) == "direction"
    less = verdict.Printed(-32.1, parse_tolerance("15 points", -32.1))
    assert verdict.of_value(-90.0, less, [yes], 5) == "direction"


def test_a_tolerance_as_large_as_the_number_confirms_its_sign_alone():
    wide = parse_tolerance("5 points", 5.0)
    assert [
        verdict.of_value(value, verdict.Printed(5.0, wide), [], 5) for value in (5.0, 9.6, 0.0, 11.0)
    ] == [
        "direction",
        "direction",
        "differs",
        "differs",
    ]
    assert verdict.of_value(9.6, verdict.Printed(5.0, wide, fitted=True), [], 1) == "fitted"
    narrow = verdict.Printed(5.0, parse_tolerance("4 points", 5.0))
    assert verdict.of_value(8.9, narrow, [], 1) == "reproduced"


def test_a_number_that_something_was_chosen_for_is_fitted_at_best():
    wide = parse_tolerance("20 %", 100.0)
    chosen = verdict.Printed(100.0, parse_tolerance("6 %", 100.0), wide, fitted=True)
    assert [verdict.of_value(value, chosen, [], 5) for value in (100.0, 110.0, 130.0)] == [
        "fitted",
        "fitted",
        "differs",
    ]


def test_an_order_takes_five_seeds():
    yes, no = verdict.Held(True, ""), verdict.Held(False, "")
    assert [verdict.of_order([yes], seeds) for seeds in (1, 4, 5)] == [None, None, "direction"]
    assert verdict.of_order([yes, no], 5) == "differs"


@pytest.mark.parametrize(
    ("text", "published", "low", "high"),
    [
        ("6 %", 200.0, 188.0, 212.0),
        ("2 points", 40.0, 38.0, 42.0),
        ("5", 40.0, 35.0, 45.0),
        ("20 per 500", 100.0, 80.0, 120.0),
        ("factor 2", 10.0, 5.0, 20.0),
        ("at least", 3.0, 3.0, math.inf),
        ("at most", 3.0, -math.inf, 3.0),
        ("900 to 1,100", 950.0, 900.0, 1100.0),
        ("to 1,500", 500.0, 500.0, 1500.0),
    ],
)
def test_tolerances(text, published, low, high):
    tolerance = parse_tolerance(text, published)
    assert (tolerance.low, tolerance.high) == pytest.approx((low, high))
    assert tolerance.holds(published)


@pytest.mark.parametrize("text", ["", "about 5", "5 percent", "-3 %", "1 to"])
def test_what_is_no_tolerance_is_refused(text):
    with pytest.raises(ValueError, match="expected a tolerance"):
        parse_tolerance(text, 1.0)


def test_formulas():
    figures = {"a.4k.x": 6.0, "b.x": 3.0}
    assert parse_formula("2 * a.4k.x / b.x - 1").value(figures.__getitem__) == 3.0
    assert parse_formula("-max(a.4k.x, b.x) ** 2").value(figures.__getitem__) == -36.0
    condition = parse_condition("a.4k.x - b.x > 1")
    assert (condition.left.value(figures.__getitem__), condition.sign, condition.names) == (
        3.0,
        ">",
        ("a.4k.x", "b.x"),
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a +",
        "a b",
        "a[0]",
        "open('x')",
        "__import__('os')",
        "lambda: 1",
        "a if b else c",
        "'x'",
        "a.b().c",
        "x := 1",
    ],
)
def test_what_is_no_formula_is_refused(text):
    with pytest.raises(FormulaError):
        parse_formula(text)


def test_a_formula_without_a_value_says_so():
    with pytest.raises(FormulaError, match="a / b has no value"):
        parse_formula("a / b").value({"a": 1.0, "b": 0.0}.__getitem__)
    with pytest.raises(FormulaError, match="has no value"):
        parse_formula("9 ** 9 ** 9").value({}.__getitem__)


def test_words_with_figures():
    why = parse_why("a merge copies {a.copies / a.merges:.1f} pages,\n  {a.copies} in all")
    figures = {"a.copies": 30_000.0, "a.merges": 1000.0}
    assert (
        why.filled(lambda formula: formula.value(figures.__getitem__))
        == "a merge copies 30.0 pages, 30,000 in all"
    )
    with pytest.raises(ValueError, match="no formula"):
        parse_why("{a +}")


PAPER = """\
title = "T"
source = "S"
seeds = 2
[template.device]
capacity = "8 MiB"
[parts.page.ftl.page]
[parts.few.workload.uniform]
requests = 2000
[measures]
writes = "flash.programs"
[readings]
theirs = "in their unit"
[[claims]]
id = "one"
where = "Table 1"
kind = "value"
published = 2000
tolerance = "6 %"
statement = "as many programs as requests"
measured = "page.few.writes"
"""


def refused(text):
    with pytest.raises(ConfigError) as error:
        parse(text, "t", "t.toml")
    return error.value


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ('"page.few.writes"', '"page.fem.writes"', 20, "there is no part 'fem'"),
        ('"page.few.writes"', '"page.few.wirtes"', 20, "there is no measure 'wirtes'"),
        ('"page.few.writes"', '"2000 +"', 20, "is no formula"),
        ('"page.few.writes"', '"2000"', 20, "claim of kind model"),
        ('"6 %"', '"6"\nlose = "8 %"', 19, "did you mean loose?"),
        ('"6 %"', '"6 percent"', 18, "expected a tolerance"),
        ('"value"', '"valued"', 16, "expected one of value, order"),
        (
            'kind = "value"\npublished = 2000\ntolerance = "6 %"',
            'kind = "order"',
            13,
            "expected a comparison",
        ),
        (
            'kind = "value"\npublished = 2000\ntolerance = "6 %"\n',
            'kind = "order"\nholds = ["page.few.writes > 0"]\nalso = ["page.few.writes > 1"]\n',
            18,
            "has its comparisons in holds",
        ),
        (
            'tolerance = "6 %"',
            'tolerance = "6 %"\nholds = ["page.few.writes > 0"]',
            19,
            "has comparisons beside its number in also",
        ),
        ('"value"', '"order"', 17, "published: there is no such key"),
        ('tolerance = "6 %"', 'tolerance = "6 %"\nloose = "5 %"', 19, "expected a wider tolerance"),
        ('tolerance = "6 %"', 'tolerance = "6 %"\nreading = "theirs"', 13, "is shown in true units, too"),
        ("published = 2000", 'published = "2000"', 17, "expected a number"),
        ("seeds = 2", "seeds = 0", 3, "from 1 on"),
        ("seeds = 2", "seeds = ", 3, ""),
    ],
)
def test_mistakes_in_a_paper_have_their_place(old, new, line, words):
    assert old in PAPER
    error = refused(PAPER.replace(old, new))
    assert error.file == "t.toml"
    assert words in str(error)
    assert error.line == line, str(error)


def test_two_claims_with_one_id_are_refused():
    claim = PAPER[PAPER.index("[[claims]]") :]
    assert "one stands twice" in str(refused(PAPER + claim))

"""Which runs and seeds the words of a paper's file are of: captions, and claims over traces that few have."""

import re

import pytest
from conftest import without_scripts

from nandlab import ConfigError
from nandlab.reproduce import parse, reproduce, write_reproduction
from nandlab.reproduce.formula import parse_formula
from nandlab.reproduce.records import caption, cells

PAPER = """\
title = "Merges"
source = "A. Nobody, 2001"
seeds = 2
[template.device]
capacity = "2 MiB"
over_provisioning = 2.0
[parts.short.workload.uniform]
requests = 700
read_share = 0.0
[parts.long.workload.uniform]
requests = 900
read_share = 0.0
[parts.fast.ftl.fast]
log_blocks = 4
[traces.recorded]
files = ["a.csv"]
[measures]
programs = "flash.programs"
copies = "flash.copies"
[[claims]]
id = "first"
where = "Table 1"
kind = "value"
published = 100
tolerance = "at least"
statement = "programs"
measured = "min(short.fast.programs, recorded.fast.programs, long.fast.programs)"
note = "the most are {max(short.fast.programs, recorded.fast.programs):.0f}"
[[tables]]
name = "all"
title = "All seeds"
caption = "{short.fast.copies:.3f} copies"
rows = ["short.fast"]
columns = ["copies"]
[[tables]]
name = "one"
title = "One seed"
caption = "{short.fast.copies:.3f} copies."
one_seed = true
rows = ["short.fast"]
columns = ["copies"]
[[tables]]
name = "silent"
title = "No words"
rows = ["short.fast"]
columns = ["copies"]
[[figures]]
name = "drawn"
title = "Drawn"
caption = "{short.fast.copies:.3f} copies"
panels = ["short"]
colours = ["fast"]
x.key = "ftl.fast.log_blocks"
x.values = [4]
x.title = "log blocks"
y.measure = "copies"
y.title = "copies"
"""


@pytest.fixture(scope="module")
def found():
    return reproduce(parse(PAPER, "mine", "mine.toml"))


def test_a_caption_has_the_seeds_of_what_it_stands_under(found):
    """What stands side by side is of the same runs, and says so where that is the first seed."""
    records, (whole, one, silent) = found.records, found.paper.grids
    seeds = [records.lookup("short.fast.copies", seed) for seed in (1, 2)]
    assert seeds[0] != seeds[1]
    assert caption(records, whole) == f"{sum(seeds) / 2:.3f} copies."
    assert cells(records, whole) == [[sum(seeds) / 2]]
    assert caption(records, one) == f"{seeds[0]:.3f} copies. First seed."
    assert cells(records, one) == [[seeds[0]]]
    assert caption(records, silent) == ""
    assert caption(records, found.paper.figures[0]) == f"{seeds[0]:.3f} copies. First seed."


def test_with_one_seed_or_all_there_is_nothing_to_say(found):
    paper = parse(PAPER, "mine", "mine.toml")
    for each in (reproduce(paper, seeds=1), reproduce(paper, full=True)):
        assert "First seed" not in caption(each.records, each.paper.figures[0])
    assert "First seed" in caption(found.records, found.paper.figures[0])


def test_the_report_has_the_caption(found, tmp_path):
    write_reproduction([found], tmp_path / "r.html", None)
    page = without_scripts((tmp_path / "r.html").read_text(encoding="utf-8"))
    assert page.count("copies. First seed.") == 2 and ".." not in re.sub(r"<[^>]*>", "", page)


def test_a_claim_is_over_the_traces_that_there_are(found, tmp_path):
    """Without the trace its run is left out; with it, five writes are the least."""
    (claim,) = found.claims
    values = [found.records.lookup("short.fast.programs", seed) for seed in (1, 2)]
    assert claim.claim.read_from == "min(short.fast.programs, long.fast.programs)"
    assert claim.measured == sum(values) / 2 and claim.verdict == "reproduced"
    assert f"the most are {claim.measured:.0f}" in claim.why
    lines = [f"{at},W,{8 * at},8\n" for at in range(5)]
    (tmp_path / "a.csv").write_text("time_us,op,sector,sectors\n" + "".join(lines), encoding="utf-8")
    there = reproduce(parse(PAPER, "mine", "mine.toml").with_traces(tmp_path))
    (claim,) = there.claims
    recorded = there.records.lookup("recorded.fast.programs", 1)
    assert recorded < min(values)
    assert claim.measured == recorded and "recorded.fast" in claim.claim.read_from
    assert claim.verdict == "differs"


@pytest.mark.parametrize(
    "measured",
    [
        "recorded.fast.programs",
        "min(recorded.fast.programs, recorded.fast.copies)",
        "min(short.fast.programs, long.fast.programs) + recorded.fast.copies",
    ],
)
def test_no_claim_rests_on_a_trace_alone(measured):
    text = re.sub(r'measured = ".*"', f'measured = "{measured}"', PAPER)
    with pytest.raises(ConfigError, match=r"mine\.toml, line 27: .*no claim can rest on it alone"):
        parse(text, "mine", "mine.toml")


def test_what_is_left_of_a_formula_is_a_formula():
    formula = parse_formula("2 * max(a.x, sqrt(b.x), -c.x, 1) - min(b.x, c.x) ** 2 / round(a.x)")
    assert formula.without(lambda _: False) is formula
    left = formula.without(lambda name: name == "b.x")
    assert left.names == ("a.x", "c.x")
    assert left.value({"a.x": 5, "c.x": 3}.__getitem__) == 2 * 5 - 9 / 5
    assert formula.without(lambda name: name == "a.x") is formula, "it also stands outside of max"

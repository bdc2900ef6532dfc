"""Conclusions, published values in pictures and folded reasons: what a report says before its details."""

import csv
import io
import re
import zipfile
from pathlib import Path

import pytest
from conftest import write

from nandlab import ConfigError
from nandlab.reproduce import folded, load, parse, reproduce, write_bundle, write_reproduction
from nandlab.reproduce.page import figures
from nandlab.reproduce.page_verdicts import SYMBOLS
from nandlab.reproduce.verdict import VERDICTS

PAPER = """\
title = "Programs of a page map"
source = "A. Nobody, 2001"
seeds = 1

[template.device]
capacity = "16 MiB"
over_provisioning = 0.25

[parts.page.ftl.page]

[parts.few.workload.uniform]
requests = 100
read_share = 0.0
[parts.many.workload.uniform]
requests = 300
read_share = 0.0

[measures]
writes = "flash.programs"

[[conclusions]]
kind = "holds"
claims = ["few"]
says = "A write is {few.page.writes / 100:.1f} programs"

[[conclusions]]
kind = "fit"
claims = ["few"]
says = "{few.page.writes:.0f} programs are a fit"
otherwise = "No fit: {few.page.writes:.0f}"

[[conclusions]]
kind = "wrong"
claims = ["far", "far_too", "beyond.many"]
says = "The paper has ten times too many"

[[conclusions]]
kind = "differs"
claims = ["few", "far"]
says = "We cannot get {many.page.writes:.0f}"

[[conclusions]]
kind = "holds"
claims = ["few", "order"]
says = "More requests write more"

[[claims]]
id = "few"
where = "Table 1"
kind = "value"
published = 98
tolerance = "5 %"
statement = "a hundred writes"
measured = "few.page.writes"

[[claims]]
id = "far"
where = "Table 1"
kind = "value"
published = 1000
tolerance = "5 %"
statement = "a thousand"
measured = "few.page.writes"
why = "Of one write there are {few.page.writes / 100:.1f}"

[[claims]]
id = "far_too"
where = "Table 1"
kind = "value"
published = 3000
tolerance = "5 %"
statement = "three thousand"
measured = "many.page.writes"
why = "Of one write there are {few.page.writes / 100:.1f}"

[[claims]]
id = "beyond.many"
where = "ours"
kind = "value"
published = 300
tolerance = "5 %"
statement = "three hundred"
measured = "many.page.writes"

[[claims]]
id = "order"
where = "section 2"
kind = "order"
statement = "more requests write more"
holds = ["many.page.writes > few.page.writes"]

[[figures]]
name = "lines"
title = "Over requests"
panels = ["few", "many"]
colours = ["page"]
labels = {many = "three hundred"}
[figures.x]
key = "workload.uniform.requests"
title = "requests"
values = [100, 200]
[figures.y]
measure = "writes"
title = "programs"
[[figures.published]]
y = "2 * few"
panels = "many"
[[figures.published]]
x = "150"
y = "few"
label = "printed"
[[figures.published]]
x = "few + 22"

[[tables]]
name = "bars"
title = "Both"
rows = ["few", "many"]
columns = ["page.writes"]
bars = "page.writes"
bars_title = "programs"
[[tables.published]]
row = "many"
column = "page.writes"
value = "3 * few"
[[tables.published]]
column = "page.writes"
value = "far / 10"
label = "limit"
"""


@pytest.fixture(scope="module")
def found():
    return reproduce(parse(PAPER, "mine", "mine.toml"))


def test_a_conclusion_stands_as_long_as_the_verdicts_agree_with_it(found):
    holds, fit, wrong, differs, unjudged = found.conclusions
    assert (holds.stands, holds.text) == (True, "A write is 1.0 programs")
    assert (fit.stands, fit.text, fit.label) == (False, "No fit: 100 (few: reproduced)", "changed")
    assert (wrong.stands, wrong.text) == (True, "The paper has ten times too many"), "a claim of ours holds"
    assert (differs.stands, differs.text) == (
        False,
        'it is not so that "We cannot get 300" (few: reproduced)',
    )
    # An order takes five seeds.
    assert unjudged.stands is None and unjudged.label == "no verdict"
    assert unjudged.text == "not judged in this run (order: no verdict): More requests write more"


def test_a_conclusion_follows_the_measurement():
    text = PAPER.replace("published = 98", "published = 980")
    holds, *_ = reproduce(parse(text, "mine", "mine.toml")).conclusions
    assert (holds.stands, holds.label) == (False, "changed")
    fitted = PAPER.replace("published = 98\n", "published = 98\nfitted = true\n")
    fitted = fitted.replace('kind = "holds"', 'kind = "fit"', 1)
    _, fit, *_ = reproduce(parse(fitted, "mine", "mine.toml")).conclusions
    assert (fit.stands, fit.text) == (True, "100 programs are a fit")


def test_conclusions_come_first_on_the_terminal_and_in_json(nandlab_command, tmp_path):
    path = write(tmp_path / "mine.toml", PAPER)
    lines = nandlab_command("reproduce", path).out.splitlines()
    assert lines[3].startswith("5 claims: 2 reproduced, 2 differs, 1 without a verdict")
    assert lines[4] == "  holds:      A write is 1.0 programs"
    assert lines[5] == "  changed:    No fit: 100 (few: reproduced)"
    document = nandlab_command("reproduce", path, "--json").document
    assert document["conclusions"][0] == {
        "kind": "holds",
        "claims": ["few"],
        "stands": True,
        "text": "A write is 1.0 programs",
    }


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            'kind = "fit"\n',
            'kind = "fits"\n',
            "conclusions[1].kind: expected one of holds, fit, wrong, differs",
        ),
        ('["far", "far_too"', '["fra", "far_too"', "there is no claim 'fra'; did you mean far?"),
        ('claims = ["few", "order"]\n', "", "conclusions[4].claims: expected the claims that it rests on"),
        (
            "{few.page.writes:.0f} programs",
            "{few.page.reads} programs",
            "conclusions[1].says: few.page.reads: there is no",
        ),
        (
            'otherwise = "',
            'otherwize = "',
            "conclusions[1].otherwize: there is no such key; did you mean otherwise?",
        ),
        ('y = "2 * few"', 'y = "2 * fwe"', "figures[0].published[0].y: fwe is no claim"),
        ('y = "2 * few"', 'y = "2 * order"', "figures[0].published[0].y: order prints no number"),
        (
            'y = "2 * few"',
            'y = "196"',
            "figures[0].published[0].y: expected x, y or both, and the id of a claim",
        ),
        ('panels = "many"', 'panels = "page"', "figures[0].published[0].panels: expected some of few, many"),
        (
            'row = "many"',
            'row = "more"',
            "tables[0].published[0].row: expected a row of the table, given 'more'",
        ),
        ('value = "3 * few"', 'value = "294"', "tables[0].published[0].value: expected the id of a claim"),
    ],
)
def test_mistakes_are_named(old, new, words):
    assert PAPER.count(old) == 1
    with pytest.raises(ConfigError) as error:
        parse(PAPER.replace(old, new), "mine", "mine.toml")
    assert words in str(error.value)
    assert str(error.value).startswith("mine.toml, line ")


def test_there_are_at_most_eight_conclusions():
    one = '[[conclusions]]\nkind = "holds"\nclaims = ["few"]\nsays = "so"\n'
    parse(PAPER.replace("[[claims]]", 3 * one + "[[claims]]", 1), "mine", "mine.toml")
    with pytest.raises(ConfigError, match=r"conclusions\[8\]: expected at most 8 conclusions, given 9"):
        parse(PAPER.replace("[[claims]]", 4 * one + "[[claims]]", 1), "mine", "mine.toml")


def test_a_report_has_conclusions_then_claims_then_pictures_then_reasons(found, tmp_path):
    write_reproduction([found], tmp_path / "r.html", None)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    # The script behind the page has heads of its own.
    heads = re.findall(r"<h2>([^<]*)</h2>", page.partition('id="look"')[0])
    assert heads == [
        "Programs of a page map",
        "Conclusions",
        "Claims",
        "Over requests",
        "Both",
        "What the verdicts rest on",
        "The experiments",
        "Make it again",
    ]
    assert page.index("A write is 1.0 programs") < page.index('class="tiles"') < page.index("<h2>Claims")


def test_claims_with_the_same_reason_have_one_entry(found, tmp_path):
    groups = [[each.claim.id for each in group] for group in folded(found.claims)]
    assert groups == [["far", "far_too"], ["order"]]
    write_reproduction([found], tmp_path / "r.html", None)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.count("Of one write there are 1.0") == 1
    assert "far, far_too: differs" in page
    assert "three thousand: 90.0 % below." in page


def heights(text, role):
    """Where marks of a kind are, in pixels of their panel."""
    marks = re.findall(rf'aria-roledescription="{role}"[^>]*transform="translate\(([\d.]+),([\d.]+)\)', text)
    return [(float(x), float(y)) for x, y in marks]


def test_published_values_are_drawn_where_their_numbers_are(found):
    text = figures(found)["lines"]
    # Lines of 100 and 200 programs in each panel give the scale of y.
    points = heights(text, "point")
    measured = [point for point in points if point[0] in (0, 390)]
    assert len(measured) == 4
    per_program = (measured[0][1] - measured[1][1]) / 100
    bottom = measured[0][1] + 100 * per_program
    printed = [point for point in points if point not in measured]
    assert len(printed) == 2, "in both panels"
    assert printed[0] == printed[1] == pytest.approx((195, bottom - 98 * per_program), abs=0.6)
    assert text.count(">printed: 98<") == 2
    assert text.count(">published: 196<") == 1, "in one panel"
    assert text.count(">published: 120<") == 2
    rules = re.findall(
        r'<line [^>]*transform="translate\(([\d.]+),([\d.]+)\)"[^>]*stroke-dasharray="5,4"', text
    )
    assert ("78", "0") in rules or ("78", "200") in rules, "120 requests on an axis from 100 to 200"


def test_a_published_value_is_a_diamond_on_the_measured_bar(found, tmp_path):
    text = figures(found)["bars"]
    shown = re.findall(r'programs: ([\d.]+);[^>]*aria-roledescription="(bar|point)"', text)
    # The number of the claim that is read from this cell, and that which the table names.
    assert set(shown) == {("100", "bar"), ("300", "bar"), ("98", "point"), ("294", "point")}
    assert text.count(">published<") == 1, "the legend"
    assert text.count(">limit: 100<") == 1
    assert text.count(">page.writes<") == 1, "the legend"
    write_bundle([found], tmp_path / "b.zip", None)
    with zipfile.ZipFile(tmp_path / "b.zip") as bundle:
        lines = list(csv.reader(io.StringIO(bundle.read("mine/tables/bars.csv").decode())))
    assert lines[1:] == [
        ["few", "100.0"],
        ["many", "300.0"],
        ["few, published", "98"],
        ["many, published", "294.0"],
    ]


def test_a_panel_of_bars_has_a_diamond_where_the_published_value_is():
    text = PAPER.replace('bars_title = "programs"\n', "")
    found = reproduce(parse(text, "mine", "mine.toml"))
    drawn = figures(found)["bars"]
    assert len(re.findall(r'aria-roledescription="point"', drawn)) == 2
    assert drawn.count(">published<") == 1, "the legend"


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(share * part for share, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_verdicts_read_in_grey(theme):
    """CIE lightness apart by more than one sees, and letters with the contrast of WCAG 2.1, level AA."""
    from nandlab.report.theme import colours

    style = colours(theme)
    lights = [luminance(style[f"--m{at}"]) for at in range(6)]
    letters = [luminance(style[f"--t{at}"]) for at in range(6)]
    steps = sorted(116 * light ** (1 / 3) - 16 for light in lights)
    assert min(b - a for a, b in zip(steps, steps[1:], strict=False)) >= 10
    for back, front in zip(lights, letters, strict=True):
        assert (max(back, front) + 0.05) / (min(back, front) + 0.05) >= 4.49
    assert len({SYMBOLS[verdict] for verdict in VERDICTS}) == len(VERDICTS), "a symbol for each"


@pytest.mark.parametrize("name", ["btree", "migration", "minv", "sector-map", "wap-lru"])
def test_each_paper_says_first_what_became_of_it(name):
    """Conclusions with computed figures, and published values in a picture."""
    paper = load(str(Path(__file__).parents[2] / "papers" / f"{name}.toml"))
    assert any(each.names for each in paper.conclusions)
    drawn = [each for chart in (*paper.figures, *paper.timelines) for each in chart.published]
    assert drawn or any(grid.printed(paper.claims) or grid.published for grid in paper.grids)


def test_a_conclusion_that_holds_rests_on_a_claim_that_is_no_fit():
    """With `few` fitted, the first conclusion has nothing else; the fifth has an order, too."""
    fitted = PAPER.replace("published = 98\n", "published = 98\nfitted = true\n")
    with pytest.raises(ConfigError, match=r"conclusions\[0\].claims: every claim here is fitted") as error:
        parse(fitted, "mine", "mine.toml")
    assert error.value.line == PAPER.splitlines().index('claims = ["few"]') + 1
    parse(fitted.replace('kind = "holds"', 'kind = "fit"', 1), "mine", "mine.toml")

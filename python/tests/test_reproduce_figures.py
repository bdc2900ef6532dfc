"""Figures of a paper's file: points over a measure, joined to lines, and values that are marked."""

import csv
import io
import re
import zipfile

import pytest

from nandlab import ConfigError, Experiment
from nandlab.report import charts, device_charts
from nandlab.reproduce import parse, reproduce, write_bundle
from nandlab.reproduce.page import figures
from nandlab.reproduce.records import front_in_words, rows

PAPER = """\
title = "Memory and merges"
source = "A. Nobody, 2001"
seeds = 1
[template.device]
capacity = "2 MiB"
over_provisioning = 2.0
[parts.small.workload.uniform]
requests = 700
read_share = 0.0
[parts.large.workload.uniform]
requests = 300
read_share = 0.0
size = 8192
alignment = 4096
[parts.few.ftl.fast]
log_blocks = 2
[parts.some.ftl.fast]
log_blocks = 4
[parts.many.ftl.fast]
log_blocks = 8
[parts.page.ftl.page]
[measures]
programs = "flash.programs"
log_kib = "ram.sram.log_map / 1024"
map_kib = "ram.dram.map / 1024"
[[claims]]
id = "first"
where = "Table 1"
kind = "not_printed"
statement = "programs"
measured = "small.page.programs"
[[figures]]
name = "maps"
title = "What memory buys"
panels = ["small", "large"]
colours = ["page", "some", "many", "few"]
[figures.joined]
fast = ["few", "some", "many"]
[figures.marked]
"as printed" = 2000
[figures.x]
title = "memory of the map (KiB)"
log = true
[figures.x.measures]
page = "map_kib"
few = "log_kib"
some = "log_kib"
many = "log_kib"
[figures.y]
measure = "programs"
title = "programs"
[figures.labels]
fast = "FAST"
few = "FAST, 2 log blocks"
page = "page map"
small = "small writes"
"""


@pytest.fixture(scope="module")
def found():
    return reproduce(parse(PAPER, "mine", "mine.toml"))


def record(run):
    return Experiment(**{**parse(PAPER, "mine", "mine.toml").tree(run), "seed": 1}).run().to_dict()


def test_points_lie_where_their_runs_say(found):
    """The same experiments, run alone here, and read without a formula."""
    drawn = {(row["panel"], row["point"]): row for row in rows(found.records, found.paper.figures[0])}
    assert len(drawn) == 8
    for run, place, line in (
        ("small.few", ("small writes", "FAST, 2 log blocks"), "FAST"),
        ("large.many", ("large", "many"), "FAST"),
        ("small.page", ("small writes", "page map"), "page map"),
    ):
        flash = record(run)
        ram = flash["ram"]["dram"].get("map", flash["ram"]["sram"].get("log_map"))
        row = drawn[place]
        assert (row["colour"], row["x"], row["y"]) == (line, ram / 1024, flash["flash"]["programs"])


def test_a_line_joins_its_points_in_the_order_that_the_file_gives(found):
    line = [row for row in rows(found.records, found.paper.figures[0]) if row["colour"] == "FAST"]
    small = [
        row["point"] for row in sorted(line, key=lambda row: row["order"]) if row["panel"] == "small writes"
    ]
    assert small == ["FAST, 2 log blocks", "some", "many"], "neither as `colours` has them, nor by x"
    assert found.paper.figures[0].lines == ("page", "fast")


def drawn_marks(found):
    """Heights of the dashed lines and of the points of the first panel, in pixels of its chart."""
    text = figures(found)["maps"]
    assert text.count(">as printed<") == 2, "in both panels"
    marks = re.findall(
        r'<line [^>]*transform="translate\([\d.]+,([\d.]+)\)"[^>]*stroke-dasharray="5,4"', text
    )
    points = re.findall(r'aria-roledescription="point" transform="translate\([\d.]+,([\d.]+)\)', text)
    return [float(each) for each in marks], [float(each) for each in points]


def test_a_mark_lies_where_a_point_of_its_value_does(found):
    value = next(
        row["y"] for row in rows(found.records, found.paper.figures[0]) if row["point"] == "page map"
    )
    text = PAPER.replace('"as printed" = 2000', f'"as printed" = {value}')
    marks, points = drawn_marks(reproduce(parse(text, "mine", "mine.toml")))
    assert len(marks) == 2 and len(points) == 8
    assert set(marks) <= set(points)
    elsewhere, _ = drawn_marks(found)
    assert not set(elsewhere) & set(marks)


def test_a_mark_beyond_every_point_is_in_the_picture():
    text = PAPER.replace('"as printed" = 2000', '"as printed" = 90000')
    marks, points = drawn_marks(reproduce(parse(text, "mine", "mine.toml")))
    assert 0 <= marks[0] < min(points)


def test_the_bundle_has_the_points_with_their_measures(found, tmp_path):
    write_bundle([found], tmp_path / "b.zip", None)
    with zipfile.ZipFile(tmp_path / "b.zip") as bundle:
        name = next(name for name in bundle.namelist() if name.endswith("figures/maps.csv"))
        lines = list(csv.reader(io.StringIO(bundle.read(name).decode())))
    assert lines[0] == ["panel", "line", "map_kib or log_kib", "programs", "order", "point"]
    assert len(lines) == 9


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('page = "map_kib"\n', "", "figures[0].x.measures.page: expected a text, and there is none"),
        (
            'page = "map_kib"',
            'page = "map_kb"',
            "figures[0].x.measures: small.page.map_kb: there is no measure 'map_kb'",
        ),
        (
            'page = "map_kib"',
            'pgae = "map_kib"\npage = "map_kib"',
            "there is no such key; did you mean page?",
        ),
        (
            "log = true\n",
            'key = "ftl.fast.log_blocks"\n',
            "x is either a key of the experiments, `key`, or `measures`",
        ),
        ("log = true\n", "log = true\nvalues = [1, 2]\n", "figures[0].x.values: there is no such key"),
        (
            '"few", "some"',
            '"fwe", "some"',
            "figures[0].joined.fast: expected colours of the figure, given 'fwe'",
        ),
        ('"few", "some"', '"some", "some"', "figures[0].joined.fast: 'some' is on a line already"),
        (
            '["few", "some", "many"]',
            '["few"]',
            "figures[0].joined.fast: expected at least two of the colours",
        ),
        ("fast = [", 'other = ["few", "some"]\nfast = [', "'few' is on a line already"),
        ("fast = [", "page = [", "there is a colour of this name that is not on the line"),
        ('"as printed" = 2000', '"as printed" = "x"', "figures[0].marked.as printed: expected a number"),
        ('"as printed" = 2000', '"as printed" = nan', "expected a finite number"),
        ('measure = "programs"\n', 'measure = "programs"\nlowest = true\n', "no line is lowest at a point"),
        (
            'measure = "programs"\n',
            'measure = "programs"\nlowest_from = "page"\n',
            "figures[0].y.lowest_from: no line is lowest at a point where x is a measure",
        ),
    ],
)
def test_mistakes_are_named(old, new, words):
    assert PAPER.count(old) == 1
    with pytest.raises(ConfigError) as error:
        parse(PAPER.replace(old, new), "mine", "mine.toml")
    assert words in str(error.value)
    assert str(error.value).startswith("mine.toml, line ")


def test_on_a_logarithmic_axis_nothing_is_marked_at_zero():
    text = PAPER.replace('"as printed" = 2000', '"as printed" = 0')
    parse(text, "mine", "mine.toml")
    with pytest.raises(ConfigError, match="a number above 0, since y is logarithmic, given 0"):
        parse(text.replace('title = "programs"\n', 'title = "programs"\nlog = true\n'), "mine", "mine.toml")


def drawn(rows, colours):
    axes = charts.Axes("x", "y", False, True, False)
    return charts.curves(rows, colours, ["one"], axes)


def line(colour, values, panel="one"):
    return [{"panel": panel, "colour": colour, "x": x, "y": y} for x, y in enumerate(values)]


@pytest.mark.parametrize(
    ("values", "domain"),
    [
        ((103.0, 1376.0), [100, 2000]),
        ((0.19, 262.0), [0.1, 500]),
        ((1.0, 1.0), [1, 2]),
        ((5.0, 5.1), [5, 10]),
    ],
)
def test_a_logarithmic_axis_ends_near_its_values(values, domain):
    rows = [{"panel": "a", "colour": "b", "x": 1, "y": y} for y in values]
    found = charts._log_scale(rows, [], False)["domain"]
    assert found == pytest.approx(domain)
    marked = charts._log_scale(rows, [charts.Mark("m", y=domain[1] * 1.5)], False)["domain"]
    assert marked[1] > domain[1]


def test_no_axis_stands_under_an_empty_panel():
    """Each panel has its own axis of x where the last of several rows is not full."""
    for panels, own in ((1, False), (3, False), (4, True), (6, False), (7, True)):
        rows = [{"panel": str(at), "colour": "b", "x": x, "y": 1.0} for at in range(panels) for x in (1, 2)]
        axes = charts.Axes("depth", "time", False, False, False)
        drawn = charts.curves(rows, ["b"], [str(at) for at in range(panels)], axes)
        assert drawn.count(">depth<") == (panels if own else min(panels, 3)), panels


def test_a_ratio_on_a_logarithmic_axis_has_a_line_at_one():
    def drawn(unit):
        rows = [
            {"design": name, "panel": unit, "value": value, "text": "", "shade": 1}
            for name, value in (("a", 0.01), ("b", 20.0))
        ]
        return device_charts.bars(rows, ["a", "b"], [unit], log=True)

    assert drawn("a / b (times)").count("stroke-dasharray") == 1
    assert drawn("written (MB)").count("stroke-dasharray") == 0


def test_lines_on_one_another_have_patterns_and_shapes():
    """The second line hides nothing of the first: it is dashed, and its points are other shapes."""
    text = drawn([*line("a", [1, 10, 100]), *line("b", [1, 10.01, 1000])], ["a", "b"])
    lines = re.findall(r'<path aria-label[^>]*aria-roledescription="line mark"[^>]*>', text)
    assert [bool(re.search(r'stroke-dasharray="7,3"', each)) for each in lines] == [False, True]
    points = re.findall(r'<path [^>]*aria-roledescription="point"[^>]*d="([^"]*)"', text)
    assert len(points) == 6 and len({re.sub(r"[\d.-]+", "", each) for each in points}) == 2


@pytest.mark.parametrize(
    "rows",
    [
        [*line("a", [1, 10, 100]), *line("b", [1, 20, 1000])],
        [*line("a", [1, 10, 100]), *line("b", [1, 10, 100], panel="two")],
        [*line("a", range(1, 200)), *line("b", range(1, 200))],
    ],
)
def test_lines_that_cross_or_are_apart_or_have_many_points_are_plain(rows):
    assert not charts.coincide(rows, charts.Axes("x", "y", False, True, False))


def test_a_point_on_a_line_coincides():
    rows = [*line("a", [1, 10, 100]), {"panel": "one", "colour": "b", "x": 1, "y": 10}]
    assert charts.coincide(rows, charts.Axes("x", "y", False, True, False))
    assert not charts.coincide([], charts.Axes("x", "y", True, True, False))


def test_over_a_key_each_colour_is_a_line_already():
    by_key = re.sub(r"\[figures.x.measures\]\n(\w+ = .*\n)+", "", PAPER)
    by_key = by_key.replace("log = true\n", 'key = "workload.uniform.requests"\nvalues = [100]\n')
    with pytest.raises(
        ConfigError, match=r"figures\[0\]\.joined\.fast: runs are joined where x is a measure"
    ):
        parse(by_key, "mine", "mine.toml")
    plain = by_key.replace('[figures.joined]\nfast = ["few", "some", "many"]\n', "")
    assert parse(plain, "mine", "mine.toml").figures[0].lines == ("page", "some", "many", "few")


def test_the_front_has_the_points_that_no_other_one_beats():
    paper = parse(PAPER.replace('name = "maps"\n', 'name = "maps"\nfront = true\n'), "mine", "mine.toml")
    found = reproduce(paper)
    drawn = rows(found.records, paper.figures[0])
    for one in drawn:
        others = [row for row in drawn if row["panel"] == one["panel"] and row is not one]
        worse = [row["x"] > one["x"] or row["y"] > one["y"] for row in others]
        ties = [(row["x"], row["y"]) == (one["x"], one["y"]) for row in others]
        assert one["front"] == all(is_worse or is_tie for is_worse, is_tie in zip(worse, ties, strict=True))
    assert {row["front"] for row in drawn} == {True, False}
    said = front_in_words(found.records, paper.figures[0])
    assert said.startswith("On the front") and "small writes: FAST, 2 log blocks" in said
    dashed = 'stroke-dasharray="5,4"'
    marks = figures(reproduce(parse(PAPER, "mine", "mine.toml")))["maps"].count(dashed)
    assert figures(found)["maps"].count(dashed) == marks + 2, "a line more in each panel"


def test_a_front_takes_an_x_that_is_measured():
    text = PAPER[: PAPER.index("[figures.joined]")].replace('name = "maps"', 'name = "maps"\nfront = true')
    text += '[figures.x]\nkey = "ftl.fast.log_blocks"\ntitle = "x"\nvalues = [2]\n'
    text += '[figures.y]\nmeasure = "programs"\ntitle = "y"\n'
    with pytest.raises(ConfigError, match=r"figures\[0\].front: a front takes an x that is measured"):
        parse(text, "mine", "mine.toml")


CURVE = """
[[figures.measured]]
panel = "large"
x = [1, 2]
y = [100, "printed"]
[[figures.measured]]
panel = "large"
line = "theirs"
x = [3, 4.5]
y = [300, 450]
[[claims]]
id = "printed"
where = "Table 1"
kind = "value"
published = 1234
tolerance = "factor 100"
statement = "programs"
measured = "small.page.programs"
"""


def test_what_others_measured_is_drawn(monkeypatch):
    drawn = {}

    def keep(rows, colours, panels, axes, marks=()):
        drawn.update(rows=rows, colours=colours, marks=marks)
        return "<svg >"

    reproduced = reproduce(parse(PAPER + CURVE, "mine", "mine.toml"))
    monkeypatch.setattr(charts, "curves", keep)
    figures(reproduced)
    theirs = [(row["panel"], row["x"], row["y"]) for row in drawn["rows"] if row["colour"] == "theirs"]
    assert theirs == [("large", 3, 300), ("large", 4.5, 450)]
    assert drawn["colours"][-1] == "theirs"
    points = [(mark.x, mark.y, list(mark.panels)) for mark in drawn["marks"] if not mark.name]
    assert points == [(1, 100, ["large"]), (2, 1234, ["large"])]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('panel = "large"\nx', 'panel = "larg"\nx', "panel: expected one of small, large; given 'larg'"),
        ("y = [300, 450]", "y = [300]", "y: expected as many values as x has, 2, given 1"),
        ("x = [3, 4.5]", 'x = [3, "a"]', "x: expected numbers"),
        ('[100, "printed"]', '[100, "first"]', "y: first is no claim that prints a number"),
    ],
)
def test_mistakes_in_what_others_measured_are_named(old, new, words):
    assert old in CURVE
    with pytest.raises(ConfigError, match=re.escape(words)):
        parse(PAPER + CURVE.replace(old, new, 1), "mine", "mine.toml")

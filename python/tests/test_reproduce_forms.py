"""What a paper's file may hold: timelines, formulas in tables, parts of a full run."""

import dataclasses
import math
import re

import pytest
from conftest import without_scripts

from nandlab import ConfigError, Experiment
from nandlab.reproduce import parse, reproduce, write_reproduction
from nandlab.reproduce.formula import FormulaError, parse_formula
from nandlab.reproduce.page import figures
from nandlab.reproduce.records import cells, drawn_rows, texts

PAPER = """\
title = "Recyclings"
source = "A. Nobody, 2001"
seeds = 2
same_for_all_seeds = "ordered"
[full.parts.few.workload.uniform]
requests = 1400
[template.device]
capacity = "2 MiB"
over_provisioning = 2.0
[template.ftl.migration]
kept_recyclings.latest.count = 50
[parts.few.workload.uniform]
requests = 700
read_share = 0.0
[parts.ordered.workload.sequential]
requests = 600
read_share = 0.0
[parts.one.ftl.migration]
log_blocks = 1
[parts.two.ftl.migration]
log_blocks = 2
[measures]
writes = "flash.programs"
host = "matrix.any.host.programs"
copied = "matrix.host.full_merge.copies + matrix.any.migration.copies"
[[claims]]
id = "first"
where = "Table 1"
kind = "not_printed"
statement = "programs of the host"
measured = "few.one.host"
[[timelines]]
name = "course"
title = "Recyclings"
caption = "{few.one.writes:.0f} programs"
runs = ["few.one", "few.two"]
list = "recyclings.list"
first = 3
entries = 4
y_title = "pages"
[timelines.labels]
valid = "valid pages"
[timelines.x]
value = "number"
title = "recycling"
[timelines.lines]
valid = "valid"
twice = "2 * copies + 0 * entry"
[[tables]]
name = "ratio"
title = "Two log blocks and one"
one_seed = true
rows = ["few", "ordered"]
columns = ["$.two.writes / $.one.writes", "one.writes"]
bars = ["one.writes"]
bars_title = "programs"
[tables.labels]
few = "seven hundred"
"""


LOGGED = """\
[[op_figures]]
name = "moved"
title = "A migration"
run = "spot.moving"
shows = "blocks"
cause = "migration"
number = 2
[op_figures.labels]
host = "written"
[[op_figures]]
name = "addresses"
title = "Writes"
run = "ordered.one"
shows = "writes"
"""
MOVING = """\
[parts.spot.workload.uniform]
requests = 700
read_share = 0.0
size = 2048
alignment = 2048
footprint = "8 KiB"
[parts.moving.ftl.migration]
recycling = "cost"
"""


@pytest.fixture(scope="module")
def found():
    return reproduce(parse(PAPER, "mine", "mine.toml"))


def test_figures_of_logs_show_blocks_before_and_after_and_where_writes_go():
    text = PAPER.replace("[measures]", MOVING + "[measures]") + LOGGED
    found = reproduce(parse(text, "mine", "mine.toml"), seeds=1)
    assert not found.records.failed
    cells = found.records.drawn["moved"]

    def states(block, when):
        return [cell["state"] for cell in cells if (cell["block"], cell["when"]) == (block, when)]

    valid = states("log block", "before").count("written")
    assert 0 < valid < len(states("log block", "before")) / 2
    assert states("log block", "after").count("written") == 0
    assert set(states("erased block", "before")) == {"free"}
    assert states("erased block", "after")[:valid] == ["written"] * valid
    points = found.records.drawn["addresses"]
    assert [point["x"] for point in points] == list(range(1, len(points) + 1))
    assert all(later["y"] > sooner["y"] for sooner, later in zip(points[:50], points[1:51], strict=True))
    assert {"moved", "addresses"} <= set(figures(found))


def test_a_label_of_the_paper_holds_in_every_table_without_another():
    text = PAPER.replace(
        "[[timelines]]", '[labels]\nfew = "700"\nordered = "in order"\nvalid = "good"\n[[timelines]]', 1
    )
    paper = parse(text, "mine", "mine.toml")
    assert [paper.grids[0].labels[row] for row in paper.grids[0].rows] == ["seven hundred", "in order"]
    assert paper.timelines[0].labels == {"few": "700", "ordered": "in order", "valid": "valid pages"}


def test_a_table_may_tell_the_spread_over_the_seeds():
    spread = PAPER.replace("one_seed = true", "spread = true")
    found = reproduce(parse(spread, "mine", "mine.toml"))
    grid = found.paper.grids[0]
    few, ordered = texts(found.records, grid)
    values = found.records.values(grid.cell("few", "one.writes"))
    assert values[0] != values[1]
    least, most = (f"{value:,.0f}" for value in sorted(values))
    assert few[1] == f"{sum(values) / 2:,.0f} ({least} to {most})"
    assert "(" not in ordered[1]
    one = reproduce(parse(PAPER, "mine", "mine.toml"), seeds=1)
    assert "(" not in texts(one.records, one.paper.grids[0])[0][1]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "kept_recyclings.latest.count = 50",
            "log_recycling = 50",
            "line 11: template of the run few.two: [ftl.migration] has no key `log_recycling`; did you ",
        ),
        (
            "log_blocks = 2",
            "log_block = 2",
            "line 21: parts.two of the run few.two: [ftl.migration] has no key `log_block`; did you ",
        ),
        (
            "requests = 1400",
            "request = 1400",
            "line 6: full.parts.few of the run few.two: [workload.uniform] ",
        ),
        (
            "log_blocks = 1\n",
            "log_blocks = 0\n",
            "line 19: parts.one of the run few.one: ftl.migration.log_blocks = 0",
        ),
    ],
)
def test_a_mistake_in_an_experiment_is_told_before_anything_runs(old, new, words, monkeypatch):
    assert PAPER.count(old) == 1
    paper = parse(PAPER.replace(old, new), "mine", "mine.toml")
    monkeypatch.setattr("nandlab.reproduce.measure.run_all", lambda *_: pytest.fail("something ran"))
    with pytest.raises(ConfigError, match=re.escape(f"mine.toml, {words}")) as error:
        reproduce(paper, full="full." in words)
    assert (error.value.file, error.value.line) == ("mine.toml", int(words.split(":")[0].split()[1]))


def test_a_run_without_a_workload_is_refused_with_its_name():
    paper = parse(PAPER.replace('measured = "few.one.host"', 'measured = "one.host"'), "mine", "mine.toml")
    with pytest.raises(
        ConfigError, match=r"mine\.toml: run one: workload: expected exactly one of sequential, "
    ):
        reproduce(paper)


def record(run, seed, found):
    return Experiment(**{**found.paper.tree(run), "seed": seed}).run().to_dict()


def test_a_timeline_has_the_entries_of_the_list(found):
    rows = drawn_rows(found.records, found.paper.timelines[0])
    entries = record("few.one", 1, found)["recyclings"]["list"][2:6]
    assert len(entries) == 4
    first = [row for row in rows if row["panel"] == "few.one"]
    drawn = [(row["x"], row["y"]) for row in first if row["colour"] == "valid pages"]
    assert drawn == [(entry["number"], entry["valid"]) for entry in entries]
    doubled = [row["y"] for row in first if row["colour"] == "twice"]
    assert doubled == [2 * entry["copies"] for entry in entries]


def test_a_timeline_is_drawn(found, tmp_path):
    write_reproduction([found], tmp_path / "r.html", None)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert without_scripts(page).count("<svg") == 2
    assert "valid pages" in page


def test_columns_of_a_table_are_drawn_as_bars(found):
    text = figures(found)["ratio"]
    # A bar for each row, with what it stands for.
    first, second = (line[1] for line in cells(found.records, found.paper.grids[0]))
    for value, name in ((first, "seven hundred"), (second, "ordered")):
        assert re.search(
            rf'aria-label="[^"]*{name}[^"]*{value:.0f}|aria-label="[^"]*{value:.0f}[^"]*{name}', text
        )
    assert "programs" in text


def test_points_on_logarithmic_axes_lie_where_their_values_are():
    """In pixels a value is as far from the power of ten below it as its logarithm."""
    text = PAPER.replace('bars_title = "programs"', "bars_log = true").replace(
        "requests = 600", "requests = 12"
    )
    found = reproduce(parse(text, "mine", "mine.toml"), seeds=1)
    drawn = figures(found)["ratio"]
    values = [line[1] for line in cells(found.records, found.paper.grids[0])]
    assert values[0] > 10 * values[1] > 100
    points = re.findall(r'aria-roledescription="point" transform="translate\(([\d.]+),', drawn)
    lines = re.findall(r'<line [^>]*aria-roledescription="rule mark" [^>]*>', drawn)
    assert len(points) == len(lines) == 2
    places = sorted(map(float, points))
    # The line of the lesser begins at 10, at the left end.
    share = math.log10(min(values) / 10) / math.log10(max(values) / 10)
    assert places[0] / places[1] == pytest.approx(share, rel=0.01)


def test_a_table_of_one_seed_has_formulas_over_its_rows(found):
    grid = found.paper.grids[0]
    one, two = (record(f"few.{part}", 1, found)["flash"]["programs"] for part in ("one", "two"))
    assert cells(found.records, grid)[0] == [two / one, one]


def test_what_no_seed_changes_runs_once(found):
    runs = [(found.records.names[key], key[1]) for key in found.records.found]
    assert [seed for name, seed in runs if name.startswith("ordered")] == [1, 1]
    assert sorted(seed for name, seed in runs if name == "few.one") == [1, 2]
    assert [seed for name, seed in runs if name == "few.two"] == [1]


def test_the_matrix_is_summed(found):
    rows = record("few.one", 1, found)["matrix"]
    host = sum(row["programs"] for row in rows if row["cause"] == "host")
    assert host == 700
    paper = dataclasses.replace(
        found.paper, measures={**found.paper.measures, "writes": parse_formula("matrix.any.programs")}
    )
    with pytest.raises(FormulaError, match=r"matrix\.<origin>\.<cause>\.<count>"):
        dataclasses.replace(found.records, paper=paper).lookup("few.one.writes", 1)


def test_a_full_run_lays_its_parts_over_the_others():
    paper = parse(PAPER, "mine", "mine.toml")
    full = reproduce(paper, seeds=1, full=True)
    assert full.claims[0].measured == 1400
    assert full.paper.tree("few")["workload"]["uniform"]["read_share"] == 0.0


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[full.parts.few.", "[full.parts.fwe.", "line 5: full.parts.fwe: there is no part 'fwe'"),
        ('"few.two"]', '"few.tow"]', "there is no part 'tow'"),
        ('valid = "valid"\n', 'valid = "valid +"\n', "no formula"),
        ("first = 3", "first = 0", "a whole number from 1 on"),
        ("$.two.writes / $", "$.two.writes / / $", "no formula"),
        ("$.two.writes", "$.two.wrties", "there is no measure 'wrties'"),
        ('name = "course"', 'name = "a/b"', "letters, digits and -"),
        (
            'bars = ["one.writes"]',
            'bars = ["two.writes"]',
            "expected columns of the table, given 'two.writes'",
        ),
        ('bars_title = "programs"', 'bars_title = "programs"\nbars_log = true', "without `bars_title`"),
        (
            'bars = ["one.writes"]\nbars_title = "programs"',
            "bars_log = true",
            "tables[0].bars_log: expected `bars` without",
        ),
    ],
)
def test_mistakes_are_named(old, new, words):
    assert PAPER.count(old) == 1
    with pytest.raises(ConfigError) as error:
        parse(PAPER.replace(old, new), "mine", "mine.toml")
    assert words in str(error.value)


@pytest.mark.parametrize("text", ["argmin(1)", "argmin(1, 2, 3)"])
def test_argmin_takes_pairs(text):
    with pytest.raises(FormulaError, match="pairs"):
        parse_formula(text).value({}.__getitem__)


def test_traces_on_full_devices_take_traces_and_such_devices():
    """The key says whether parts go to their full devices; where it could say nothing it is refused."""
    with_key = PAPER.replace("seeds = 2\n", "seeds = 2\ntraces_on_full_devices = true\n")
    traces = '[traces.few]\nfiles = ["a.csv"]\n'
    device = '[full.parts.one.device]\ncapacity = "4 MiB"\n'
    for text, words in (
        (with_key, "mine.toml, line 4: traces_on_full_devices: there is no trace"),
        (with_key + traces, "line 4: traces_on_full_devices: no part has a device of a full run"),
        (with_key.replace("true", '"yes"', 1), 'expected true or false, given "yes"'),
    ):
        with pytest.raises(ConfigError, match=re.escape(words)):
            parse(text, "mine", "mine.toml")
    assert parse(with_key + traces + device, "mine", "mine.toml").traces_on_full_devices
    assert not parse(PAPER + traces + device, "mine", "mine.toml").traces_on_full_devices


@pytest.mark.parametrize("is_full", [False, True])
def test_a_trace_takes_parts_to_full_devices_where_the_paper_says_so(is_full, tmp_path):
    (tmp_path / "a.csv").write_text("time_us,op,sector,sectors\n0,W,0,8\n", encoding="utf-8")
    said = f"seeds = 2\ntraces_on_full_devices = {str(is_full).lower()}\n"
    device = '[full.parts.one.device]\ncapacity = "4 MiB"\n'
    text = PAPER.replace("seeds = 2\n", said) + '[traces.few]\nfiles = ["a.csv"]\n' + device
    there = parse(text, "mine", "mine.toml").with_traces(tmp_path)
    assert there.tree("few.one")["workload"]["trace"]["path"].endswith("a.csv")
    assert there.tree("few.one")["device"]["capacity"] == ("4 MiB" if is_full else "2 MiB")
    # A full run takes the devices in either case, and leaves the trace.
    assert there.in_full().tree("few.one")["device"]["capacity"] == "4 MiB"
    assert set(there.in_full().tree("few.one")["workload"]) == {"trace"}


COURSE = """
title = "t"
source = "s"
seeds = 1
[template.device]
profile = "generic"
[template.workload.sequential]
requests = 400
[template.ftl.page]
[courses.{name}]
by = "requests"
from = {start}
to = 400
parts = {parts}
value = "{value}"
[measures]
writes = "{measure}"
[parts.a]
[[claims]]
id = "c"
where = "w"
kind = "not_printed"
unit = "writes"
measured = "a.writes"
statement = "s"
"""


def course(name="rate", start=0, parts=4, value="written_sectors / requests", measure="min(rate)"):
    return COURSE.format(name=name, start=start, parts=parts, value=value, measure=measure)


@pytest.mark.parametrize("parts", [3, 7, 9, 11])
def test_the_last_part_of_a_course_ends_with_the_run(parts):
    judged = reproduce(parse(course(parts=parts, measure=f"rate.{parts}"), "p", "p.toml")).claims[0]
    assert judged.measured == pytest.approx(8), judged.why


def test_a_course_is_a_figure_for_each_part_of_a_run():
    for measure, expected in (
        ("min(rate)", 8),
        ("rate.4 + max(rate)", 16),
        ("until_below(9, rate)", 0),
        ("mean_error(rate, 4, 4, 8, 8)", 0.5),
    ):
        judged = reproduce(parse(course(measure=measure), "p", "p.toml")).claims[0]
        assert judged.measured == pytest.approx(expected), measure


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"start": 400}, "a course begins at 0 or later"),
        ({"name": "max"}, "a course's name is a word"),
        ({"parts": 0}, "parts"),
        ({"parts": 1001}, "expected 1 to 1000 parts"),
        ({"value": "1 +"}, "is no formula"),
    ],
)
def test_a_wrong_course_is_refused_with_its_place(changes, words):
    with pytest.raises(ConfigError, match=words):
        parse(course(**changes), "p", "p.toml")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"measure": "rate.5"}, "the course rate has parts 1 to 4"),
        ({"value": "nothing / requests"}, "a sample has no number nothing"),
    ],
)
def test_a_course_without_a_figure_says_why(changes, words):
    judged = reproduce(parse(course(**changes), "p", "p.toml")).claims[0]
    assert judged.measured is None
    assert words in judged.why

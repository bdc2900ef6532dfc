"""What a paper's file may hold about flash: maps of blocks, bars beside tables, lines that compare runs."""

import pytest
from conftest import without_scripts

from nandlab import ConfigError
from nandlab.reproduce import parse, reproduce
from nandlab.reproduce.formula import FormulaError
from nandlab.reproduce.records import drawn_rows

PAPER = """\
title = "Blocks"
source = "A. Nobody, 2001"
seeds = 1
[template.device]
profile = "k9f5608"
capacity = "1 MiB"
[template.workload.phone]
transactions = 60
[template.host]
sample_transactions = 20
sample_blocks = true
[parts.yaffs.fs.yaffs]
[parts.minv.fs.minv]
[measures]
erases = "fs.samples.40.erases - fs.samples.20.erases"
missing = "fs.samples.41.erases"
writes = "flash.programs"
[[claims]]
id = "a"
where = "here"
kind = "not_printed"
statement = "erases from 20 to 40"
measured = "yaffs.erases"
[[timelines]]
name = "each"
title = "Of 20 transactions"
runs = ["yaffs", "minv"]
list = "fs.samples"
entries = 2
first = 2
y_title = "programs"
compares = true
[timelines.x]
value = "transactions"
title = "transactions"
[timelines.lines]
programs = "programs - before.programs"
marked = "gc.passive - before.gc.passive"
[[block_maps]]
name = "blocks"
title = "Blocks"
runs = ["yaffs", "minv"]
list = "fs.samples"
moments = [20, 60]
values = "blocks.live_pages"
moment_title = "transactions"
y_title = "valid pages"
[[tables]]
name = "both"
title = "Both"
rows = ["yaffs", "minv"]
columns = ["writes", "erases"]
bars = ["writes"]
"""


@pytest.fixture(scope="module")
def found():
    return reproduce(parse(PAPER, "mine", "mine.toml"))


def samples(found, run):
    (record,) = (each for name, each in found.records.by_name().items() if name.startswith(run))
    return record["fs"]["samples"]


def test_an_entry_of_a_list_is_named_by_its_first_figure(found):
    first, second, _ = samples(found, "yaffs")
    assert found.claims[0].measured == second["erases"] - first["erases"]
    with pytest.raises(FormulaError, match=r"no number fs\.samples\.41\.erases"):
        found.records.lookup("yaffs.missing", 1)


def test_lines_of_runs_are_compared_in_a_panel_for_each_formula(found):
    rows = drawn_rows(found.records, found.paper.timelines[0])
    for run in ("yaffs", "minv"):
        before, *entries = samples(found, run)
        drawn = [row["y"] for row in rows if row["panel"] == "programs" and row["colour"] == run]
        assert drawn == [
            entry["programs"] - last["programs"]
            for last, entry in zip([before, *entries], entries, strict=False)
        ]
    assert {row["panel"] for row in rows} == {"programs", "marked"}
    assert {row["x"] for row in rows} == {40, 60}


def test_the_report_draws_blocks_and_bars(found, tmp_path):
    from nandlab.reproduce import write_reproduction

    rows = drawn_rows(found.records, found.paper.block_maps[0])
    assert len(rows) == 2 * 2 * 64
    ended = samples(found, "minv")[-1]["blocks"]["live_pages"]
    drawn = [row["y"] for row in rows if (row["column"], row["row"]) == ("minv", "60 transactions")]
    assert drawn == ended
    write_reproduction([found], tmp_path / "r.html", None)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert without_scripts(page).count("<svg") == 3
    assert "minv, 60 transactions" in page


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('bars = ["writes"]', 'bars = ["reads"]', "expected columns of the table, given 'reads'"),
        ("moments = [20, 60]", "moments = [20, 60.5]", "expected whole numbers, given 60.5"),
        ("moments = [20, 60]", "moments = []", "at least one entry"),
        ('name = "blocks"', 'name = "a b"', "letters, digits and -"),
        ('values = "blocks', 'value = "blocks', "values"),
        ("compares = true", 'compares = "yes"', "true or false"),
    ],
)
def test_mistakes_are_named(old, new, words):
    assert PAPER.count(old) == 1
    with pytest.raises(ConfigError) as error:
        parse(PAPER.replace(old, new), "mine", "mine.toml")
    assert words in str(error.value)

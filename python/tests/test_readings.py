"""`[[reading]]`: what a sentence may mean, with answers that can be worked out by hand."""

import dataclasses

import pytest
from conftest import write
from test_search import PAPER

from nandlab import ConfigError
from nandlab.reproduce import load, parse, reproduce, search, write_reproduction
from nandlab.reproduce.reading_words import decisions
from nandlab.reproduce.search_file import csv_text, parse_csv
from nandlab.reproduce.search_points import chosen_of, fingerprint, paper_at, points_of
from nandlab.reproduce.search_words import flips, gains, unflipped, unmarked

# 500 programs are about 520, and 1,000 with each page counted twice, which the claim `many` then meets.
READINGS = """\
[[reading]]
name = "page"
kind = "unit"
what = "whether Table 1 counts pages or half pages"
chosen = "whole"
[reading.choices.whole]
[reading.choices.half.measures]
writes = "2 * flash.programs"
[[reading]]
name = "fewer"
kind = "amount"
what = "fewer, in section 2"
chosen = "by_much"
[reading.choices.by_much]
[reading.choices.at_all.claims.most]
holds = ["page.double.writes < 1100"]
[reading.choices.by_more.claims.most]
holds = ["2 * page.double.waf < 1"]
"""
TEXT = PAPER.replace("[[claims]]", READINGS + "[[claims]]", 1)


@pytest.fixture(scope="module")
def paper():
    return parse(TEXT, "mine", "mine.toml")


@pytest.fixture(scope="module")
def found(paper):
    return search(paper)


def test_a_reading_alone_changes_measures_or_formulas(paper, found):
    """Each point runs the chosen requests: 500 programs with a WAF of 1."""
    read = {
        (row.values["page"], row.values["fewer"]): {name: one.word for name, one in row.seen.items()}
        for row in found.rows
        if row.kind in ("chosen", "alone")
        and (row.values["requests"], row.values["spare"]) == ("500", "some")
    }
    met, differs = "reproduced", "differs"
    order = {"written": "direction"}
    assert read == {
        ("whole", "by_much"): {"few": met, "many": differs, "most": "direction", **order},
        ("half", "by_much"): {"few": differs, "many": met, "most": differs, **order},
        ("whole", "at_all"): {"few": met, "many": differs, "most": "direction", **order},
        ("whole", "by_more"): {"few": met, "many": differs, "most": differs, **order},
    }


def test_a_reading_flips_as_an_open_value_does(paper, found):
    names = {"page", "fewer"}
    lost = [(flip.claim, flip.name, flip.value) for flip in flips(paper, found) if flip.name in names]
    assert lost == [("few", "page", "half"), ("most", "page", "half"), ("most", "fewer", "by_more")]
    assert ("many", "page", "half") in [(one.claim, one.name, one.value) for one in gains(paper, found)]
    assert unmarked(paper, found) == unflipped(paper, found) == []
    # With nothing open but the reading, the reading alone makes the mark.
    start, end = TEXT.index("[[open]]"), TEXT.index("[[reading]]")
    alone = parse(TEXT[:start] + TEXT[end:].replace("fitted = true\n", ""), "mine", "mine.toml")
    assert unmarked(alone, search(alone)) == ["few", "most"]


def test_readings_change_no_draw_of_an_open_value(paper):
    def drawn(text):
        # Of 600 numbers none comes twice.
        text = text.replace("points = 30", "points = 5")
        text = text.replace("values = [250, 500, 1000]", "range = [200, 800]\nwhole = true")
        joint = [
            dict(point.values) for point in points_of(parse(text, "m", "m.toml")) if point.kind == "joint"
        ]
        return [(values["requests"], values["spare"]) for values in joint], joint

    (before, _), (after, with_readings) = drawn(PAPER), drawn(TEXT)
    assert before == after and len(before) == 5
    assert {values["fewer"] for values in with_readings} > {"by_much"}


def test_the_search_of_another_reading_is_another_one(paper, found):
    assert parse_csv(csv_text(paper, found), "m.csv").rows == found.rows
    for old, new in (("< 1100", "< 1200"), ("2 * flash", "3 * flash"), ('"page"', '"pages"')):
        assert old in TEXT
        assert fingerprint(parse(TEXT.replace(old, new), "mine", "mine.toml")) != found.fingerprint
    other = TEXT.replace("half pages", "halves").replace('kind = "unit"', 'kind = "definition"')
    assert fingerprint(parse(other, "mine", "mine.toml")) == found.fingerprint


def test_the_reason_and_the_report_name_the_reading(tmp_path, paper, found):
    path = write(tmp_path / "mine.toml", TEXT)
    without = {each.claim.id: each for each in reproduce(load(str(path)), seeds=5).claims}
    assert without["most"].readings == ("fewer",) and without["few"].readings == ()
    assert "depends on the reading fewer; no search was run" in without["most"].why
    (tmp_path / "search").mkdir()
    write(tmp_path / "search" / "mine.csv", csv_text(paper, found))
    again = reproduce(load(str(path)), seeds=5)
    claims = {each.claim.id: each for each in again.claims}
    assert claims["most"].verdict == claims["few"].verdict == "fitted"
    assert claims["most"].readings == ("page", "fewer")
    assert "The reading fewer decides it: as by_much or at_all it comes out, as by_more it does not" in (
        claims["most"].why
    )
    assert "The reading page decides it: as half it comes out, as whole it does not" in claims["many"].why
    assert claims["many"].verdict == "differs" and claims["written"].readings == ()
    assert claims["few"].to_dict()["readings"] == ["page"]
    page = tmp_path / "report.html"
    write_reproduction([again], page)
    text = page.read_text(encoding="utf-8")
    assert "How the paper is read" in text and "whether Table 1 counts pages or half pages" in text


def test_what_only_a_reading_decides_says_so(tmp_path):
    """With one number of requests, no open value makes `most` differ."""
    text = TEXT.replace("values = [250, 500, 1000]", "values = [250, 500]")
    path = write(tmp_path / "mine.toml", text)
    (tmp_path / "search").mkdir()
    paper = load(str(path))
    write(tmp_path / "search" / "mine.csv", csv_text(paper, search(paper)))
    claims = {each.claim.id: each for each in reproduce(load(str(path)), seeds=5).claims}
    assert "It rests on how the paper is read: a fit, and no confirmation" in claims["most"].why
    assert "It rests on a value that the paper leaves open" in claims["few"].why


MOST, HOLDS = "choices.at_all.claims.most]", 'holds = ["page.double.writes < 1100"]'
AGAIN = """\
[[reading]]
name = "again"
kind = "order"
what = "the same claim"
chosen = "a"
[reading.choices.a]
[reading.choices.b.claims.most]
holds = ["page.double.writes < 7"]
[[claims]]
id = "few"
"""


@pytest.mark.parametrize(
    ("old", "new", "key", "words"),
    [
        ('kind = "unit"', 'kind = "units"', "reading[0].kind", "one of definition, average, unit"),
        ('name = "fewer"', 'name = "page"', "reading[1].name", "stands twice"),
        ('name = "page"', 'name = "spare"', "reading[0].name", "stands twice"),
        ('chosen = "whole"', 'chosen = "hole"', "reading[0].chosen", "one of the choices whole, half"),
        ("[reading.choices.whole]\n", '[reading.choices.whole.measures]\nwrites = "waf"\n',
         "reading[0].chosen", "cannot change anything"),
        ("[reading.choices.by_much]\n", f"[reading.choices.by_much.claims.most]\n{HOLDS}\n",
         "reading[1].chosen", "cannot change any of them"),
        ("[reading.choices.half.measures]\n", "[reading.choices.half.measure]\n",
         "reading[0].choices.half.measure", "there is no such key"),
        ('writes = "2 * flash.programs"', 'writes = "flash.programs"',
         "reading[0].choices.half", "changes nothing"),
        (MOST, "choices.at_all.claims.least]", "reading[1].choices.at_all.claims.least", "there is no claim"),
        (MOST, "choices.at_all.claims.few]",
         "reading[1].choices.at_all.claims.few.holds", "judged by measured and also"),
        (HOLDS, 'measured = "page.run.writes"',
         "reading[1].choices.at_all.claims.most.measured", "judged by holds"),
        (HOLDS, 'holds = ["page.double.writes < 600"]',
         "reading[1].choices.at_all.claims.most", "it changes nothing"),
        (HOLDS, 'holds = ["page.double.writes"]',
         "reading[1].choices.at_all.claims.most.holds", "comparison"),
        (HOLDS, 'holds = ["page.none.writes < 3"]',
         "reading[1].choices.at_all.claims.most.holds", "no part 'none'"),
        (HOLDS, f"{HOLDS}\nwhy = 3", "reading[1].choices.at_all.claims.most.why", "there is no such key"),
        ("seed = 3", 'claims = ["written"]', "reading[1].choices.at_all.claims.most", "no search judges"),
        ('[[claims]]\nid = "few"\n', AGAIN, "reading[2].choices.b.claims.most", "the reading fewer changes"),
        ("points = 30", 'tried = [{ what = "w", values = { fewer = "none" } }]',
         "search.tried[0].values.fewer", "no value that the entry of fewer allows"),
    ],
)  # fmt: skip
def test_mistakes_have_their_place(old, new, key, words):
    assert old in TEXT
    text = TEXT.replace('together = ["many"]\n', "") if "search judges" in words else TEXT
    text = text.replace(old, new, 1)
    with pytest.raises(ConfigError) as error:
        parse(text, "t", "t.toml")
    assert words in str(error.value) and (error.value.file, error.value.key) == ("t.toml", key), str(
        error.value
    )
    # The line is the key's own, or that of the table that stands for it.
    line = text.splitlines()[error.value.line - 1]
    assert any(part in line for part in key.replace("]", "").replace("[", ".").split(".")), (line, key)


def test_a_reading_may_stand_alone():
    start, end = TEXT.index("[[open]]"), TEXT.index("[[reading]]")
    paper = parse(TEXT[:start] + TEXT[end:], "mine", "mine.toml")
    assert not paper.opens and [each.name for each in paper.varied] == ["page", "fewer"]
    assert len(search(paper).rows) == 1 + 3 + 6
    bare = dataclasses.replace(paper, meanings=())
    with pytest.raises(ConfigError, match=r"no \[\[open\]\] value and no \[\[reading\]\]"):
        search(bare)


def test_the_commands_print_the_readings(nandlab_command, tmp_path):
    path = write(tmp_path / "mine.toml", TEXT)
    searched = nandlab_command("reproduce", path, "--search").out
    assert "What the paper's sentences may mean, and how this file reads them" in searched
    assert "fewer, in section 2" in searched
    measured = nandlab_command("reproduce", path, "--seeds", "1").out
    assert "fewer (amount): fewer, in section 2. Read as by_much, or as at_all, by_more" in measured


def test_what_a_search_leaves_out_changes_no_point_and_is_named_with_its_flips(paper, found):
    left_out = """\
[[open]]
name = "longer"
what = "a run nobody searches"
keys = ["parts.run.workload.sequential.requests"]
values = [500, 900]
searched = false
[[reading]]
name = "nearly"
kind = "amount"
what = "about, in Table 1"
chosen = "this"
searched = false
flips = ["few"]
[reading.choices.this]
[reading.choices.that.claims.few]
measured = "page.run.writes / 3"
"""
    text = TEXT.replace("[[claims]]", left_out + "[[claims]]", 1)
    more = parse(text, "mine", "mine.toml")
    assert [each.name for each in more.beside_search] == ["longer", "nearly"]
    assert fingerprint(more) == found.fingerprint and points_of(more) == points_of(paper)
    longer = paper_at(more, {**chosen_of(more), "longer": 900})
    assert longer.tree("page.run")["workload"]["sequential"]["requests"] == 900
    read = decisions(dataclasses.replace(more, searched=found))[-1]
    assert (read.claim, read.words) == (
        "few", "The reading nearly decides it: as this it comes out, as that it does not",
    )  # fmt: skip
    for old, new, message in (
        ('flips = ["few"]', 'flips = ["many"]', "many has to be marked"),
        ('flips = ["few"]', 'flips = ["fee"]', "there is no claim 'fee'"),
        ('searched = false\nflips = ["few"]', 'flips = ["few"]', "expected searched = false"),
    ):
        with pytest.raises(ConfigError, match=message):
            parse(text.replace(old, new), "mine", "mine.toml")

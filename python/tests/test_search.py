"""`nandlab reproduce --search`: what a paper leaves open, with answers that can be worked out by hand."""

import csv
import dataclasses
import json

import pytest
from conftest import write
from test_stopping import interrupted

from nandlab import ConfigError
from nandlab.reproduce import load, parse, reproduce, search
from nandlab.reproduce.scan import scan
from nandlab.reproduce.search_file import csv_text, parse_csv, point_of
from nandlab.reproduce.search_points import fingerprint, points_of, takes_all
from nandlab.reproduce.search_words import (
    exclusions,
    flips,
    gains,
    met_by,
    nearest,
    points_in_words,
    unflipped,
    unmarked,
)

# Every request writes one page of an empty device, so that programs are requests: 500 in the file.
PAPER = """\
title = "Small"
source = "A. Nobody, 2001"
seeds = 5
[template.device]
capacity = "16 MiB"
over_provisioning = 0.25
[parts.page.ftl.page]
[parts.run.workload.sequential]
requests = 500
[parts.double.workload.sequential]
requests = 500
[measures]
writes = "flash.programs"
waf = "waf"
[search]
points = 30
seed = 3
[[open]]
name = "requests"
what = "how many requests: not printed"
keys = ["parts.run.workload.sequential.requests", "parts.double.workload.sequential.requests"]
values = [250, 500, 1000]
[[open]]
name = "spare"
what = "over-provisioning: not printed"
chosen = "some"
[open.choices.some]
[open.choices.more.template.device]
over_provisioning = 0.5
[open.choices.none.template.device]
over_provisioning = 0.0
[[claims]]
id = "few"
where = "Table 1"
kind = "value"
published = 520
tolerance = "10 %"
statement = "about five hundred"
fitted = true
measured = "page.run.writes"
together = ["many"]
[[claims]]
id = "many"
where = "Table 1"
kind = "value"
published = 1000
tolerance = "10 %"
statement = "a thousand"
measured = "page.run.writes"
why = "half"
[[claims]]
id = "written"
where = "section 2"
kind = "order"
statement = "no more programs than requests"
holds = ["page.run.waf <= 1"]
[[claims]]
id = "most"
where = "section 2"
kind = "sign"
statement = "fewer than 600"
fitted = true
holds = ["page.double.writes < 600"]
"""


@pytest.fixture(scope="module")
def paper():
    return parse(PAPER, "mine", "mine.toml")


@pytest.fixture(scope="module")
def found(paper):
    return search(paper)


def test_the_points_are_the_chosen_one_each_value_alone_and_every_combination(paper):
    points = points_of(paper)
    assert takes_all(paper)
    assert [point.kind for point in points] == ["chosen"] + ["alone"] * 4 + ["joint"] * 9
    assert [dict(point.values) for point in points[:5]] == [
        {"requests": 500, "spare": "some"},
        {"requests": 250, "spare": "some"},
        {"requests": 1000, "spare": "some"},
        {"requests": 500, "spare": "more"},
        {"requests": 500, "spare": "none"},
    ]


def test_draws_follow_from_the_seed_and_stay_in_the_range():
    text = PAPER.replace("values = [250, 500, 1000]", "range = [200, 800]\nwhole = true\nalone = [250]")
    paper = parse(text, "mine", "mine.toml")
    joint = [dict(point.values) for point in points_of(paper) if point.kind == "joint"]
    again = [dict(point.values) for point in points_of(paper) if point.kind == "joint"]
    drawn = [values["requests"] for values in joint]
    assert joint == again and len(joint) == 30
    assert all(isinstance(value, int) and 200 <= value <= 800 for value in drawn)
    # Thirty draws of 601 numbers: nine in ten are in the middle 540 of them, and they are not all alike.
    assert min(drawn) < 350 and max(drawn) > 650
    other = dataclasses.replace(paper, search=dataclasses.replace(paper.search, seed=4))
    assert joint != [dict(point.values) for point in points_of(other) if point.kind == "joint"]


def test_joint_points_may_keep_some_of_the_chosen_values():
    """Twenty open values with two choices each: with a share drawn for each point, all shares come about."""
    names = [f"o{at}" for at in range(20)]
    entries = "".join(
        f'[[open]]\nname = "{name}"\nwhat = "w"\nkeys = ["parts.{name}.seed"]\nvalues = [1, 2]\n'
        for name in names
    )
    parts = "".join(f"[parts.{name}]\nseed = 1\n" for name in names)
    head, claims = PAPER[: PAPER.index("[search]")], PAPER[PAPER.index("[[claims]]") :]
    text = head + parts + "[search]\npoints = 200\n" + entries + claims

    def changes(text):
        points = points_of(parse(text, "mine", "mine.toml"))
        return [
            sum(value == 2 for value in point.values.values()) for point in points if point.kind == "joint"
        ]

    # Ten of twenty with a deviation of sqrt(5), against none to ten alike likely.
    assert min(changes(text)) >= 2 and sum(changes(text)) / 200 == pytest.approx(10, abs=1)
    near = changes(text.replace("points = 200", "points = 200\nkeeps_chosen = true"))
    assert min(near) == 0 and sum(near) / 200 == pytest.approx(5, abs=1)


def test_every_claim_at_every_point(paper, found):
    """Programs are requests; a device without spare blocks is refused, and no claim is met there."""
    for row in found.rows:
        requests, runs = int(row.values["requests"]), row.values["spare"] != "none"
        expected = {
            "few": "reproduced" if requests == 500 else "differs",
            "many": "reproduced" if requests == 1000 else "differs",
            "written": "direction",
            "most": "direction" if requests < 600 else "differs",
        }
        words = {name: one.word for name, one in row.seen.items()}
        assert words == (expected if runs else dict.fromkeys(expected, "not_runnable"))
        assert not runs or row.seen["few"].measured == requests
    assert len(found.failed) == 1 and found.failed[0].startswith(
        "3 runs refused: device.over_provisioning = 0"
    )


def test_flips_gains_and_what_excludes_what(paper, found):
    assert [(flip.claim, flip.name, flip.value) for flip in flips(paper, found)] == [
        ("few", "requests", "250"),
        ("few", "requests", "1000"),
        ("most", "requests", "1000"),
    ]
    assert [(gain.claim, gain.value) for gain in gains(paper, found)] == [("many", "1000")]
    assert unmarked(paper, found) == unflipped(paper, found) == []
    over = parse(PAPER.replace('kind = "order"', 'kind = "order"\nfitted = true'), "mine", "mine.toml")
    assert unflipped(over, found) == ["written"]
    assert [met_by(found, name) for name in ("few", "many", "written", "most")] == [2, 2, 6, 4]
    assert exclusions(paper, found) == [("few", "many"), ("many", "most")]
    # 500 is 5 half-widths of 100 from 1000, and 1000 is 480 / 52 half-widths from 520.
    row, gap = nearest(paper, found, ["few", "many"])
    assert (row.kind, row.values["requests"], gap) == ("chosen", "500", pytest.approx(5.0))


def test_a_scan_moves_each_chosen_amount_and_names_what_flips(paper):
    """450 programs are more than 10 % below 520; a named choice has no neighbours."""
    steps = scan(paper)
    assert [(step.name, step.percent, step.value) for step in steps] == [
        ("requests", -10, 450),
        ("requests", -5, 475),
        ("requests", 5, 525),
        ("requests", 10, 550),
    ]
    assert [step.lost for step in steps] == [("few",), (), (), ()]
    assert not any(step.gained or step.not_run for step in steps)


def test_a_scan_names_what_cannot_run():
    text = PAPER.replace('capacity = "16 MiB"', 'capacity = "16 MiB"\nshape.page_bytes = 4096', 1)
    entry = (
        '[[open]]\nname = "page"\nwhat = "w"\n'
        'keys = ["template.device.shape.page_bytes"]\nvalues = [4096, 8192]\n'
    )
    steps = scan(parse(text.replace("[[open]]", entry + "[[open]]", 1), "mine", "mine.toml"))
    refused = [step for step in steps if step.name == "page"]
    assert {step.percent: step.value for step in refused} == {-10: 3686, -5: 3891, 5: 4301, 10: 4506}
    assert all(step.not_run == ("few", "many", "written", "most") and not step.lost for step in refused)


def test_a_claim_that_a_value_flips_and_that_is_not_marked_is_named(found):
    paper = parse(PAPER.replace("fitted = true\n", "", 1), "mine", "mine.toml")
    assert unmarked(paper, found) == ["few"]
    # What is marked is no part of what was measured.
    assert fingerprint(paper) == found.fingerprint


def test_three_claims_of_which_each_two_come_out_together():
    """Met with 1, 2 and 3 requests of hundred: {a, b}, {b, c} and {a, c}, and never all three."""
    claims = "".join(
        f'[[claims]]\nid = "{name}"\nwhere = "T"\nkind = "sign"\nstatement = "s"\nholds = ["{holds}"]\n'
        for name, holds in (
            ("a", "abs(page.run.writes - 350) > 120"),
            ("b", "page.run.writes < 700"),
            ("c", "page.run.writes > 300"),
        )
    )
    text = PAPER[: PAPER.index("[[claims]]")] + claims
    paper = parse(text, "mine", "mine.toml")
    found = search(paper)
    assert exclusions(paper, found) == []
    text = text.replace("abs(page.run.writes - 350) > 120", "abs(page.run.writes - 500) > 100")
    paper = parse(text, "mine", "mine.toml")
    assert exclusions(paper, search(paper)) == [("a", "b", "c")]


def test_a_point_found_by_hand_runs_as_long_as_a_usual_run():
    """250 requests and more spare blocks; all other points run 100 requests of the second workload."""
    short = "[search.parts.double.workload.sequential]\nrequests = 100\n"

    def tried(spare):
        return f'[[search.tried]]\nwhat = "a find"\nvalues = {{ spare = "{spare}" }}\n'

    alone = PAPER.replace(', "parts.double.workload.sequential.requests"]', "]", 1)
    assert alone != PAPER
    text = alone.replace("[[open]]", short + tried("more") + "[[open]]", 1)
    paper = parse(text, "mine", "mine.toml")
    points = points_of(paper)
    assert [point.kind for point in points] == ["chosen"] + ["alone"] * 4 + ["tried"] + ["joint"] * 9
    assert dict(points[5].values) == {"requests": 500, "spare": "more"}
    by_hand, joint = (
        search(paper, [point]).rows[0].seen["most"].measured for point in (points[5], points[-2])
    )
    # (600 - requests) / 600: how much of the larger side is left.
    assert by_hand == pytest.approx(1 / 6) and joint == pytest.approx(5 / 6)
    found = search(paper)
    assert parse_csv(csv_text(paper, found), "mine.csv").of_kind("tried") == found.of_kind("tried")
    assert "1 found by hand" in points_in_words(paper, found)
    # Another point is another search; so is the length of a usual run, which these points alone have.
    for old, new in ((tried("more"), tried("none")), (tried("more"), "")):
        assert fingerprint(parse(text.replace(old, new), "mine", "mine.toml")) != found.fingerprint
    longer = text.replace(
        "[parts.double.workload.sequential]\nrequests = 500",
        "[parts.double.workload.sequential]\nrequests = 400",
    )
    assert fingerprint(parse(longer, "mine", "mine.toml")) != found.fingerprint


def test_an_order_that_is_fitted_has_that_verdict(paper):
    claims = {each.claim.id: each for each in reproduce(paper).claims}
    assert claims["most"].verdict == "fitted" and "a fit, and no confirmation" in claims["most"].why
    assert claims["written"].verdict == "direction" and "holds over 5 seeds" in claims["written"].why


def test_an_order_over_runs_that_no_seed_changes_is_one_run():
    text = PAPER.replace("seeds = 5\n", 'seeds = 1\nsame_for_all_seeds = ["run"]\n', 1)
    claims = {each.claim.id: each for each in reproduce(parse(text, "mine", "mine.toml")).claims}
    assert claims["written"].verdict == "direction"
    assert "one deterministic run" in claims["written"].why and "seeds" not in claims["written"].why
    # The other order rests on another run.
    assert claims["most"].verdict is None and "takes 5 seeds" in claims["most"].why


def test_the_file_of_a_search_holds_what_was_found(paper, found):
    text = csv_text(paper, found)
    again = parse_csv(text, "mine.csv")
    assert dataclasses.replace(found, failed=()) == again
    assert [dict(point_of(paper, row).values) for row in again.rows] == [
        dict(point.values) for point in points_of(paper)
    ]
    lines = list(csv.reader(text.splitlines()[1:]))
    assert lines[0][:5] == ["point", "open requests", "open spare", "few", "few verdict"]
    assert lines[2] == ["alone", "250", "some", "250", "differs", "250", "differs", "0", "direction",
                        "0.5833333333", "direction"]  # fmt: skip


def test_what_a_claim_says_of_others_rests_on_the_file_of_the_search(tmp_path, paper, found):
    path = write(tmp_path / "mine.toml", PAPER)
    few = reproduce(load(str(path)), seeds=1).claims[0].why
    assert "no search was run for this file as it stands" in few
    (tmp_path / "search").mkdir()
    kept = write(tmp_path / "search" / "mine.csv", csv_text(paper, found))
    few = reproduce(load(str(path)), seeds=1).claims[0].why
    assert "Of 14 points (9 joint ones, every combination of the listed values" in few
    assert "none meets few and many together" in few
    assert "few = 500 (published 520), many = 500 (published 1,000), 5.00 half-widths" in few
    # Another assumption is another file, and so are other values; other words are not.
    for old, new, is_kept in (
        ("over_provisioning = 0.25", "over_provisioning = 0.3", False),
        ("values = [250, 500, 1000]", "values = [250, 500, 900]", False),
        ('tolerance = "10 %"', 'tolerance = "9 %"', False),
        ('why = "half"', 'why = "a half"', True),
        ("how many requests: not printed", "requests", True),
    ):
        write(path, PAPER.replace(old, new))
        assert (load(str(path)).searched is not None) == is_kept, new
    write(path, PAPER)
    write(kept, kept.read_text(encoding="utf-8").replace("alone,250,some,250", "alone,250,some,x"))
    with pytest.raises(ConfigError, match=r"mine.csv, line 4: few: expected a number, given 'x'"):
        load(str(path))


VALUES, MORE = "values = [250, 500, 1000]", "[open.choices.more.template.device]"
RUN, DOUBLE = "parts.run.workload.sequential.requests", "[parts.double.workload.sequential]\nrequests = "


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        (RUN, "parts.run.workload.none", 21, "no such key"),
        (RUN, "seeds", 21, "begins with template, parts, measures"),
        (VALUES, "values = [250, 1000]", 22, "the chosen value 500"),
        (VALUES, "values = [500]", 22, "at least two values"),
        (VALUES, "valeus = [250, 500, 1000]", 18, "expected one of values, range"),
        (VALUES, "values = [500, 1]\nscael = 3", 23, "there is no such key"),
        (VALUES, "range = [600, 900]", 22, "holds the chosen value 500"),
        (VALUES, "range = [0, 900]\nscale = \"log\"", 22, "above 0"),
        (VALUES, "range = [1, 900]\nalone = [901]", 23, "from 1 to 900"),
        (VALUES, "range = [900, 1]", 22, "the lower one first"),
        (DOUBLE + "500", DOUBLE + "7", 21, "expected one value"),
        ('chosen = "some"', 'chosen = "sum"', 26, "one of the choices some, more, none"),
        ("[open.choices.some]", "[open.choices.some.template]\nseed = 3", 26, "cannot change anything"),
        (MORE, "[open.choices.more.parts.fast.device]", 28, "there is no part 'fast'"),
        (MORE, "[open.choices.more.templet.device]", 28, "there is no such key"),
        ('name = "spare"', 'name = "requests"', 24, "stands twice"),
        ("seed = 3", '[[search.tried]]\nwhat = "w"\nvalues = { spares = 1 }', 19, "has this name"),
        ("seed = 3", '[[search.tried]]\nwhat = "w"\nvalues = { requests = 7 }', 19, "7 is no value that"),
        ("seed = 3", '[[search.tried]]\nwhat = "w"', 17, "expected values of what is open"),
        ("seed = 3", 'claims = ["fewer"]', 17, "there is no claim 'fewer'"),
        ("points = 30", "point = 30", 16, "did you mean points?"),
        ("points = 30", "parts.none.a = 30", 16, "there is no part 'none'"),
        ('together = ["many"]', 'together = ["much"]', 41, "there is no other claim 'much'"),
        ("seed = 3", 'claims = ["few"]', 41, "no search judges many"),
    ],
)  # fmt: skip
def test_mistakes_have_their_place(old, new, line, words):
    assert old in PAPER
    with pytest.raises(ConfigError) as error:
        parse(PAPER.replace(old, new, 1), "t", "t.toml")
    assert words in str(error.value)
    assert (error.value.file, error.value.line) == ("t.toml", line), str(error.value)


def test_the_command(nandlab_command, tmp_path):
    path, kept = write(tmp_path / "mine.toml", PAPER), tmp_path / "mine.csv"
    done = nandlab_command("reproduce", path, "--search", "--json", "--write", kept)
    assert done.status == 0, done.err
    assert [(each["id"], each["met_by"]) for each in done.document["claims"]] == [
        ("few", 2),
        ("many", 2),
        ("written", 6),
        ("most", 4),
    ]
    assert [each["claims"] for each in done.document["excluded"]] == [["few", "many"], ["many", "most"]]
    assert done.document["best"][0]["meets"] == 3
    assert "3 runs refused" in done.err and json.dumps(str(kept)) not in done.out
    assert parse_csv(kept.read_text(encoding="utf-8"), "k").fingerprint == done.document["fingerprint"]
    text = nandlab_command("reproduce", path, "--search", "--points", "4", "--seed", "9").out
    assert "9 points (4 joint ones, drawn at random with seed 9, 4 with one value changed" in text
    assert "few | many: 5.00 off with the chosen values" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--points", "3"], "--points goes with --search alone"),
        (["--search", "--traces", "."], "--traces does not go with --search"),
        (["--search", "--full"], "--full does not go with --search"),
        (["--search", "--write", "x.txt"], "is a .csv file"),
        (["--all"], "--all takes every paper"),
    ],
)
def test_options_that_do_not_go_together(nandlab_command, tmp_path, arguments, words):
    done = nandlab_command("reproduce", write(tmp_path / "mine.toml", PAPER), *arguments)
    assert done.status == 2 and words in done.err


def test_a_paper_that_leaves_nothing_open_has_no_search(nandlab_command, tmp_path):
    text = PAPER[: PAPER.index("[search]")] + PAPER[PAPER.index("[[claims]]") :].replace(
        'together = ["many"]', ""
    )
    done = nandlab_command("reproduce", write(tmp_path / "mine.toml", text), "--search")
    assert done.status == 2 and "there is no [[open]] value" in done.err
    assert nandlab_command("reproduce", "--search").status == 2


def test_ctrl_c_prints_the_points_that_were_measured(tmp_path):
    text = PAPER.replace("values = [250, 500, 1000]", "values = [500, 2_000_000_000]")
    kept = tmp_path / "mine.csv"
    path = write(tmp_path / "mine.toml", text)
    status, out, err, _ = interrupted("reproduce", path, "--search", "--json", "--write", kept, after_s=3)
    assert status == 1 and not kept.exists()
    document = json.loads(out)
    assert document["stopped"] and {
        row["values"]["requests"] for row in document["rows"] if row["values"]["spare"] != "none"
    } == {"500"}
    assert f"points of which a run is missing were not judged; {kept} was not written" in err

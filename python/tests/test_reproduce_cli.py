"""`nandlab reproduce`: what it prints and writes, and how it ends."""

import json
import re
import zipfile

import pytest
from conftest import without_scripts, write
from test_stopping import WORN_OUT, interrupted

PAPER = """\
title = "Programs of a page map"
source = "A. Nobody, 2001"
seeds = 5

[template.device]
capacity = "16 MiB"
over_provisioning = 0.25

[parts.page.ftl.page]

[parts.block.ftl.block]

[parts.few.workload.uniform]
requests = 500

[parts.many.workload.uniform]
requests = 9000

[measures]
writes = "flash.programs"
erases = "flash.erases"

[[claims]]
id = "few"
where = "Table 1"
kind = "value"
published = 480
unit = "programs"
tolerance = "5 %"
statement = "500 writes"
measured = "page.few.writes"

[[claims]]
id = "far"
where = "Table 1"
kind = "value"
published = 1000
unit = "programs"
tolerance = "5 %"
statement = "a thousand"
measured = "page.few.writes"
why = "there are {page.few.writes:,.0f} requests"

[[claims]]
id = "order"
where = "section 2"
kind = "order"
statement = "a block map programs more"
holds = ["block.many.writes > page.many.writes"]

[[claims]]
id = "idle"
where = "section 2"
kind = "sign"
statement = "erases are few"
holds = ["page.few.erases < 10"]
exercised = "page.few.erases > 0"
to_exercise = "more writes than the device has pages"

[[claims]]
id = "figure"
where = "Figure 3"
kind = "not_printed"
statement = "programs of many writes"
measured = "page.many.writes"

[[claims]]
id = "lost"
where = "Figure 4"
kind = "not_reproducible"
statement = "on the authors' board"
why = "nobody has the board"

[[claims]]
id = "formula"
where = "section 3"
kind = "model"
published = 3.0
tolerance = "1 %"
statement = "a sum"
measured = "1 + 2"

[[figures]]
name = "size"
title = "Over requests"
panels = ["page", "block"]
colours = ["few"]
labels = {page = "page map", block = "block map", few = "some"}
[figures.x]
key = "workload.uniform.requests"
title = "requests"
values = [100, 200]
full = [100, 200, 400]
[figures.y]
measure = "writes"
title = "programs"
lowest = true
lowest_from = "few"

[[tables]]
name = "both"
title = "Both FTLs"
caption = "The first programs {page.few.writes} pages"
rows = ["page", "block"]
columns = ["few.writes", "many.writes"]
"""


@pytest.fixture
def paper(tmp_path):
    return write(tmp_path / "mine.toml", PAPER)


def test_claims_as_json(nandlab_command, paper):
    ended = nandlab_command("reproduce", paper, "--json")
    assert ended.status == 0
    document = ended.document
    assert list(document) == ["paper", "conclusions", "claims"]
    assert document["paper"] == "mine"
    first = document["claims"][0]
    assert list(first)[:8] == ["id", "where", "published", "measured", "unit", "tolerance", "verdict", "why"]
    assert (first["id"], first["where"], first["published"], first["unit"]) == (
        "few",
        "Table 1",
        480,
        "programs",
    )
    assert (first["measured"], first["tolerance"], first["why"]) == (500, "5 %", "4.2 % above")
    assert {claim["id"]: claim["verdict"] for claim in document["claims"]} == {
        "few": "reproduced",
        "far": "differs",
        "order": "direction",
        "idle": "not_exercised",
        "figure": "not_printed",
        "lost": "not_reproducible",
        "formula": "reproduced",
    }
    why = {claim["id"]: claim["why"] for claim in document["claims"]}
    assert why["far"] == "50.0 % below. there are 500 requests"
    assert "more writes than the device has pages" in why["idle"]
    assert why["lost"] == "nobody has the board"


def test_claims_as_a_table(nandlab_command, paper):
    ended = nandlab_command("reproduce", paper)
    assert ended.status == 0
    assert re.search(r"^few +480 +500 +\+4\.2 % +5 % +reproduced$", ended.out, re.MULTILINE), ended.out
    assert "far: differs" in ended.out
    assert "The first programs 500 pages" in ended.out
    assert "7 claims: 2 reproduced, 1 direction, 1 differs, 1 not exercised" in ended.out


def with_few(line):
    return PAPER.replace('statement = "500 writes"\n', f'statement = "500 writes"\n{line}\n')


def test_a_reproduced_number_is_shown_with_its_note(nandlab_command, tmp_path):
    noted = write(tmp_path / "noted.toml", with_few('note = "It erases {page.few.erases:.0f} blocks"'))
    page = tmp_path / "noted.html"
    ended = nandlab_command("reproduce", noted, "--report", page)
    assert "few: reproduced" in ended.out
    assert "It erases 0 blocks." in ended.out
    text = page.read_text(encoding="utf-8")
    assert "few: reproduced" in text
    assert "It erases 0 blocks." in text
    assert "formula: reproduced" not in text + ended.out, "there is nothing to say"


@pytest.mark.parametrize(
    ("also", "verdict", "said"),
    [
        ("page.few.erases == 0", "reproduced", "page.few.erases = 0 == 0"),
        (
            "page.few.erases > 0",
            "differs",
            "Beside the number, it does not hold: page.few.erases = 0 is not > 0",
        ),
    ],
)
def test_what_a_claim_says_beside_its_number_counts(nandlab_command, tmp_path, also, verdict, said):
    path = write(tmp_path / "also.toml", with_few(f'also = ["page.many.writes > 0", "{also}"]'))
    few = nandlab_command("reproduce", path, "--json").document["claims"][0]
    assert (few["measured"], few["verdict"]) == (500, verdict)
    assert said in few["why"], few["why"]
    assert also in few["read_from"]


def test_fewer_seeds_than_an_order_takes(nandlab_command, paper):
    document = nandlab_command("reproduce", paper, "--seeds", 4, "--json").document
    claims = {claim["id"]: claim for claim in document["claims"]}
    assert claims["order"]["verdict"] is None
    assert "an order takes 5 seeds, and there are 4: take --seeds 5" in claims["order"]["why"]
    assert claims["few"]["verdict"] == "reproduced"
    # One seed has no interval, and still shows whether the mechanism ran.
    document = nandlab_command("reproduce", paper, "--seeds", 1, "--json").document
    assert {claim["id"]: claim["verdict"] for claim in document["claims"]}["idle"] == "not_exercised"


def test_a_report_and_a_bundle(nandlab_command, paper, tmp_path):
    report, first, second = (tmp_path / name for name in ("r.html", "a.zip", "b.zip"))
    options = ("--seeds", 2, "--report", report, "--json")
    ended = nandlab_command("reproduce", paper, *options, "--bundle", first, alone=True)
    assert ended.status == 0
    assert json.loads(ended.out)["paper"] == "mine"
    page = report.read_text(encoding="utf-8")
    assert without_scripts(page).count("<svg") == 1
    assert "Where it was measured" not in page
    assert "there are 500 requests" in page
    assert "Of the points that are drawn, some is lowest from 100 on with page map and block map." in page
    assert set(re.findall(r"https?://[^\"'\s<]+", without_scripts(page))) <= {"http://www.w3.org/2000/svg"}
    nandlab_command("reproduce", paper, *options, "--bundle", second)
    with zipfile.ZipFile(first) as one, zipfile.ZipFile(second) as two:
        names = one.namelist()
        assert names == two.namelist()
        for name in names:
            # Its last lines name the command, and with it the bundle.
            assert name == "report.html" or one.read(name) == two.read(name), name
        assert one.read("mine/paper.toml").decode() == PAPER
        assert len([name for name in names if name.startswith("mine/records/")]) == 2 * 4 + 4
        assert one.read("mine/tables/both.csv").decode().splitlines()[0] == "run,few.writes,many.writes"
        assert one.read("mine/figures/size.csv").decode().count("\n") == 1 + 4
        drawing = one.read("mine/figures/size.svg").decode()
        assert "var(" not in drawing
        assert 'stroke="#0072b2"' in drawing
        experiment = write(
            tmp_path / "again.toml", one.read("mine/experiments/page.few-seed-2.toml").decode()
        )
        kept = json.loads(one.read("mine/records/page.few-seed-2.json"))
    again = nandlab_command("run", experiment, "--json").document
    del again["speed"]
    assert again == kept


def test_full_takes_the_points_of_the_full_run(nandlab_command, paper, tmp_path):
    bundle = tmp_path / "a.zip"
    nandlab_command("reproduce", paper, "--full", "--seeds", 1, "--bundle", bundle)
    with zipfile.ZipFile(bundle) as archive:
        assert archive.read("mine/figures/size.csv").decode().count("\n") == 1 + 6


def test_a_misspelt_paper_gets_the_nearest_name(nandlab_command):
    ended = nandlab_command("reproduce", "btre")
    assert (ended.status, ended.out) == (2, "")
    assert "did you mean btree?" in ended.err
    ended = nandlab_command("reproduce", "nothing-like-it")
    assert (ended.status, ended.out) == (2, "")
    assert "there are btree" in ended.err


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            '"page.few.writes"\nwhy',
            '"pag.few.writes"\nwhy',
            "mine.toml, line 41: claims[1].measured: run 'pag.few'",
        ),
        ("over_provisioning = 0.25", "over_provisionin = 0.25", "did you mean `over_provisioning`?"),
        ("requests = 500\n", "requests = -5\n", "mine.toml, line 14: parts.few of the run page.few: "),
        (
            'key = "workload.uniform.requests"',
            'key = "workload.uniform.request"',
            "line 90: figures[0].x of the run page.few",
        ),
    ],
)
def test_mistakes_end_with_status_2_and_their_place(nandlab_command, tmp_path, old, new, words):
    assert old in PAPER
    ended = nandlab_command("reproduce", write(tmp_path / "mine.toml", PAPER.replace(old, new)))
    assert (ended.status, ended.out) == (2, "")
    assert words in ended.err, ended.err


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            '"flash.programs"',
            '"flash.nothing"',
            "claims[0].measured: measure writes of the run page.few: ",
        ),
        (
            'measured = "page.few.writes"\nwhy',
            'measured = "page.few.writes / 0"\nwhy',
            "line 41: claims[1].measured: ",
        ),
        ("{page.few.writes:,.0f} requests", "{page.few.writes / 0} requests", "line 42: claims[1].why: "),
        ('"page.few.erases < 10"', '"page.few.erases / 0 < 10"', "claims[3].holds: "),
    ],
)
def test_mistakes_that_a_record_shows_have_their_place_and_leave_the_others(
    nandlab_command, tmp_path, old, new, words
):
    assert PAPER.count(old) == 1
    path = write(tmp_path / "mine.toml", PAPER.replace(old, new))
    ended = nandlab_command("reproduce", path, "--seeds", 1, "--json")
    assert ended.status == 2
    assert words in ended.err, ended.err
    verdicts = {claim["id"]: claim["verdict"] for claim in ended.document["claims"]}
    assert verdicts["formula"] == "reproduced"
    assert None in verdicts.values()


def test_a_claim_that_differs_without_a_reason_says_so(nandlab_command, tmp_path):
    text = PAPER.replace('why = "there are {page.few.writes:,.0f} requests"\n', "")
    document = nandlab_command("reproduce", write(tmp_path / "mine.toml", text), "--json").document
    why = {claim["id"]: claim["why"] for claim in document["claims"]}
    assert why["far"] == "50.0 % below. The paper's file gives no reason"


def test_outputs_that_would_overwrite_something_are_refused(nandlab_command, paper, tmp_path):
    ended = nandlab_command("reproduce", paper, "--report", paper)
    assert (ended.status, paper.read_text(encoding="utf-8")) == (2, PAPER)
    ended = nandlab_command(
        "reproduce", paper, "--report", tmp_path / "x.zip", "--bundle", tmp_path / "x.zip"
    )
    assert ended.status == 2
    ended = nandlab_command("reproduce", paper, "--bundle", tmp_path / "x.tar")
    assert (ended.status, "a bundle is a .zip file" in ended.err) == (2, True)
    ended = nandlab_command("reproduce", paper, "--report", tmp_path / "x.pdf")
    assert (ended.status, "a report is a .html file" in ended.err) == (2, True)


def test_a_paper_that_is_not_there(nandlab_command, tmp_path):
    ended = nandlab_command("reproduce", tmp_path / "missing.toml")
    assert ended.status in (1, 2)
    assert "missing.toml" in ended.err


def test_a_run_that_fails_leaves_its_claims_without_a_verdict(nandlab_command, tmp_path):
    worn = WORN_OUT[WORN_OUT.index("erase_failure_rate") :]
    faults = f"[parts.worn.device.faults]\n{worn}[parts.worn.workload.uniform]\nrequests = 2_000_000\n"
    text = PAPER.replace("\n[measures]", f"\n{faults}\n[measures]").replace(
        '"block.many.writes >', '"page.worn.writes >'
    )
    ended = nandlab_command("reproduce", write(tmp_path / "mine.toml", text), "--seeds", 1, "--json")
    assert ended.status == 1
    claims = {claim["id"]: claim for claim in ended.document["claims"]}
    assert claims["order"]["verdict"] is None
    assert "worn out" in claims["order"]["why"]
    assert claims["few"]["verdict"] == "reproduced"
    assert "worn out" in ended.err


def test_ctrl_c_prints_what_was_measured_by_then(tmp_path):
    text = PAPER.replace("requests = 9000", "requests = 900_000_000")
    path = write(tmp_path / "mine.toml", text)
    status, out, err, _ = interrupted("reproduce", path, "--seeds", 1, "--jobs", 1, "--json", after_s=3)
    assert status == 1
    verdict = {claim["id"]: claim["verdict"] for claim in json.loads(out)["claims"]}
    assert (verdict["few"], verdict["figure"]) == ("reproduced", None)
    assert "stopped" in err

"""The pages of the five papers: their tables, the ten claims that matter, and the summaries in Korean."""

import re
from pathlib import Path

import pytest
from programs import script
from test_pages import SIZES

from nandlab.reproduce.scan import STEPS, neighbour

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def papers():
    """The script that writes the tables."""
    return script(ROOT / "docs" / "papers.py")


NAMES = ("btree", "migration", "minv", "sector-map", "wap-lru")


def test_every_paper_has_a_page_with_tables(papers):
    assert papers.PAPERS == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_short_and_its_claims_that_matter_are_ten(papers, name):
    """Behind them stand all claims, in a fold."""
    text = papers.page(name).read_text(encoding="utf-8")
    assert SIZES[f"docs/papers/{name}.md"] <= 1200
    head, fold = text.split(papers.CLAIMS[0])
    assert head.endswith("<details markdown>\n<summary>All claims</summary>\n\n")
    assert fold.split(papers.CLAIMS[1])[1].startswith("\n\n</details>\n")
    named = re.findall(r"^\| [^|]* \| (`[^|`]*`) \|[^|]*\|[^|]*\|[^|]*\|$", head, re.MULTILINE)
    assert len(set(named)) == len(named) == 10


@pytest.mark.parametrize("name", NAMES)
def test_the_tables_have_the_claims_of_the_file(papers, name):
    """Names, statements, published values, readings, and minutes in the manual."""
    paper = papers.read(name)
    rows = papers.rows_on(name)
    assert [row.claim for row in rows] == [f"`{claim.id}`" for claim in paper.claims]
    for path, text in papers.texts(paper, papers.kept(paper), papers.minutes_on(name)).items():
        assert path.read_text(encoding="utf-8") == text, f"run python docs/papers.py --words {name}"
    assert not papers.disagreements(paper)


def test_a_table_with_another_claim_is_seen(papers):
    """A claim that the file has and the page has not."""
    paper = papers.read("minv")
    rows = papers.rows_on("minv")
    assert papers.table(paper, rows[1:], 1.0) != papers.table(paper, rows, 1.0)
    text = papers.summary("minv").read_text(encoding="utf-8")
    row = next(row for row in rows if row.claim in text)
    changed = [each._replace(measured="7") if each == row else each for each in rows]
    assert papers.filled(text, changed, papers.in_korean) != text
    own = papers.page("minv").read_text(encoding="utf-8")
    assert papers.those_that_matter(own, changed) != own


def test_tolerances_and_distances_stand_in_the_tables(papers):
    """In the Korean ones as well; a tolerance as large as its number is said to confirm a sign alone."""
    written = [
        papers.with_distance(*each) for each in (("54.4", 63.1), ("120,201", 120201.0), ("-0.303", 0.0))
    ]
    assert written == ["54.4 (-13.8 %)", "120,201 (0)", "-0.303 (-0.303)"]
    sizes = ("10 points", "6 %", "factor 2", "at least", "exact", "900 to 1,100", "to 1,500", "20 per 500")
    signs = ["±10", "±6 %", "×2", "이상", "정확히", "900~1,100", "~1,500", "±20/500"]
    assert [papers.in_signs(each) for each in sizes] == signs
    by_sign = {claim.id for name in NAMES for claim in papers.read(name).claims if papers.is_by_sign(claim)}
    assert by_sign == {"fig7.migration", "fig10.fax", "fig5.webmail"}
    assert papers.in_signs("5 points; its sign alone") == "±5; 부호만"
    (row,) = (row for row in papers.rows_on("migration") if row.claim == "`fig7.migration`")
    assert row.published.endswith("(5 points; its sign alone)")


@pytest.mark.parametrize("name", NAMES)
def test_a_scan_on_a_page_is_of_the_chosen_amounts(papers, name):
    text = papers.page(name).read_text(encoding="utf-8")
    if papers.SCAN[0] not in text:
        pytest.skip("no scan was run")
    paper = papers.read(name)
    amounts = [
        f"`{each.name}` {papers.as_written(each.chosen)}"
        for each in paper.opens
        if any(neighbour(each, step) is not None for step in STEPS)
    ]
    lines = papers.between(text, papers.SCAN).splitlines()[4:]
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines] == amounts
    named = set(re.findall(r"`([a-z0-9]+\.[a-z0-9_.]+)`", " ".join(lines)))
    assert named <= {claim.id for claim in paper.searched_claims}


@pytest.mark.parametrize("name", NAMES)
def test_a_summary_in_korean_is_short_and_linked(papers, name):
    text = papers.summary(name).read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 40
    assert f"]({name}.md)" in text
    assert f"]({name}.ko.md)" in papers.page(name).read_text(encoding="utf-8")
    assert f"papers/{name}.ko.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| [^|]* \| (`[^|`]*`) \|", text, re.MULTILINE))
    assert len(named) >= 10
    assert named <= {row.claim for row in papers.rows_on(name)}


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_table_says_what_a_usual_run_measures(papers, name):
    paper = papers.read(name)
    rows, _ = papers.measure(paper)
    width = papers.width(paper)
    assert [row[:width] for row in papers.kept(paper)] == [row[:width] for row in rows]

"""The pages of the five papers: their tables, the ten claims that matter, and the summaries in Korean."""

import re
from pathlib import Path

import pytest
from programs import script
from test_pages import SIZES

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

"""The documentation names what the program prints."""

import csv
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_every_name_of_the_package_has_its_place_in_the_reference():
    import nandlab

    page = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    rendered = {line.rsplit(".", 1)[1] for line in page.splitlines() if line.startswith("::: ")}
    named = set(re.findall(r"`nandlab\.(\w+)`", page))
    assert set(nandlab.__all__) <= rendered | named
    # What is not told in words is told by its own docstring, which `make docs` renders.
    for name in set(nandlab.__all__) - named:
        assert getattr(nandlab, name).__doc__


def test_the_page_on_performance_has_a_row_for_each_bench():
    source = (DOCS.parent / "crates" / "lab" / "src" / "bench.rs").read_text(encoding="utf-8")
    benches = re.findall(r"name: \"(\w+)\",", source)
    page = (DOCS / "performance.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([a-z0-9 ]+) \|", page, re.MULTILINE)
    assert rows[0] == "bench"
    assert sorted(row.replace(" ", "_") for row in rows[1:]) == sorted(benches)


OP_LOG = DOCS / "op-log.md"


def test_every_column_of_an_operation_log_is_documented(nandlab_command, small, tmp_path):
    arguments = ("--set", "precondition.fill=sequential", "--op-log", tmp_path / "ops.csv", "--json")
    record = nandlab_command("run", small, *arguments).document
    with (tmp_path / "ops.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    table = [line.split("|")[1:-1] for line in OP_LOG.read_text(encoding="utf-8").splitlines() if "|" in line]
    assert [cells[0].strip(" `") for cells in table[2:]] == list(rows[0])
    values = {cells[0].strip(" `"): re.findall(r"`(\w+)`", cells[2]) for cells in table[2:]}
    for column in ("phase", "operation", "result"):
        assert {row[column] for row in rows} <= set(values[column])
    assert {row["phase"] for row in rows} == {"mount", "precondition", "workload"}

    # The rows of the workload sum to the record, those before it to what was set aside.
    for phase, flash in (("workload", record["flash"]), ("precondition", record["precondition"]["flash"])):
        counts = Counter(row["operation"] for row in rows if row["phase"] == phase)
        assert counts["program"] + counts["copy"] == flash["programs"]
        assert counts["read"] + counts["tail_read"] + counts["copy"] == flash["reads"]
        assert counts["erase"] == flash["erases"]
    assert sum(row["phase"] == "mount" for row in rows) == record["mount"]["spare_reads"]


def test_the_page_of_policies_is_what_the_code_says():
    found = subprocess.run(
        [sys.executable, DOCS / "policies.py", "--check"], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stderr


def headings(page):
    """The anchors of a page, as GitHub and the site make them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    plain = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).lower() for title in titles]
    return {re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", title).strip()) for title in plain}


def test_links_within_the_repository_lead_somewhere():
    """Read as files: the site builds pages of its own, and checks its links when it is built."""
    pages = [
        *ROOT.glob("*.md"),
        *(path for name in ("docs", "workloads") for path in ROOT.glob(f"{name}/**/*.md")),
    ]
    dead, links = [], 0
    for page in pages:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            target, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:", link):
                continue
            links += 1
            to = page.parent / target if target else page
            if not to.exists() or (anchor and to.suffix == ".md" and anchor not in headings(to)):
                dead.append(f"{page.relative_to(ROOT)}: {link}")
    assert links > 100
    assert dead == []

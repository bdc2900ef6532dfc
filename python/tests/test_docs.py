"""The documentation names what the program prints."""

import csv
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


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

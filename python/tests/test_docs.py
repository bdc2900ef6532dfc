"""The documentation names what the program prints."""

import csv
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "record.md"

# Tables whose rows or entries have names of their own: options of the experiment, structures of an FTL.
OPEN_TABLES = {"experiment", "sram", "dram"}


def names(value: object, name: str = "") -> Iterator[str]:
    """Every key of a record at every depth."""
    if name:
        yield name
    if name in OPEN_TABLES:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from names(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from names(inner)


def test_every_figure_of_a_record_is_documented(nandlab_command, small):
    record = nandlab_command("run", small, "--json").document
    documented = set(
        re.findall(r"[\w]+", " ".join(re.findall(r"`([^`]+)`", PAGE.read_text(encoding="utf-8"))))
    )
    missing = sorted(set(names(record)) - documented)
    assert not missing, f"docs/record.md does not name {missing}"


def test_every_figure_of_an_index_is_documented(nandlab_command):
    experiment = DOCS.parent / "experiments" / "btree-inserts.toml"
    record = nandlab_command("run", experiment, "--set", "workload.inserts.operations=100", "--json").document
    page = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `index.")]
    documented = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", " ".join(page)))))
    # Of a latency they are those of a request.
    latency = {"mean", "p50", "p90", "p99", "p999", "max", "count", "trim"}
    missing = sorted(set(names(record["index"], "index")) - documented - latency)
    assert not missing, f"docs/record.md does not name {missing} of index"


def test_every_name_of_the_package_has_its_place_in_the_reference():
    import nandlab

    page = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    rendered = {line.rsplit(".", 1)[1] for line in page.splitlines() if line.startswith("::: ")}
    named = set(re.findall(r"`nandlab\.(\w+)`", page))
    assert set(nandlab.__all__) <= rendered | named
    # What is not told in words is told by its own docstring, which `make docs` renders.
    for name in set(nandlab.__all__) - named:
        assert getattr(nandlab, name).__doc__


@pytest.mark.parametrize("name", ["fat", "yaffs", "minv"])
def test_every_figure_of_a_file_system_is_documented(nandlab_command, name):
    experiment = DOCS.parent / "experiments" / f"{name}-phone.toml"
    record = nandlab_command("run", experiment, "--set", "workload.phone.transactions=60", "--json").document
    page = PAGE.read_text(encoding="utf-8").splitlines()
    page = [line for line in page if line.startswith(("| `fs.", "| `flash.", "| `merges.", "| `nvram."))]
    documented = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", " ".join(page)))))
    latency = {"mean", "p50", "p90", "p99", "p999", "max", "count", "trim"}
    missing = sorted({*names(record["fs"], "fs"), *names(record["nvram"])} - documented - latency)
    assert not missing, f"docs/record.md does not name {missing} of fs"


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

"""The documentation names what the program prints."""

import ast
import csv
import importlib
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import nandlab
from nandlab.listing import lists

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def test_every_name_of_the_package_has_its_place_in_the_reference():
    page = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    rendered = {line.rsplit(".", 1)[1] for line in page.splitlines() if line.startswith("::: ")}
    named = set(re.findall(r"`nandlab\.(\w+)`", page))
    assert set(nandlab.__all__) <= rendered | named
    # What is not told in words is told by its own docstring, which `make docs` renders.
    for name in set(nandlab.__all__) - named:
        assert getattr(nandlab, name).__doc__


def test_every_name_of_the_reference_is_where_the_page_looks_for_it():
    page = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    for path in re.findall(r"^::: (\S+)$", page, re.MULTILINE):
        module, _, name = path.rpartition(".")
        assert hasattr(importlib.import_module(module), name), path


def test_the_page_on_performance_has_a_row_for_each_bench():
    source = (DOCS.parent / "crates" / "lab" / "src" / "bench.rs").read_text(encoding="utf-8")
    benches = re.findall(r"name: \"(\w+)\",", source)
    page = (DOCS / "performance.md").read_text(encoding="utf-8")
    table = page.partition("<!-- benches -->")[2].partition("<!-- end of benches -->")[0]
    rows = re.findall(r"^\| ([a-z0-9 ]+) \|", table, re.MULTILINE)
    assert rows[0] == "bench"
    assert sorted(row.replace(" ", "_") for row in rows[1:]) == sorted([*benches, "sweep"])


def section(page, title):
    """The text below a heading of a page, up to the next heading."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_every_column_of_an_operation_log_is_documented(nandlab_command, small, tmp_path):
    arguments = ("--set", "precondition.fill=sequential", "--op-log", tmp_path / "ops.csv", "--json")
    record = nandlab_command("run", small, *arguments).document
    with (tmp_path / "ops.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    page = section("outputs.md", "The operation log")
    table = [line.split("|")[1:-1] for line in page.splitlines() if "|" in line]
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


@pytest.mark.parametrize(
    ("title", "ftl", "key"),
    [
        ("Victim policies", "page", "victim"),
        ("Wear levelling", "page", "wear"),
        ("Map caches", "dftl", "cache"),
    ],
)
def test_the_page_of_policies_has_choices_alone(title, ftl, key):
    """A file beside the policies that is none would stand there like one."""
    with pytest.raises(nandlab.ConfigError) as refused:
        nandlab.Experiment(workload={"uniform": {}}, ftl={ftl: {key: "none of them"}}).resolve()
    choices = set(re.findall(r"\w+", str(refused.value).partition("one of ")[2].partition(", given")[0]))
    _, _, section = (DOCS / "policies.md").read_text(encoding="utf-8").partition(f"## {title}\n")
    listed = set(re.findall(r"^\| \[`(\w+)`\]", section.partition("\n## ")[0], re.MULTILINE))
    assert listed and listed <= choices


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


def statuses():
    """Every status with which the source of the command line ends a process."""
    constants = {
        name: value
        for name, value in vars(importlib.import_module("nandlab.cli")).items()
        if name.isupper() and isinstance(value, int)
    }
    found, ends = set(), ("SystemExit", "os._exit", "sys.exit")
    folder = ROOT / "python" / "nandlab"
    for path in [folder / "__main__.py", *(folder / "cli").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ends:
                value = node.args[0]
                # `status` is what a command returned, from the names of statuses.
                if isinstance(value, ast.Constant):
                    found.add(value.value)
                else:
                    assert ast.unparse(value) in {*constants, "status"}, f"{path.name}: {ast.unparse(node)}"
            if isinstance(node, ast.Name) and node.id in constants:
                found.add(constants[node.id])
    return found


def test_the_table_of_exit_statuses_is_that_of_the_code(nandlab_command, small, tmp_path):
    page = section("outputs.md", "Exit status")
    told = [int(number) for number in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)]
    assert told == sorted(statuses())
    # 130 is given in test_disk_try.py.
    assert nandlab_command("run", small).status == 0
    (tmp_path / "empty.img").touch()
    assert nandlab_command("disk", "check", tmp_path / "empty.img").status == 1
    assert nandlab_command("run", small, "--set", "seed=-1").status == 2
    assert nandlab_command("run", "--no-such-option").status == 2


LEAST = re.findall(
    r"^\| ((?:`\w+`(?:, )?)+) \|[^|]*\| ([\d.]+) % \| ([\d.]+) % \|$",
    (DOCS / "devices.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)
"""FTLs of a row, and their least over-provisioning in per cent on one die and on 32."""


def test_the_table_of_the_least_spare_space_has_every_ftl():
    named = [name for row, *_ in LEAST for name in re.findall(r"`(\w+)`", row)]
    assert sorted(named) == sorted(ftl["name"] for ftl in lists()["ftls"] if not ftl.get("is_elsewhere"))


@pytest.mark.parametrize(("row", "one", "many"), LEAST)
def test_the_least_spare_space_is_that_of_the_message(row, one, many):
    for ftl in re.findall(r"`(\w+)`", row):
        for profile, capacity, least in (("generic", "64 MiB", one), ("generic-8x4", "16 GiB", many)):
            device = {"profile": profile, "capacity": capacity, "over_provisioning": 1e-9}
            with pytest.raises(nandlab.ConfigError) as refused:
                nandlab.Experiment(workload={"uniform": {}}, ftl=ftl, device=device).resolve()
            found = re.search(r"set device\.over_provisioning = ([\d.]+)", str(refused.value))
            assert f"{100 * float(found[1]):.1f}" == least, ftl

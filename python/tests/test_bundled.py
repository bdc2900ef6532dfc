"""The examples that come with the package, and the demo on them in any folder."""

import os
import re
from pathlib import Path

import pytest

import nandlab
from nandlab import bundled

ROOT = Path(__file__).parents[2]


def in_the_repository(folder):
    """The files of a folder of the repository, as paths from its root."""
    return {path.relative_to(ROOT) for path in (ROOT / folder).rglob("*") if path.is_file()}


def test_the_examples_are_the_repositorys_own():
    names = set(bundled.files())
    for folder in ("experiments", "profiles", "memories", "docs/notebooks", "examples/firmware"):
        own = {name for name in in_the_repository(folder) if "__pycache__" not in name.parts}
        assert own and own <= names, own - names
    assert {Path("workloads/sqlite/rollback.csv.gz"), Path("workloads/sqlite/wal.csv.gz")} <= names
    for name in names:
        assert (bundled.EXAMPLES / name).read_bytes() == (ROOT / name).read_bytes()
    # A link out of the repository, or an absolute one, would lead nowhere on another machine.
    for folder, folders, files in os.walk(bundled.EXAMPLES):
        for path in (Path(folder, name) for name in [*folders, *files]):
            assert not path.is_symlink() or not path.readlink().is_absolute()
            assert path.resolve().is_relative_to(ROOT)


KINDS = {
    "a trace": r"^\[workload\.trace\]",
    "keys on an index": r"^\[index\.",
    "files on an FTL": r"^\[fs\.fat\]",
    "files on bare flash": r"^\[fs\.yaffs\]",
    "metadata in NVRAM": r"^\[fs\.minv\]",
    "a write buffer": r"^\[buffer\.",
    "a job of fio": r"^\[workload\.fio\]",
    "cells that age": r"disturb",
    "blocks of one bit a cell": r"slc",
}


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_an_example_of_every_kind(kind):
    texts = [
        (bundled.EXAMPLES / name).read_text(encoding="utf-8")
        for name in bundled.files()
        if name.parts[0] == "experiments" and name.suffix == ".toml"
    ]
    assert any(re.search(KINDS[kind], text, re.MULTILINE) for text in texts)


def test_the_examples_are_listed(nandlab_command):
    lines = nandlab_command("examples").out.splitlines()
    assert len(lines) == len(bundled.files())
    (line,) = (line for line in lines if line.startswith("experiments/fat-phone.toml "))
    assert "A cell phone on FAT16" in line
    found = nandlab_command("examples", "--json").document
    assert found == {"folder": str(bundled.EXAMPLES), "files": [str(name) for name in bundled.files()]}


def test_copied_examples_work_where_they_are(nandlab_command, tmp_path):
    folder = tmp_path / "mine"
    assert nandlab_command("examples", folder).out == f"{len(bundled.files())} examples: {folder}\n"
    copies = [path for path in folder.rglob("*") if path.is_file()]
    assert sorted(path.relative_to(folder) for path in copies) == bundled.files()
    assert not any(path.is_symlink() for path in folder.rglob("*"))
    # An experiment finds its trace, which the folder has too.
    ended = nandlab_command("check", "experiments/page-op7.toml", "--json", cwd=folder)
    assert ended.document["trace"]["requests"] > 10_000
    # The notebooks name their trace by its place beside them.
    text = (folder / "docs" / "notebooks" / "trace-to-decision.ipynb").read_text(encoding="utf-8")
    (trace,) = set(re.findall(r"nandlab\.Trace\(\\\"([^\"\\]+)", text))
    assert (folder / "docs" / "notebooks" / trace).is_file()


def test_a_folder_with_something_in_it_is_left_alone(nandlab_command, tmp_path):
    (tmp_path / "mine.toml").write_text("seed = 1", encoding="utf-8")
    ended = nandlab_command("examples", tmp_path)
    assert (ended.status, ended.out) == (1, "")
    assert "is there already, and not an empty folder" in ended.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.toml"]


def test_the_demo_runs_in_any_folder(nandlab_command, tmp_path):
    ended = nandlab_command("demo", cwd=tmp_path)
    assert ended.status == 0, ended.err
    report = (tmp_path / "demo.html").read_text(encoding="utf-8")
    assert "20 runs compared" in report
    assert ended.out.endswith("report: demo.html\n")
    lines = ended.out.splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith("──")) + 1
    rows = {tuple(line.split()[:2]): line.split()[2] for line in lines[begin : begin + 20]}
    assert set(rows) == {(trace, design) for trace in bundled.TRACES for design in bundled.DEMO}
    # The README prints some of its lines.
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    printed = re.findall(r"^(rollback|wal) +(\S+) +([\d.]+) ", readme, re.MULTILINE)
    assert len(printed) >= 5
    for trace, design, waf in printed:
        assert rows[trace, design] == waf
    # The designs are the experiments under these names: the same run from Python has the same figure.
    file = ROOT / "experiments" / "bast.toml"
    assert f"{nandlab.Experiment.from_toml(file).run().waf:.3f}" == rows["rollback", "bast"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands(nandlab_command, shell):
    """docs/install.md has the line for each shell."""
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert f"_NANDLAB_COMPLETE={shell}_source nandlab" in page
    script = nandlab_command(env=os.environ | {"_NANDLAB_COMPLETE": f"{shell}_source"})
    assert script.status == 0 and f"_NANDLAB_COMPLETE={shell}_complete" in script.out
    # What the script asks for when a user types `nandlab ex` and the key of completion.
    asked = {"_NANDLAB_COMPLETE": f"{shell}_complete", "COMP_WORDS": "nandlab ex", "COMP_CWORD": "1"}
    asked["COMP_CWORD"] = "ex" if shell == "fish" else "1"
    found = nandlab_command(env=os.environ | asked)
    assert found.status == 0
    assert {"explain", "examples"} <= set(re.findall(r"\b\w+\b", found.out))
    assert "compare" not in found.out.split()

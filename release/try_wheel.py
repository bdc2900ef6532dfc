"""Tries a wheel as somebody new would: `python release/try_wheel.py dist/nandlab-*.whl`.

The wheel goes into an empty environment in a new folder outside the tree, without cargo on the PATH. There
the demo runs, a program on a simulated disk, a paper, an experiment of every kind, and a notebook. A line for
each says how long it took; the first failure ends it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PAPER = "minv"
EXPERIMENTS = ("page-op7", "btree-inserts", "fat-camera", "yaffs-phone", "slc-tlc-fixed", "page-read-disturb")
"""A trace, keys, files on an FTL, files on bare flash, blocks of one bit a cell, cells that age."""
NOTEBOOK = "own-victim.ipynb"
EXTRA = ("ipykernel", "nbclient")
"""What a notebook needs besides the extra `policies`."""
COMPILERS = ("cargo", "rustc", "maturin")

EXECUTE = """
import sys
import nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
assert any("image/png" in output.get("data", {}) for output in outputs), "the notebook has no picture"
"""


class Newcomer:
    """An empty environment in an empty folder, and a PATH without compilers."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder = folder
        self.bin = folder / "venv" / "bin"
        self.env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("NANDLAB_", "PYTHON", "PYO3_", "CARGO", "RUST", "MAKE"))
            and name != "VIRTUAL_ENV"
        }
        self.env["PATH"] = os.pathsep.join([str(self.bin), *_without_compilers(folder / "programs")])
        assert not any(shutil.which(each, path=self.env["PATH"]) for each in COMPILERS)
        self.run(python, "-m", "venv", str(folder / "venv"))

    def run(self, *words: str, cwd: Path | None = None) -> str:
        """A program's output; its failure ends the whole."""
        done = subprocess.run(
            words, cwd=cwd or self.folder, env=self.env, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(words)} failed:\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def nandlab(self, *words: str, cwd: Path | None = None) -> str:
        """A command of nandlab."""
        return self.run(str(self.bin / "nandlab"), *words, cwd=cwd)

    def pip(self, *words: str) -> None:
        """A command of pip."""
        self.run(str(self.bin / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check", *words)


def _without_compilers(links: Path) -> Iterator[str]:
    """The folders of the PATH; a folder with a compiler is replaced by links to its other programs."""
    for number, name in enumerate(os.environ["PATH"].split(os.pathsep)):
        folder = Path(name)
        if not folder.is_dir():
            continue
        if not any((folder / each).exists() for each in COMPILERS):
            yield name
            continue
        own = links / str(number)
        own.mkdir(parents=True)
        for program in folder.iterdir():
            if program.name not in COMPILERS:
                (own / program.name).symlink_to(program)
        yield str(own)


@contextmanager
def timed(what: str, times: dict[str, float]) -> Iterator[None]:
    """Keeps and prints how many seconds something takes."""
    begun = time.monotonic()
    yield
    times[what] = time.monotonic() - begun
    print(f"{what:45}{times[what]:6.1f} s", flush=True)


def disk(new: Newcomer) -> str | None:
    """A program on a simulated disk; what is missing for it, or None."""
    path = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    missing = [name for name in ("mke2fs", "fuse2fs", "fusermount3") if shutil.which(name, path=path) is None]
    if not Path("/dev/fuse").exists():
        missing.append("/dev/fuse")
    if missing:
        return ", ".join(missing)
    write = "head -c 1000000 /dev/zero > file && sync"
    found = json.loads(new.nandlab("disk", "try", "--json", "--", "sh", "-c", write))
    assert found["try"]["status"] == 0 and found["try"]["file_system_is_clean"], found["try"]
    return None


def paper(new: Newcomer) -> None:
    """A paper, each of whose claims has a verdict; papers and searches are in the compiled module."""
    names = "from nandlab import _native as n; print(*(name for name, _ in [*n.papers(), *n.searches()]))"
    found = new.run(str(new.bin / "python"), "-c", names).split()
    assert found.count(PAPER) == 2, found
    claims = json.loads(new.nandlab("reproduce", PAPER, "--json"))["claims"]
    assert claims and all(claim["verdict"] for claim in claims), claims


def experiments(new: Newcomer, folder: Path) -> None:
    """Experiments of every kind, from the copied examples."""
    for name in EXPERIMENTS:
        record = json.loads(new.nandlab("run", f"experiments/{name}.toml", "--json", cwd=folder))
        assert record["flash"]["programs"] + record["flash"]["reads"] > 0, name


def try_wheel(wheel: Path, python: str) -> dict[str, float]:
    """Tries everything; returns seconds by what was tried."""
    times: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="nandlab-wheel-") as name:
        folder = Path(name)
        packages = folder / "packages"
        new = Newcomer(folder, python)
        with timed("download what it needs", times):
            new.pip("download", "--dest", str(packages), f"{wheel}[policies]", *EXTRA)
        cached = ("install", "--no-index", "--find-links", str(packages))
        begun = time.monotonic()
        with timed("pip install, everything downloaded", times):
            new.pip(*cached, str(wheel))
        with timed("nandlab demo", times):
            table = new.nandlab("demo")
        times["from pip install to the report"] = time.monotonic() - begun
        print(f"{'from pip install to the report':45}{times['from pip install to the report']:6.1f} s")
        report = (folder / "demo.html").read_text(encoding="utf-8")
        assert "page-op7" in table and "20 runs compared" in report
        examples = folder / "examples"
        with timed("nandlab examples", times):
            new.nandlab("examples", str(examples))
        with timed(f"{len(EXPERIMENTS)} experiments", times):
            experiments(new, examples)
        with timed("nandlab disk try", times):
            missing = disk(new)
        if missing is not None:
            print(f"  not tried: {missing} is missing")
        with timed(f"nandlab reproduce {PAPER}", times):
            paper(new)
        with timed(f"{NOTEBOOK}, and its packages", times):
            new.pip(*cached, f"{wheel}[policies]", *EXTRA)
            new.run(str(new.bin / "python"), "-c", EXECUTE, NOTEBOOK, cwd=examples / "docs" / "notebooks")
    return times


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Tries a wheel in an empty environment without a compiler.")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", default=getattr(sys, "_base_executable", sys.executable))
    given = parser.parse_args()
    if not given.wheel.is_file():
        raise SystemExit(f"{given.wheel}: there is no such wheel")
    megabytes = given.wheel.stat().st_size / 1e6
    print(f"{given.wheel.name}, {megabytes:.1f} MB")
    try_wheel(given.wheel.resolve(), given.python)


if __name__ == "__main__":
    main()

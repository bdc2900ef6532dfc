"""The wheel in `dist`, if it is of these sources: `make wheel` builds it, and so do the long tests."""

import csv
import io
import os
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import try_wheel
import wheel as building
from nandlab import bundled

ROOT = Path(__file__).parents[2]
IS_LONG = bool(os.environ.get("NANDLAB_LONG"))
MOST_BYTES = 25_000_000


def make(*targets):
    done = subprocess.run(["make", *targets], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheel():
    """The wheel's path."""
    found = building.find()
    if found is None and IS_LONG:
        make(".venv/.release")
        building.build(None, building.DIST)
        found = building.find()
    if found is None:
        pytest.skip("dist/ has no wheel of these sources: make wheel builds one")
    return found


@pytest.fixture(scope="module")
def inside(wheel):
    with zipfile.ZipFile(wheel) as opened:
        yield opened


def test_it_is_small(wheel):
    assert wheel.stat().st_size < MOST_BYTES


def test_it_has_the_package_the_examples_and_the_licences(inside):
    names = set(inside.namelist())
    for path in (ROOT / "python" / "nandlab").rglob("*.py*"):
        if path.suffix in (".py", ".pyi") and "examples" not in path.parts:
            assert path.relative_to(ROOT / "python").as_posix() in names
    for name in bundled.files():
        assert inside.read(f"nandlab/examples/{name.as_posix()}") == (bundled.EXAMPLES / name).read_bytes()
    assert {"nandlab/py.typed", "nandlab/_native.abi3.so"} <= names
    ends = [name.rsplit("/", 1)[-1] for name in names if ".dist-info/" in name]
    assert {"LICENSE-APACHE", "LICENSE-MIT"} <= set(ends)
    assert not [
        name for name in names if name.endswith((".rs", ".pyc", ".bak")) or "tests" in name.split("/")
    ]
    # Everything is below the package: nothing else lands in a user's site-packages.
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"nandlab"}
    (record,) = (name for name in names if name.endswith("RECORD"))
    listed = {row[0] for row in csv.reader(io.StringIO(inside.read(record).decode()))}
    assert names <= listed


def test_its_metadata_names_the_extras(inside):
    (name,) = (name for name in inside.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = Parser().parsestr(inside.read(name).decode())
    assert {"calibrate", "cluster", "pandas", "policies"} <= set(metadata.get_all("Provides-Extra"))
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["License-Expression"] == "Apache-2.0 OR MIT"


def test_it_is_for_every_python_and_for_every_linux_since_2014(wheel):
    _, _, python, abi, systems = wheel.name.removesuffix(".whl").split("-")
    assert (python, abi) == ("cp310", "abi3")
    if sys.platform == "linux":
        assert any(system.startswith("manylinux2014_") for system in systems.split("."))


# A wheel for macOS has no manylinux tag to agree with.
@pytest.mark.skipif(sys.platform != "linux", reason="auditwheel reads wheels for Linux")
def test_auditwheel_agrees(wheel):
    """It reads the symbols that the compiled module asks the C library for."""
    auditwheel = Path(sys.executable).with_name("auditwheel")
    if not auditwheel.exists():
        pytest.skip("auditwheel is not installed: make .venv/.release")
    said = " ".join(
        subprocess.run([auditwheel, "show", wheel], capture_output=True, text=True, check=True).stdout.split()
    )
    assert 'is consistent with the following platform tag: "manylinux_2_17_' in said


@pytest.mark.long
# No wheel is built for Windows, where programs of an environment lie elsewhere.
@pytest.mark.skipif(os.name != "posix", reason="environments are laid out otherwise")
def test_somebody_new_can_use_it(wheel, capfd):
    times = try_wheel.try_wheel(wheel, getattr(sys, "_base_executable", sys.executable))
    assert "nandlab demo" in times
    assert "not tried" not in capfd.readouterr().out

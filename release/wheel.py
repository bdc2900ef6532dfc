"""Builds a wheel into `dist`, or finds one there.

    python release/wheel.py build       one for this machine, or with --target for another
    python release/wheel.py find        prints the path of one for this machine and of these sources

A wheel for Linux is linked by zig against the C library of manylinux2014, so it runs on distributions since
2014. `build` needs Rust, maturin and ziglang (python/requirements-release.txt); `find` needs Python alone.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import zipfile
from pathlib import Path

from sources import MARK, ROOT, source_hash

INSIDE = MARK.relative_to("python").as_posix()
DIST = ROOT / "dist"
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
"""Other names of a processor."""


def build(target: str | None, out: Path) -> None:
    """Builds a wheel with the hash of its sources inside.

    Raises:
        SystemExit: The sources changed meanwhile.

    """
    is_linux = "linux" in target if target else sys.platform == "linux"
    if target is None and is_linux:
        target = f"{platform.machine()}-unknown-linux-gnu"
    words = [sys.executable, "-m", "maturin", "build", "--release", "--locked", "--out", str(out)]
    words += ["--target", target] if target else []
    words += ["--zig", "--compatibility", "manylinux2014"] if is_linux else []
    # maturin looks for zig through the Python on the PATH.
    env = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    mark = ROOT / MARK
    built_from = source_hash()
    try:
        mark.write_text(built_from + "\n", encoding="ascii")
        subprocess.run(words, cwd=ROOT, env=env, check=True)
    finally:
        mark.unlink(missing_ok=True)
    if source_hash() != built_from:
        # `find` would find no wheel, and whoever asks for its path would blame an empty one.
        raise SystemExit("the sources changed while the wheel was built: build it again")


def hash_inside(wheel: Path) -> str | None:
    """The hash of the sources a wheel was built from; None if it has none."""
    try:
        with zipfile.ZipFile(wheel) as opened:
            return opened.read(INSIDE).decode("ascii").strip()
    except (OSError, KeyError, zipfile.BadZipFile):
        return None


def is_for_this_machine(name: str) -> bool:
    """Whether a wheel's name is that of one for this system and processor.

    >>> is_for_this_machine("nandlab-0.1.0-cp310-abi3-win32.whl")
    False
    """
    system = {"linux": "linux", "darwin": "macosx"}.get(sys.platform, sys.platform)
    machine = platform.machine().lower()
    names = {machine, MACHINES.get(machine, machine)}
    platform_tag = name.removesuffix(".whl").split("-")[-1]
    return system in platform_tag and any(each in platform_tag for each in names)


def find(folder: Path = DIST) -> Path | None:
    """The newest wheel for this machine that was built from these sources."""
    wheels = [path for path in folder.glob("nandlab-*.whl") if is_for_this_machine(path.name)]
    if not wheels:
        return None
    wanted = source_hash()
    same = [path for path in wheels if hash_inside(path) == wanted]
    return max(same, key=lambda path: path.stat().st_mtime) if same else None


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Builds or finds a wheel.")
    commands = parser.add_subparsers(dest="command", required=True)
    building = commands.add_parser("build")
    building.add_argument("--target", help="a target of Rust; this machine's by default")
    building.add_argument("--out", type=Path, default=DIST)
    commands.add_parser("find")
    given = parser.parse_args()
    if given.command == "build":
        try:
            build(given.target, given.out)
        except subprocess.CalledProcessError as error:
            raise SystemExit(error.returncode) from None
    elif (found := find()) is not None:
        print(found)


if __name__ == "__main__":
    main()

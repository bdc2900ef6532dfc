"""Sizes that cost everybody time, beside those that were agreed.

    python crates/proof/budget.py           prints what is measured beside crates/proof/budget.csv
    python crates/proof/budget.py --write   writes the file: a commit that does so says why

The sizes are the same on every machine. The code of the extension depends on the compiler, so it is compared
only with the compiler that the file names. A test allows 5 % more than the file says.
"""

from __future__ import annotations

import csv
import struct
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILE = Path(__file__).with_name("budget.csv")
ROOM = 1.05


def compiler() -> str:
    """The version of the Rust compiler; empty without one."""
    try:
        done = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.split()[1]


def section_bytes(library: Path, wanted: str) -> int:
    """The size of a section of a 64-bit little-endian ELF file; 0 for other files."""
    data = library.read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        return 0
    (at,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names_index = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", data, at + size * index) for index in range(count)]
    names = headers[names_index][4]
    for name, _, _, _, _, length in headers:
        begin = names + name
        if data[begin : data.index(b"\0", begin)].decode() == wanted:
            return length
    return 0


def lines(*patterns: str) -> int:
    """Lines of the tree's files that match."""
    files = {path for pattern in patterns for path in ROOT.glob(pattern) if "target" not in path.parts}
    return sum(path.read_bytes().count(b"\n") for path in files)


def measured() -> dict[str, int]:
    """Each size by its name."""
    crates = sorted(path.parent.name for path in ROOT.glob("crates/*/Cargo.toml"))
    found = {f"lines of Rust in {name}": lines(f"crates/{name}/src/**/*.rs") for name in crates}
    found["lines of Rust tests"] = lines("crates/*/tests/**/*.rs")
    found["lines of Python"] = lines("python/nandlab/**/*.py")
    found["lines of Python tests"] = lines("python/tests/**/*.py")
    found["lines of documents"] = lines("*.md", "docs/**/*.md")
    library = ROOT / "python" / "nandlab" / "_native.abi3.so"
    if library.exists():
        found[f"bytes of code in the extension, rustc {compiler()}"] = section_bytes(library, ".text")
    return found


def agreed() -> dict[str, int]:
    """The sizes in the file."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return {row["what"]: int(row["size"]) for row in csv.DictReader(file)}


def beyond(found: dict[str, int], file: dict[str, int]) -> list[str]:
    """Sentences about sizes above what was agreed, and about sizes that the file does not have."""
    known = {
        what: size for what, size in found.items() if size and not what.startswith("bytes") or what in file
    }
    return [
        f"{what}: {size:,}, agreed are {file.get(what, 0):,}"
        for what, size in known.items()
        if size > ROOM * file.get(what, 0)
    ]


def main() -> int:
    """Prints or writes the sizes."""
    found = measured()
    if "--write" in sys.argv:
        with FILE.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerows([("what", "size"), *found.items()])
        return 0
    file = agreed()
    for what, size in found.items():
        print(f"{what:55} {size:>12,} {file.get(what, 0):>12,}")
    complaints = beyond(found, file)
    print("\n".join(complaints), file=sys.stderr)
    return int(bool(complaints))


if __name__ == "__main__":
    raise SystemExit(main())

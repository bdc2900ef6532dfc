"""Measures an FTL's cost in `make demo` and in `make test`, in CPU seconds.

    python crates/proof/budget.py NAME

Builds and proves a copy of the tree with and without the FTL's line in the list in
`crates/ftl/src/lib.rs`; the difference is the FTL's cost. The FTL can only be left out if nothing but its own
files, the list and tests name it, as with every new one. Ends with status 1 above the budget. Needs
Python 3.11.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).with_name("mutations")))
from run import ROOT, copy_tree

COPY = ROOT / "target" / "budget"
LIST = COPY / "crates" / "ftl" / "src" / "lib.rs"
# CPU seconds a new FTL may add.
DEMO, TEST = 8.0, 12.0

# Builds that compile FTLs; the extension links them optimised.
BUILDS = {
    "extension": ["build", "--release", "--package", "nandlab-py"],
    "crates": ["build", "--package", "nandlab-drive"],
    "unit tests": ["test", "--package", "nandlab-ftl", "--lib", "--no-run"],
}
PROOFS = ["conformance::", "faults::", "power_cut::", "golden::", "differential::", "buffers::"]
# An FTL in both proofs, so that the rest of a run cancels.
OTHER = "block"


def main(name: str) -> int:
    """Measures one FTL."""
    copy_tree(COPY)
    sound = LIST.read_text(encoding="utf-8")
    line = re.compile(rf'^    ///.*\n    \w+\({name}::\w+\), "{name}\.rs", ".*";\n', re.MULTILINE)
    if name == OTHER or len(line.findall(sound)) != 1:
        print(f"{name} is not an FTL of the list that can be left out", file=sys.stderr)
        return 2
    with_it = builds()
    proofs = proof(f"{OTHER},{name}") - proof(OTHER)
    LIST.write_text(line.sub("", sound), encoding="utf-8")
    try:
        without = builds()
    finally:
        LIST.write_text(sound, encoding="utf-8")
    spent = {step: with_it[step] - without[step] for step in BUILDS}
    demo, test = spent["extension"], spent["crates"] + spent["unit tests"] + proofs
    parts = f"{spent['crates']:.1f} s crates, {spent['unit tests']:.1f} s unit tests, {proofs:.1f} s proofs"
    print(f"{name} adds {demo:.1f} s of CPU to `make demo` (budget {DEMO:.0f} s)")
    print(f"and {test:.1f} s to `make test` (budget {TEST:.0f} s): {parts}")
    return int(demo > DEMO or test > TEST)


def builds() -> dict[str, float]:
    """CPU seconds for each build, after its dependencies were built."""
    seconds = {}
    for step, command in BUILDS.items():
        cpu(command)
        for source in ["crates/ftl/src/lib.rs", "crates/drive/src/lib.rs"]:
            os.utime(COPY / source)
        seconds[step] = cpu(command)
    return seconds


def proof(names: str) -> float:
    """CPU seconds for the proofs over these FTLs, built before."""
    tests = ["test", "--package", "nandlab-proof", "--test", "all"]
    cpu([*tests, "--no-run"])
    return cpu([*tests, "--", *PROOFS], NANDLAB_FTL=names)


def cpu(command: list[str], **variables: str) -> float:
    """A cargo command's user CPU, s."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    ours = {"CARGO_TARGET_DIR": str(COPY / "target"), "CARGO_INCREMENTAL": "0"}
    whole = {**os.environ, **ours, **variables}
    done = subprocess.run(
        ["cargo", *command], cwd=COPY, env=whole, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"cargo {' '.join(command)} fails:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))

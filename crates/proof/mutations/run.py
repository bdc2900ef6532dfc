"""Applies each bug in mutations.toml to a copy of the tree and expects its test to fail.

    python crates/proof/mutations/run.py [NAME ...]

A survivor is a bug its test does not catch: the run names it and ends with status 1. A bug that does not
apply or does not compile is an error: the list is out of date. Needs Python 3.11.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import tomllib

ROOT = Path(__file__).parents[3]
LIST = Path(__file__).with_name("mutations.toml")
COPY = ROOT / "target" / "mutations"


def main(names: list[str]) -> int:
    """Tries the bugs with these names, or all."""
    mutations = tomllib.loads(LIST.read_text(encoding="utf-8"))["mutation"]
    unknown = set(names) - {each["name"] for each in mutations}
    if unknown:
        print(f"there is no bug {', '.join(sorted(unknown))} in {LIST.name}", file=sys.stderr)
        return 2
    chosen = [each for each in mutations if not names or each["name"] in names]
    copy_tree()
    outcomes = {each["name"]: attempt(each) for each in chosen}
    caught = sum(outcome == "caught" for outcome in outcomes.values())
    print(f"{caught} of {len(chosen)} bugs were caught")
    return 0 if caught == len(chosen) else 1


def copy_tree(to: Path = COPY) -> None:
    """Copies the files as they stand, without files git ignores; the copy's builds stay from run to run."""
    files = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout
    for name in files.decode().split("\0")[:-1]:
        source, target = ROOT / name, to / name
        if source.is_file() and not (target.is_file() and target.read_bytes() == source.read_bytes()):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def attempt(mutation: dict) -> str:
    """Applies one bug, runs its test and takes the bug back."""
    path = COPY / mutation["file"]
    sound = path.read_text(encoding="utf-8")
    count = sound.count(mutation["find"])
    if count != 1:
        return told(mutation, f"ERROR: its text stands {count} times in {mutation['file']}")
    path.write_text(sound.replace(mutation["find"], mutation["put"]), encoding="utf-8")
    try:
        return told(mutation, tried(mutation))
    finally:
        path.write_text(sound, encoding="utf-8")


def tried(mutation: dict) -> str:
    """The outcome for a bug now in the copy."""
    command = ["cargo", "test", "--quiet", "--package", mutation["package"]]
    command += ["--test", "all"] if "test" in mutation else ["--lib"]
    module = f"{mutation['test']}::" if "test" in mutation else ""
    if cargo([*command, "--no-run"], {}).returncode != 0:
        return "ERROR: it does not compile"
    failed = cargo([*command, module + mutation.get("filter", "")], mutation.get("env", {})).returncode != 0
    return "caught" if failed else "SURVIVED"


def cargo(command: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    """Runs cargo in the copy, with its own builds."""
    whole = {**os.environ, **env, "CARGO_TARGET_DIR": str(COPY / "target")}
    return subprocess.run(command, cwd=COPY, env=whole, capture_output=True, check=False)


def told(mutation: dict, outcome: str) -> str:
    """Prints an outcome and returns it."""
    print(f"{outcome:9} {mutation['name']}: {mutation['bug']}", flush=True)
    return outcome


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The planted bugs of `make mutations` apply to the sources as they are."""

from __future__ import annotations

from pathlib import Path

import tomllib

ROOT = Path(__file__).parents[2]


def test_the_text_of_each_planted_bug_stands_once_in_its_file() -> None:
    listed = tomllib.loads((ROOT / "crates/proof/mutations/mutations.toml").read_text())["mutation"]
    wrong = []
    for bug in listed:
        path = ROOT / bug["file"]
        found = path.read_text().count(bug["find"]) if path.is_file() else 0
        if found != 1:
            wrong.append(f"{bug['name']}: its text stands {found} times in {bug['file']}")
    assert len(listed) > 50
    assert not wrong, wrong

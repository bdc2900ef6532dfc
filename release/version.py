"""Checks before a release that every place names the same version: `python release/version.py v0.1.0`.

Without an argument it checks what must always agree, and prints the version.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def version(root: Path = ROOT) -> str:
    """The version of the workspace, which every crate and the Python package have."""
    text = (root / "Cargo.toml").read_text(encoding="utf-8")
    return _found(r'\[workspace\.package\]\nversion = "([^"]+)"', text, "Cargo.toml")


def complaints(tag: str | None = None, root: Path = ROOT) -> list[str]:
    """What does not agree; with a tag, also what a release with this tag lacks."""
    own = version(root)
    wrong = []
    cited = _found(r"^version: (.+)$", (root / "CITATION.cff").read_text(encoding="utf-8"), "CITATION.cff")
    if cited != own:
        wrong.append(f"CITATION.cff has version {cited}, Cargo.toml {own}")
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = re.search(rf"^## {re.escape(own)} - (.+)$", changes, re.MULTILINE)
    if heading is None:
        wrong.append(f"CHANGELOG.md has no heading '## {own} - ' with a date")
    if tag is None:
        return wrong
    if tag != f"v{own}":
        wrong.append(f"the tag is {tag}, and the version {own}")
    if heading is not None and not re.fullmatch(r"\d{4}-\d\d-\d\d", heading[1]):
        wrong.append(f"CHANGELOG.md dates {own} as {heading[1]!r}: a release has a day, as in 2026-12-31")
    return wrong


def _found(pattern: str, text: str, where: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        raise SystemExit(f"{where} has no version")
    return found[1]


def main() -> None:
    """The command line."""
    wrong = complaints(sys.argv[1] if len(sys.argv) > 1 else None)
    for complaint in wrong:
        print(complaint, file=sys.stderr)
    if wrong:
        raise SystemExit(1)
    print(version())


if __name__ == "__main__":
    main()

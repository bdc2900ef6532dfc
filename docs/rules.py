"""Writes the table of `nandlab explain`'s rules on docs/comparing.md, from the rules' docstrings.

python docs/rules.py            writes the table
python docs/rules.py --check    fails if the table differs from the code
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path

from nandlab.explaining.changes import RULES

PAGE = Path(__file__).parent / "comparing.md"
BEGIN, END = "<!-- rules -->\n", "<!-- end of rules -->\n"


def table() -> str:
    """One row for each rule, in the order that decides between equal shares."""
    return "| rule | share | change |\n|---|---|---|\n" + "".join(_row(rule) for rule in RULES)


def _row(rule: Callable[..., object]) -> str:
    head = " ".join(inspect.getdoc(rule).split())
    share, change = re.fullmatch(r".* Share: (.*) Change: (.*)", head).groups()
    return f"| `{_name(rule)}` | {share} | {change} |\n"


def _name(rule: Callable[..., object]) -> str:
    """The name of the change in `--json`; a write buffer has its policy in the name."""
    source = inspect.getsource(rule)
    name = re.search(r"Change\(\s*\"(\w+)\"", source)
    return name[1] if name else re.search(r"_buffer\(case, \"(\w+)\"", source)[1] + "_buffer"


def page(text: str) -> str:
    """The page with its table."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + table() + END + after


def main() -> int:
    """Writes the table, or compares it with the code."""
    text = PAGE.read_text(encoding="utf-8")
    if "--check" in sys.argv[1:]:
        if text != page(text):
            print("docs/comparing.md differs from the code: run `python docs/rules.py`", file=sys.stderr)
        return int(text != page(text))
    PAGE.write_text(page(text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

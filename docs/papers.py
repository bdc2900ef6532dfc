"""Writes the table on top of each paper's page, and how many of its claims have each verdict.

python docs/papers.py NAME ...     runs these papers, by default all five, and writes pages, README and reproduce.md
python docs/papers.py --check      fails if a table has other claims than the paper's file, or README other counts
"""

from __future__ import annotations

import re
import resource
import sys
from pathlib import Path
from typing import NamedTuple

from nandlab.reproduce import load, reproduce
from nandlab.reproduce.claim import Claim
from nandlab.reproduce.judge import Judged
from nandlab.reproduce.paper import Paper
from nandlab.reproduce.verdict import VERDICTS, short

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
MANUAL = ROOT / "docs" / "reproduce.md"
PAPERS = ("btree", "migration", "minv", "sector-map", "wap-lru")

BEGIN, END = "<!-- claims -->", "<!-- end of claims -->"
"""Around the table on a page."""
MARKS = {"fitted": "a fit", "direction": "holds"}
"""Verdicts in a table, where they have another name."""


class Row(NamedTuple):
    """A line of a page's table."""

    claim: str
    says: str
    published: str
    measured: str
    verdict: str


def page(name: str) -> Path:
    """A paper's page."""
    return ROOT / "docs" / "papers" / f"{name}.md"


def expected(claim: Claim) -> tuple[str, str, str]:
    """The cells that a claim has before anybody runs it: name, place and statement, published value."""
    said = f"{claim.where}: {' '.join(claim.statement.split())}".replace("|", r"\|")
    if claim.published is None:
        return f"`{claim.id}`", said, ""
    return f"`{claim.id}`", said, f"{short(claim.published)} {claim.unit}".strip()


def row_of(judged: Judged) -> Row:
    """A claim's line."""
    name, says, published = expected(judged.claim)
    held = "holds" if all(each.holds for each in judged.held) else "does not hold"
    return Row(name, says, published, held if judged.measured is None else short(judged.measured),
               in_words(judged.verdict))  # fmt: skip


def in_words(verdict: str | None) -> str:
    """A verdict in a table."""
    word = verdict or "no verdict"
    return MARKS.get(word, word.replace("_", " "))


def rows_on(name: str) -> list[Row]:
    """The table on a paper's page."""
    lines = between(page(name).read_text(encoding="utf-8")).splitlines()
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines if line.startswith("| `")]
    return [Row(*(cell.strip() for cell in each)) for each in cells]


def between(text: str) -> str:
    """What stands between the two marks."""
    return text.split(BEGIN)[1].split(END)[0]


def table(name: str, rows: list[Row], minutes: float) -> str:
    """The command, and a line for each claim."""
    head = [
        f"`nandlab reproduce {name}` ({minutes:.1f} minutes on one core): {counts(rows)}.",
        "",
        "| claim | where and what | published | measured | verdict |",
        "|---|---|---|---|---|",
    ]
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in rows)])


def counts(rows: list[Row]) -> str:
    """How many claims have each verdict."""
    found = [row.verdict for row in rows]
    words = [in_words(each) for each in VERDICTS]
    parts = [f"{found.count(word)} {word}" for word in words if word in found]
    ours = sum(row.claim.startswith("`beyond.") for row in rows)
    return f"{len(rows)} claims, {ours} of them ours: {', '.join(parts)}"


def written(text: str, name: str, rows: list[Row], minutes: float) -> str:
    """A page with a new table."""
    head, rest = text.split(BEGIN)
    return f"{head}{BEGIN}\n{table(name, rows, minutes)}\n{END}{rest.split(END)[1]}"


def cell(name: str, rows: list[Row]) -> str:
    """What README says of a paper's claims."""
    _, said = counts(rows).split(" claims", 1)
    return f"[{len(rows)}](papers/{name}.toml){said}"


def measure(name: str) -> tuple[list[Row], float]:
    """A usual run, and its minutes of CPU."""
    before = spent()
    found = reproduce(load(str(ROOT / "papers" / f"{name}.toml")), jobs=1)
    return [row_of(each) for each in found.claims], (spent() - before) / 60


def spent() -> float:
    """Seconds of CPU of this process and its children."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in usages)


def differences(name: str, paper: Paper) -> list[str]:
    """Where a page's table and its paper's file disagree, or README and the table."""
    rows, found = rows_on(name), []
    cells = [tuple(row[:3]) for row in rows]
    if cells != [expected(claim) for claim in paper.claims]:
        found.append(f"{page(name).name}: its table has other claims than papers/{name}.toml")
    for row, claim in zip(rows, paper.claims, strict=False):
        allowed = {"a fit", "differs", "not exercised"} if claim.fitted else set(map(in_words, VERDICTS)) - {"a fit"}
        if row.verdict not in allowed:
            found.append(f"{page(name).name}: {claim.id} is {row.verdict}, fitted = {claim.fitted} in the file")
    if f"| {cell(name, rows)} |" not in README.read_text(encoding="utf-8"):
        found.append(f"README.md: expected | {cell(name, rows)} |")
    return found


def write(name: str) -> None:
    """Runs a paper, and writes its table, its counts and its minutes."""
    rows, minutes = measure(name)
    path = page(name)
    path.write_text(written(path.read_text(encoding="utf-8"), name, rows, minutes), encoding="utf-8")
    replace(README, rf"\| \[\d+\]\(papers/{name}\.toml\)[^|]*\|", f"| {cell(name, rows)} |")
    replace(MANUAL, rf"\b{name}\s+\d+\.\d\b", f"{name} {minutes:.1f}")
    times = re.search(r"in minutes: (.*?)\. `--all`", MANUAL.read_text(encoding="utf-8"), re.DOTALL)
    total = sum(map(float, re.findall(r"\d+\.\d", times[1]))) if times else 0
    replace(MANUAL, r"takes the sum, \d+\.\d\.", f"takes the sum, {total:.1f}.")


def replace(path: Path, pattern: str, by: str) -> None:
    """Replaces the one place that a pattern has in a file."""
    text, count = re.subn(pattern, lambda _: by, path.read_text(encoding="utf-8"))
    if count != 1:
        raise SystemExit(f"{path.name}: {pattern} stands {count} times")
    path.write_text(text, encoding="utf-8")


def main() -> None:
    """Writes or checks."""
    if "--check" in sys.argv:
        found = [
            each for name in PAPERS for each in differences(name, load(str(ROOT / "papers" / f"{name}.toml")))
        ]
        raise SystemExit("\n".join(found) or 0)
    for name in sys.argv[1:] or PAPERS:
        write(name)


if __name__ == "__main__":
    main()

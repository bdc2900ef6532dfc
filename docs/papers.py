"""Writes the tables on the papers' pages: the claims on top, and how sentences are read.

python docs/papers.py [NAME ...]              runs papers, by default all five, and writes their pages, the counts
                                              in README and the minutes in docs/reproduce.md
python docs/papers.py --readings [NAME ...]   runs nothing, and writes how sentences are read, by the kept searches
python docs/papers.py --check                 fails if a page or README has other claims or counts than the file
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
from nandlab.reproduce.reading_words import readings_table
from nandlab.reproduce.verdict import VERDICTS, short

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
MANUAL = ROOT / "docs" / "reproduce.md"
BAR = r"\|"
PAPERS = ("btree", "migration", "minv", "sector-map", "wap-lru")

CLAIMS = ("<!-- claims -->", "<!-- end of claims -->")
READINGS = ("<!-- readings -->", "<!-- end of readings -->")
"""Around a table on a page."""
TITLES = ("claim", "where and what", "published", "measured", "verdict", "in true units")
MARKS = {"fitted": "a fit", "direction": "holds"}
"""Verdicts in a table, where they have another name."""


class Row(NamedTuple):
    """A line of a page's table."""

    claim: str
    says: str
    published: str
    measured: str
    verdict: str
    there: str = ""
    """The verdict in true units, where the paper counts otherwise."""


def page(name: str) -> Path:
    """A paper's page."""
    return ROOT / "docs" / "papers" / f"{name}.md"


def expected(claim: Claim) -> tuple[str, str, str]:
    """The cells that a claim has before anybody runs it: name, place and statement, published value."""
    said = f"{claim.where}: {' '.join(claim.statement.split())}".replace("|", BAR)
    if claim.published is None:
        return f"`{claim.id}`", said, ""
    return f"`{claim.id}`", said, f"{short(claim.published)} {claim.unit}".strip()


def row_of(judged: Judged) -> Row:
    """A claim's line."""
    name, says, published = expected(judged.claim)
    held = "holds" if all(each.holds for each in judged.held) else "does not hold"
    measured = held if judged.measured is None else short(judged.measured)
    return Row(name, says, published, measured, in_words(judged.verdict), in_words(judged.true_verdict))


def in_words(verdict: str | None) -> str:
    """A verdict in a table."""
    word = verdict or "no verdict"
    return MARKS.get(word, word.replace("_", " "))


def rows_on(name: str) -> list[Row]:
    """The table on a paper's page."""
    lines = between(page(name).read_text(encoding="utf-8"), CLAIMS).splitlines()
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines if line.startswith("| `")]
    return [Row(*(cell.strip() for cell in each)) for each in cells]


def between(text: str, marks: tuple[str, str]) -> str:
    """What stands between two marks."""
    return text.split(marks[0])[1].split(marks[1])[0].strip()


def put(text: str, marks: tuple[str, str], new: str) -> str:
    """A page with something else between two marks."""
    head, rest = text.split(marks[0])
    return f"{head}{marks[0]}\n{new}\n{marks[1]}{rest.split(marks[1])[1]}"


def table(paper: Paper, rows: list[Row], minutes: float) -> str:
    """The command, and a line for each claim."""
    width = 6 if paper.readings else 5
    head = [
        f"`nandlab reproduce {paper.name}` ({minutes:.1f} minutes on one core): {counts(rows)}.",
        "",
        f"| {' | '.join(TITLES[:width])} |",
        "|" + "---|" * width,
    ]
    return "\n".join([*head, *(f"| {' | '.join(row[:width])} |" for row in rows)])


def counts(rows: list[Row]) -> str:
    """How many claims have each verdict."""
    found = [row.verdict for row in rows]
    words = [in_words(each) for each in VERDICTS]
    parts = [f"{found.count(word)} {word}" for word in words if word in found]
    ours = sum(row.claim.startswith("`beyond.") for row in rows)
    return f"{len(rows)} claims, of them {ours} ours: {', '.join(parts)}"


def readings(paper: Paper) -> str:
    """How the paper is read, and which claims each reading alone decides, by the kept search."""
    found = ["| sentence | read as | or as | decides |", "|---|---|---|---|"]
    for _, _, what, chosen, others, claims in readings_table(paper):
        said = " | ".join(" ".join(each.replace("|", BAR).split()) for each in (what, chosen, others))
        decides = ", ".join(f"`{each}`" if "." in each else each for each in claims.split(", "))
        found.append(f"| {said} | {decides} |")
    return "\n".join(found)


def cell(name: str, rows: list[Row]) -> str:
    """What README says of a paper's claims."""
    return f"[{len(rows)}](papers/{name}.toml){counts(rows).removeprefix(f'{len(rows)} claims')}"


def read(name: str) -> Paper:
    """A paper's file."""
    return load(str(ROOT / "papers" / f"{name}.toml"))


def measure(paper: Paper) -> tuple[list[Row], float]:
    """A usual run, and its minutes of CPU."""
    before = spent()
    found = reproduce(paper, jobs=1)
    return [row_of(each) for each in found.claims], (spent() - before) / 60


def spent() -> float:
    """Seconds of CPU of this process and its children."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in usages)


def differences(name: str, paper: Paper) -> list[str]:
    """Where a page's table and its paper's file disagree, or README and the table."""
    rows, found = rows_on(name), []
    cells = [row[:3] for row in rows]
    if cells != [expected(claim) for claim in paper.claims]:
        found.append(f"{page(name).name}: its table has other claims than papers/{name}.toml")
    for row, claim in zip(rows, paper.claims, strict=False):
        if claim.fitted != (row.verdict == "a fit") and row.verdict not in ("differs", "not exercised"):
            found.append(
                f"{page(name).name}: {claim.id} is {row.verdict}, fitted = {claim.fitted} in the file"
            )
    if between(page(name).read_text(encoding="utf-8"), READINGS) != readings(paper):
        found.append(f"{page(name).name}: the table of readings is not that of the kept search")
    if f"| {cell(name, rows)} |" not in README.read_text(encoding="utf-8"):
        found.append(f"README.md: expected | {cell(name, rows)} |")
    return found


def write(name: str) -> None:
    """Runs a paper, and writes its table, its counts and its minutes."""
    paper = read(name)
    rows, minutes = measure(paper)
    path = page(name)
    path.write_text(
        put(path.read_text(encoding="utf-8"), CLAIMS, table(paper, rows, minutes)), encoding="utf-8"
    )
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
    option, names = sys.argv[1:2], [each for each in sys.argv[1:] if not each.startswith("-")]
    if option == ["--check"]:
        found = [each for name in PAPERS for each in differences(name, read(name))]
        raise SystemExit("\n".join(found) or 0)
    for name in names or PAPERS:
        if option != ["--readings"]:
            write(name)
        text = put(page(name).read_text(encoding="utf-8"), READINGS, readings(read(name)))
        page(name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

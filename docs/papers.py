"""Writes the tables on the papers' pages: the claims on top, and how sentences are read.

python docs/papers.py [NAME ...]           runs papers, by default all five, and writes everything below
python docs/papers.py --words [NAME ...]   runs nothing; writes the words of tables, the cells of the Korean
                                           summaries, the minutes in docs/reproduce.md
python docs/papers.py --scan [NAME ...]    runs each chosen amount 5 and 10 % less and more; writes what flips
python docs/papers.py --check              fails if one of these is not as it would be written
"""

from __future__ import annotations

import re
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, get_args

from nandlab.reproduce import load, reproduce
from nandlab.reproduce.claim import Claim
from nandlab.reproduce.judge import Judged
from nandlab.reproduce.paper import Paper
from nandlab.reproduce.reading_words import readings_table
from nandlab.reproduce.scan import STEPS, Step, scan
from nandlab.reproduce.search_points import PointKind
from nandlab.reproduce.search_words import Flip, exclusions, flips, gains, meets, met_by
from nandlab.reproduce.verdict import VERDICTS, off, short

ROOT = Path(__file__).parents[1]
MANUAL = ROOT / "docs" / "reproduce.md"
BAR = r"\|"
TWO = 2
PAPERS = ("btree", "migration", "minv", "sector-map", "wap-lru")

CLAIMS = ("<!-- claims -->", "<!-- end of claims -->")
READINGS = ("<!-- readings -->", "<!-- end of readings -->")
SEARCH = ("<!-- search -->", "<!-- end of search -->")
"""Around a table on a page; not every page has one of its search."""
OPEN = ("<!-- open -->", "<!-- end of open -->")
SCAN = ("<!-- scan -->", "<!-- end of scan -->")
"""Around a table that `--scan` alone writes; not every page has one."""
PICTURES = ("<!-- pictures -->", "<!-- end of pictures -->")
TITLES = ("claim", "where and what", "published (tolerance)", "measured (off by)", "verdict", "in true units")
MARKS = {"fitted": "a fit", "direction": "holds"}
"""Verdicts in a table, where they have another name."""
COUNTED = {
    "reproduced": "reproduced",
    "fitted": "fits",
    "loose": "loosely met",
    "direction": "orders and signs that hold",
    "differs": "that differ",
    "not_exercised": "not exercised",
    "not_printed": "without a printed number",
    "not_reproducible": "not reproducible",
}
"""Claims with a verdict, behind their number."""
IN_KOREAN = {
    "reproduced": "재현",
    "a fit": "맞춤",
    "loosely met": "대략",
    "holds": "성립",
    "differs": "다름",
    "does not hold": "아님",
    "not exercised": "실행 안 됨",
    "not printed": "수치 없음",
    "": "–",
}
"""Cells of a summary in Korean."""
SIZES_IN_KOREAN = {"exact": "정확히", "at least": "이상", "at most": "이하"}
"""Tolerances there."""


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
    tolerance = "exact" if claim.tolerance == "0" else claim.tolerance
    by_sign = "; its sign alone" if is_by_sign(claim) else ""
    return (
        f"`{claim.id}`",
        said,
        f"{short(claim.published)} {claim.unit}".strip() + f" ({tolerance}{by_sign})",
    )


def is_by_sign(claim: Claim) -> bool:
    """Whether a claim's tolerance is as large as its printed number, so that only a sign is confirmed."""
    return (
        claim.limits is not None
        and claim.published is not None
        and claim.limits.is_as_large_as(claim.published)
    )


def row_of(judged: Judged) -> Row:
    """A claim's line."""
    name, says, published = expected(judged.claim)
    held = "holds" if all(each.holds for each in judged.held) else "does not hold"
    if judged.verdict == "not_reproducible":
        held = ""
    measured = held if judged.measured is None else short(judged.measured)
    if judged.measured is not None and judged.claim.published is not None:
        measured = with_distance(measured, judged.claim.published)
    return Row(name, says, published, measured, in_words(judged.verdict), in_words(judged.true_verdict))


def with_distance(measured: str, published: float) -> str:
    """A measured figure, and how far it is from the printed one as both are shown.

    >>> with_distance("54.4", 63.1), with_distance("120,201", 120201), with_distance("-0.303", 0)
    ('54.4 (-13.8 %)', '120,201 (0)', '-0.303 (-0.303)')
    """
    shown, printed = (float(each.replace(",", "")) for each in (measured, short(published)))
    if shown == printed:
        return f"{measured} (0)"
    return f"{measured} ({off(shown, printed)})"


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


def width(paper: Paper) -> int:
    """Columns of a table: one more where the paper counts in other units."""
    return len(TITLES) if paper.readings else len(TITLES) - 1


def table(paper: Paper, rows: list[Row], minutes: float) -> str:
    """The command, and a line for each claim."""
    columns = width(paper)
    head = [
        f"`nandlab reproduce {paper.name}` ({minutes:.1f} minutes on one core): {counts(rows)}.",
        "",
        f"| {' | '.join(TITLES[:columns])} |",
        "|" + "---|" * columns,
    ]
    return "\n".join([*head, *(f"| {' | '.join(row[:columns])} |" for row in rows)])


def counts(rows: list[Row]) -> str:
    """How many claims have each verdict."""
    found = [row.verdict for row in rows]
    parts = [f"{found.count(in_words(word))} {COUNTED[word]}" for word in VERDICTS if in_words(word) in found]
    ours = sum(row.claim.startswith("`beyond.") for row in rows)
    return f"{len(rows)} claims, of them {ours} ours: {', '.join(parts)}"


def summary(name: str) -> Path:
    """A paper's summary in Korean."""
    return page(name).with_suffix(".ko.md")


def filled(text: str, rows: list[Row], cells: Callable[[Row], list[str]]) -> str:
    """A text with the last three cells of each row that names a claim behind words of its own."""
    of = {row.claim: row for row in rows}
    return re.sub(
        r"^\| ([^|]*) \| (`[^|`]*`) \|[^|]*\|[^|]*\|[^|]*\|$",
        lambda found: f"| {found[1]} | {found[2]} | {' | '.join(cells(of[found[2]]))} |",
        text,
        flags=re.MULTILINE,
    )


def in_korean(row: Row) -> list[str]:
    """A claim's cells in a summary in Korean."""
    published = row.published.split(" ")[0]
    tolerance = in_signs(row.published.rpartition("(")[2].removesuffix(")"))
    return [
        f"{published} ({tolerance})" if published else IN_KOREAN[""],
        *(IN_KOREAN.get(each, each) for each in (row.measured, row.verdict)),
    ]


def in_signs(tolerance: str) -> str:
    """A tolerance in a summary in Korean.

    >>> in_signs("10 points"), in_signs("6 %"), in_signs("factor 2"), in_signs("5 points; its sign alone")
    ('±10', '±6 %', '×2', '±5; 부호만')
    """
    size, _, rest = tolerance.partition("; ")
    if size in SIZES_IN_KOREAN:
        found = SIZES_IN_KOREAN[size]
    elif size.startswith("factor "):
        found = size.replace("factor ", "×")
    elif "to " in size:
        found = size.replace(" to ", "~").replace("to ", "~")
    else:
        found = "±" + re.sub(r" points?$", "", size).replace(" per ", "/")
    return f"{found}; 부호만" if rest else found


def in_english(row: Row) -> list[str]:
    """A claim's cells in the table of those that matter; how far off it is stands with all claims."""
    verdict = f"{row.verdict}; true units: {row.there}" if row.there not in ("", row.verdict) else row.verdict
    number, _, rest = row.published.partition(" ")
    percent = " %" if rest.startswith("%") else ""
    measured = row.measured.partition(" (")[0]
    return [f"{number}{percent} ({rest.rpartition('(')[2]}" if number else "–", measured, verdict]


def those_that_matter(text: str, rows: list[Row]) -> str:
    """A page with the cells of the claims that stand before all claims."""
    head, rest = text.split(CLAIMS[0])
    return filled(head, rows, in_english) + CLAIMS[0] + rest


def readings(paper: Paper) -> str:
    """How the paper is read, and which claims each reading alone decides, by the kept search."""
    found = ["| sentence | read as | or as | decides |", "|---|---|---|---|"]
    for _, _, what, chosen, others, claims in readings_table(paper):
        said = " | ".join(" ".join(each.replace("|", BAR).split()) for each in (what, chosen, others))
        decides = ", ".join(f"`{each}`" if "." in each else each for each in claims.split(", "))
        found.append(f"| {said} | {decides} |")
    return "\n".join(found)


def opens(paper: Paper) -> str:
    """What the paper leaves open, what is chosen, and what else was tried."""
    found = ["| name | open in the paper | chosen | tried beside it |", "|---|---|---|---|"]
    for each in paper.opens:
        values = [as_written(value) for value in each.values]
        chosen = as_written(each.chosen)
        others = ", ".join(value for value in values if value != chosen)
        what = " ".join(each.what.replace("|", BAR).split())
        found.append(f"| `{each.name}` | {what} | {chosen} | {others} |")
    return "\n".join(found)


def pictures(text: str) -> str:
    """Pictures, each below its own words."""
    found = re.findall(r"^!\[([^]]*)\]\(([^)]*)\)$", text, flags=re.MULTILINE)
    return "\n\n".join(f"{said}:\n\n![{said}]({path})" for said, path in found)


def as_written(value: object) -> str:
    """A value as the paper's file has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def search(paper: Paper) -> str:
    """What the kept search says of each claim that it judges."""
    found = paper.searched
    if found is None or found.chosen is None:
        return "No search was run for the paper's file as it stands."
    count = {kind: len(found.of_kind(kind)) for kind in get_args(PointKind)}
    opens, meanings = (sum(each.is_searched for each in part) for part in (paper.opens, paper.meanings))
    most, chosen = max(map(meets, found.rows)), meets(found.chosen)
    best = "no point meets more" if most == chosen else f"the best point {most}"
    kept_in = f"[{paper.name}.csv](../../papers/search/{paper.name}.csv)"
    lines = [
        f"`nandlab reproduce {paper.name} --search` tries {opens} open values and "
        f"{meanings} readings: {count['alone']} values one at a time, {count['joint']} joint "
        f"points and {count['tried']} found by hand, {len(found.rows)} points in all ({kept_in}). Of the "
        f"{len(found.chosen.seen)} claims that it judges the chosen values meet {chosen}, and {best}.",
        "",
        "| claim | as chosen | alone make it differ | alone make it come out "
        f"| of {count['joint']} joint points meet it | no point meets it together with |",
        "|---|---|---|---|---|---|",
    ]
    pairs = [set(each) for each in exclusions(paper, found) if len(each) == TWO]
    for claim in found.chosen.seen:
        cells = [
            "comes out" if found.chosen.seen[claim].is_met else "does not",
            by_name(flips(paper, found), claim),
            by_name(gains(paper, found), claim),
            str(met_by(found, claim)),
            ", ".join(f"`{other}`" for pair in pairs if claim in pair for other in pair - {claim}) or "–",
        ]
        lines.append(f"| `{claim}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def scanned(paper: Paper, jobs: int | None = None) -> str:
    """Which verdicts change if a chosen amount is a little less or more."""
    steps = scan(paper, jobs)
    amounts = {each.name: as_written(each.chosen) for each in paper.opens}
    titles = [f"{percent:+} %".replace("-", "−") for percent in STEPS]
    lines = [
        "Each chosen amount alone, in runs as short as those of the search, one seed; what then differs:",
        "",
        f"| chosen | {' | '.join(titles)} |",
        "|---|" + "---|" * len(STEPS),
    ]
    for name in dict.fromkeys(step.name for step in steps):
        here = {step.percent: step for step in steps if step.name == name}
        cells = [in_a_cell(here.get(percent)) for percent in STEPS]
        lines.append(f"| `{name}` {amounts[name]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def with_scan(text: str, lines: str) -> str:
    """A page with the table of a scan below what is open."""
    if SCAN[0] not in text:
        text = text.replace(OPEN[1], f"{OPEN[1]}\n\n{SCAN[0]}\n{SCAN[1]}")
    return put(text, SCAN, lines)


def in_a_cell(step: Step | None) -> str:
    """What a step changes."""
    if step is None:
        return "the same value"
    parts = {"": step.lost, " comes out": step.gained, " cannot run": step.not_run}
    found = [", ".join(f"`{each}`" for each in claims) + words for words, claims in parts.items() if claims]
    return "; ".join(found) or "–"


def by_name(changes: list[Flip], claim: str) -> str:
    """Changes to a claim, the values of each open value together."""
    values: dict[str, list[str]] = {}
    for each in changes:
        if each.claim == claim:
            values.setdefault(each.name, []).append(each.value)
    return "; ".join(f"`{name}` {', '.join(each)}" for name, each in values.items()) or "–"


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


def minutes_on(name: str) -> float:
    """The minutes on a page."""
    found = re.search(r"\((\d+\.\d) minutes", between(page(name).read_text(encoding="utf-8"), CLAIMS))
    if found is None:
        raise SystemExit(f"{page(name).name} has no minutes: run python docs/papers.py {name}")
    return float(found[1])


def kept(paper: Paper) -> list[Row]:
    """What a page has measured, with the words of the paper's file."""
    rows = {row.claim: row for row in rows_on(paper.name)}
    lacking = [claim.id for claim in paper.claims if expected(claim)[0] not in rows]
    if lacking:
        raise SystemExit(
            f"{page(paper.name).name} lacks {', '.join(lacking)}: run python docs/papers.py {paper.name}"
        )
    return [in_words_of(claim, rows[expected(claim)[0]]) for claim in paper.claims]


def in_words_of(claim: Claim, row: Row) -> Row:
    """A line of a page with the words of the paper's file, its figures as they were measured."""
    measured = row.measured.partition(" (")[0]
    if claim.published is not None and measured not in ("", "holds", "does not hold"):
        measured = with_distance(measured, claim.published)
    return Row(*expected(claim), measured, *row[4:])


def disagreements(paper: Paper) -> list[str]:
    """Claims whose verdict on the page is not one that the file's `fitted` allows."""
    found = []
    for row, claim in zip(kept(paper), paper.claims, strict=True):
        if claim.fitted != (row.verdict == "a fit") and row.verdict not in ("differs", "not exercised"):
            found.append(f"{page(paper.name).name}: {claim.id} is {row.verdict}, fitted = {claim.fitted}")
    return found


def texts(paper: Paper, rows: list[Row], minutes: float) -> dict[Path, str]:
    """Every file that names a paper's claims, as it should be."""
    name = paper.name
    own = those_that_matter(page(name).read_text(encoding="utf-8"), rows)
    own = put(own, CLAIMS, table(paper, rows, minutes))
    if SEARCH[0] in own:
        own = put(own, SEARCH, search(paper))
    own = put(own, OPEN, opens(paper))
    own = put(own, PICTURES, pictures(between(own, PICTURES)))
    return {
        page(name): put(own, READINGS, readings(paper)),
        summary(name): filled(summary(name).read_text(encoding="utf-8"), rows, in_korean),
        MANUAL: in_sum(replaced(MANUAL, rf"\b{name}(\s+)\d+\.\d\b", rf"{name}\g<1>{minutes:.1f}")),
    }


def in_sum(text: str) -> str:
    """The manual, with the sum of its minutes."""
    found = re.search(r"in minutes: (.*?)\. `--all`", text, re.DOTALL)
    total = sum(map(float, re.findall(r"\d+\.\d", found[1]))) if found else 0.0
    return re.sub(r"takes the sum, \d+\.\d\.", f"takes the sum, {total:.1f}.", text)


def replaced(path: Path, pattern: str, by: str) -> str:
    """A file with something else in the one place that a pattern has in it."""
    text, count = re.subn(pattern, by, path.read_text(encoding="utf-8"))
    if count != 1:
        raise SystemExit(f"{path.name}: {pattern} stands {count} times")
    return text


def main() -> None:
    """Writes or checks."""
    option, names = sys.argv[1:2], [each for each in sys.argv[1:] if not each.startswith("-")]
    if any(each.startswith("-") and each not in ("--check", "--words", "--scan") for each in sys.argv[1:]):
        raise SystemExit(__doc__)
    wrong = []
    for name in names or PAPERS:
        paper = read(name)
        if option == ["--scan"]:
            lines = scanned(paper)
            text = with_scan(page(name).read_text(encoding="utf-8"), lines)
            page(name).write_text(text, encoding="utf-8")
            continue
        given = option in (["--check"], ["--words"])
        rows, minutes = (kept(paper), minutes_on(name)) if given else measure(paper)
        for path, text in texts(paper, rows, minutes).items():
            if option != ["--check"]:
                path.write_text(text, encoding="utf-8")
            elif path.read_text(encoding="utf-8") != text:
                wrong.append(
                    f"{path.name}: {name} stands otherwise; run python docs/papers.py --words {name}"
                )
        wrong += disagreements(paper)
    raise SystemExit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()

"""Writes the tables of docs/papers/wap-lru-traces.md, from a bundle for the WAP-LRU paper.

`nandlab reproduce wap-lru --traces DIR --seeds 1 --bundle wap.zip`, then
`python docs/images/wap_traces.py wap.zip`. It also prints the counts for the page's sentences.
"""

from __future__ import annotations

import csv
import io
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

from nandlab.reproduce import parse

PAGE = Path(__file__).parents[1] / "papers" / "wap-lru-traces.md"
MEASURES = ("gc", "programs", "energy", "write-us", "read-us", "hits")
NEAR = 1.005
"""Figures within 0.5 % of the best one share its place."""
HEAD = "fin_head"
HYBRIDS = ("CLOCK-DNV", "hybrid LRU", "CBM", "WAP-LRU")
SHOWN = {
    False: ("LRU", "CLOCK", "FAB", "BPLRU", "LB-CLOCK", "CLOCK-DNV", "CBM", "WAP-LRU"),
    True: ("LRU", "CLOCK", "FAB", "BPLRU", "LB-CLOCK", "CLOCK-DNV"),
}
"""Table columns, with reads cached and with reads that go past; the best ones are among all buffers."""
PAPERS_FOUR = ("LRU", "CLOCK", "CLOCK-DNV", "WAP-LRU")
Rows = dict[str, dict[str, float]]
"""A figure for each trace and each buffer."""


class Bundle:
    """A bundle's tables, with readable names for rows and columns."""

    def __init__(self, path: str) -> None:
        self.archive = zipfile.ZipFile(path)
        paper = parse(self.archive.read("wap-lru/paper.toml").decode(), "wap-lru", "paper.toml")
        self.labels = {grid.name: grid.labels for grid in paper.grids}

    def table(self, measure: str, writes_alone: bool) -> Rows:
        """One table, without the traces nobody played."""
        name = f"traces-{measure}" + ("-writes" if writes_alone else "")
        text = self.archive.read(f"wap-lru/tables/{name}.csv").decode()
        heads, *lines = csv.reader(io.StringIO(text))
        buffers = [self.labels[name][head] for head in heads[1:]]
        # An empty cell is a run without such requests.
        return {
            row[0]: {buffer: float(cell) for buffer, cell in zip(buffers, row[1:], strict=True) if cell}
            for row in lines
        }

    def words(self, trace: str) -> str:
        """A trace's description."""
        return self.labels["traces-gc"][trace]


def best(figures: dict[str, float], least: bool = True) -> str:
    """The best buffers; all that share the place, or a count."""
    if not figures:
        return "–"
    limit = min(figures.values()) * NEAR if least else max(figures.values()) / NEAR
    names = [name for name, value in figures.items() if (value <= limit if least else value >= limit)]
    if set(names) == set(HYBRIDS):
        return "all with NVRAM"
    return " ≈ ".join(names) if len(names) <= 3 else f"{len(names)} of {len(figures)}"


def markdown(heads: list[str], rows: list[list[str]]) -> str:
    """A table."""
    lines = ["| " + " | ".join(row) + " |" for row in [heads, *rows]]
    return "\n".join([lines[0], "|" + "---|" * len(heads), *lines[1:], ""])


def count(value: float) -> str:
    """A number of pages or merges."""
    return f"{value:,.0f}"


def one_trace(bundle: Bundle, trace: str) -> str:
    """Every figure for a trace, with reads cached and with reads that go past."""
    shown: tuple[Callable[[float], str], ...] = (
        count,
        count,
        lambda value: f"{value:.1f}",
        count,
        count,
        count,
    )
    rows = []
    found = {alone: [bundle.table(name, alone)[trace] for name in MEASURES] for alone in (False, True)}
    for buffer in found[False][0]:
        for alone, words in ((False, "cached"), (True, "go past")):
            if buffer in found[alone][0]:
                cells = [table[buffer] for table in found[alone]]
                figures = [say(cell) for say, cell in zip(shown, cells, strict=True)]
                rows.append([buffer, words, *figures])
    heads = ["collections", "writes", "energy (J)", "mean write (µs)", "mean read (µs)", "hits (%)"]
    return markdown(["", "reads", *heads], rows)


def winners(bundle: Bundle, alone: bool) -> str:
    """Collections and the best buffers for every trace with any collection."""
    tables = {name: bundle.table(name, alone) for name in MEASURES}
    columns = SHOWN[alone]
    rows = []
    for trace, figures in tables["gc"].items():
        if max(figures.values()) > 0:
            others = [best(tables[name][trace]) for name in ("programs", "energy", "write-us", "read-us")]
            rows.append([bundle.words(trace), *(count(figures[name]) for name in columns), *others])
    heads = ["least writes", "least energy", "shortest writes", "shortest reads"]
    return markdown(["trace", *columns, *heads], rows)


def sentences(bundle: Bundle) -> str:
    """How often each buffer is best, who beats whom, and the traces without collection."""
    lines = []
    for alone in (False, True):
        gc = bundle.table("gc", alone)
        ran = [trace for trace, figures in gc.items() if max(figures.values()) > 0]
        lines.append("reads go past" if alone else "reads cached")
        lines.append(f"  something is collected: {len(ran)}, and not: {_named(bundle, set(gc) - set(ran))}")
        for measure in ("gc", "programs", "energy", "write-us", "read-us"):
            table = bundle.table(measure, alone)
            lines.append(f"  best by {measure}: {_firsts([table[trace] for trace in ran])}")
    table = {one: row for one, row in bundle.table("gc", False).items() if max(row.values()) > 0}
    behind = {one for one, row in table.items() if row["WAP-LRU"] >= row["CLOCK-DNV"]}
    lines.append(
        f"WAP-LRU collects less than CLOCK-DNV with {len(table) - len(behind)} of {len(table)}, not with:"
    )
    lines.append(f"  {_named(bundle, behind)}")
    most = [one for one, row in table.items() if row["CLOCK"] >= max(row[name] for name in PAPERS_FOUR)]
    lines.append(f"CLOCK collects most of the paper's four with {len(most)}")
    hybrids = [{name: row[name] for name in HYBRIDS} for row in table.values()]
    lines.append(f"least of those with NVRAM: {_firsts(hybrids)}")
    return "\n".join(lines) + "\n"


def _named(bundle: Bundle, traces: set[str]) -> str:
    return ", ".join(bundle.words(one) for one in bundle.labels["traces-gc"] if one in traces)


def _firsts(rows: list[dict[str, float]]) -> str:
    """How often each is the best, or within 0.5 %."""
    firsts = [name for row in rows for name in row if _is_first(row, name)]
    return ", ".join(
        f"{name} {firsts.count(name)}"
        for name in sorted(dict.fromkeys(firsts), key=firsts.count, reverse=True)
    )


def _is_first(figures: dict[str, float], name: str) -> bool:
    return figures[name] <= min(figures.values()) * NEAR


def put(text: str, tables: dict[str, str]) -> str:
    """The page with other tables between its marks."""
    for mark, table in tables.items():
        head, _, rest = text.partition(f"<!-- {mark} -->\n")
        _, end, tail = rest.partition(f"<!-- end of {mark} -->\n")
        if not end:
            raise SystemExit(f"{PAGE.name} has no place for {mark}")
        text = f"{head}<!-- {mark} -->\n{table}{end}{tail}"
    return text


def main() -> None:
    """Writes the tables, and prints the counts for the sentences below them."""
    bundle = Bundle(sys.argv[1])
    tables = {
        "one trace": one_trace(bundle, HEAD),
        "reads cached": winners(bundle, False),
        "reads past": winners(bundle, True),
    }
    PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), tables), encoding="utf-8")
    print(sentences(bundle))


if __name__ == "__main__":
    main()

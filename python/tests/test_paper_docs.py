"""Figures in the prose of the documents: of the kept searches, of the claims, and of runs over a trace."""

import dataclasses
import re
from pathlib import Path

import pytest
import quoted
from conftest import TRACES

import nandlab
from nandlab.reproduce import load, reproduce
from nandlab.reproduce.formula import parse_formula
from nandlab.reproduce.search_file import beside, parse_csv
from nandlab.reproduce.search_words import meets
from nandlab.reproduce.words import Why

ROOT = Path(__file__).parents[2]
WORDS = (
    *(
        "no",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
    ),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)


def prose(path):
    """A document on one line, without line breaks in sentences."""
    return " ".join((ROOT / path).read_text(encoding="utf-8").split())


def word(number):
    return WORDS[number] if number < len(WORDS) else str(number)


class Kept:
    """The kept search of a paper, and counts of its points."""

    def __init__(self, name):
        path = ROOT / "papers" / f"{name}.toml"
        self.paper = load(str(path))
        self.found = parse_csv(beside(path).read_text(encoding="utf-8"), name)
        self.rows = self.found.rows
        self.points = {kind: len(self.found.of_kind(kind)) for kind in ("chosen", "alone", "tried", "joint")}

    def joint(self, *claims):
        """How many joint points meet all of some claims."""
        return sum(self.meets(row, *claims) for row in self.found.of_kind("joint"))

    def all(self, *claims):
        """How many points of all kinds do."""
        return sum(self.meets(row, *claims) for row in self.rows)

    @staticmethod
    def meets(row, *claims):
        return all(row.seen[claim].is_met for claim in claims or row.seen)

    @property
    def most(self):
        return max(map(meets, self.rows))


def of_sector_map(kept):
    """The table of the search is written by docs/papers.py; here the points found by hand."""
    deep, deeper, one, two = kept.found.of_kind("tried")
    assert all(kept.meets(row) for row in (deep, two))
    lacking = {
        at: [name for name in row.seen if not kept.meets(row, name)] for at, row in ((8, deeper), (1, one))
    }
    assert lacking == {8: ["table1.ratio"], 1: ["sec5.map_traffic"]}
    claims = len(kept.rows[0].seen)
    assert kept.most == meets(kept.rows[0]) == claims
    yield f"The chosen values meet all {claims} claims that the search judges"
    yield (
        f"Two points found by hand lack a claim: depth 8 with 28.4 us of firmware (a ratio of "
        f"{figure(deeper, 'table1.ratio')}), and depth 1 with 10 us look-ups"
    )


def of_minv(kept):
    """The table of the search is written by docs/papers.py; here what stands around it."""
    best = max(map(meets, kept.found.of_kind("joint")))
    assert best < meets(kept.rows[0])
    yield (
        f"The best of the {kept.points['joint']} joint points meets {best} of the {len(kept.rows[0].seen)} "
        f"claims that the search judges, the chosen values {meets(kept.rows[0])}"
    )
    assert [name for name in kept.rows[0].seen if not kept.meets(kept.rows[0], name)] == ["fig2.gap_grows"]
    short = [row for row in kept.rows if row.values["message"] == "160"]
    first = [
        row.seen[name].word for row in short for name in ("fig2.yaffs_aggressive", "fig2.minv_aggressive")
    ]
    assert set(first) == {"not_exercised"}
    yield f"at any of the {len(short)} points of the search with this size"
    for name, value in {"skip": "8", "looked_at": "all"}.items():
        (row,) = (
            each for each in kept.found.of_kind("alone")
            if each.values[name] == value and each.values["page"] == "512 B"
        )  # fmt: skip
        assert not kept.meets(row, "fig2.yaffs_aggressive")
    (row,) = (each for each in kept.found.of_kind("alone") if each.values["looked_at"] == "all")
    yield f"at {figure(row, 'fig2.yaffs_aggressive', ',.0f')} if passive collection looks at every block"
    (row,) = (each for each in kept.found.of_kind("alone") if each.values["shuffled"] == "true")
    yield f"and at {figure(row, 'fig2.yaffs_aggressive', ',.0f')} in an order drawn from the seed"


def of_btree(kept):
    victims = "sec4.bast_thrash"
    small, large = ([f"table1.bast.{page}.{what}" for what in ("writes", "erases")] for page in ("512", "4k"))
    met = [row for row in kept.rows if kept.meets(row, victims, *large)]
    yield (
        f"Of the {len(kept.rows)} points of the search {word(len(met))} meet it together with both cells "
        "of BAST at 4 KB, one with a buffer of 340,000 bytes and one with 307,200"
    )
    assert sorted(row.values["buffer_bytes"] for row in met) == ["307200", "340000"]
    (tried,) = kept.found.of_kind("tried")
    assert [row for row in met if kept.meets(row, *small)] == [tried]
    off = {
        name: 100 * tried.seen[name].measured / claim.published - 100
        for claim in kept.paper.claims
        if (name := claim.id).startswith("table1.") and ".bast." in name
    }
    yield (
        f"BAST is {off[small[0]]:+.0f} and {off[small[1]]:+.0f} % off at 512 B (writes, erases), "
        f"{off[large[0]]:+.0f} and {off[large[1]]:+.0f} % at 4 KB"
    )
    yield (
        f"this point meets {meets(tried)} of the {len(tried.seen)} claims that the search judges, "
        f"the chosen values {meets(kept.rows[0])}"
    )
    opens, readings = (word(len(each)) for each in (kept.paper.opens, kept.paper.meanings))
    yield f"The file lists the {opens} things that are open and {readings} readings"


def figure(row, name, digits=".1f"):
    return f"{row.seen[name].measured:{digits}}"


def of_wap(kept):
    claims = len(kept.rows[0].seen)
    tried = kept.found.of_kind("tried")
    assert kept.meets(tried[0], "fig6.dram_lower") and kept.meets(tried[1], "sec2.cbm_write_heavy")
    as_first_read, as_chosen, best = tried[3:]
    lacking = {name for name in best.seen if not kept.meets(best, name)}
    assert lacking == {"fig6.dram_lower", "sec2.cbm_write_heavy", "sec2.clock_dnv_mixed"}
    yield f"misses {word(len(lacking))} claims: Fig. 6's sign and the two remarks"
    changed = {"even_sizes": "by_table4", "reduce": "no_request"}
    assert {**best.values, **changed} == as_first_read.values
    assert {**kept.rows[0].values, **changed} == as_chosen.values
    yield f"With the other readings of both sentences it meets {meets(as_first_read)}"
    lost = {
        name for name in as_chosen.seen if kept.meets(kept.rows[0], name) and not kept.meets(as_chosen, name)
    }
    assert lost >= {"fig3.mean_even_sizes", "fig3.max_even_sizes", "sec3.recipe"}
    yield f"The chosen values meet {meets(kept.rows[0])} of the {claims} claims that the search judges"
    assert not kept.joint("fig6.dram_lower") and not kept.joint("sec2.cbm_write_heavy")
    yield "No joint point meets Fig. 6's sign for all four traces, or the remark on CBM"
    yield f"One setting found by hand meets {meets(best)}"
    fewer = [figure(best, name) for name in ("fig3.mean", "fig3.max")]
    yield f"{fewer[0]} % fewer collections than LRU on the mean and {fewer[1]} %"
    yield f"collects {figure(best, 'fig3.webmail')} % more than CLOCK-DNV"
    writes = [figure(best, name) for name in ("fig4.mean", "fig4.clock_dnv")]
    yield f"writes {writes[0]} % less than LRU and {writes[1]} % less than CLOCK-DNV"
    energy = [figure(best, name) for name in ("fig5.mean", "fig5.max")]
    yield f"saves {energy[0]} % of the energy of DRAM alone, and {energy[1]} % with the best trace"


def of_migration(kept):
    """The table of the search is written by docs/papers.py; here the points found by hand."""
    few, one_fat, _, few_records = kept.found.of_kind("tried")
    assert kept.meets(few, "fig10.phone", "fig10.recorder", "fig10.fax", "fig10.recorder_p")
    assert kept.meets(one_fat, "fig10.phone", "fig10.recorder", "fig10.fax", "fig10.recorder_order")
    assert not kept.joint("fig10.recorder_order", "fig7.migration")
    assert kept.meets(few_records, "fig10.recorder_order", "fig10.recorder_p", "fig12.recorder_flat")
    assert kept.meets(few_records, "fig7.limit", "fig7.macro")
    assert not kept.meets(few_records, "fig7.migration")
    yield f"small files gain {figure(few_records, 'fig7.limit')} % by LIMIT"
    yield f"and {figure(few_records, 'fig7.macro')} % by the macroscopic rule"


PROSE = {
    "migration": of_migration,
    "wap-lru": of_wap,
    "sector-map": of_sector_map,
    "minv": of_minv,
    "btree": of_btree,
}


@pytest.mark.parametrize("name", PROSE)
def test_a_document_says_what_the_search_of_its_paper_kept(name):
    text = prose(f"docs/papers/{name}.md")
    for sentence in PROSE[name](Kept(name)):
        found = sentence.search(text) if isinstance(sentence, re.Pattern) else sentence in text
        assert found, sentence


def claim_of(paper, name):
    """A claim of a paper, or a figure that a formula over its runs reads."""
    bare = {"note": Why("", ()), "why": Why("", ()), "together": ()}
    for claim in paper.claims:
        if claim.id == name:
            return dataclasses.replace(claim, **bare)
    some = next(claim for claim in paper.claims if claim.kind == "value")
    nothing = {"true_units": None, "holds": (), "also": (), "true_holds": (), "exercised": (), **bare}
    return dataclasses.replace(some, id=name, measured=parse_formula(name), **nothing)


def measured_again(paper, names):
    """Claims and formulas, judged in a usual run that measures nothing else."""
    drawn = dict.fromkeys(("figures", "grids", "timelines", "op_figures", "block_maps", "conclusions"), ())
    claims = tuple(claim_of(paper, name) for name in dict.fromkeys(names))
    found = reproduce(dataclasses.replace(paper, claims=claims, **drawn)).claims
    return {each.claim.id: each for each in found}


@pytest.mark.long
@pytest.mark.parametrize("name", quoted.ROWS)
def test_a_document_quotes_what_a_usual_run_measures(name):
    text = prose(f"docs/papers/{name}.md")
    rows = quoted.ROWS[name]
    verdicts = quoted.VERDICTS.get(name, ())
    cells = {each for ids in quoted.FARTHEST.get(name, {}).values() for each in ids}
    found = measured_again(
        load(str(ROOT / "papers" / f"{name}.toml")),
        [*(each for row in rows for each in quoted.names_in(row)), *verdicts, *sorted(cells)],
    )
    figures = {key: each.measured for key, each in found.items()}
    for row in rows:
        assert quoted.filled(row, figures) in text
    for key in verdicts:
        words = quoted.in_both_units(found[key])
        assert re.search(rf"\| `{re.escape(key)}` (\|[^|]*){{3}}\| {words[0]} \| {words[1]} \|", text), (
            key,
            words,
        )
    for what, ids in quoted.FARTHEST.get(name, {}).items():
        said = quoted.farthest([found[each] for each in ids])
        assert f"| {what} | {said}" in text


APPLICATIONS = {
    "e-mail": "log111_email",
    "browsing": "log166_webBrowsing",
    "Facebook": "log191_facebook",
    "shopping": "log196_Amazon",
    "a map": "log202_GoogleMap",
}


def percentiles(latencies):
    return "; ".join(f"{latencies[each]:,.0f}" for each in ("mean", "p50", "p99"))


@pytest.mark.traces
@pytest.mark.parametrize("name", APPLICATIONS)
def test_predicted_latencies_stand_beside_recorded_ones(name):
    """Each figure of the table in docs/validation.md, of a run at the recorded times."""
    records = [
        nandlab.Experiment(
            workload=nandlab.workload.trace(
                path=str(Path(TRACES) / "biotracer" / f"{APPLICATIONS[name]}.txt"), addresses="fold"
            ),
            ftl=nandlab.ftl.page(),
            host={"arrival": "recorded"},
            precondition={"fill": "sequential"},
            device={"profile": profile, "capacity": "4 GiB"},
        )
        .run()
        .to_dict()
        for profile in ("generic", "tlc-3d")
    ]
    text = prose("docs/validation.md")
    for kind in ("read", "write"):
        cells = [records[0][key][kind] for key in ("recorded_latency_us", "recorded_service_us")]
        cells += [record["latency_us"][kind] for record in records]
        assert f"| {name} | {kind} | {' | '.join(map(percentiles, cells))} |" in text

"""Rows of tables in `docs/papers`, with the claims and formulas that a usual run of the paper measures."""

import math
import re

_WRITTEN = {
    "minv": [
        "{phone.minv.unused2000:.0f} of 2,048 are unused then",
        "MiNV {phone.minv.passive:,.0f} and {phone.minv.aggressive:,.0f}.",
        "{phone.minv.copies / (phone.minv.passive + phone.minv.aggressive):.1f} copies in MiNV and "
        "{phone.yaffs.copies / (phone.yaffs.passive + phone.yaffs.aggressive):.1f} in YAFFS, where "
        "{100 * phone.yaffs.passive / (phone.yaffs.passive + phone.yaffs.aggressive):.0f} % are passive",
        "{phone.minv.copies_in_3000 / phone.minv.aggressive_in_3000:.1f} and "
        "{phone.yaffs.copies_in_3000 / phone.yaffs.aggressive_in_3000:.1f}. It takes "
        "{1000 * phone.minv.gc_time / (phone.minv.passive + phone.minv.aggressive):.1f} and "
        "{1000 * phone.yaffs.gc_time / (phone.yaffs.passive + phone.yaffs.aggressive):.1f} ms, but "
        "{1000 * phone.yaffs.unmarked_y.gc_time / "
        "(phone.yaffs.unmarked_y.passive + phone.yaffs.unmarked_y.aggressive):.1f} in YAFFS",
        "it starts at {phone.minv.large_m.first_aggressive:,.0f}, in YAFFS at "
        "{phone.yaffs.large_y.first_aggressive:,.0f}.",
    ],
}


def _migration():
    """How much faster than `merge` each rule is."""
    rules = ("cost", "limit", "macro", "adaptive")
    for what, part in {
        "PostMark, small files": "small",
        "PostMark, large files": "large",
        "cell phone": "phone",
        "event recorder": "recorder",
        "fax": "fax",
        "PostMark as it is (ours)": "postmark",
        "camera (ours)": "camera",
    }.items():
        cells = [f"{{100 * (1 - {part}.{rule}.time / {part}.merge.time):.1f}}" for rule in rules]
        yield f"| {what} | {' | '.join(cells)} |"


_FTLS = {
    "sector log, 20 %": "sector_log",
    "page map": "page",
    "sector map": "sector_map",
    "hybrid map": "hybrid_map",
    "super-pages": "superpage",
    "DFTL, 256 entries": "dftl",
    "FAST, 12 log blocks": "fast.sequential",
    "NFTL": "nftl",
    "FMAX": "fmax.switching",
    "BAST, 35 log blocks": "bast",
    "block map": "block",
}
"""Of the tables that answer the question for an FTL for small random writes."""


def _btree():
    """Costs of every FTL on pages of 512 B and of 4 KiB, and of page layouts."""
    for what, part in _FTLS.items():
        at = f"{part}.512.spare25"
        yield (
            f"| {what} | {{{at}.cost:three}} | {{{at}.energy:three}} | {{{at}.writes:,.0f}} "
            f"| {{{at}.erases:,.0f}} | {{{at}.ram:,.0f}} B |"
        )
    for what, part in {**_FTLS, "MTBS": "mtbs"}.items():
        if part != "block":
            small, large = f"{part}.512.spare150", f"{part}.512.flash4k"
            yield (
                f"| {what} | {{{small}.cost:three}} | {{{small}.energy:three}} | {{{small}.ram:,.0f}} B "
                f"| {{{large}.cost:three}} | {{{large}.energy:three}} | {{{large}.ram:,.0f}} B |"
            )
    yield "FMAX merges after {sec4.fmax_9:.1f} page writes there"
    yield "MTBS after {sec4.mtbs_5:.1f}"
    yield "a slotted page costs {page.variable.slotted.sectors.cost:.1f} page reads an insert"
    yield "when it is read, costs {page.variable.deltas.sectors.cost:.1f}"
    yield "whole pages cost {page.variable.slotted.cost:.1f}"


ROWS = {**_WRITTEN, "migration": [*_migration()], "btree": [*_btree()]}
"""Of each paper: text with `{claim or formula:format}` where a figure stands."""

VERDICTS = {
    "btree": (
        *("sec4.fmax_writes_16k", "sec4.fmax_erases_512", "sec4.fmax_4k_worst", "sec4.bast_16k"),
        *("sec4.bast_switch", "sec4.bast_thrash", "sec4.fast_16k", "sec4.fast_best_everywhere"),
        *("sec4.fast_switch", "sec4.bast_poor", "sec4.mtbs_writes_16k", "sec4.mtbs_like_fmax"),
        *("sec4.mtbs_half_best", "sec4.mtbs_erases_512", "sec5.fast_16k_of_all", "sec5.512_fmax_mtbs"),
        *("sec5.16k_best", "sec5.16k_no_ftl"),
    )
}
"""Claims whose rows say whether they hold, in the units of the paper and in true units."""

_SIZES = {"512": "512 B", "4k": "4 KB", "16k": "16 KB"}

_OFF = {
    "fmax": "FMAX, 6 %",
    "mtbs": "MTBS, 6 %",
    "fast": "FAST, 13 %, merges for erases",
    "bast": "BAST, 20 %",
}
FARTHEST = {
    "btree": {
        what: [f"table1.{ftl}.{size}.{count}" for size in _SIZES for count in ("writes", "erases")]
        for ftl, what in _OFF.items()
    }
}
"""Rows that say how many of some claims are met, and which is farthest from what is published."""

_FIGURE = re.compile(r"{([^{}:]*):([^{}]*)}")


def names_in(row):
    """The claims and formulas in a row."""
    return [name for name, _ in _FIGURE.findall(row)]


def filled(row, figures):
    """A row with measured figures."""
    return _FIGURE.sub(lambda each: _written(figures[each[1]], each[2]), row)


def _written(figure, digits):
    if digits == "three":
        return f"{figure:.{max(0, 2 - math.floor(math.log10(figure)))}f}"
    return format(figure, digits)


def in_both_units(judged):
    """A verdict as a table has it, in the units of the paper and in true units."""
    words = {"fitted": "a fit", "direction": "holds"}
    return [words.get(word, word) for word in (judged.verdict, judged.true_verdict)]


def farthest(judged):
    """How many claims are met, and the one that is farthest off."""
    met = sum(each.verdict == "fitted" for each in judged)
    off, worst = max(
        ((100 * each.measured / each.claim.published - 100, each.claim.id) for each in judged),
        key=lambda pair: abs(pair[0]),
    )
    _, _, size, count = worst.split(".")
    return f"{met} of {len(judged)} | {off:+.1f} % ({count}, {_SIZES[size]})"

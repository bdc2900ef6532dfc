"""The report from `nandlab choose`, and its lines for the terminal."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection

from nandlab.choosing import COARSE, Advice, Measured
from nandlab.figures.conclusions import MOST
from nandlab.report import device_charts, html
from nandlab.report.charts import Rows
from nandlab.writing import units
from nandlab.writing.new_file import write_page
from nandlab.writing.toml_text import toml_text


def _years(value: float | None) -> str:
    return "not known" if value is None else units.short(value)


COLUMNS: tuple[tuple[str, str, Callable[[float | None], str]], ...] = (
    ("transaction_us", "time of a transaction", units.time_us),
    ("programs", "page programs", units.count),
    ("erases", "block erases", units.count),
    ("most_pe_cycles", "most P/E", units.count),
    ("life_years", "life (years)", _years),
    ("volume_bytes", "volume", units.size),
    ("ram_bytes", "RAM", units.size),
    ("nvram_bytes", "NVRAM", units.size),
    ("mount_us", "mount", units.time_us),
    ("energy_j", "energy", units.energy_j),
)
"""Figure, title, and how it is written."""

MEANS = (
    "Time, programs, erases and energy are of runs of the same length: where the flash of one that fits "
    "would be half blank in the run that was asked for, of longer ones.",
    "Life: until the most worn block has the P/E cycles that the chip is made for, at the wear of this run, "
    f"or of a longer one where no block of this one has {COARSE}; about (≈) where the longer "
    "one has none either.",
    "RAM: tables, and FAT's cache of sectors; of YAFFS all that its code of 2007 needs. Not counted is what "
    "YAFFS and MiNV here remember of each page, which they could read from its tags instead.",
    "Mount: power on after the run, with the FTL.",
)
"""The meaning of columns without a plain name, in sentences."""

TITLES = ("file system", "fits", *(title for _, title, _ in COLUMNS))

TOLD = ("transaction_us", "life_years", "ram_bytes", "nvram_bytes", "mount_us")
"""Room on an 80-column terminal."""

SHORT = ("file system", "fits", *(title for key, title, _ in COLUMNS if key in TOLD))

DRAWN = ("transaction_us", "life_years", "ram_bytes", "mount_us", "energy_j", "erases")


def lines(advice: Advice) -> list[list[str]]:
    """A line with the columns in `SHORT` for each candidate: fitting ones by time, then the others."""
    return [[each.name, _state(advice, each), *_cells(advice, each, TOLD)] for each in _ordered(advice)]


def refused(advice: Advice) -> list[str]:
    """Why each rejected candidate does not fit, in a sentence."""
    return [f"{each.name}: {each.why_not}." for each in _ordered(advice) if each.why_not]


def _ordered(advice: Advice) -> list[Measured]:
    def rank(each: Measured) -> tuple[bool, float]:
        time = each.figures(advice.wish).get("transaction_us")
        return not each.fits, float("inf") if time is None else time

    return sorted(advice.measured, key=rank)


def _cells(advice: Advice, each: Measured, keys: Collection[str]) -> list[str]:
    figures = each.figures(advice.wish)
    cells = {key: write(figures[key]) if figures else "" for key, _, write in COLUMNS if key in keys}
    if each.is_coarse:
        cells["life_years"] = f"≈ {cells['life_years']}"
    return list(cells.values())


def _state(advice: Advice, each: Measured) -> str:
    return "take" if each is advice.take else "yes" if each.fits else "no"


def conclusions(advice: Advice) -> list[str]:
    """The advice, how many candidates fit, and how far the next one is behind in time."""
    fitting = [each for each in advice.measured if each.fits]
    all_of_them = len(advice.measured)
    fits = f"{len(fitting)} of {all_of_them} candidates fit{'s' * (len(fitting) == 1)}."
    said = [*advice.why, "The only candidate fits." if len(fitting) == all_of_them == 1 else fits]
    short = [each for each in advice.measured if each.missing_ram]
    if short and not fitting:
        least = min(short, key=lambda each: each.missing_ram)
        rest = f"{least.name} lacks least, {units.size(least.missing_ram)}"
        said.append(f"Too little RAM keeps out {len(short)} of {all_of_them}; {rest}.")
    times = {
        each.name: time
        for each in fitting
        if (time := each.figures(advice.wish).get("transaction_us")) is not None
    }
    own = None if advice.take is None else times.pop(advice.take.name, None)
    if own and times and advice.take is not None:
        name = min(times, key=lambda name: times[name])
        factor = times[name] / own
        words = f"{factor:.1f} times as long" if factor >= 1.05 else "about as long"
        words = f"{1 / factor:.1f} times faster" if factor < 1 / 1.05 else words
        verb = "is" if factor < 1 / 1.05 else "takes"
        told = units.time_us(times[name])
        next_one = f"Next to {advice.take.name}, {name} {verb} {words}: {told} a transaction."
        said = [*said[: MOST - 1], next_one]
    return said[:MOST]


def write_choice(advice: Advice, path: str | os.PathLike[str], command: str | None = None) -> None:
    """Writes the report.

    Raises:
        OSError: With a sentence; an older file at `path` is then as it was.

    """
    write_page(path, choice_page(advice, command))


def choice_page(advice: Advice, command: str | None) -> str:
    """The page as text."""
    wish = advice.wish
    (workload,) = wish.workload
    ram = "any amount of" if wish.ram_bytes is None else f"{units.size(wish.ram_bytes)} of"
    nvram = f" and {units.size(wish.nvram_bytes)} of NVRAM" if wish.nvram_bytes else ""
    subtitle = (
        f"{workload} on {units.size(wish.flash_bytes)} of {wish.device} with {ram} RAM{nvram}; "
        f"{units.size(wish.daily_bytes)} of file data a day for {units.short(wish.years)} years"
    )
    drawn = device_charts.bars(_rows(advice), [each.name for each in _ordered(advice)], _panels())
    note = (
        f"Those that fit by time, then the others. {' '.join(MEANS)} Bars of what does not fit are pale; "
        "without a bar is what is not known."
    )
    keys = [key for key, _, _ in COLUMNS]
    table = [[each.name, _state(advice, each), *_cells(advice, each, keys)] for each in _ordered(advice)]
    experiments = [
        html.folded(each.name, html.code(toml_text(each.result.experiment)))
        for each in advice.measured
        if each.result is not None
    ]
    return html.page(
        "Which file system to take",
        subtitle,
        [
            html.conclusions(conclusions(advice)),
            html.section("Candidates", html.table(TITLES, table, right=range(2, len(TITLES))), note=note),
            html.section("What does not fit, and why", *map(html.paragraph, refused(advice))),
            html.section("Side by side", html.figure(drawn)) if drawn else "",
            html.section("The experiments", *experiments, note="Each runs alone with `nandlab run`."),
            html.section("Make it again", html.code(command)) if command else "",
        ],
    )


def _panels() -> list[str]:
    return [title for key in DRAWN for name, title, _ in COLUMNS if name == key]


def _rows(advice: Advice) -> Rows:
    return [
        {
            "design": each.name,
            "panel": title,
            "value": value,
            "text": write(value),
            "shade": 1 if each.fits else 0.35,
        }
        for each in _ordered(advice)
        for key, title, write in COLUMNS
        if key in DRAWN and (value := each.figures(advice.wish).get(key)) is not None
    ]

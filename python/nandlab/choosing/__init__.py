"""The best file system for a flash: every candidate runs the workload on it, and the figures decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from nandlab.choosing.candidates import Candidate, candidates
from nandlab.choosing.wish import Wish as Wish
from nandlab.experiment import Experiment
from nandlab.experiment.result import Result
from nandlab.running.batch import Outcome, State, run_all
from nandlab.writing import units

if TYPE_CHECKING:
    import pandas

INFINITE = float("inf")

DAYS = 365.25
"""Days in a year."""

SECTORS = "fat_sectors"
"""The sector cache, a part in RAM with room to shrink."""

LEAST_CACHE = 2048
"""Least bytes for it."""

COARSE = 5
"""Least P/E cycles on the most worn block to tell a life from: below, a single erase is over a fifth."""

LONGER = (4, 16, 64)
"""Factors to lengthen a workload by, one after the other, if blocks were erased too seldom."""

BLANK = 0.5
"""Below this many erases a block, flash is still half blank: its time will not last."""

ALIKE = 1.01
"""Times up to this ratio are the same: the candidate with the longer life is taken."""


@dataclass(frozen=True)
class Measured:
    """A candidate's result."""

    candidate: Candidate
    result: Result | None
    """None if it did not run to its end."""
    why_not: str
    """Why the candidate was rejected; empty if it fits."""
    missing_ram: int = 0
    """Bytes missing in RAM."""
    longer: Result | None = None
    """A longer run, if this one erased too seldom: its wear tells the life."""

    @property
    def name(self) -> str:
        """Its name."""
        return self.candidate.name

    @property
    def fits(self) -> bool:
        """Whether it does."""
        return not self.why_not

    def figures(self, wish: Wish) -> dict[str, float | None]:
        """Its costs; empty if it did not run."""
        if self.result is None or self.result.fs is None:
            return {}
        result, fs = self.result, self.result.fs
        phase = fs.phases.transactions
        life, even = self._life_bytes()
        aged = self._aged
        energy = result.energy_j.total if result.energy_j is not None else None
        nvram = result.nvram
        return {
            "transactions": fs.transactions,
            "transaction_us": None if phase.time_us is None else phase.time_us / max(1, fs.transactions),
            "programs": result.flash.programs,
            "erases": result.flash.erases,
            "most_pe_cycles": result.wear.max,
            "life_bytes": life,
            "life_years": None if life is None else life / wish.daily_bytes / DAYS,
            "even_life_years": None if even is None else even / wish.daily_bytes / DAYS,
            "life_pe_cycles": self.pe_cycles,
            "life_transactions": None if aged is None or aged.fs is None else aged.fs.transactions,
            "volume_bytes": fs.volume.units * fs.volume.unit_bytes,
            "ram_bytes": result.ram.total_bytes,
            "nvram_bytes": 0 if nvram is None else nvram.bytes,
            "mount_us": None if result.remount is None else result.remount.time_us,
            "energy_j": energy if energy is None or nvram is None else energy + nvram.energy_j,
        }

    @property
    def is_blank(self) -> bool:
        """True if it ran, and much flash was never erased: collection has hardly begun."""
        return self.result is not None and self.result.flash.erases < BLANK * self.result.device.blocks

    @property
    def is_young(self) -> bool:
        """Whether it ran, and its life is told from few erases or none."""
        return self._aged is not None and self._aged.wear.max < COARSE

    @property
    def is_coarse(self) -> bool:
        """Whether its life is told from few erases."""
        return 0 < self.pe_cycles < COARSE

    @property
    def pe_cycles(self) -> int:
        """P/E cycles on the most worn block, in the run behind the life."""
        return 0 if self._aged is None else self._aged.wear.max

    @property
    def _aged(self) -> Result | None:
        """The run behind the life."""
        return self.result if self.longer is None else self.longer

    def _life_bytes(self) -> tuple[float | None, float | None]:
        """File data until the most worn, and the mean block, has its cycles; None without an erase.

        A block not yet erased counts by its programmed pages in the mean, and the most worn block has
        at least the mean.
        """
        aged = self._aged
        if aged is None or aged.fs is None or aged.lifetime is None:
            return None, None
        data, mean = aged.device.endurance * aged.fs.written_bytes, aged.lifetime.cycles
        return data / max(aged.wear.max, mean), data / mean


@dataclass(frozen=True)
class Advice:
    """Every candidate with its figures, and the one to take."""

    wish: Wish
    measured: list[Measured]
    take: Measured | None
    why: list[str]
    """Sentences."""

    def to_dict(self) -> dict[str, Any]:
        """The JSON document from `nandlab choose --json`."""
        wish = self.wish
        return {
            "flash_bytes": wish.flash_bytes,
            "device": wish.device,
            "ram_bytes": wish.ram_bytes,
            "nvram_bytes": wish.nvram_bytes,
            "workload": {name: dict(options) for name, options in wish.workload.items()},
            "daily_bytes": wish.daily_bytes,
            "years": wish.years,
            "take": None if self.take is None else self.take.name,
            "why": self.why,
            "candidates": [
                {
                    "name": each.name,
                    "fits": each.fits,
                    "why_not": each.why_not,
                    **each.figures(wish),
                    "experiment": None if each.result is None else each.result.experiment,
                }
                for each in self.measured
            ],
        }

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each candidate, as a pandas frame; figures are None or NaN if it did not run.

        | column | unit |
        |---|---|
        | `name`, `fits`, `why_not` | text; true or false; a sentence, empty if it fits |
        | `transactions`, `life_transactions` | transactions of the run, and of the run behind the life |
        | `transaction_us`, `mount_us` | microseconds |
        | `programs`, `erases` | pages, blocks |
        | `most_pe_cycles`, `life_pe_cycles` | P/E cycles on the most worn block, in either run |
        | `life_bytes`, `volume_bytes`, `ram_bytes`, `nvram_bytes` | bytes |
        | `life_years`, `even_life_years` | years; the second one if wear were even |
        | `energy_j` | joules |

        Raises:
            ImportError: pandas is not installed: `pip install 'nandlab[pandas]'`.

        """
        from nandlab.writing.pandas_frame import pandas_frame

        rows = [
            {"name": each.name, "fits": each.fits, "why_not": each.why_not, **each.figures(self.wish)}
            for each in self.measured
        ]
        names = dict.fromkeys(name for row in rows for name in row)
        return pandas_frame({name: [row.get(name) for row in rows] for name in names})


def choose(
    wish: Wish, jobs: int | None = None, progress: Callable[[State], object] | None = None
) -> Advice | None:
    """Runs every candidate and recommends one; None if Ctrl-C stopped it.

    Raises:
        ConfigError: No candidate could have this flash, device or workload.

    """
    found = candidates(wish)
    measured = _measure(wish, found, jobs, progress)
    cut = (_with_less_cache(each, wish.allow_code) for each in measured or ())
    smaller = [each for each in cut if each is not None]
    again = _measure(wish, smaller, jobs, progress) if smaller else []
    if measured is None or again is None:
        return None
    by_name = {each.name: each for each in again}
    used = _used(wish, [by_name.get(each.name, each) for each in measured], jobs, progress)
    if used is None:
        return None
    measured, times = used
    aged = _aged(wish, measured, times, jobs, progress)
    if aged is None:
        return None
    advice = advise(wish, aged)
    run = max((each.figures(wish).get("transactions") or 0 for each in aged), default=0)
    longer = f"All ran {run:,.0f} transactions: after {run / times:,.0f} the flash was half blank."
    return advice if times == 1 else replace(advice, why=[*advice.why, longer])


def _used(
    wish: Wish, measured: list[Measured], jobs: int | None, progress: Callable[[State], object] | None
) -> tuple[list[Measured], int] | None:
    """All candidates, and how many times longer they ran: longer if a fitting one left half the flash blank.

    If a fitting one outgrows the volume, this length allows no comparison: the one before it stands.
    """
    before, compared = measured, 1
    for times in LONGER:
        if not any(each.fits and each.is_blank for each in measured):
            break
        found = [_longer(each, times, wish.allow_code) for each in before if each.result]
        longer = _measure(wish, found, jobs, progress)
        if longer is None:
            return None
        by_name = {each.name: each for each in longer}
        if any(each.fits and by_name[each.name].result is None for each in measured):
            break
        measured = [
            by_name[each.name] if each.name in by_name and by_name[each.name].result else each
            for each in measured
        ]
        compared = times
    return measured, compared


def _aged(
    wish: Wish,
    measured: list[Measured],
    compared: int,
    jobs: int | None,
    progress: Callable[[State], object] | None,
) -> list[Measured] | None:
    """Candidates with a longer run if their life would rest on few erases.

    A candidate that outgrows the volume, or erases no more in the longest run either, keeps its life.
    """
    ended: set[str] = set()
    for times in (times // compared for times in LONGER if times > compared):
        young = [each for each in measured if each.is_young and each.name not in ended]
        found = [_longer(each, times, wish.allow_code) for each in young]
        if not found:
            break
        again = _measure(wish, found, jobs, progress)
        if again is None:
            return None
        runs = {each.name: each.result for each in again if each.result is not None}
        # A longer run has no room either.
        ended |= {each.name for each in found} - runs.keys()
        measured = [replace(each, longer=runs.get(each.name, each.longer)) for each in measured]
    return measured


def _longer(measured: Measured, times: int, allow_code: bool) -> Candidate:
    tree = measured.result.experiment if measured.result is not None else {}
    ((name, options),) = tree["workload"].items()
    longer = {name: {**options, "transactions": options["transactions"] * times}}
    return Candidate(measured.name, Experiment(**{**tree, "workload": longer}, allow_code=allow_code))


def _measure(
    wish: Wish,
    found: Sequence[Candidate],
    jobs: int | None,
    progress: Callable[[State], object] | None,
) -> list[Measured] | None:
    running = [(each.name, each.experiment) for each in found if each.experiment is not None]
    outcomes, stopped = run_all([experiment for _, experiment in running], jobs, progress)
    if stopped:
        return None
    by_name = {name: outcome for (name, _), outcome in zip(running, outcomes, strict=True)}
    return [_measured(wish, each, by_name.get(each.name)) for each in found]


def _with_less_cache(measured: Measured, allow_code: bool) -> Candidate | None:
    """The candidate with a sector cache in the RAM left by its tables; None if it still does not fit.

    The cache is the largest power of two.
    """
    result, room = measured.result, measured.missing_ram
    if result is None or not room:
        return None
    smaller = result.ram.sram.get(SECTORS, 0) - room
    if smaller < LEAST_CACHE:
        return None
    cut = {"fat": {**result.experiment["fs"]["fat"], "cache_bytes": 1 << (smaller.bit_length() - 1)}}
    return Candidate(measured.name, Experiment(**{**result.experiment, "fs": cut}, allow_code=allow_code))


def _measured(wish: Wish, candidate: Candidate, outcome: Outcome | None) -> Measured:
    if outcome is None:
        return Measured(candidate, None, candidate.why_not)
    if outcome.error is not None or outcome.result is None or outcome.result.partial:
        stopped = outcome.result.stopped if outcome.result is not None else None
        why = stopped.message if stopped is not None else str(outcome.error or "it was stopped")
        return Measured(candidate, None, why)
    result = outcome.result
    needs = []
    missing = 0 if wish.ram_bytes is None else max(0, result.ram.total_bytes - wish.ram_bytes)
    if missing:
        # The sector cache would be cut first.
        saved = max(0, result.ram.sram.get(SECTORS, 0) - LEAST_CACHE)
        total = result.ram.total_bytes
        cache = f" ({units.size(saved)} of its {units.size(total)} are cache that can go)" if saved else ""
        needs.append(f"{units.size(total - saved)} of RAM and has {units.size(wish.ram_bytes)}{cache}")
    if result.nvram is not None and result.nvram.bytes > wish.nvram_bytes:
        there = units.size(wish.nvram_bytes) if wish.nvram_bytes else "none"
        needs.append(f"{units.size(result.nvram.bytes)} of NVRAM and has {there}")
    return Measured(candidate, result, f"it needs {'; '.join(needs)}" if needs else "", missing)


QUALITIES = (
    ("life_years", "lasts longest", max),
    ("transaction_us", "is fastest", min),
    ("ram_bytes", "takes the least RAM", min),
    ("mount_us", "is mounted fastest", min),
    ("energy_j", "uses the least energy", min),
)
"""The compared figures in words, and the better end."""


def advise(wish: Wish, measured: list[Measured]) -> Advice:
    """The fastest fitting candidate with a long enough life; else the candidate with the longest life."""
    figures = {each.name: each.figures(wish) for each in measured if each.fits}
    fitting = [each for each in measured if each.fits]
    if not fitting:
        return Advice(wish, measured, None, ["No candidate fits: each line says why."])
    # An unknown life does not count as long enough.
    lasting = [each for each in fitting if _number(figures[each.name], "life_years", -1.0) >= wish.years]
    unknown = [each for each in fitting if figures[each.name]["life_years"] is None]
    years = _years(wish.years)
    if lasting:
        take = _fastest(lasting, figures)
        why = [f"Take {take.name}: of {_counted(lasting)} and {_lasts(lasting)} {years} it is fastest."]
    elif unknown:
        take = _fastest(unknown, figures)
        why = [
            f"Take {take.name}, with care: none that fits is known to last {years}, and how long it lasts is "
            "not known."
        ]
    else:
        take = max(fitting, key=lambda each: _number(figures[each.name], "life_years", 0.0))
        longest = _years(_number(figures[take.name], "life_years", 0.0))
        why = [
            f"Take {take.name}, or more flash: none that fits lasts {years}, and it lasts longest, {longest}."
        ]
    why += _others(take, fitting, figures)
    why += _half_blank(fitting)
    why += _told_from_few(fitting, figures)
    if unknown:
        names = _listed([each.name for each in unknown])
        run = max(_number(figures[each.name], "life_transactions", 0.0) for each in unknown)
        why.append(
            f"How long {names} {_lasts(unknown)} is not known: no block was erased in {run:,.0f} "
            "transactions; a run of more (--transactions) or a smaller flash tells it."
        )
    return Advice(wish, measured, take, why)


def _half_blank(fitting: Sequence[Measured]) -> list[str]:
    """A warning if times will change as the flash fills."""
    found = [each.name for each in fitting if each.is_blank]
    if not found:
        return []
    return [
        f"Time of {_listed(found)} is that of a flash half blank, of which less is collected than later; "
        "a run of more transactions (--transactions) or a smaller flash tells it better."
    ]


def _told_from_few(
    fitting: Sequence[Measured], figures: Mapping[str, Mapping[str, float | None]]
) -> list[str]:
    """A warning if the life is uncertain."""
    cycles = {each.name: int(_number(figures[each.name], "life_pe_cycles", 0)) for each in fitting}
    few = {name: most for name, most in cycles.items() if 0 < most < COARSE}
    if not few:
        return []
    least, most = min(few.values()), max(few.values())
    between = f"{least} to {most}" if least < most else f"{most}"
    return [
        f"Life of {_listed(list(few))} is told from few erases ({between} of the most worn block), and one "
        "more or less changes it; a run of more transactions (--transactions) tells it better."
    ]


def _others(
    take: Measured, fitting: Sequence[Measured], figures: Mapping[str, Mapping[str, float | None]]
) -> list[str]:
    """Each figure in which another candidate is better by a tenth or more."""
    found: dict[str, list[str]] = {}
    for key, words, better in QUALITIES:
        known = {each.name: value for each in fitting if (value := figures[each.name][key]) is not None}
        own = known.get(take.name)
        if own is None:
            continue
        best = better(known, key=lambda name: known[name])
        low, high = sorted((own, known[best]))
        if best != take.name and high > 1.1 * low:
            by = f" (by a factor of {units.short(high / low)})" if low > 0 else ""
            found.setdefault(best, []).append(f"{words}{by}")
    return [f"{name[0].upper()}{name[1:]} {' and '.join(words)}." for name, words in found.items()]


def _fastest(found: Sequence[Measured], figures: Mapping[str, Mapping[str, float | None]]) -> Measured:
    """The fastest; among equally fast ones the candidate with the longest life."""
    times = {each.name: _number(figures[each.name], "transaction_us", INFINITE) for each in found}
    least = min(times.values())
    alike = [each for each in found if times[each.name] <= ALIKE * least]
    return max(alike, key=lambda each: _number(figures[each.name], "life_years", -1.0))


def _listed(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> _listed(["a"]), _listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _counted(lasting: Sequence[Measured]) -> str:
    return f"the {len(lasting)} that fit" if len(lasting) > 1 else "the one that fits"


def _lasts(lasting: Sequence[Measured]) -> str:
    return "last" if len(lasting) > 1 else "lasts"


def _years(years: float) -> str:
    """A time in years.

    >>> _years(5), _years(0.25), _years(12345.6)
    ('5 years', '0.25 years', '12,346 years')
    """
    return "1 year" if years == 1 else f"{units.short(years)} years"


def _number(figures: Mapping[str, float | None], key: str, default: float) -> float:
    value = figures.get(key)
    return default if value is None else value

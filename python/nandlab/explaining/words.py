"""An explanation in words, and as JSON."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Any, Literal

from nandlab.experiment.result import Result
from nandlab.explaining.case import Case
from nandlab.explaining.change import LEAST_GAIN, LEAST_SHARE
from nandlab.explaining.ftl_rules import collection
from nandlab.figures import path, summary
from nandlab.writing import units

if TYPE_CHECKING:
    from nandlab.explaining import Explanation, Trial

CAUSES = {
    "host": "what the host asked for",
    "read_modify_write": "reading pages to change a part of them",
    "gc": "garbage collection",
    "switch_merge": "switch merges",
    "partial_merge": "partial merges",
    "full_merge": "full merges",
    "migration": "migrations of log blocks",
    "map": "pages of the map",
    "wear_leveling": "wear levelling",
    "mount": "opening the device",
    "bad_block": "blocks that failed",
    "trim": "notes of trims",
    "refresh": "refreshing pages",
    "checkpoint": "checkpoints",
    "read_retry": "reading pages again that the ECC could not correct",
    "fold": "emptying blocks of one bit a cell",
    "reerase": "erasing blocks again that a mount found erased",
    "finish": "filling zones that the host finished",
    "padding": "blank pages that complete pairs of pages",
    "firmware": "work of the firmware that names no cause",
}
"""Each cause in plain words."""


def text(found: Explanation) -> str:
    """The explanation in words."""
    return "\n\n".join([*where(found.case), *_help(found)])


def where(case: Case) -> list[str]:
    """Time and erases by cause, and by origin."""
    result = case.result
    cost = f"{units.counted(result.flash.erases, 'erase')}, write amplification {units.ratio(result.waf)}"
    if result.time_us is not None:
        cost = f"{units.time_us(result.time_us)} of simulated time, {cost}"
    said = [
        f"{summary.workload_name(result)}: {summary.title(result)}, seed {result.seed}\n{cost}.",
        "Where it went\n" + _wrapped(_parts(case, "cause")),
        "Which origin caused it\n" + _wrapped(_parts(case, "origin")),
    ]
    limit = path.bottleneck(result)
    if limit is not None:
        share = units.percent(path.shares(result)[limit])
        name = path.name_of(result, limit)
        told = f"{name[:1].upper()}{name[1:]} worked {share} of the time: it limits the run."
        said[1] += "\n" + _wrapped(told)
    amplified = result.waf_by_cause()
    if len(amplified) > 1:
        parts = ", ".join(
            f"{part:.3f} for {CAUSES.get(cause, summary.plain(cause))}" for cause, part in amplified.items()
        )
        said[1] += "\n" + _wrapped(f"Write amplification of {units.ratio(result.waf)}: {parts}.")
    return said


def _parts(case: Case, kind: Literal["cause", "origin"]) -> str:
    """The shares of the time and of the erases in two sentences."""
    parts = case.by(kind)
    times = {name: time for name, (time, _) in parts.items()}
    erases = {name: part for name, (_, part) in parts.items()}
    said = []
    if case.result.busy_us and case.result.time_us is not None:
        of = (
            f"the time of its {case.unit}"
            if case.units == 1
            else f"the time of its {case.units} {case.unit}s"
        )
        listed = _listed(times, kind, "was")
        idle = f"; {units.percent(case.idle)} had no work" if case.idle >= 0.005 and kind == "cause" else ""
        of = of if case.is_closed else f"the time that the {case.unit}s worked"
        said.append(f"Of {of}, {listed}{idle}.")
    if case.result.flash.erases:
        said.append(
            f"Of {units.counted(case.result.flash.erases, 'erase')}, {_listed(erases, kind, 'were')}."
        )
    return " ".join(said) if said else "Nothing was erased."


def _listed(parts: dict[str, float], kind: str, were: str) -> str:
    """The shares by size, without those under half a percent."""
    order = sorted(parts, key=lambda name: -parts[name])
    shown = [name for name in order if parts[name] >= 0.005] or order[:1]
    if kind == "origin" and len(parts) == 1:
        unknown = ", of which nothing more is known" if shown == ["host"] else ""
        return f"all {were} for {_called(shown[0], kind)}{unknown}"
    verb, word = ("went to ", "to ") if kind == "cause" else (f"{were} for ", "for ")
    return ", ".join(
        f"{units.percent(parts[name])} {word if at else verb}{_called(name, kind)}"
        for at, name in enumerate(shown)
    )


def _called(name: str, kind: str) -> str:
    """A cause or an origin for people."""
    if kind == "cause":
        return CAUSES.get(name, summary.plain(name))
    return "the host" if name == "host" else summary.plain(name)


def _help(found: Explanation) -> list[str]:
    said = [_wrapped(note) for note in found.notes]
    if not found.changes:
        said.append(_wrapped(_nothing_proposed(found.case)))
        return said
    if not found.trials:
        lines = [f"{each.what}: {each.why}" for each in found.changes]
        return [
            *said,
            "What could help, what promises most first\n"
            + "\n".join(_wrapped(line, "  - ") for line in lines),
        ]
    lines = [_wrapped(tried(found.case, each), f"  {at}. ") for at, each in enumerate(found.trials, 1)]
    said.append("What was tried, what promised most first\n" + "\n".join(lines))
    left = len(found.changes) - len(found.trials)
    best = found.best
    if best is None:
        more = f" {left} others promise less; --tries runs more of them." if left else ""
        said.append(_wrapped(f"None of them helps.{more}"))
        return said
    sets = " ".join(f"--set '{each}'" for each in best.change.sets)
    said.append(
        "\n".join([_wrapped(f"The one change: {best.change.what}. {_gain(found.case, best)}."), f"  {sets}"])
    )
    return said


def _nothing_proposed(case: Case) -> str:
    """Why there is no change: hardly anything was lost, or no rule is against its cause."""
    what = "time" if case.measure == "time" else "erases"
    # Any design erases for the host's writes.
    lost = {"gc": collection(case)}
    if case.measure == "time":
        lost |= {name: time for name, (time, _) in case.by("cause").items() if name not in ("host", "gc")}
    most = max(lost, key=lambda name: lost[name])
    if lost[most] >= LEAST_SHARE:
        return (
            f"No change is proposed: no rule is against what {_called(most, 'cause')} took here, "
            f"{units.percent(lost[most])} of the {what}."
        )
    return (
        f"No change is proposed: hardly any of the {what} went to anything but what the host asked for. "
        f"Less than that takes a host that asks for less{_or_faster(case)}."
    )


def _or_faster(case: Case) -> str:
    """Faster hardware for the same requests; empty if flash does not hold up the host."""
    if case.measure == "time" and path.limit(case.result) is None and path.parts_of(case.result) is not None:
        return ""
    return ", or faster channels" if path.bottleneck(case.result) == "channels" else ", or a faster chip"


def tried(case: Case, trial: Trial) -> str:
    """A change, why it was tried, and its outcome."""
    head = f"{trial.change.what[:1].upper()}{trial.change.what[1:]}, since {trial.change.why}:"
    if trial.result is None:
        return f"{head} cannot be run: {trial.error}"
    return f"{head} {_gain(case, trial)}. Price: {trial.change.price}."


def _gain(case: Case, trial: Trial) -> str:
    if trial.result is None or trial.gain is None:
        return "not run"
    what = "time" if case.measure == "time" else "erases"
    if not case.is_closed and case.measure == "time":
        what = "waiting of the host"
    gain = trial.gain
    size = units.percent(abs(gain))
    word = f"{size} less {what}" if gain > 0 else f"{size} more {what}, a loss"
    if abs(gain) < LEAST_GAIN:
        word = "less" if gain > 0 else "more"
        word = f"{units.percent(abs(gain), 2)} {word} {what}, no difference to speak of"
    if abs(gain) < 0.001:
        word = f"the same {what} within 0.1 %"
    return f"{word} ({_moved(case.result, trial.result)})"


def _moved(before: Result, after: Result) -> str:
    parts = []
    if before.time_us is not None and after.time_us is not None:
        parts.append(f"time {units.time_us(before.time_us)} to {units.time_us(after.time_us)}")
    parts.append(f"erases {units.count(before.flash.erases)} to {units.count(after.flash.erases)}")
    parts.append(f"WAF {units.ratio(before.waf)} to {units.ratio(after.waf)}")
    memory = {"RAM": (before.ram.total_bytes, after.ram.total_bytes)}
    if before.nvram is not None or after.nvram is not None:
        memory["NVRAM"] = (_nvram(before), _nvram(after))
    for name, (was, now) in memory.items():
        if was != now:
            parts.append(f"{name} {units.size(was)} to {units.size(now)}")
    left = 0 if after.buffer is None else after.buffer.saving_at_end.bytes
    if left:
        parts.append(f"{units.size(left)} still in the buffer, and counted")
    slow = [summary.latency_of(each, "write") for each in (before, after)]
    if slow[0] is not None and slow[1] is not None and abs(slow[1].p99 - slow[0].p99) > 0.1 * slow[0].p99:
        parts.append(f"p99 of writes {units.time_us(slow[0].p99)} to {units.time_us(slow[1].p99)}")
    return ", ".join(parts)


def _nvram(result: Result) -> int:
    return 0 if result.nvram is None else result.nvram.bytes


def _wrapped(words: str, head: str = "  ") -> str:
    """Words in lines, the first after `head`; a number is not torn from its unit."""
    kept = re.sub(r"(?<=\d) (?=[%A-Za-zµ]+\b|%)", "\u00a0", words)
    lines = textwrap.fill(
        kept, 100, initial_indent=head, subsequent_indent=" " * len(head), break_long_words=False
    )
    return lines.replace("\u00a0", " ")


def document(found: Explanation) -> dict[str, Any]:
    """The explanation as JSON data."""
    case = found.case
    best = found.best
    trials = {id(each.change): each for each in found.trials}
    return {
        "measure": case.measure,
        "cost": _cost(case.result),
        "idle": case.idle,
        "causes": _rows(case, "cause"),
        "origins": _rows(case, "origin"),
        "changes": [
            {
                "rule": change.rule,
                "why": change.why,
                "what": change.what,
                "price": change.price,
                "set": list(change.sets),
                "share": change.share,
                "tried": id(change) in trials,
                **_trial(trials.get(id(change))),
            }
            for change in found.changes
        ],
        "best": None if best is None else best.change.rule,
        "notes": found.notes,
        "stopped": found.stopped,
        **_above(found),
    }


def _above(found: Explanation) -> dict[str, Any]:
    """The optimum; nothing if nobody asked."""
    if found.optimum is None:
        return {}
    is_known = not isinstance(found.optimum, str)
    return {
        "above_optimum": found.above_optimum,
        "optimum": found.optimum.to_dict() if not isinstance(found.optimum, str) else None,
        "no_optimum": None if is_known else found.optimum,
    }


def _rows(case: Case, kind: Literal["cause", "origin"]) -> list[dict[str, Any]]:
    return [{kind: name, "time": time, "erases": erases} for name, (time, erases) in case.by(kind).items()]


def _cost(result: Result) -> dict[str, Any]:
    return {
        "time_us": result.time_us,
        "erases": result.flash.erases,
        "waf": result.waf,
        "ram_bytes": result.ram.total_bytes,
    }


def _trial(trial: Trial | None) -> dict[str, Any]:
    if trial is None:
        return {"gain": None, "cost": None, "error": None}
    return {
        "gain": trial.gain,
        "cost": None if trial.result is None else _cost(trial.result),
        "error": trial.error,
    }

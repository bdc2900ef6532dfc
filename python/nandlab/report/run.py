"""The report on one run."""

from __future__ import annotations

from collections.abc import Sequence

from nandlab.figures import above, conclusions, fdp, summary, tenants
from nandlab.figures.headline import headline
from nandlab.record.record import Record, lives
from nandlab.report import html, parts, pictures, theme
from nandlab.writing import units

Drawn = dict[str, tuple[theme.Drawing, str]]
"""Each picture's SVG and caption by its name."""

SHOWN = tuple(name for name in pictures.PICTURES if name != "matrix")
"""Pictures for the page; it has the matrix as a table."""


def run_page(result: Record, command: str | None) -> str:
    """The page as text."""
    return html.page(
        f"{summary.ftl_name(result)} on {result.device.name}: {summary.workload_name(result)}",
        f"{summary.title(result)}; seed {result.seed}, nandlab {result.version}",
        [
            _partial(result),
            html.conclusions(conclusions.of_run(result)),
            html.tiles(_first(result)),
            html.section("What it cost", _headline(result), _notices(result)),
            *_of_device(result),
            html.section("The experiment", parts.experiment(result), note="Every default is written out."),
            html.section("Make it again", parts.remake(command, [result])),
        ],
    )


def _of_device(result: Record) -> list[str]:
    """The sections about the device; none for a real directory."""
    if not summary.has_device(result):
        return []
    drawn = pictures.svgs_of_run(result, SHOWN)
    return [
        html.section("Write amplification by cause", _waf(result, drawn)),
        html.section(
            "Who asked, and why the flash did it",
            parts.matrix(result),
            note="Rows: the part of the host that the page belongs to. Columns: why the flash did it. "
            "An erase is shared by the origins whose pages it cleared, in proportion.",
        ),
        html.section("Data placement", _figure(drawn, "handles"), _rows(fdp.TITLES, fdp.table(result))),
        html.section(
            "Tenants",
            _figure(drawn, "tenants"),
            _rows(tenants.TITLES, tenants.table(result)),
            _rows(above.TITLES, above.table(result)),
        ),
        html.section(
            "Latency",
            parts.latencies(result),
            _figure(drawn, "latency"),
            _figure(drawn, "latency-tail"),
            _figure(drawn, "longest"),
        ),
        html.section("The course of the run", _figure(drawn, "over-time")),
        html.section("Blocks", _wear(result, drawn)),
        html.section("Energy", _figure(drawn, "energy")),
        html.section("Memory that firmware would need", _figure(drawn, "ram"), parts.ram(result)),
        html.section("Lifetime", _lifetime(result)),
        _preconditioning(result),
    ]


def _partial(result: Record) -> str:
    if result.stopped is None:
        return ""
    words = f"This run was stopped {result.stopped.message}. The figures are those up to then."
    return html.paragraph(words, "warning")


def _first(result: Record) -> list[tuple[str, str, str]]:
    """The figures a reader looks for first."""
    told = {name: (value, words) for name, value, words in headline(result)}
    if not summary.has_device(result):
        return [(name, *told[name]) for name in ("transactions", "time of transactions")]
    found = [
        ("write amplification", units.ratio(result.waf), told["write amplification"][1]),
        ("erases", *told["erases"]),
    ]
    if result.time_us is not None:
        found.append(("time", *told["time"]))
    for kind in ("write", "read"):
        latency = summary.latency_of(result, kind)
        if latency is not None:
            words = f"p50 {units.time_us(latency.p50)}, p99.9 {units.time_us(latency.p999)}"
            found.append((f"{kind} latency, p99", units.time_us(latency.p99), words))
    if "energy" in told:
        found.append(("energy", *told["energy"]))
    found.append(("most worn block", f"{units.count(result.wear.max)} P/E", f"mean {result.wear.mean:.1f}"))
    found.append(("RAM", *told["RAM"]))
    return found


def _notices(result: Record) -> str:
    return "".join(html.paragraph(notice, "note") for notice in result.notices)


def _waf(result: Record, drawn: Drawn) -> str:
    causes = result.waf_by_cause()
    if not causes:
        return html.paragraph("Nothing was written.")
    table = html.table(
        ["cause", "programs / host writes"],
        [[summary.plain(cause), units.ratio(part)] for cause, part in [*causes.items(), ("sum", result.waf)]],
        right=(1,),
    )
    return _figure(drawn, "waf") + table


def _rows(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of figures with names in its first column; empty without rows."""
    return html.table(titles, rows, right=range(1, len(titles))) if rows else ""


def _figure(drawn: Drawn, name: str) -> str:
    """A picture, if the run has something to show in it."""
    return html.figure(*drawn[name]) if name in drawn else ""


def _wear(result: Record, drawn: Drawn) -> str:
    words = "" if result.wear.max else html.paragraph("No block was erased.")
    return words + _figure(drawn, "wear") + _figure(drawn, "blocks")


def _headline(result: Record) -> str:
    """Each figure with its unit and its parts."""
    return html.table([], [list(row) for row in headline(result)], right=(1,), kind="explained")


def _lifetime(result: Record) -> str:
    """A new device's life under the run's workload; empty if the run does not tell it."""
    life = result.lifetime
    if life is None or not lives(life):
        return ""
    # The host's, or those of a trace of days.
    daily = result.experiment["host"].get("daily") or (life.daily_bytes and units.size(life.daily_bytes))
    words = {"first block": "the most worn block", "mean of the blocks": "the mean of the blocks"}
    titles = ["endurance of", "host writes", "device writes", "time"]
    titles += [f"years at {daily} a day"] if daily else []
    rows = [
        [
            words.get(until, until),
            summary.between(each.host_bytes, units.size),
            f"{summary.between([bytes_ / result.device.logical_bytes for bytes_ in each.host_bytes])} x",
            units.NO_VALUE if each.time_s is None else summary.between(each.time_s, units.span_s),
            units.NO_VALUE if each.years is None else summary.between(each.years),
        ][: len(titles)]
        for until, each in lives(life)
    ]
    note = f"Endurance: {life.endurance:,} P/E cycles. The time is at the pace of this run."
    if result.experiment["host"]["arrival"] == "closed" and result.time_us is not None:
        note += " Requests came as fast as they were answered, not at the times of a trace."
    if life.too_short is not None:
        note += f" The run is too short to tell more: {life.too_short}."
    return html.table(titles, rows, right=range(1, len(titles))) + html.paragraph(note, "note")


def _preconditioning(result: Record) -> str:
    before = result.precondition
    if before is None:
        return ""
    rows = [
        ["requests", units.count(before.requests)],
        ["flash programs", units.count(before.flash.programs)],
        ["erases", units.count(before.flash.erases)],
        ["write amplification", units.ratio(before.waf)],
        ["time", units.time_us(before.time_us)],
        *(["steady state", words] for words in summary.steadiness(before)),
    ]
    return html.section(
        "Before the workload",
        html.table([], rows, right=(1,)),
        note="What filling the device cost; in no other figure.",
    )

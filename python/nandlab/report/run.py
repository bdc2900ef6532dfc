"""The report of one run."""

from __future__ import annotations

from nandlab import summary, units
from nandlab.report import charts, html, parts
from nandlab.result import Result


def run_page(result: Result, command: str | None) -> str:
    """The page as text."""
    return html.page(
        f"{summary.ftl_name(result)} on {result.device.name}: {summary.workload_name(result)}",
        f"{summary.title(result)}; seed {result.seed}, nandlab {result.version}",
        [
            _partial(result),
            html.tiles(_first(result)),
            html.section("What it cost", html.table([], summary.headline(result)), _notices(result)),
            *_of_device(result),
            html.section("The experiment", parts.experiment(result), note="Every default is written out."),
            html.section("Make it again", parts.remake(command, [result])),
        ],
    )


def _of_device(result: Result) -> list[str]:
    """The sections about the device; none for a real directory."""
    if not summary.has_device(result):
        return []
    return [
        html.section("Write amplification by cause", _waf(result)),
        html.section(
            "Who asked, and why the flash did it",
            parts.matrix(result),
            note="Rows: the part of the host that the page belongs to. Columns: why the flash did it. "
            "An erase is shared by the origins whose pages it cleared, in proportion.",
        ),
        html.section("Write amplification over the run", _over_time(result), note=parts.WINDOWED),
        html.section(
            "Latency",
            parts.latencies(result),
            _tail(result),
            note="Simulated time, from arrival to completion.",
        ),
        html.section("Wear", _wear(result)),
        html.section("Memory that firmware would need", parts.ram(result)),
        _preconditioning(result),
    ]


def _partial(result: Result) -> str:
    if result.stopped is None:
        return ""
    words = f"This run was stopped {result.stopped.message}. The figures are those up to then."
    return html.paragraph(words, "warning")


def _first(result: Result) -> list[tuple[str, str, str]]:
    """The figures that a reader looks for first."""
    told = {name: (value, words) for name, value, words in summary.headline(result)}
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


def _notices(result: Result) -> str:
    return "".join(html.paragraph(notice, "note") for notice in result.notices)


def _waf(result: Result) -> str:
    causes = {summary.plain(cause): part for cause, part in result.waf_by_cause().items()}
    if not causes:
        return html.paragraph("Nothing was written.")
    rows = [{"design": "WAF", "cause": cause, "waf": part} for cause, part in causes.items()]
    table = html.table(
        ["cause", "programs / host writes"],
        [[cause, units.ratio(part)] for cause, part in [*causes.items(), ("sum", result.waf)]],
        right=(1,),
    )
    return html.figure(charts.waf_bars(rows, ["WAF"], list(causes))) + table


def _over_time(result: Result) -> str:
    samples = ((sample.requests, sample.written_sectors, sample.waf) for sample in result.series)
    rows = [
        {"requests": requests, "waf": waf, "colour": "WAF", "panel": ""}
        for requests, waf in charts.windows(samples)
        if waf
    ]
    if len(rows) < 2:
        return ""
    return html.figure(charts.over_time(rows, ["WAF"], None, [], result.waf), "Dashed: the whole run.")


def _tail(result: Result) -> str:
    histograms = result.latency_histogram or {}
    # Where all took equally long there is no line to draw.
    tails = {
        kind: points for kind, histogram in histograms.items() if len(points := charts.tail(histogram)) > 1
    }
    rows = [
        {"latency_us": latency, "share": share, "kind": kind}
        for kind, points in tails.items()
        for latency, share in points
        if latency > 0
    ]
    if not rows:
        return ""
    return html.figure(
        charts.slower_than(rows, list(tails)), "How much of the requests took longer than a given time."
    )


def _wear(result: Result) -> str:
    wear = result.wear
    if not wear.max:
        return html.paragraph("No block was erased.")
    rows = charts.bins(wear.histogram)
    words = f"Least {wear.min}, mean {wear.mean:.2f}, most {wear.max}; standard deviation {wear.stddev:.2f}."
    return html.figure(charts.wear_bars(rows), words)


def _preconditioning(result: Result) -> str:
    before = result.precondition
    if before is None:
        return ""
    rows = [
        ["requests", units.count(before.requests)],
        ["flash programs", units.count(before.flash.programs)],
        ["erases", units.count(before.flash.erases)],
        ["write amplification", units.ratio(before.waf)],
        ["time", units.time_us(before.time_us)],
    ]
    return html.section(
        "Before the workload",
        html.table([], rows, right=(1,)),
        note="What filling the device cost; in no other figure.",
    )

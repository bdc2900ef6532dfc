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
            parts.partial_warning([""] if result.partial else []),
            html.section("What it cost", html.table([], summary.headline(result)), _notices(result)),
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
            html.section("The experiment", parts.experiment(result), note="Every default is written out."),
            html.section("Make it again", parts.remake(command, [result])),
        ],
    )


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
    rows = [
        {"requests": sample.requests, "waf": sample.waf, "colour": "WAF", "panel": ""}
        for sample in result.series
        if sample.waf
    ]
    return html.figure(charts.over_time(rows, ["WAF"], None, [])) if len(rows) > 1 else ""


def _tail(result: Result) -> str:
    histograms = result.latency_histogram or {}
    tails = {kind: charts.tail(histogram) for kind, histogram in histograms.items()}
    rows = [
        {"latency_us": latency, "share": share, "kind": kind}
        for kind, points in tails.items()
        for latency, share in points
        if latency > 0
    ]
    if not rows:
        return ""
    kinds = [kind for kind, points in tails.items() if points]
    return html.figure(
        charts.slower_than(rows, kinds), "How much of the requests took longer than a given time."
    )


def _wear(result: Result) -> str:
    rows = charts.bins(result.wear.histogram)
    wear = result.wear
    words = f"Least {wear.min}, mean {wear.mean:.2f}, most {wear.max}; standard deviation {wear.stddev:.2f}."
    return html.figure(charts.wear_bars(rows), words) if rows else ""


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
